"""M2M100 and NLLB models against transformers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from sentencepiece import SentencePieceProcessor

from core.analysis.sanity_checks import check_explanation
from core.cli import commands as cli
from core.formats.checkpoint import load_checkpoint
from core.formats.importing import import_checkpoint
from core.formats.model_facts import model_facts
from core.translator import Translator
from tests.core.formats.m2m100_models import DIRECTIONS, NLLB_LANGUAGES, Pairs, save_tokenizer_json, write_model
from tests.core.formats.marian_models import short_pairs, without_padding
from tests.core.formats.small_models import assert_converted, assert_refused, assert_same_logits, change_json, explained
from tests.lazy_imports import transformers

write = write_model  # of the fixture `original`


@pytest.fixture(scope="module")
def nllb(tmp_path_factory: pytest.TempPathFactory, parallel_text: Pairs) -> Path:
    """As `original`, of NLLB."""
    folder = tmp_path_factory.mktemp("nllb") / "model"
    write_model(folder, parallel_text, nllb=True)
    return folder


@pytest.mark.parametrize("shape", [{"decoder_layers": 2}, {"encoder_layers": 3, "decoder_ffn_dim": 40}])
def test_the_same_logits_as_transformers(shape: dict[str, Any], tmp_path: Path, parallel_text: Pairs) -> None:
    reference = write_model(tmp_path, parallel_text, **shape)
    found, tokenizer = import_checkpoint(tmp_path), transformers.M2M100Tokenizer.from_pretrained(tmp_path)
    assert (found.config.norm, found.config.final_norm, found.config.tied) == ("pre", True, "all")
    for source, target in parallel_text[:6]:
        source_ids = tokenizer(source, return_tensors="pt").input_ids
        fed = torch.tensor([[2, *tokenizer(text_target=target).input_ids[:-1]]])
        assert_same_logits(found.model, reference, source_ids, fed)


@pytest.mark.parametrize(("dtype", "pickled"), [(torch.float16, False), (torch.bfloat16, True)])
def test_a_large_model_stays_in_half_precision(
    dtype: torch.dtype, pickled: bool, tmp_path: Path, parallel_text: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the logits of transformers in float32, also after `convert`, and without the files."""
    folder, out = tmp_path / "model", tmp_path / "out.safetensors"
    reference = write_model(folder, parallel_text, nllb=True, dtype=dtype)
    if pickled:
        torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
    monkeypatch.setattr("core.model.half_precision.LARGE", 0)
    imported = import_checkpoint(folder)
    cli.main(["convert", str(folder), str(out)])
    converted = load_checkpoint(out)
    for path in (*folder.iterdir(), out):
        path.unlink()
    source_ids, fed = torch.tensor([[9, 5, 6, 7, 2]]), torch.tensor([[2, 8, 11, 30]])
    assert imported.model.embedding.tokens.state_dict()["weight"].dtype == dtype
    assert converted.model.embedding.tokens.state_dict()["weight"].dtype == torch.float16, "which loses nothing"
    for found in (imported, converted):
        assert_same_logits(found.model, reference, source_ids, fed)


def test_the_same_translations_as_generate(tmp_path: Path, parallel_text: Pairs) -> None:
    """Beam 4, to several languages, of which the model is not sure."""
    pairs = short_pairs(parallel_text)
    reference = write_model(tmp_path / "model", pairs, steps=50, init_std=0.05)
    cli.main(["convert", str(tmp_path / "model"), str(tmp_path / "out.safetensors")])
    translator = Translator.from_checkpoint(tmp_path / "out.safetensors")
    tokenizer = transformers.M2M100Tokenizer.from_pretrained(tmp_path / "model")
    generated: list[list[list[int]]] = []
    for direction, (source, target) in enumerate(DIRECTIONS):
        tokenizer.src_lang = source
        batch = tokenizer([text for text, _ in pairs[direction::3]], return_tensors="pt", padding=True)
        with torch.inference_mode():
            generated.append(reference.generate(**batch, forced_bos_token_id=tokenizer.get_lang_id(target)).tolist())
    prefixes = ("", ">>fr<< ", ">>de<< >>ru<<")
    texts = [prefixes[number % 3] + text for number, (text, _) in enumerate(pairs)]
    translations = translator.translate_batch(texts, beam_size=4, length_penalty=1.0)
    for number, (text, found) in enumerate(zip(texts, translations, strict=True)):
        source, target = DIRECTIONS[number % 3]
        ids = without_padding(generated[number % 3][number // 3], tokenizer.eos_token_id)
        assert [2, *found.hypotheses[0].token_ids] == ids
        words = [token_id for token_id in ids if token_id not in tokenizer.id_to_lang_token]
        assert found.text == tokenizer.decode(words, skip_special_tokens=True)
        if number < len(DIRECTIONS):
            _, explanation = explained(translator, text, beam_size=4, length_penalty=1.0)
            assert explanation.source_tokens[0] == f"__{source}__"
            assert explanation.predicted_tokens[0] == f"__{target}__"
            assert all(check.passed for check in check_explanation(translator, explanation, found.hypotheses[0]))
            scored = translator.score(text, found.hypotheses[0].token_ids, length_penalty=1.0)
            assert scored.score == pytest.approx(found.hypotheses[0].score, abs=1e-4)


def test_the_same_tokens_as_m2m100(original: Path, parallel_text: Pairs) -> None:
    found, reference = import_checkpoint(original).tokenizer, transformers.M2M100Tokenizer.from_pretrained(original)
    texts = ["A dog runs.", "“Where,” she said …", "unknown: ☃ 東京", "5 % – or 1\u00a0000 « francs »!"]
    for text in [*texts, *(source for source, _ in parallel_text)]:
        assert found.encode(text) == reference(text).input_ids[:-1], text
    reference.src_lang = "fr"
    assert found.encode(">>fr<< >>ru<< A dog.") == reference("A dog.").input_ids[:-1]
    assert found.first_target_id(">>fr<< >>ru<< A dog.") == reference.get_lang_id("ru")
    for _, text in parallel_text:
        ids = reference(text_target=text).input_ids
        assert [found.first_target_id("A dog."), *found.target.encode(text)] == ids[:-1]
        assert found.target.decode(ids) == reference.decode(ids[1:], skip_special_tokens=True)
    assert len(found.language_codes) == 100
    with pytest.raises(ValueError, match=r"^>>xyz<< is not a language of this model: begin with one of >>af<<, >>am<<"):
        found.encode(">>xyz<< A dog.")


def test_the_same_tokens_as_nllb(nllb: Path, parallel_text: Pairs) -> None:
    found = import_checkpoint(nllb).tokenizer
    processor = SentencePieceProcessor(model_file=str(nllb / "sentencepiece.bpe.model"))
    merges = [
        (first, second)
        for piece in map(processor.id_to_piece, range(3, processor.vocab_size()))
        for first, second in [(piece[:cut], piece[cut:]) for cut in range(1, len(piece))]
        if processor.piece_to_id(first) and processor.piece_to_id(second)
    ]
    vocabulary = {found.piece(token_id): token_id for token_id in range(found.vocab_size)}
    reference = transformers.NllbTokenizer(
        vocabulary, merges, extra_special_tokens=list(NLLB_LANGUAGES), src_lang="eng_Latn"
    )
    for text, _ in parallel_text:
        assert found.encode(text) == reference(text).input_ids[:-1], text
    assert found.language_codes == (">>deu_Latn<<", ">>eng_Latn<<", ">>fra_Latn<<")
    assert found.piece(found.first_target_id(">>fra_Latn<< A dog.") or 0) == "fra_Latn"
    assert found.piece(found.vocab_size - 3) == "<mask>"


def test_the_forced_first_token_is_the_default_language(copy: Path) -> None:
    change_json(copy / "generation_config.json", {"forced_bos_token_id": 160})
    checkpoint = import_checkpoint(copy)
    assert checkpoint.config.forced_first_id is None
    assert checkpoint.tokenizer.first_target_id("A dog.") == 160
    facts = model_facts(checkpoint.model, checkpoint.tokenizer, checkpoint.training)
    assert facts["first token"] == f"the language: {checkpoint.tokenizer.piece(160)}, or the one that a text names"


def test_half_precision_is_kept(tmp_path: Path, parallel_text: Pairs, capsys: pytest.CaptureFixture[str]) -> None:
    write_model(tmp_path / "model", parallel_text, nllb=True, dtype=torch.float16)
    out = tmp_path / "out.safetensors"
    assert_converted(tmp_path / "model", out)
    assert "target languages      >>deu_Latn<<, >>eng_Latn<<, >>fra_Latn<<" in capsys.readouterr().out
    assert {each.dtype for name, each in load_file(out).items() if name != "tokenizer.model"} == {torch.float16}


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("config.json", {"tie_word_embeddings": False}, r"tie_word_embeddings is False, and Headlight imports only"),
        ("config.json", {"vocab_size": 5}, r"vocab.json: the id of .* is 5, expected an integer from 0 to 4"),
        ("config.json", {"vocab_size": 200}, r"has \d+ pieces with the languages, config.json a vocab_size of 200: th"),
        ("tokenizer_config.json", {"language_codes": "x"}, r"language_codes is 'x', expected m2m100 or wmt21"),
        ("tokenizer_config.json", {"legacy_behaviour": True}, r"legacy_behaviour is True, and Headlight imports only"),
        ("vocab.json", {"__en__": 20}, r"vocab.json: .* and '__en__' have the same id"),
    ],
)
def test_what_cannot_be_imported_is_refused(name: str, values: dict[str, Any], message: str, copy: Path) -> None:
    change_json(copy / name, values)
    assert_refused(copy, message)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, r"neither tokenizer_config.json nor special_tokens_map.json has the list additional_special_tokens"),
        ({"additional_special_tokens": ["<mask>"]}, r"has the list additional_special_tokens of the model's languages"),
        ({"additional_special_tokens": [5]}, r"additional_special_tokens has 5, expected texts"),
        ({"additional_special_tokens": ["../x"]}, r"source_language is '../x', expected the code of a language"),
        ({"additional_special_tokens": ["de", "de"]}, r"the piece 'de' occurs twice"),
    ],
)
def test_lists_of_languages_that_are_none(values: dict[str, Any], message: str, nllb: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(nllb, tmp_path / "model"))
    (copy / "special_tokens_map.json").write_text(json.dumps(values))
    assert_refused(copy, message)


def test_nllb_as_transformers_5_saves_it(nllb: Path, tmp_path: Path, parallel_text: Pairs) -> None:
    reference = save_tokenizer_json(nllb, tmp_path / "model")
    found, before = import_checkpoint(tmp_path / "model"), import_checkpoint(nllb)
    assert found.config == before.config
    assert found.tokenizer.language_codes == (">>deu_Latn<<", ">>eng_Latn<<", ">>fra_Latn<<")
    for text in [
        "A dog runs.",
        "\ufb01ne \u00bd",
        "unknown: \u2603\u2603 \u6771\u4eac",
        "5 % – or 1\u00a0000",
        *sum(parallel_text, ()),
    ]:
        assert found.tokenizer.encode(text) == reference(text).input_ids[:-1], text
        assert found.tokenizer.encode(text) == before.tokenizer.encode(text), text
        ids = found.tokenizer.target.encode(text)
        assert found.tokenizer.target.decode(ids) == before.tokenizer.target.decode(ids)
    assert found.tokenizer.piece(found.tokenizer.first_target_id(">>fra_Latn<< A dog.") or 0) == "fra_Latn"


def test_a_merge_twice_of_which_another_piece_stands_between(nllb: Path, tmp_path: Path) -> None:
    save_tokenizer_json(nllb, tmp_path / "model")
    path = tmp_path / "model" / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"]["merges"].append(content["model"]["merges"][0])
    path.write_text(json.dumps(content))
    assert_refused(tmp_path / "model", r"tokenizer.json: merges make '.*' at 0 and again at \d+, which no Sent")


@pytest.mark.parametrize(
    ("part", "values", "message"),
    [
        ("model", {"type": "Unigram"}, r"model: type is 'Unigram', and Headlight reads only 'BPE' for these models: g"),
        ("model", {"byte_fallback": True}, r"model: byte_fallback is True, expected False: give the SentencePiece mod"),
        ("model", {"merges": [["a", "\u2603"]]}, r"merges has \['a', '.'\], expected two pieces that make a third$"),
        ("model", {"vocab": {"a": 0, "b": 0}}, r"'b' have the same id|expected an integer"),
        ("", {"added_tokens": [5]}, r"tokenizer.json: added_tokens has 5, expected tokens with their ids$"),
        ("", {"added_tokens": None}, r"tokenizer.json: added_tokens has None, expected tokens with their ids$"),
    ],
)
def test_a_tokenizer_json_that_is_none_of_nllb(
    part: str, values: dict[str, Any], message: str, nllb: Path, tmp_path: Path
) -> None:
    save_tokenizer_json(nllb, tmp_path / "model")
    path = tmp_path / "model" / "tokenizer.json"
    content = json.loads(path.read_text())
    (content[part] if part else content).update(values)
    path.write_text(json.dumps(content))
    assert_refused(tmp_path / "model", message)


@pytest.mark.parametrize("has_sentencepiece", [False, True])
def test_a_tokenizer_that_was_saved_without_languages(has_sentencepiece: bool, nllb: Path, tmp_path: Path) -> None:
    """As transformers 5 saves one that it has read from sentencepiece.bpe.model alone."""
    folder = tmp_path / "model"
    save_tokenizer_json(nllb, folder)
    content = json.loads((folder / "tokenizer.json").read_text())
    content["added_tokens"] = [each for each in content["added_tokens"] if each["content"] not in NLLB_LANGUAGES]
    (folder / "tokenizer.json").write_text(json.dumps(content))
    (folder / "tokenizer_config.json").write_text(json.dumps({"extra_special_tokens": ["<s>", "</s>"]}))
    if has_sentencepiece:
        shutil.copy(nllb / "sentencepiece.bpe.model", folder)
    expected = (
        r"^model: the tokenizer was saved without the languages of the model: tokenizer.json has none among its add"
    )
    assert_refused(folder, expected)


def test_a_folder_without_a_tokenizer(nllb: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(nllb, tmp_path / "model"))
    (copy / "sentencepiece.bpe.model").unlink()
    expected = (
        r"^model: sentencepiece.bpe.model is missing, and there is no tokenizer.json of NLLB in its place: give the"
    )
    assert_refused(copy, expected)


@pytest.mark.parametrize("by_code", [False, True])
def test_small_100_begins_a_source_with_the_language_of_the_target(by_code: bool, tmp_path: Path, parallel_text: Pairs):
    """The same tokens and log-probabilities as transformers, whose source begins as SMaLL-100's."""
    reference = write_model(tmp_path / "model", parallel_text)
    settings: dict[str, Any] = {"tgt_lang": "fr", "language_codes": "m2m100"}
    if by_code:
        (tmp_path / "model" / "tokenization_small100.py").write_text("raise SystemExit")
    else:
        settings["tokenizer_class"] = "SMALL100Tokenizer"
    (tmp_path / "model" / "tokenizer_config.json").write_text(json.dumps(settings))
    cli.main(["convert", str(tmp_path / "model"), str(tmp_path / "out.safetensors")])
    translator = Translator.from_checkpoint(tmp_path / "out.safetensors")
    tokenizer = transformers.M2M100Tokenizer.from_pretrained(tmp_path / "model")
    for text, language in (("A dog runs.", "fr"), (">>de<< A dog runs.", "de"), (">>en<< >>ru<< A dog runs.", "ru")):
        tokenizer.src_lang = language
        batch = tokenizer("A dog runs.", return_tensors="pt")
        assert translator.tokenizer.encode(text) == batch.input_ids[0, :-1].tolist()
        assert translator.tokenizer.first_target_id(text) is None
        target = [*tokenizer("Ein Hund.", add_special_tokens=False).input_ids, 2]
        with torch.inference_mode():
            logits = reference(**batch, decoder_input_ids=torch.tensor([[2, *target[:-1]]])).logits[0]
        expected = logits.log_softmax(-1)[range(len(target)), target]
        assert translator.score(text, target).token_log_probs == pytest.approx(expected.tolist(), abs=1e-4)


def test_small_100_translates_to_english_by_default(copy: Path) -> None:
    (copy / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "SMALL100Tokenizer", "tgt_lang": None}))
    tokenizer = import_checkpoint(copy).tokenizer
    assert tokenizer.piece(tokenizer.encode("A dog.")[0]) == "__en__"


def test_a_forced_end_is_listed_as_not_applied(copy: Path) -> None:
    change_json(copy / "generation_config.json", {"forced_eos_token_id": 2})
    assert import_checkpoint(copy).training["imported"]["options not applied"] == ["forced_eos_token_id"]
