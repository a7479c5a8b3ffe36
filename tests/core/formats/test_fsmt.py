"""FSMT models against transformers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from core.cli import commands as cli
from core.formats.importing import import_checkpoint
from core.translator import Translator
from tests.core.formats.fsmt_models import Pairs, target_ids, write_model
from tests.core.formats.marian_models import short_pairs, without_padding
from tests.core.formats.small_models import LEARNED, assert_converted, assert_refused, assert_same_logits, imported
from tests.lazy_imports import transformers

SHAPES: dict[str, dict[str, Any]] = {
    "wmt19": {"two": True, "encoder_layers": 2, "decoder_layers": 2},
    "distilled": {"encoder_layers": 3, "decoder_ffn_dim": 40, "decoder_attention_heads": 2},
    "tied": {"tie_word_embeddings": True},
    "half": {"dtype": torch.float16, "scale_embedding": False},
}


write = write_model  # of the fixture `original`


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_logits_as_transformers(shape: str, tmp_path: Path, parallel_text: Pairs) -> None:
    reference = write_model(tmp_path, parallel_text, **SHAPES[shape])
    found, tokenizer = import_checkpoint(tmp_path), transformers.FSMTTokenizer.from_pretrained(tmp_path)
    assert found.config.tied == ("all" if shape == "tied" else "none")
    for source, target in parallel_text[:6]:
        source_ids = tokenizer(source, return_tensors="pt").input_ids
        fed = torch.cat((torch.tensor([[2]]), target_ids(tmp_path, [target])[:, :-1]), 1)
        assert_same_logits(found.model, reference, source_ids, fed)


def test_the_same_translations_as_generate(tmp_path: Path, parallel_text: Pairs) -> None:
    """Beam 4; trained so that ties do not decide."""
    pairs = short_pairs(parallel_text)
    reference = write_model(tmp_path / "model", pairs, steps=30, init_std=0.05)
    cli.main(["convert", str(tmp_path / "model"), str(tmp_path / "out.safetensors")])
    translator = Translator.from_checkpoint(tmp_path / "out.safetensors")
    tokenizer = transformers.FSMTTokenizer.from_pretrained(tmp_path / "model")
    texts = [text for text, _ in pairs[:LEARNED]]
    with torch.inference_mode():
        generated = reference.generate(**tokenizer(texts, return_tensors="pt", padding=True)).tolist()
    translations = translator.translate_batch(texts, beam_size=4, length_penalty=1.0)
    for row, found in zip(generated, translations, strict=True):
        ids = without_padding(row, 2)
        assert [2, *found.hypotheses[0].token_ids] == ids
        assert found.text == tokenizer.decode(ids, skip_special_tokens=True)


@pytest.mark.parametrize("two", [False, True])
def test_the_same_tokens_as_transformers(two: bool, original: Path, tmp_path: Path, parallel_text: Pairs) -> None:
    if two:
        write_model(tmp_path, parallel_text, two=True)
    folder = tmp_path if two else original
    found, reference = import_checkpoint(folder).tokenizer, transformers.FSMTTokenizer.from_pretrained(folder)
    texts = [
        *(source for source, _ in parallel_text),
        "“Where,” she said, ‘is the nearest station…’ （东京）",
        "It costs 5 % – or 1,000.50 « francs »! Mr. Smith's well-known e-mail: a@b.org",
        "unknown: ☃ 東京 \u200bzero\u0007 width & <b>x</b> | [y]",
        "a  b\tc aaaaaaaaaaaaaaaaaaaa",
    ]
    for text in texts:
        assert found.encode(text) == reference(text).input_ids[:-1], text
    for _, text in parallel_text:
        ids = target_ids(folder, [text])[0].tolist()
        assert found.target.encode(text) == ids[:-1]
        assert found.target.decode(ids) == reference.decode(ids, skip_special_tokens=True)
        for token_id in ids:
            assert found.target.token_id(found.target.piece(token_id)) == token_id


def test_pieces_begin_words_with_the_mark_of_a_space(original: Path) -> None:
    translator = imported(original)
    explanation = translator.explain("The dog runs.", "Der Hund läuft", num_alternatives=1000)
    assert "".join(explanation.source_tokens) == "▁The▁dog▁runs▁.</s>"
    assert "".join(explanation.predicted_tokens) == "▁Der▁Hund▁läuft</s>"
    target = translator.tokenizer.target
    _, _, predicted = translator.token_ids("The dog runs.", "Der Hund läuft")
    for token_id, token, found in zip(predicted, explanation.predicted_tokens, explanation.alternatives, strict=True):
        names = [name for name, _ in found]
        assert len(set(names) - {token}) == len(names) - 1, "every alternative has a name of its own"
        others = {target.token_id(name) for name in names if name != token}
        assert others == set(range(target.vocab_size)) - {token_id}


def test_a_converted_file_is_the_same_model(tmp_path: Path, parallel_text: Pairs, capsys: pytest.CaptureFixture[str]):
    write_model(tmp_path / "model", parallel_text, dtype=torch.float16)
    assert_converted(tmp_path / "model", tmp_path / "out.safetensors")
    report = capsys.readouterr().out
    assert "FSMT (fairseq) in Hugging Face's layout" in report
    assert "sinusoidal, all sines before all cosines, exponent i/(n-1)" in report


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("config.json", {"tie_word_embeddings": True}, r"encoder.embed_tokens.weight and .* differ, but config.json"),
        ("config.json", {"src_vocab_size": 5}, r"of another shape \(1\): model.encoder.embed_tokens.weight: \[\d+, 32"),
        ("config.json", {"activation_function": 5}, r"config.json: activation_function is 5, expected a text"),
        ("generation_config.json", {"renormalize_logits": True}, r"renormalize_logits is True, and Headlight imports"),
        ("tokenizer_config.json", {"langs": ["en"]}, r"langs is \['en'\] in tokenizer_config.json or config.json"),
        ("tokenizer_config.json", {"langs": ["en", "../x"]}, r"target_language is '../x', expected the code of a lang"),
        ("vocab-src.json", {"<pad>": None}, r"vocab-src.json: the id of '<pad>' is None, expected an integer from 0 t"),
        ("vocab-src.json", {"x": 2}, r"vocab-src.json: '</s>' and 'x' have the same id"),
        ("vocab-tgt.json", {"x" * 600: 5}, r"the piece 'x+ has 602 characters, at most 512 are read"),
    ],
)
def test_what_cannot_be_imported_is_refused(name: str, values: dict[str, Any], message: str, copy: Path) -> None:
    fields = json.loads((copy / name).read_text()) if (copy / name).exists() else {}
    if "x" * 600 in values:
        fields = {piece: token_id for piece, token_id in fields.items() if token_id != 5}
    (copy / name).write_text(json.dumps(fields | values))
    assert_refused(copy, message)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a b\nc\n", r"line 2 of the merges is 'c', expected two symbols with a space between"),
        (b"#version: 3\n", r"it has version '3' of subword-nmt, expected 0.1 or 0.2"),
        (b"a b\n" * (2**20 + 1), r"it has 1048577 lines, at most 1048576 are read"),
        (b"\xff \xfe\n", r"merges.txt: 'utf-8' codec can't decode"),
        (None, r"merges.txt is missing: give the tokenizer's files too"),
    ],
)
def test_damaged_merges_are_refused(data: bytes | None, message: str, copy: Path) -> None:
    (copy / "merges.txt").unlink()
    if data is not None:
        (copy / "merges.txt").write_bytes(data)
    assert_refused(copy, message)
