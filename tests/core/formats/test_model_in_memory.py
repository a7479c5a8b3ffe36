"""Models in memory against the same models in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from torch import nn

from core import CheckpointError, Transformer, Translator
from core.formats.importing import import_checkpoint
from core.text.tokenizer import SentencePieceTokenizer
from tests.core.formats import m2m100_models, marian_models, t5_models
from tests.core.formats.hand_written_models import ANNOTATED, HEADS, Annotated
from tests.core.formats.marian_models import Pairs
from tests.core.formats.torch_models import Seq2Seq, write_torch
from tests.lazy_imports import transformers

TYPES = {
    "marian": (marian_models.write_model, "MarianTokenizer"),
    "m2m100": (m2m100_models.write_model, "M2M100Tokenizer"),
    "t5": (t5_models.write_model, "T5Tokenizer"),
}
TEXT = "A dog runs across the snow."


@pytest.mark.parametrize("name", TYPES)
def test_a_model_of_transformers_is_the_one_of_its_files(
    name: str, tmp_path: Path, parallel_text: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, tokenizer_class = TYPES[name]
    model = write(tmp_path, parallel_text)
    tokenizer = getattr(transformers, tokenizer_class).from_pretrained(tmp_path)
    expected = Translator(import_checkpoint(tmp_path).model, import_checkpoint(tmp_path).tokenizer)
    monkeypatch.setattr("core.formats.weight_files.open_weights", None)
    found = Translator.from_model(model, tokenizer)
    assert found.config == expected.config
    source, target = torch.tensor([[5, 6, 7, found.config.eos_id]]), torch.tensor([[found.config.bos_id, 8, 9]])
    assert torch.equal(found.model(source, target), expected.model(source, target))
    for text, translation in parallel_text[:8]:
        assert found.codec.source_ids(text) == expected.codec.source_ids(text)
        assert found.codec.target_ids(translation, text) == expected.codec.target_ids(translation, text)
    assert found.translate(TEXT).hypotheses == expected.translate(TEXT).hypotheses
    assert found.training["imported"]["source"] == f"{type(model).__name__} in memory"


def test_a_copy_does_not_follow_the_original(tmp_path: Path, parallel_text: Pairs) -> None:
    model = marian_models.write_model(tmp_path, parallel_text)
    found = Translator.from_model(model.train(), transformers.MarianTokenizer.from_pretrained(tmp_path))
    before = found.translate(TEXT)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert found.translate(TEXT) == before
    assert not found.model.training
    assert model.training


def test_a_model_of_this_project(tiny_model: Transformer, tokenizer: SentencePieceTokenizer) -> None:
    found = Translator.from_model(tiny_model, tokenizer, device="cpu")
    assert found.translate(TEXT).hypotheses == Translator(tiny_model, tokenizer).translate(TEXT).hypotheses
    assert found.model is not tiny_model
    found.explain(TEXT, found.translate(TEXT).text)


@pytest.mark.parametrize("kind", ["lists", "mappings", "folder"])
def test_a_module_with_a_description(kind: str, tmp_path: Path, parallel_text: Pairs) -> None:
    model = write_torch(tmp_path, parallel_text)
    described = json.loads((tmp_path / "config.json").read_text())
    lists = [(tmp_path / f"{side}_vocab.txt").read_text().splitlines() for side in ("source", "target")]
    vocabulary: Any = tuple(lists)
    if kind == "mappings":
        vocabulary = tuple({piece: number for number, piece in reversed(list(enumerate(each)))} for each in lists)
    if kind == "folder":
        found = Translator.from_model(model, tmp_path, tmp_path / "config.json")
        assert found.tokenizer.to_bytes() == import_checkpoint(tmp_path).tokenizer.to_bytes()
    else:
        found = Translator.from_model(model, vocabulary, described | {"split": "words"})
    source, target = torch.tensor([[9, 5, 6, 3]]), torch.tensor([[2, 8, 11]])
    torch.testing.assert_close(found.model(source, target), model(source, target), rtol=0, atol=1e-5)
    assert found.explain(TEXT, found.translate(TEXT).text).maps


def test_a_module_with_a_sentencepiece_processor(tokenizer: SentencePieceTokenizer) -> None:
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.to_bytes())
    model = Seq2Seq(tokenizer.vocab_size, tokenizer.vocab_size)
    described = {"model_type": "torch.nn.Transformer", "nhead": 4}
    found = Translator.from_model(model, processor, described)
    assert found.codec.source_ids(TEXT) == [*tokenizer.encode(TEXT), tokenizer.eos_id]
    assert torch.equal(
        found.model(*(torch.tensor([[5, 6, 2]]),) * 2),
        Translator.from_model(model, (processor, processor), described).model(*(torch.tensor([[5, 6, 2]]),) * 2),
    )


def test_refusals(tiny_model: Transformer, tmp_path: Path, parallel_text: Pairs) -> None:
    with pytest.raises(CheckpointError, match=r"^Linear is neither a core.Transformer nor a model of transformers: gi"):
        Translator.from_model(nn.Linear(2, 2))
    with pytest.raises(TypeError, match=r"^the tokenizer is a dict, expected one of core.text, such as"):
        Translator.from_model(tiny_model, {})
    gpt2 = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=1, n_embd=8, n_head=2, vocab_size=20))
    with pytest.raises(TypeError, match=r"^the tokenizer is a NoneType, expected the model's tokenizer of transformer"):
        Translator.from_model(gpt2)
    marian_models.write_model(tmp_path, parallel_text)
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path)
    with pytest.raises(CheckpointError, match=r"^config.json describes 'gpt2', a decoder alone"):
        Translator.from_model(gpt2, tokenizer)
    described = {"model_type": "torch.nn.Transformer", "nhead": HEADS, **ANNOTATED}
    for vocabulary, words in (
        (3, r"^the tokenizer is a int, expected a list of pieces in the order"),
        (([], [], []), r"^the tokenizer is a tuple of 3, expected one for the source"),
    ):
        with pytest.raises(TypeError, match=words):
            Translator.from_model(Annotated(), vocabulary, described)
    for vocabulary, words in (
        ({"a": 0, "b": 2}, r"^the ids of the 2 pieces are not 0 to 1, each once"),
        (["a\nb"], r"^the piece 'a\\nb' has a line break"),
    ):
        with pytest.raises(CheckpointError, match=words):
            Translator.from_model(Annotated(), vocabulary, described)
    with pytest.raises(CheckpointError, match=r"in memory: .* is of torch.float64, expected parameters in F32"):
        Translator.from_model(Annotated().double(), None, described)
