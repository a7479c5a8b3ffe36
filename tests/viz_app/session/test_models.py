"""Checkpoints that the app loads: the shipped one, uploads, and files that are neither."""

import io
import json
from pathlib import Path

import pytest
import streamlit as st

from viz_app.frame.model_facts import facts_html, training_text
from viz_app.session import models, uploads
from viz_app.session.models import Model

pytestmark = pytest.mark.usefixtures("nothing_in_memory")


def uploaded(name: str, content: bytes) -> Model:
    """The model in an uploaded file.

    Raises:
        ModelError: it was refused.
    """
    found, refusals = uploads.uploaded_models([(name, io.BytesIO(content))])
    for refusal in refusals:
        raise refusal
    (model,) = found
    return model


def test_the_same_file_is_loaded_once_whoever_brings_it(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(models.CHECKPOINT_VARIABLE, str(tiny_checkpoint))
    shipped = models.shipped_model()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    mine = uploaded("mine.safetensors", tiny_checkpoint.read_bytes())
    assert mine.digest == shipped.digest
    assert mine.translator is shipped.translator
    assert mine.name == "mine.safetensors"
    assert list(tmp_path.iterdir()) == [], "an upload leaves nothing behind"


def test_a_device_that_is_not_there_is_said_on_the_page(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADLIGHT_DEVICE", "abacus")
    with pytest.raises(models.ModelError, match=r"device \(abacus\) must be cuda, cuda:N, mps or cpu"):
        models.model_at(tiny_checkpoint)


def test_no_device_pipe_or_socket_is_the_first_model(irregular: list[str]) -> None:
    for path in irregular:
        with pytest.raises(models.ModelError, match=r" is not a file: name a checkpoint of Headlight"):
            models.model_at(Path(path))


def test_a_changed_file_is_loaded_anew(tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(tiny_checkpoint.read_bytes())
    monkeypatch.setenv(models.CHECKPOINT_VARIABLE, str(path))
    before = models.shipped_model()
    path.write_bytes(tiny_checkpoint.read_bytes()[:-1])
    with pytest.raises(models.ModelError, match=r"model\.safetensors"):
        models.shipped_model()
    assert before.translator.model.config.num_heads == 4


def test_a_file_that_is_too_large_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_UPLOAD_BYTES", 2**20)
    file = io.BytesIO(bytes(2**23))
    found, (refusal,) = uploads.uploaded_models([("config.json", io.BytesIO(b"{}")), ("big.safetensors", file)])
    assert not found
    assert "big.safetensors, with the files before it, is larger than 1 MB, the most that can be up" in str(refusal)
    assert file.tell() < 2**22


def deep(depth: int) -> bytes:
    header = (b'{"a":' * depth) + b"1" + b"}" * depth
    return len(header).to_bytes(8, "little") + header


def wrong_config(**changes: object) -> bytes:
    header = json.dumps(
        {"__metadata__": {"format_version": "1", "config": json.dumps(changes), "training": "{}"}}
    ).encode()
    return len(header).to_bytes(8, "little") + header


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no checkpoint",
        b"PK\x03\x04",
        b"\x80\x04.",
        bytes(100),
        deep(100_000),
        wrong_config(vocab_size=10**12),
        wrong_config(vocab_size=64, num_encoder_layers=10**9),
        wrong_config(vocab_size=64, d_model=10**15, num_heads=1),
        wrong_config(vocab_size="64"),
    ],
)
def test_whatever_is_uploaded_the_answer_is_a_reason(content: bytes) -> None:
    with pytest.raises(models.ModelError, match=r"odd name\.safetensors"):
        uploaded("../../odd name.safetensors", content)


def test_running_out_of_memory_is_said_plainly(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(path: Path, **_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("core.Translator.from_checkpoint", fails)
    with pytest.raises(models.ModelError, match=r"mine\.safetensors needs more memory than this machine has left"):
        uploaded("mine.safetensors", tiny_checkpoint.read_bytes())


def test_a_hostile_name_stays_text_in_the_facts(tiny_checkpoint: Path) -> None:
    model = uploaded("<img src=x onerror=alert(1)>.safetensors", tiny_checkpoint.read_bytes())
    facts = facts_html(model)
    assert "<img" not in facts
    assert "&lt;img" in facts
    assert "2 + 2 layers, 4 heads" in facts


def test_the_precision_comes_from_the_environment_and_is_said(
    tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(models.PRECISION_VARIABLE, "fast")
    model = models.model_at(tiny_checkpoint)
    assert model.translator.shared.precision == "fast"
    assert "reduced precision" in facts_html(model)
    st.cache_resource.clear()
    monkeypatch.setenv(models.PRECISION_VARIABLE, "int4")
    with pytest.raises(models.ModelError, match="HEADLIGHT_PRECISION is 'int4': it must be one of exact, fast"):
        models.model_at(tiny_checkpoint)
    monkeypatch.delenv(models.PRECISION_VARIABLE)
    model = models.model_at(tiny_checkpoint)
    assert model.translator.shared.precision == "exact"
    assert "precision" not in facts_html(model)


@pytest.mark.parametrize(
    ("training", "text"),
    [
        ({}, ""),
        ({"steps": 3600}, "trained for 3,600 steps"),
        ({"steps": 3600, "init": {"file": "first.safetensors", "steps": 4450}}, "trained for 8,050 steps (in 2 runs)"),
        ({"steps": 3600, "init": {"file": "strange.safetensors"}}, "trained for at least 3,600 steps (in 2 runs)"),
        ({"steps": "<b>", "init": 7}, ""),
    ],
)
def test_the_steps_are_those_of_every_run(training: dict[str, object], text: str) -> None:
    assert training_text(training) == text
