"""An index of twenty sentences: beside a checkpoint, and of a translator."""

import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.corpus.index import CorpusIndex
from core.analysis.corpus.index_file import load_index
from core.cli.commands import main


@pytest.fixture(scope="package")
def checkpoint(
    tmp_path_factory: pytest.TempPathFactory, tiny_checkpoint: Path, parallel_text: list[tuple[str, str]]
) -> Path:
    folder = tmp_path_factory.mktemp("indexed")
    path = Path(shutil.copy(tiny_checkpoint, folder / "model.safetensors"))
    (folder / "text.tsv").write_text("\n".join("\t".join(pair) for pair in parallel_text[:20]), "utf-8")
    options = ["--name", "Twenty sentences", "--licence", "CC0"]
    assert main(["corpus", "--checkpoint", str(path), "--input", str(folder / "text.tsv"), *options]) == 0
    return path


@pytest.fixture(scope="package")
def index(checkpoint: Path) -> CorpusIndex:
    return load_index(checkpoint.with_name("model.corpus.npz"))


def texts(app: AppTest) -> str:
    found = [*app.markdown, *app.caption, *app.info, *app.warning, *app.error]
    return "\n".join(each.value for each in found).replace("\\", "")


def pictures(app: AppTest) -> dict[str, str]:
    """The data of the components of the page, by key."""
    return {each.key: each.proto.json for each in app.get("bidi_component")}  # type: ignore[attr-defined]
