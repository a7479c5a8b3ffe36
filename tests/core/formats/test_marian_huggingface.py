"""Marian models of Hugging Face against transformers."""

from __future__ import annotations

import json
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from core.cli import commands as cli
from core.export.attention_arrays import arrays_of_outputs, explanation_of_arrays
from core.formats.importing import import_checkpoint
from core.formats.opening import content_digest
from core.formats.progress import reporting
from core.text.byte_pieces import is_special
from core.text.marian_tokenizer import MarianTokenizer
from core.translator import Translator
from tests.core.formats import small_models
from tests.core.formats.marian_models import Pairs, short_pairs, without_padding, write_model
from tests.lazy_imports import transformers

SHAPES: dict[str, dict[str, Any]] = {
    "opus": {"encoder_layers": 2, "decoder_layers": 2, "dtype": torch.float16},
    "tc-big": {
        "activation_function": "relu",
        "d_model": 64,
        "encoder_attention_heads": 8,
        "encoder_ffn_dim": 96,
        "dtype": torch.bfloat16,
    },
    "tiny": {"encoder_layers": 3, "decoder_attention_heads": 2, "decoder_ffn_dim": 40, "scale_embedding": False},
    "two vocabularies": {"two": True},
    "untied": {"two": True, "tie_word_embeddings": False, "activation_function": "gelu"},
}
CODES = [">>deu<<", ">>fra<<"]
write = partial(write_model, encoder_layers=2)  # of the fixture `original`


@pytest.fixture(scope="module")
def with_codes(tmp_path_factory: pytest.TempPathFactory, parallel_text: Pairs) -> Path:
    """A small model for two target languages. Do not modify it."""
    folder = tmp_path_factory.mktemp("codes") / "opus-mt-en-gmw"
    write_model(folder, parallel_text, codes=CODES)
    return folder


def change(copy: Path, name: str, **values: Any) -> None:
    """Change values in a JSON file; None removes one."""
    fields = json.loads((copy / name).read_text()) | values
    (copy / name).write_text(json.dumps({key: value for key, value in fields.items() if value is not None}))


def both_ids(
    reference: transformers.MarianMTModel, tokenizer: transformers.MarianTokenizer, pair: tuple[str, str]
) -> tuple[torch.Tensor, torch.Tensor]:
    """What the encoder and the decoder get."""
    target = tokenizer(text_target=pair[1]).input_ids
    fed = torch.tensor([[reference.config.decoder_start_token_id, *target[:-1]]])
    return tokenizer(pair[0], return_tensors="pt").input_ids, fed


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_logits_as_transformers(shape: str, tmp_path: Path, parallel_text: Pairs) -> None:
    folder = tmp_path / "model"
    reference = write_model(folder, parallel_text, **SHAPES[shape])
    found, tokenizer = import_checkpoint(folder), transformers.MarianTokenizer.from_pretrained(folder)
    for pair in parallel_text[:6]:
        small_models.assert_same_logits(found.model, reference, *both_ids(reference, tokenizer, pair))


def test_the_same_translations_as_generate(tmp_path: Path, parallel_text: Pairs) -> None:
    """Beam 4, with the settings of generation_config.json; trained so that ties do not decide."""
    pairs = short_pairs(parallel_text)
    reference = write_model(tmp_path / "model", pairs, steps=25, init_std=0.05)
    cli.main(["convert", str(tmp_path / "model"), str(tmp_path / "out.safetensors")])
    translator = Translator.from_checkpoint(tmp_path / "out.safetensors")
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path / "model")
    texts = [text for text, _ in pairs[: small_models.LEARNED]]
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    with torch.inference_mode():
        expected = [without_padding(ids, tokenizer.eos_token_id) for ids in reference.generate(**batch).tolist()]
    translations = translator.translate_batch(texts, beam_size=4, length_penalty=1.0)
    for found, ids in zip(translations, expected, strict=True):
        assert [reference.config.decoder_start_token_id, *found.hypotheses[0].token_ids] == ids
        assert found.text == tokenizer.decode(ids, skip_special_tokens=True)


def test_a_language_code_is_for_every_sentence_of_a_text(with_codes: Path) -> None:
    translator = small_models.imported(with_codes)
    found = translator.translate_text(">>fra<< It rains. Where?", beam_size=1)
    assert [sentence.source_tokens[0] for sentence in found.sentences] == [">>fra<<", ">>fra<<"]
    for text, num_codes in ((">>fra<< It rains.", 1), ("It rains.", 0)):
        assert sum(map(is_special, translator.codec.source_pieces(translator.codec.source_ids(text)))) == num_codes + 1


def test_lines_without_a_language_code_are_noted_once(
    with_codes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["inspect", str(with_codes)])
    assert "options not applied  none" in capsys.readouterr().out
    cli.main(["convert", str(with_codes), str(tmp_path / "out.safetensors")])
    command = ["translate", "--checkpoint", str(tmp_path / "out.safetensors"), "--input", str(tmp_path / "lines")]
    note = "some lines name none: begin them with one of >>deu<<, >>fra<<"
    for text, count in ((">>fra<< It rains.\n\n", 0), (">>fra<< It rains.\nWhere?\nWho?\n", 1)):
        (tmp_path / "lines").write_text(text)
        capsys.readouterr()
        assert cli.main([*command, "--beam-size", "1"]) == 0
        assert capsys.readouterr().err.count(note) == count


@pytest.mark.parametrize("two", [False, True])
def test_the_same_tokens_as_transformers(two: bool, with_codes: Path, tmp_path: Path, parallel_text: Pairs) -> None:
    if two:
        write_model(tmp_path, parallel_text, codes=CODES, two=True)
    folder = tmp_path if two else with_codes
    found, reference = import_checkpoint(folder).tokenizer, transformers.MarianTokenizer.from_pretrained(folder)
    texts = [
        "A dog runs.",
        "“Where,” she said, ‘is the nearest station…’",
        "It costs 5 % – or 1\u00a0000 « francs »!",
        "unknown: ☃ 東京",
        "a  b\tc",
        ">>deu<< The sea.",
        ">>fra<<The sea.",
    ]
    settings = {**json.loads((folder / "tokenizer_config.json").read_bytes()), "normalize_punctuation": True}
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    files["tokenizer_config.json"] = json.dumps(settings).encode()
    normalising = MarianTokenizer(files, found.vocab_size, found.target.vocab_size, found.bos_id)
    for text in texts:
        assert found.encode(text) == reference(text).input_ids[:-1], text
        assert normalising.encode(text) == reference(reference.normalize(text)).input_ids[:-1], text
    assert any(found.encode(text) != normalising.encode(text) for text in texts)
    for _, text in parallel_text:
        ids = reference(text_target=text).input_ids
        assert found.target.encode(text) == ids[:-1]
        assert found.target.decode(ids) == reference.decode(ids, skip_special_tokens=True)
        assert [found.target.piece(token_id) for token_id in ids[:-1]] == [
            found.target.piece(found.target.token_id(found.target.piece(token_id))) for token_id in ids[:-1]
        ]
    assert found.language_codes == (">>deu<<", ">>fra<<")
    with pytest.raises(ValueError, match=r"^>>xyz<< is not a target language of this model: begin with one of >>deu<<"):
        found.encode(">>xyz<< The sea.")


def test_one_model_has_one_digest_whatever_holds_it(original: Path, copy: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README.md", "about it")
        for path in original.iterdir():
            archive.write(path, f"model/{path.name}")
    sources = (original, tmp_path / "model.zip", list(original.iterdir()))
    digests = {content_digest(import_checkpoint(source)) for source in sources}
    assert len(digests) == 1
    change(copy, "config.json", activation_function="relu")
    assert content_digest(import_checkpoint(copy)) not in digests


def test_progress_is_the_share_of_the_weights_that_has_been_read(original: Path) -> None:
    shares: list[float] = []
    with reporting(shares.append):
        import_checkpoint(original)
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert 0.5 < shares[-1] <= 1
    count = len(shares)
    import_checkpoint(original)
    assert len(shares) == count, "nothing is reported outside the block"


def test_attention_of_transformers_is_that_of_the_imported_model(original: Path, parallel_text: Pairs) -> None:
    source, target = parallel_text[0]
    reference = transformers.MarianMTModel.from_pretrained(original, attn_implementation="eager").eval()
    translator = small_models.imported(original)
    expected = translator.explain(source, target)
    source_ids, fed, _ = translator.token_ids(source, target)
    with torch.inference_mode():
        outputs = reference(
            input_ids=torch.tensor([source_ids]), decoder_input_ids=torch.tensor([fed]), output_attentions=True
        )
    tokens = [*expected.fed_tokens, expected.predicted_tokens[-1]]
    explanation = explanation_of_arrays(arrays_of_outputs(outputs, expected.source_tokens, tokens))
    assert explanation.source_tokens == expected.source_tokens
    assert (explanation.fed_tokens, explanation.predicted_tokens) == (expected.fed_tokens, expected.predicted_tokens)
    for kind, layers in expected.maps.items():
        for ours, theirs in zip(layers, explanation.maps[kind], strict=True):
            torch.testing.assert_close(ours.weights, theirs.weights, rtol=0, atol=1e-4)
            assert (ours.key_tokens, ours.query_tokens) == (theirs.key_tokens, theirs.query_tokens)


def test_a_converted_file_is_the_same_model(original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.safetensors"
    small_models.assert_converted(original, out)
    report = capsys.readouterr().out
    assert "Marian (OPUS-MT) in Hugging Face's layout" in report
    assert "sinusoidal, all sines before all cosines, exponent i/n" in report
    _, explanation = small_models.explained(Translator.from_checkpoint(out), "The old house.")
    assert explanation.fed_tokens[0] == "<pad>"
    assert cli.main(["inspect", str(out)]) == 0
    assert "position_order" in capsys.readouterr().out


def test_the_parameters_of_untied_matrices_are_counted(
    tmp_path: Path, parallel_text: Pairs, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = write_model(tmp_path / "model", parallel_text, **SHAPES["untied"])
    assert cli.main(["inspect", str(tmp_path / "model")]) == 0
    lines = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    shown = {line[1].strip(): line[-1].strip() for line in lines if len(line) > 2}
    assert shown["target embedding"] == f"{reference.model.decoder.embed_tokens.weight.numel():,}"
    assert shown["output projection"] == f"{reference.lm_head.weight.numel():,}"


@pytest.mark.parametrize("legacy", [False, True])
def test_a_pytorch_file_is_the_same(legacy: bool, original: Path, copy: Path) -> None:
    state = load_file(copy / "model.safetensors")
    (copy / "model.safetensors").unlink()
    shared = state["model.shared.weight"]  # older files have all copies, and the table of positions
    state |= {f"model.{stack}.embed_tokens.weight": shared for stack in ("encoder", "decoder")}
    state["lm_head.weight"] = shared
    positions = (
        transformers.MarianMTModel.from_pretrained(original).model.encoder.embed_positions.weight.detach().clone()
    )
    state["model.encoder.embed_positions.weight"] = positions
    torch.save(state, copy / "pytorch_model.bin", _use_new_zipfile_serialization=not legacy)
    found, expected = import_checkpoint(copy), import_checkpoint(original)
    for name, parameter in expected.model.named_parameters():
        assert torch.equal(found.model.get_parameter(name), parameter)
    state["lm_head.weight"] = shared + 1
    torch.save(state, copy / "pytorch_model.bin")
    small_models.assert_refused(copy, r"model.shared.weight and lm_head.weight differ, but config.json says that")
    state["lm_head.weight"], positions[5] = shared, 0.5
    torch.save(state, copy / "pytorch_model.bin")
    small_models.assert_refused(copy, r"encoder.embed_positions.weight is not the table of sines and cosines")


def test_probabilities_of_excluded_tokens_can_be_shared_out(copy: Path, parallel_text: Pairs) -> None:
    pad = json.loads((copy / "config.json").read_text())["pad_token_id"]
    change(copy, "generation_config.json", renormalize_logits=True, bad_words_ids=[[7], [pad]])
    found, reference = import_checkpoint(copy), transformers.MarianMTModel.from_pretrained(copy).eval()
    assert found.config.never_ids == (7,)
    tokenizer = transformers.MarianTokenizer.from_pretrained(copy)
    source_ids, fed = both_ids(reference, tokenizer, parallel_text[0])
    with torch.inference_mode():
        ours, theirs = found.model(source_ids, fed), reference(source_ids, decoder_input_ids=fed).logits
    theirs = theirs.clone().index_fill(-1, torch.tensor([7, pad]), -torch.inf)
    kept = [token_id for token_id in range(theirs.size(-1)) if token_id not in (7, pad)]
    torch.testing.assert_close(ours.log_softmax(-1)[..., kept], theirs.log_softmax(-1)[..., kept], rtol=0, atol=1e-4)
    assert ours.softmax(-1)[..., [7, pad]].max() == 0


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("config.json", {"normalize_before": True}, r"normalize_before is True, and Headlight imports only models wit"),
        ("config.json", {"static_position_embeddings": False}, r"static_position_embeddings is False, and Headlight"),
        ("config.json", {"activation_function": "gelu_fast"}, r"activation_function is 'gelu_fast', expected one of r"),
        ("config.json", {"d_model": "32"}, r"config.json: d_model is '32', expected an integer"),
        ("config.json", {"d_model": 33}, r"config.json: d_model \(33\) must be divisible by num_heads \(4\)"),
        ("config.json", {"d_model": 10**30}, r"config.json: d_model \(10+\) must be at most 8192"),
        ("config.json", {"vocab_size": None}, r"config.json has no vocab_size: expected an integer"),
        ("config.json", {"pad_token_id": 0}, r"config.json: pad_id \(0\) and eos_id \(0\) must differ"),
        ("config.json", {"eos_token_id": "x"}, r"config.json: eos_token_id is 'x', expected one token id"),
        ("generation_config.json", {"eos_token_id": [0, 5]}, r"eos_token_id is \[0, 5\], expected one token id"),
        ("generation_config.json", {"eos_token_id": 5}, r"the vocabulary has eos_id 0, config.json 5: they are of dif"),
        ("generation_config.json", {"bad_words_ids": [[1, 2]]}, r"bad_words_ids is \[\[1, 2\]\], and Headlight can ex"),
        ("generation_config.json", {"bad_words_ids": [[10**9]]}, r"never_ids \(1000000000\) must be an integer from 0"),
        ("config.json", {"encoder_layers": 3}, r"missing \(16\): model.encoder.layers.2.fc1.bias; .*; \.\.\.$"),
        ("config.json", {"encoder_layers": 1}, r"unexpected \(16\): model.encoder.layers.1.fc1.bias; "),
        ("config.json", {"encoder_ffn_dim": 60}, r"of another shape \(6\): model.encoder.layers.0.fc1.bias: \[64\], e"),
        ("config.json", {"model_type": "led"}, r"model_type is 'led', which Headlight does not import. For"),
        ("vocab.json", {"<pad>": None}, r"vocab.json: it has no <pad>, which every model needs"),
        ("vocab.json", {"<pad>": 10**6}, r"vocab.json: the id of '<pad>' is 1000000, expected an integer from 0 to"),
        ("vocab.json", {"<pad>": 0}, r"vocab.json: two pieces have the same id"),
        ("vocab.json", {"x" * 600: 5}, r"vocab.json: the piece 'x+ has 600 characters, at most 512 are read"),
        ("vocab.json", {"\ud800": 5}, r"vocab.json: the piece '\\ud800' has a lone surrogate"),
    ],
)
def test_what_cannot_be_imported_is_refused(name: str, values: dict[str, Any], message: str, copy: Path) -> None:
    change(copy, name, **values)
    small_models.assert_refused(copy, message)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("config.json", b'{"a":' * 800_000, r"config.json is not JSON: it is nested too deeply"),
        ("config.json", b'{"model_type": "marian", "d_model": 1, "d_model": 2}', r"the key 'd_model' occurs twice"),
        ("vocab.json", b"[" * 1_000_000, r"vocab.json: it is nested too deeply"),
        ("source.spm", b"not a model", r"source.spm: not a SentencePiece model \(11 bytes\)"),
        ("target.spm", b"", r"target.spm: not a SentencePiece model \(0 bytes\): it is empty"),
        ("tokenizer_config.json", b"[]", r"tokenizer_config.json: it is a list, expected a JSON object"),
        ("model.safetensors", b"", r"model.safetensors is cut off, damaged or not a PyTorch file"),
        ("source.spm", None, r"source.spm is missing: give the tokenizer's files too"),
        ("model.safetensors", None, r"has no weights: expected model.safetensors or pytorch_model.bin"),
    ],
)
def test_damaged_files_are_refused(name: str, data: bytes | None, message: str, copy: Path) -> None:
    (copy / name).unlink()
    if data is not None:
        (copy / name).write_bytes(data)
    small_models.assert_refused(copy, message)


def test_weights_are_finite(copy: Path) -> None:
    state = load_file(copy / "model.safetensors")
    state["model.shared.weight"][3, 4] = torch.nan
    save_file(state, copy / "model.safetensors")
    small_models.assert_refused(copy, r"embedding.tokens.weight has 1 values that are not finite")
