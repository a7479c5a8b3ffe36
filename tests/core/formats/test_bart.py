"""BART, mBART, mBART-50 and Pegasus models against transformers."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from core.analysis.sanity_checks import check_explanation
from core.cli import commands as cli
from core.formats.importing import import_checkpoint
from core.formats.model_facts import TASKS, model_facts
from core.text.byte_pieces import BytePiece
from core.translator import Translator
from tests.core.formats import small_models
from tests.core.formats.bart_models import KINDS, Pairs, write_model
from tests.core.formats.marian_models import short_pairs, without_padding

TEXTS = (
    "A dog runs.",
    "“Where,” she said … it’s Tom's, we'll (see)!",
    "unknown: ☃ 東京 naïve 🏳️‍🌈",
    "5 % – or 1.234,5 x² « francs »",
    "▁ and <0x41> and Ġ",
    "don't  DON'T 'quoted' 'stuff",
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("changes", [{"decoder_layers": 2}, {"encoder_layers": 2, "decoder_ffn_dim": 40}])
def test_the_same_logits_as_transformers(kind: str, changes: dict[str, Any], tmp_path: Path, parallel_text: Pairs):
    reference, tokenizer = write_model(tmp_path, parallel_text, kind, **changes)
    translator = small_models.imported(tmp_path)
    for source, target in parallel_text[:6]:
        source_ids = tokenizer(source, return_tensors="pt").input_ids
        assert translator.codec.source_ids(source) == source_ids[0].tolist()
        _, fed, _ = translator.token_ids(source, target)
        small_models.assert_same_logits(translator.model, reference, source_ids, torch.tensor([fed]), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_translations_as_generate(kind: str, tmp_path: Path, parallel_text: Pairs) -> None:
    """Beam 4, of a model that is not sure."""
    pairs = short_pairs(parallel_text)
    reference, tokenizer = write_model(tmp_path / "model", pairs, kind, steps=60, init_std=0.05)
    cli.main(["convert", str(tmp_path / "model"), str(tmp_path / "out.safetensors")])
    translator = Translator.from_checkpoint(tmp_path / "out.safetensors")
    for text, _ in pairs[: small_models.LEARNED]:
        batch = tokenizer(text, return_tensors="pt")
        limit = len(batch.input_ids[0]) + 9
        with torch.inference_mode():
            generated = reference.generate(**batch, max_length=limit)[0].tolist()
        best, explanation = small_models.explained(translator, text, length_penalty=1.0)
        assert [generated[0], *best.token_ids] == without_padding(generated, tokenizer.eos_token_id), text
        assert best.text == tokenizer.decode(generated, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        assert all(check.passed for check in check_explanation(translator, explanation, best))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("saved", ["published", "json"])
def test_the_same_tokens_as_transformers(kind: str, saved: str, tmp_path: Path, parallel_text: Pairs) -> None:
    _, reference = write_model(tmp_path, parallel_text, kind)
    if saved == "json":
        for name in ("vocab.json", "merges.txt", "spiece.model", "sentencepiece.bpe.model"):
            (tmp_path / name).unlink(missing_ok=True)
        reference.save_pretrained(tmp_path)
        assert (tmp_path / "tokenizer.json").exists()
    translator = small_models.imported(tmp_path)
    for text in [*TEXTS, *(text for pair in parallel_text for text in pair)]:
        text = " ".join(text.split())
        if kind != "bart" and text == TEXTS[4]:
            continue  # SentencePiece's own mark is a space for it, and in tokenizer.json, too
        if (kind, saved) == ("mbart", "published") and unicodedata.normalize("NFKC", text) != text:
            continue  # the reference is made without the normalisation of the SentencePiece model
        ids = reference(text).input_ids
        assert translator.codec.source_ids(text) == ids, text
        if reference.unk_token_id not in ids:
            decoded = translator.tokenizer.target.decode(ids)
            assert decoded == reference.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        spans = translator.codec.source_spans(text)
        assert len(spans) == len(ids)
        assert "".join(text[slice(*span)] for span in spans if span)[:1] == text[0]


@pytest.mark.parametrize("kind", ["bart", "mbart", "mbart50"])
def test_a_mask_in_a_text(kind: str, tmp_path: Path, parallel_text: Pairs) -> None:
    _, reference = write_model(tmp_path, parallel_text, kind)
    translator = small_models.imported(tmp_path)
    for text in ("A <mask> runs.", "<mask> dog", "A dog runs<mask>", "A <mask> <mask>, where?"):
        ids = reference(text).input_ids
        assert translator.codec.source_ids(text) == ids, text
        assert "<mask>" in translator.codec.source_pieces(ids)
        assert len(translator.codec.source_spans(text)) == len(ids)


def test_pieces_of_bytes_show_their_characters(tmp_path: Path, parallel_text: Pairs) -> None:
    write_model(tmp_path, parallel_text)
    translator = small_models.imported(tmp_path)
    pieces = translator.codec.source_pieces(translator.codec.source_ids("A 東京 dog"))
    assert pieces[:2] == ("<s>", "A")
    assert [piece.spells for piece in pieces if isinstance(piece, BytePiece)][:3] == ["東", "東", "東"]


def test_what_a_model_does(tmp_path: Path, parallel_text: Pairs) -> None:
    for kind, generation, task in (
        ("bart", {"min_length": 5}, "summarises"),
        ("bart", {}, "denoises"),
        ("pegasus", {}, "summarises"),
        ("mbart", {}, "translates"),
        ("mbart50", {}, "translates"),
        ("mbart50", {"forced_bos_token_id": None}, "denoises"),
    ):
        folder = tmp_path / f"{kind}{len(generation)}"
        write_model(folder, parallel_text, kind, generation=generation)
        found = import_checkpoint(folder)
        assert found.training["imported"]["task"] == task, (kind, generation)
        assert model_facts(found.model, found.tokenizer, found.training)["task"] == TASKS[task]


def test_languages_of_mbart_50(tmp_path: Path, parallel_text: Pairs) -> None:
    _, reference = write_model(tmp_path, parallel_text, "mbart50")
    found = import_checkpoint(tmp_path).tokenizer
    reference.src_lang = "fr_XX"
    assert found.encode(">>fr_XX<< >>ro_RO<< A dog.") == reference("A dog.").input_ids[:-1]
    assert found.first_target_id(">>fr_XX<< >>ro_RO<< A dog.") == reference.convert_tokens_to_ids("ro_RO")
    assert found.languages == ("en_XX", "de_DE")
    assert len(found.language_codes) == 52


def test_parameters_without_their_prefix(tmp_path: Path, parallel_text: Pairs) -> None:
    """As of the published base models, which were saved without the layer of the logits."""
    write_model(tmp_path, parallel_text)
    before, file = import_checkpoint(tmp_path), tmp_path / "model.safetensors"
    tensors = {name.removeprefix("model."): each.clone() for name, each in load_file(file).items()}
    bias = tensors.pop("final_logits_bias")
    save_file(tensors | {"encoder.version": torch.tensor([3.0])}, file)
    found = import_checkpoint(tmp_path)
    source, fed = torch.tensor([[0, 9, 12, 2]]), torch.tensor([[2, 0, 7]])
    torch.testing.assert_close(found.model(source, fed) + bias, before.model(source, fed), rtol=0, atol=1e-5)
    assert not found.config.output_bias


def test_a_checkpoint_keeps_everything(tmp_path: Path, parallel_text: Pairs) -> None:
    for kind in KINDS:
        write_model(tmp_path / kind, parallel_text, kind)
        small_models.assert_converted(tmp_path / kind, tmp_path / f"{kind}.safetensors")


@pytest.mark.parametrize(
    ("kind", "file", "values", "message"),
    [
        ("bart", "config.json", {"normalize_before": True}, r"normalize_before is True, and Headlight imports only"),
        ("pegasus", "config.json", {"static_position_embeddings": False}, r"static_position_embeddings is False"),
        ("bart", "config.json", {"tie_word_embeddings": False}, r"tie_word_embeddings is False"),
        ("mbart", "tokenizer_config.json", {"tokenizer_class": "BarthezTokenizer"}, r"'BarthezTokenizer', and"),
        ("bart", "tokenizer_config.json", {"add_prefix_space": True}, r"add_prefix_space is True"),
        ("mbart", "config.json", {"vocab_size": 100}, r"a vocab_size of 100: they are of different models"),
        ("pegasus", "config.json", {"pad_token_id": 4}, r"the vocabulary has pad_id 0, config.json 4"),
    ],
)
def test_refusals(kind: str, file: str, values: dict[str, Any], message: str, tmp_path: Path, parallel_text: Pairs):
    write_model(tmp_path, parallel_text, kind)
    small_models.change_json(tmp_path / file, values)
    small_models.assert_refused(tmp_path, message)


def test_missing_files_of_the_tokenizer(tmp_path: Path, parallel_text: Pairs) -> None:
    for kind, name, message in (
        ("bart", "merges.txt", r"vocab.json and merges.txt, or tokenizer.json, are missing: give the tokenizer's"),
        ("pegasus", "spiece.model", r"spiece.model and tokenizer.json are missing: give the tokenizer's files too"),
    ):
        write_model(tmp_path / kind, parallel_text, kind)
        (tmp_path / kind / name).unlink()
        small_models.assert_refused(tmp_path / kind, message)
