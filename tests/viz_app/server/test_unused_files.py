"""Files that the app never opens: which, and that nothing else is deleted."""

import importlib
import importlib.util
import sys
from pathlib import Path

import pytest

from tests.viz_app.analysis_drawings import DRAWINGS as ANALYSES
from tests.viz_app.attention_drawings import DRAWINGS
from viz_app.server import unused_files
from viz_app.server.unused_files import delete, is_unused

FILES = {
    "torch": [
        ("torch/__init__.py", True),
        ("torch/testing/_comparison.py", True),
        ("torch/test/test_api", False),
        ("torch/include/ATen/ATen.h", False),
        ("torch/include/ATen/ops/add.h", False),
        ("torch/bin/protoc", False),
        ("torch/bin/torch_shm_manager", True),
    ],
    "pyarrow": [
        ("pyarrow/lib.cpython-311-x86_64-linux-gnu.so", True),
        ("pyarrow/libarrow.so.2600", True),
        ("pyarrow/libarrow_flight.so.2600", False),
        ("pyarrow/_s3fs.cpython-311-x86_64-linux-gnu.so", False),
    ],
    "pydeck": [("pydeck/nbextension/static/index.js", False), ("../share/jupyter/nbextensions/pydeck/index.js", False)],
    "strange": [("strange/tests/data.py", True), ("strange/include/a.h", True)],
}


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    folder = tmp_path / "site-packages"
    for name, files in FILES.items():
        facts = folder / f"{name}-1.0.dist-info"
        facts.mkdir(parents=True)
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (facts / "RECORD").write_text("".join(f"{file},,\n" for file, _ in [*files, ("gone/tests/a.py", False)]))
        for file, _ in files:
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"1234")
    return folder


def test_only_unused_files_of_known_packages_are_deleted(installed: Path) -> None:
    found = unused_files.unused_files([str(installed)])
    assert list(found) == ["pyarrow", "pydeck", "torch"]
    assert unused_files.report(found).splitlines()[-1].split() == ["0.0", "MB", "together"]
    delete(path for paths in found.values() for path in paths)
    assert unused_files.unused_files([str(installed)]) == {}
    for name, files in FILES.items():
        assert [(installed / file).exists() for file, _ in files] == [kept for _, kept in files], name
    assert not (installed / "torch" / "include").exists(), "empty folders go, too"
    assert not (installed / ".." / "share").exists()
    assert installed.exists()


def test_a_file_that_cannot_be_deleted_is_named(
    installed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = unused_files.unused_files([str(installed)])
    monkeypatch.setattr(unused_files, "unused_files", lambda: found)

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    assert unused_files.main(["--delete"]) == 1
    assert f"cannot delete {found['pyarrow'][0]}: Permission denied" in capsys.readouterr().err
    assert unused_files.main([]) == 0


def test_no_imported_module_is_unused() -> None:
    """The modules that analyses, drawings and their files import are kept, and the libraries that these open."""
    assert len(DRAWINGS + ANALYSES) > 1  # imported
    importlib.import_module("pyarrow.compute")
    paths = [Path(path) for module in list(sys.modules.values()) if (path := getattr(module, "__file__", None))]
    if sys.platform == "linux":
        lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        paths.extend({Path(line.split(maxsplit=5)[5]) for line in lines if "/site-packages/" in line})
        assert any(path.name.startswith("libarrow.") for path in paths)
    folders = [Path(found) for found in sys.path if found.endswith("site-packages")]
    inside = [path.relative_to(folder) for path in paths for folder in folders if path.is_relative_to(folder)]
    ours = [path for path in inside if path.parts[0] in unused_files.PACKAGES]
    assert len(ours) > 1000
    optional = ("_s3fs.", "libarrow_s3.")  # of pyarrow.fs, which tests of training data import
    assert not [path for path in ours if is_unused(path) and not path.name.startswith(optional)]


def test_pyarrow_does_without_its_client_of_s3(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec("pyarrow.fs")
    assert found
    assert found.loader
    monkeypatch.setitem(sys.modules, "pyarrow._s3fs", None)  # importing it fails
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    assert module.LocalFileSystem()
    assert "S3FileSystem" not in vars(module)
