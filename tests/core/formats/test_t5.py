"""T5 and its descendants against transformers."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from core.analysis.sanity_checks import check_explanation
from core.analysis.unseen_characters import Alphabet
from core.cli import commands as cli
from core.formats.importing import import_checkpoint
from core.formats.model_facts import model_facts
from core.inference.cpu_inference import computation
from core.translator import Translator
from tests.core.formats.marian_models import short_pairs, without_padding
from tests.core.formats.small_models import assert_converted, assert_refused, assert_same_logits, change_json
from tests.core.formats.t5_models import MADLAD, PREFIX, TASKS, V1_1, Pairs, tokenizer_of, write_model, zipped
from tests.lazy_imports import transformers

SHAPES: dict[str, dict[str, Any]] = {
    "t5": {"num_layers": 2},
    "v1.1": V1_1,
    "mt5": {"kind": "mt5", "feed_forward_proj": "gated-gelu", "num_decoder_layers": 3},
    "umt5": {"kind": "umt5", "num_layers": 2, "num_decoder_layers": 3, "num_heads": 2},
    "tied_v1.1": {"feed_forward_proj": "gated-silu", "relative_attention_num_buckets": 8, "d_kv": 16},
}
write = partial(write_model, tasks=TASKS)  # of the fixture `original`


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_same_logits_as_transformers(shape: dict[str, Any], tmp_path: Path, parallel_text: Pairs) -> None:
    """Also from a zip archive with the pickled file of weights, and of texts longer than distances with own classes."""
    reference = write_model(tmp_path / "model", parallel_text, **shape)
    found, tokenizer = (
        import_checkpoint(tmp_path / "model"),
        transformers.T5Tokenizer.from_pretrained(tmp_path / "model"),
    )
    torch.save(load_file(tmp_path / "model" / "model.safetensors"), tmp_path / "model" / "pytorch_model.bin")
    (tmp_path / "model" / "model.safetensors").unlink()
    packed = import_checkpoint(zipped(tmp_path / "model"))
    assert found.config.tied == ("inputs" if "tie_word_embeddings" in shape or shape.get("kind") == "mt5" else "all")
    texts = [*parallel_text[:5], (" ".join(source for source, _ in parallel_text[:6]), parallel_text[0][1] * 6)]
    for source, target in texts:
        source_ids = tokenizer(source, return_tensors="pt").input_ids
        fed = torch.tensor([[0, *tokenizer(target).input_ids[:-1]]])
        for model in (found.model, packed.model):
            assert_same_logits(model, reference, source_ids, fed)
    assert source_ids.size(1) > 128


def test_as_version_5_of_transformers_saves_them(tmp_path: Path, parallel_text: Pairs) -> None:
    """With `scale_decoder_outputs` in place of `tie_word_embeddings`, and tokenizer.json in place of spiece.model."""
    write_model(tmp_path / "model", parallel_text, **V1_1)
    reference = transformers.T5ForConditionalGeneration.from_pretrained(tmp_path / "model").eval()
    tokenizer = transformers.T5Tokenizer.from_pretrained(tmp_path / "model")
    reference.save_pretrained(tmp_path / "again")
    tokenizer.save_pretrained(tmp_path / "again")
    assert not (tmp_path / "again" / "spiece.model").exists()
    settings = json.loads((tmp_path / "again" / "config.json").read_text())
    assert (settings["scale_decoder_outputs"], settings["tie_word_embeddings"]) == (False, True)
    one, other = import_checkpoint(tmp_path / "model"), import_checkpoint(tmp_path / "again")
    ids = torch.tensor([[5, 9, 23, 1]]), torch.tensor([[0, 8, 30]])
    assert torch.equal(one.model(*ids), other.model(*ids))
    assert one.config == other.config
    texts = [
        "unknown: ☃ 東京",
        "5 %  –  or 1\u00a0000 « ﬁn »!",
        "<extra_id_3> </s>",
        *(text for pair in parallel_text for text in pair),
    ]
    for text in texts:
        assert other.tokenizer.encode(text) == one.tokenizer.encode(text), text
        assert other.tokenizer.decode(one.tokenizer.encode(text)) == one.tokenizer.decode(one.tokenizer.encode(text))
    for text in texts[3:]:
        assert other.tokenizer.encode(text) == tokenizer(text).input_ids[:-1], text


@pytest.mark.parametrize(
    ("kind", "prefix", "changes", "never"),
    [
        ("t5", PREFIX, {"tasks": TASKS}, [[0]]),
        ("umt5", "", {}, [[0]]),
        ("byt5", "", V1_1, [[0]]),
        ("madlad", "<2de> ", MADLAD, [[0], [1]]),
    ],
)
def test_the_same_translations_as_generate(
    kind: str, prefix: str, changes: dict[str, Any], never: list[list[int]], tmp_path: Path, parallel_text: Pairs
) -> None:
    """Beam 4, of which the model is not sure; after `convert`, with the prefix of the task or the tag."""
    pairs = [(" ".join(one.split()[:2]), " ".join(other.split()[:2])) for one, other in short_pairs(parallel_text)]
    reference = write_model(tmp_path / "model", pairs, steps=50, kind=kind, prefix=prefix, **changes)
    cli.main(["convert", str(tmp_path / "model"), str(tmp_path / "out.safetensors")])
    translator = Translator.from_checkpoint(tmp_path / "out.safetensors")
    tokenizer, start, end = tokenizer_of(tmp_path / "model", kind), translator.config.bos_id, translator.config.eos_id
    texts = [text for text, _ in pairs]
    batch = tokenizer([prefix + text for text in texts], return_tensors="pt", padding=True)
    with torch.inference_mode():  # Headlight never generates padding and the start; trained models do not either
        found = reference.generate(**batch, num_beams=4, max_new_tokens=60, bad_words_ids=never).tolist()
    translations = translator.translate_batch(texts, beam_size=4, length_penalty=1.0, num_hypotheses=1)
    for text, source, ids, ours in zip(texts, batch.input_ids.tolist(), found, translations, strict=True):
        assert [*translator.tokenizer.encode(text), end] == without_padding(source, end)
        assert [start, *ours.hypotheses[0].token_ids] == without_padding(ids, end), text
        assert ours.text == tokenizer.decode(ids, skip_special_tokens=True)
    if kind == "byt5":
        assert Alphabet(translator.tokenizer).unseen("Straße, 東京 🐕") == ()
    if kind == "madlad":
        assert translator.tokenizer.language_codes == (">>fr<<", ">>de<<", ">>zh_Latn<<")
        assert translator.tokenizer.encode(">>fr<< A dog.") == translator.tokenizer.encode("<2fr> A dog.")
    if kind != "t5":
        return
    assert len({ours.text for ours in translations}) > len(pairs) / 2
    one = translator.translate(texts[0], beam_size=4, length_penalty=1.0)
    assert one.hypotheses[0].token_ids == translations[0].hypotheses[0].token_ids
    explanation = translator.explain(texts[0], one.hypotheses[0].token_ids)
    assert "".join(explanation.source_tokens).startswith("▁translate")
    assert all(check.passed for check in check_explanation(translator, explanation, one.hypotheses[0]))
    assert computation(translator.model).startswith("PyTorch, as it has relative positions, RMSNorm")


def test_the_tasks_are_languages_and_their_prefixes_come_before_a_text(original: Path) -> None:
    checkpoint, reference = import_checkpoint(original), transformers.T5Tokenizer.from_pretrained(original)
    encode = checkpoint.tokenizer.encode
    assert checkpoint.tokenizer.language_codes == (">>de<<", ">>fr<<")
    assert checkpoint.tokenizer.languages == ("en", "de")
    german, french = (
        reference(f"translate English to {name}: A dog runs.").input_ids[:-1] for name in ("German", "French")
    )
    assert encode("A dog runs.") == encode(">>de<< A dog runs.") == german
    assert encode(">>fr<< A dog runs.") == encode("translate English to French: A dog runs.") == french
    assert checkpoint.tokenizer.target.encode("A dog runs.") == reference("A dog runs.").input_ids[:-1]
    assert checkpoint.tokenizer.first_target_id(">>fr<< A dog runs.") is None
    with pytest.raises(ValueError, match=r"^>>ro<< is not a language of this model: begin with one of >>de<<, >>fr<<$"):
        encode(">>ro<< A dog runs.")
    facts = model_facts(checkpoint.model, checkpoint.tokenizer, checkpoint.training)
    assert facts["source prefix"] == f'"{PREFIX}", or "translate English to French: "'
    assert facts["norms"] == "RMSNorm, on the input of each sub-layer, and after the last layer"
    assert facts["epsilon of the norms"] == "1e-06"
    assert facts["positions"] == "relative, in self-attention: 32 classes of distances up to 128"
    assert facts["target languages"] == ">>de<<, >>fr<<"


def test_two_tasks_with_one_target_have_codes_of_both_languages(copy: Path) -> None:
    tasks = {"translation_en_to_de": {"prefix": "a: "}, "translation_fr_to_de": {"prefix": "b: "}, "x": 5}
    change_json(copy / "config.json", {"task_specific_params": tasks})
    tokenizer = import_checkpoint(copy).tokenizer
    assert tokenizer.language_codes == (">>de<<", ">>fr_to_de<<")
    assert tokenizer.encode(">>fr_to_de<< A dog.") == tokenizer.encode("b: A dog.")


@pytest.mark.parametrize(
    ("dtype", "d_kv", "kept"), [(torch.float16, 16, torch.float16), (torch.bfloat16, 12, torch.float32)]
)
def test_a_large_model_stays_in_half_precision(
    dtype: torch.dtype,
    d_kv: int,
    kept: torch.dtype,
    tmp_path: Path,
    parallel_text: Pairs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also the matrix of the queries, if sqrt(d_k) is a power of two."""
    monkeypatch.setattr("core.model.half_precision.LARGE", 0)
    reference = write_model(tmp_path / "model", parallel_text, dtype=dtype, d_kv=d_kv, **V1_1)
    model = import_checkpoint(tmp_path / "model").model
    assert model.encoder.layers[0].self_attention.q_proj.state_dict()["weight"].dtype == kept
    assert model.encoder.layers[0].self_attention.k_proj.state_dict()["weight"].dtype == dtype
    assert_same_logits(model, reference, torch.tensor([[9, 5, 6, 7, 1]]), torch.tensor([[0, 8, 11, 30]]))


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("config.json", {"feed_forward_proj": "gated-tanh"}, r"feed_forward_proj is gated-tanh, expected one of relu,"),
        ("config.json", {"feed_forward_proj": "x-y-relu"}, r"feed_forward_proj is x-y-relu, expected one of relu, gel"),
        ("config.json", {"relative_attention_num_buckets": 30}, r"config.json: relative_buckets \(30\) must be divisi"),
        ("config.json", {"is_encoder_decoder": False}, r"is_encoder_decoder is False, and Headlight imports only"),
        ("config.json", {"d_kv": 13}, r"model.safetensors does not fit its configuration. Tensors\nof another shape"),
        ("config.json", {"vocab_size": 20}, r"the vocabulary of spiece.model has \d+ pieces with the extra ids, confi"),
        ("config.json", {"pad_token_id": 3}, r"the vocabulary has pad_id 0, config.json 3: they are of different mode"),
        (
            "config.json",
            {"task_specific_params": {"translation_en_to_../x": {"prefix": "a"}}},
            r"target_language is '../x', expected the code of a language such as 'en'",
        ),
        (
            "config.json",
            {"task_specific_params": {"translation_en_to_de": {"prefix": "a" * 201}}},
            r"the prefix of the language 'de' is 'aaa.*, expected a text of at most 200 characters",
        ),
        ("config.json", {"task_specific_params": 5}, r"task_specific_params is 5, expected options"),
        ("tokenizer_config.json", {"extra_ids": "x"}, r"tokenizer_config.json: extra_ids is 'x', expected an integer"),
    ],
)
def test_what_cannot_be_imported_is_refused(name: str, values: dict[str, Any], message: str, copy: Path) -> None:
    change_json(copy / name, values)
    assert_refused(copy, message)


def test_two_embeddings_are_refused(copy: Path) -> None:
    tensors = load_file(copy / "model.safetensors")
    tensors["encoder.embed_tokens.weight"] = tensors["shared.weight"] + 1
    save_file(tensors, copy / "model.safetensors")
    message = r"shared.weight and encoder.embed_tokens.weight differ, but a T5 model has one embedding for both sides$"
    assert_refused(copy, message)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": {"type": "BPE"}}, r"^tokenizer.json: model: type is 'BPE', and Headlight reads only 'Unigram': giv"),
        ({"model": {"type": "Unigram", "vocab": [["a", True]]}}, r"vocab has \['a', True\], expected pieces with thei"),
        (
            {"model": {"type": "Unigram", "vocab": 5}},
            r"^tokenizer.json: vocab has 5, expected pieces with their scores$",
        ),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "?"}}, r"precompiled_charsmap is not base64: "),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}}, r"not a SentencePiece model"),
        (None, r"spiece.model and tokenizer.json are missing, and tokenizer_class is not ByT5Tokenizer, which has"),
    ],
)
def test_a_tokenizer_json_that_is_none(values: dict[str, Any] | None, message: str, copy: Path) -> None:
    tokenizer = transformers.T5Tokenizer.from_pretrained(copy)
    (copy / "spiece.model").unlink()
    if values is not None:
        whole = json.loads(tokenizer.backend_tokenizer.to_str())
        (copy / "tokenizer.json").write_text(json.dumps(whole | values))
    assert_refused(copy, message)


@pytest.mark.parametrize(
    ("layout", "words"), [("marian", "Hugging Face's layout of Marian"), ("ctranslate2", "CTranslate2's format")]
)
def test_other_layouts_refuse_it_by_name(
    layout: str, words: str, tmp_path: Path, original: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["convert", str(original), str(tmp_path / "out"), "--to", layout]) != 0
    error = capsys.readouterr().err
    assert f"{words} does not support this model" in error
    assert "kind of norm: RMSNorm, expected LayerNorm" in error


def test_a_checkpoint_keeps_what_the_model_is(original: Path, tmp_path: Path) -> None:
    assert_converted(original, tmp_path / "out.safetensors")


def test_a_text_without_a_code_is_for_the_usual_language(
    original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.safetensors"
    cli.main(["convert", str(original), str(out)])
    (tmp_path / "lines").write_text("A dog runs.\n")
    capsys.readouterr()
    assert (
        cli.main(["translate", "--checkpoint", str(out), "--input", str(tmp_path / "lines"), "--beam-size", "1"]) == 0
    )
    assert "some lines name none" not in capsys.readouterr().err  # as for models that need a code
