"""Translation on a Ray cluster of two nodes on this machine."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import refused_connections

from core.cli import commands as cli
from core.cli.file_translation import lines


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("auto", "--ray needs ray, which is not installed"),
        ("cluster", "--ray (cluster) must be HOST:PORT, with a port from 1 to 65535, or auto"),
        ("localhost:", "--ray (localhost:) must be HOST:PORT, with a port from 1 to 65535, or auto"),
        ("localhost:1", "there is no Ray cluster at localhost:1 ([Errno 111] Connection refused): start one with"),
        ("localhost:65536", "--ray (localhost:65536) must be HOST:PORT, with a port from 1 to 65535, or auto"),
        (f"localhost:{'1' * 5000}", "--ray (localhost:11111111"),  # Python converts at most 4300 digits
    ],
)
def test_without_a_cluster(
    tiny_checkpoint: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    address: str,
    message: str,
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # not to be imported
    (tmp_path / "in.txt").write_text("No.\n")
    arguments = ["translate", "--checkpoint", str(tiny_checkpoint), "--input", str(tmp_path / "in.txt")]
    assert cli.main([*arguments, "--output", str(tmp_path / "out.txt"), "--ray", address]) == 1
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]  # nothing that a corrected command would refuse


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Address of a cluster of two nodes with one core each."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    # Ray's own processes look up the servers of clouds, which tests/offline would report.
    offline = str(Path(refused_connections.__file__).parent)
    paths = [path for path in os.environ["PYTHONPATH"].split(os.pathsep) if path != offline]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 100 * 2**20, "include_log_monitor": False}
    with tempfile.TemporaryDirectory() as folder:  # in `tmp_path` names of sockets would be too long
        monkeypatch.setenv("RAY_TMPDIR", folder)
        cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False, "no_monitor": True})
        cluster.add_node(**node)
        yield f"127.0.0.1:{cluster.address.rpartition(':')[2]}"
        cluster.shutdown()


def test_two_nodes_write_what_one_process_writes(
    address: str,
    tiny_checkpoint: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(lines, "WINDOW_LINES", 20)
    text = [f"The train {number} leaves at {number % 24}.".encode() for number in range(150)]
    text[30], text[50], text[70] = b"", b"b\xffd", b"x" * 600
    (tmp_path / "in.txt").write_bytes(b"\n".join(text))
    arguments = ["translate", f"--checkpoint={tiny_checkpoint}", f"--input={tmp_path}/in.txt", "--beam-size=2"]
    assert cli.main([*arguments, "--output", str(tmp_path / "here.txt"), "--workers", "1"]) == 3
    expected = (tmp_path / "here.txt").read_bytes()

    on_ray = [*arguments, "--output", str(tmp_path / "ray.txt"), "--ray", address]
    assert cli.main([*on_ray, "--strict"]) == 1
    advice, error = capsys.readouterr().err.splitlines()[-2:]
    assert advice.startswith("40 lines are written to ")
    assert "line 51 of the input is not UTF-8" in error
    assert (tmp_path / "ray.txt").read_bytes() == b"".join(expected.splitlines(keepends=True)[:40])
    assert cli.main([*on_ray, "--resume"]) == 3
    assert (tmp_path / "ray.txt").read_bytes() == expected
    assert "line 71: the text has 602 tokens" in capsys.readouterr().err
