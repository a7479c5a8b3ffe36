"""Models of programs that Headlight does not import are refused by name, with the options that set them apart."""

import struct
from pathlib import Path
from typing import Any

import pytest
import torch

from core.formats.checkpoint import CheckpointError
from core.formats.importing import import_checkpoint

CONFIGURATION = """\
!ModelConfig
config_data: !DataConfig
  max_seq_len_source: 96
config_decoder: !TransformerConfig
  act_type: relu
  decoder_type: {decoder}
  use_glu: {glu}
  use_lhuc: {lhuc}
lhuc: {lhuc}
"""
TEXT = "is a model of Sockeye{}: Headlight imports no models of Sockeye. For pictures of its attention, see `python -m"
MEANINGS = {
    "lhuc": " with LHUC, learned scales of hidden units",
    "decoder": " with SSRU, recurrent cells in place of the decoder's self-attention",
    "glu": " with GLU, gated feed-forward layers",
}


def sockeye(folder: Path, with_lhuc: bool = False, **options: str) -> Path:
    """A folder with Sockeye's files."""
    values = {"decoder": "transformer", "glu": "false", "lhuc": "false"} | options
    (folder / "config").write_text(CONFIGURATION.format(**values))
    (folder / "version").write_text("3.1.34")
    for side in ("src", "trg"):
        (folder / f"vocab.{side}.0.json").write_text('{"<pad>": 0, "<unk>": 1, "<s>": 2, "</s>": 3}')
    names = ["encoder.layers.0.ff.ff1.weight"] + ["encoder.layers.0.lhuc.weight"] * with_lhuc
    torch.save({name: torch.ones(4) for name in names}, folder / "params.best")
    return folder


@pytest.mark.parametrize(
    ("options", "meaning"),
    [
        ({}, ""),
        ({"lhuc": "true"}, MEANINGS["lhuc"]),
        ({"decoder": "ssru_transformer"}, MEANINGS["decoder"]),
        ({"glu": "true"}, MEANINGS["glu"]),
        ({"with_lhuc": True}, MEANINGS["lhuc"]),
    ],
)
def test_a_model_of_sockeye(options: dict[str, Any], meaning: str, tmp_path: Path) -> None:
    folder = sockeye(tmp_path, **options)
    with pytest.raises(CheckpointError) as error:
        import_checkpoint(folder)
    assert TEXT.format(meaning) in str(error.value)


@pytest.mark.parametrize("with_lhuc", [False, True])
def test_parameters_of_sockeye_alone(with_lhuc: bool, tmp_path: Path) -> None:
    file = sockeye(tmp_path, with_lhuc) / "params.best"
    with pytest.raises(CheckpointError) as error:
        import_checkpoint(file)
    assert str(error.value).startswith("params.best " + TEXT.format(MEANINGS["lhuc"] if with_lhuc else ""))


@pytest.mark.parametrize(("name", "has_lhuc"), [("decoder_l0_lhuc_weight", True), ("decoder_l0_lhucid", False)])
def test_parameters_of_older_versions(name: str, has_lhuc: bool, tmp_path: Path) -> None:
    # MXNet's files end with the lengths and the names of the arrays.
    names = [f"arg:{name}".encode()]
    data = struct.pack("<QQ", 0x112, 0) + bytes(64) + b"".join(struct.pack("<Q", len(each)) + each for each in names)
    (tmp_path / "params.00012").write_bytes(data)
    with pytest.raises(CheckpointError, match="model of Sockeye") as error:
        import_checkpoint(tmp_path)
    assert ("LHUC" in str(error.value)) == has_lhuc


def test_an_empty_file_of_parameters(tmp_path: Path) -> None:
    (tmp_path / "params.best").touch()
    with pytest.raises(CheckpointError, match="model of Sockeye: Headlight"):
        import_checkpoint(tmp_path)


def test_all_options_are_named(tmp_path: Path) -> None:
    folder = sockeye(tmp_path, decoder="ssru_transformer", glu="true", lhuc="true")
    with pytest.raises(CheckpointError, match=r"with LHUC, .*; SSRU, .*; GLU, .*: Headlight"):
        import_checkpoint(folder)


def test_a_configuration_that_is_too_long(tmp_path: Path) -> None:
    sockeye(tmp_path)
    with open(tmp_path / "config", "a") as file:
        file.write("#" * 2**20)
    with pytest.raises(CheckpointError, match=r"config has \d+ bytes, at most 1048576 are read"):
        import_checkpoint(tmp_path)


def test_a_file_of_ctranslate2s_name_is_not_its_model(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"\x06\0\0\0 something else")
    with pytest.raises(CheckpointError, match="are of no known format"):
        import_checkpoint(tmp_path)
