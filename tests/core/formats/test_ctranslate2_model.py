"""Models of CTranslate2 are read back, and compared with `ctranslate2.Translator`.

`ctranslate2_transliteration` is a published model that others trained, from the tests of CTranslate2
(github.com/OpenNMT/CTranslate2, MIT License): Arabic names in Latin letters, 8-bit weights. See its README.md.
"""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from core.formats.checkpoint import load_checkpoint, save_checkpoint
from core.formats.ctranslate2_binary import read_binary
from core.formats.ctranslate2_folder import save_ctranslate2, write_ctranslate2
from core.formats.importing import import_checkpoint
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.core.formats import bart_models, m2m100_models
from tests.core.formats.ctranslate2_models import PUBLISHED, random_checkpoint, write_ctranslate2_files
from tests.core.formats.marian_models import Pairs, short_pairs, write_model
from tests.core.formats.small_models import LEARNED, assert_refused, imported

NAMES = 30  # names that are transliterated
TOLERANCE = 2e-5  # of log-probabilities with float32; the published model differs by 3e-6


def names() -> list[str]:
    """Random Arabic words of letters that the published model knows."""
    letters = (PUBLISHED / "source_vocabulary.txt").read_text(encoding="utf-8").split()[3:35]
    chance = random.Random(0)
    return ["".join(chance.choices(letters, k=chance.randrange(2, 9))) for _ in range(NAMES)]


def version_1(folder: Path) -> Path:
    """The published model in float32 as version 1 has it, under the names of OpenNMT-tf."""
    weights = read_binary(PUBLISHED / "model.bin", "model.bin").weights()
    content = struct.pack("<II", 1, len(weights.shapes))
    for name, shape in weights.shapes.items():
        old = name.replace("/self_attention", "/multi_head" if name.startswith("encoder") else "/masked_multi_head")
        for new, part in OPENNMT_TF.items():
            old = re.sub(new, part, old)
        content += struct.pack(
            f"<H{len(old) + 15}sB{len(shape)}I", len(old) + 15, f"transformer/{old}:0".encode(), len(shape), *shape
        )
        content += struct.pack("<BI", 4, math.prod(shape)) + weights.get(name).float().numpy().tobytes()
    return changed(folder, "model.bin", content)


OPENNMT_TF = {"/attention": "/multi_head", "embeddings/weight": "w_embs", "weight": "kernel", "layer_norm": "LayerNorm"}
OPENNMT_TF |= {"projection": "dense", "linear_0": "conv1d", "linear_": "conv1d_"}


@pytest.mark.parametrize("version", [1, 2])
def test_the_published_model_gives_the_translations_and_log_probabilities_of_ctranslate2(version: int, tmp_path: Path):
    ctranslate2 = pytest.importorskip("ctranslate2")
    folder = PUBLISHED if version == 2 else version_1(tmp_path / "model")
    peer = ctranslate2.Translator(str(folder), compute_type="float32")  # dequantised as here
    ours = imported(folder)
    found = peer.translate_batch([list(name) for name in names()], beam_size=4, length_penalty=1)
    translations = ours.translate_batch(names(), beam_size=4, length_penalty=1.0)
    for name, translation, other in zip(names(), translations, found, strict=True):
        assert list(translation.hypotheses[0].tokens[:-1]) == other.hypotheses[0]
        (scored,) = peer.score_batch([list(name)], [other.hypotheses[0]])
        assert ours.score(name, translation.text).token_log_probs == pytest.approx(scored.log_probs, abs=TOLERANCE)


def test_the_published_model_needs_no_other_program(tmp_path: Path) -> None:
    checkpoint = import_checkpoint(PUBLISHED)
    ours = Translator(checkpoint.model, checkpoint.tokenizer)
    assert ours.translate("آتزمون").text == "atzmon"
    assert checkpoint.training["imported"]["stored as"] == ["F32", "I8"]
    save_checkpoint(tmp_path / "names.safetensors", checkpoint.model, checkpoint.tokenizer, checkpoint.training)
    again = load_checkpoint(tmp_path / "names.safetensors")
    assert Translator(again.model, again.tokenizer).translate("آتزمون").text == "atzmon"


NO_BIASES = {"attention_bias": False, "feed_forward_bias": False, "output_bias": True, "tied": "inputs"}
NO_BIASES |= {"activation": "swish", "scale_embedding": False, "num_encoder_layers": 3, "decoder_d_ff": 40}
SHAPES: dict[str, dict[str, Any]] = {
    "paper": {},
    "pre-norm": {"norm": "pre", "final_norm": True, "embedding_norm": True, "norm_eps": 1e-3},
    "halves": {"position_order": "halves", "position_exponent": "i/(n-1)", "position_offset": 2, "tied": "target"},
    "learned": {"positions": "learned", "max_positions": 200, "activation": "gelu", "tied": "none"},
    "no biases": NO_BIASES | {"num_decoder_heads": 2},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_our_own_export_comes_in_again(
    shape: str, tokenizer: SentencePieceTokenizer, parallel_text: Pairs, tmp_path: Path
) -> None:
    pytest.importorskip("ctranslate2")
    checkpoint = random_checkpoint(tokenizer, **SHAPES[shape])
    write_ctranslate2(checkpoint, tmp_path / "out")
    again = import_checkpoint(tmp_path / "out")
    same = dict(again.model.named_parameters())
    for name, parameter in checkpoint.model.named_parameters():
        expected = parameter[: len(same[name])] if "positions" in name else parameter
        assert torch.equal(same[name], expected), name
    for text in (text for pair in parallel_text[:5] for text in pair):
        assert again.tokenizer.encode(text) == tokenizer.encode(text)
    for field in ("norm", "final_norm", "norm_eps", "activation", "scale_embedding", "bos_id", "pad_id", "source_end"):
        assert getattr(again.config, field) == getattr(checkpoint.config, field)
    if checkpoint.config.positions == "sinusoidal":
        for field in ("position_order", "position_exponent", "position_offset"):
            assert getattr(again.config, field) == getattr(checkpoint.config, field)


@pytest.mark.parametrize("end", [True, False], ids=["added end", "given end"])
@pytest.mark.parametrize(
    ("quantization", "stored"),
    [
        ("float32", ["F32"]),
        ("float16", ["F16"]),
        ("bfloat16", ["BF16"]),
        ("int16", ["F32", "I16"]),
        ("int8", ["F32", "I8"]),
        ("int8_float32", ["F32", "I8"]),
        ("int8_float16", ["F16", "I8"]),
        ("int8_bfloat16", ["BF16", "I8"]),
    ],
)
def test_every_type_gives_the_log_probabilities_of_ctranslate2(
    quantization: str,
    stored: list[str],
    end: bool,
    tokenizer: SentencePieceTokenizer,
    parallel_text: Pairs,
    tmp_path: Path,
) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2")
    checkpoint = random_checkpoint(tokenizer, norm="pre", final_norm=True)
    write_ctranslate2_files(checkpoint, tmp_path / "out", quantization, add_source_eos=end)
    peer = ctranslate2.Translator(str(tmp_path / "out"), compute_type="float32")
    ours = imported(tmp_path / "out")
    assert ours.training["imported"]["stored as"] == stored
    pairs = parallel_text[:6]
    pieces = [[tokenizer.pieces(tokenizer.encode(text)) for text in pair] for pair in pairs]
    sources = [source if end else [*source, "</s>"] for source, _ in pieces]
    # CTranslate2 adds sines and cosines as they are stored, which bfloat16 rounds by up to 0.002; they are exact here.
    tolerance = 1e-2 if "bfloat16" in quantization else 1e-3
    for pair, found in zip(pairs, peer.score_batch(sources, [target for _, target in pieces]), strict=True):
        assert ours.score(*pair).token_log_probs == pytest.approx(found.log_probs, abs=tolerance)


@pytest.mark.parametrize("kind", ["m2m100", "mbart50"])
def test_languages_by_the_family_of_the_vocabulary(kind: str, parallel_text: Pairs, tmp_path: Path) -> None:
    """Against CTranslate2 and the model before, given the tokens that transformers puts around texts."""
    ctranslate2 = pytest.importorskip("ctranslate2")
    pairs, model, out = short_pairs(parallel_text), tmp_path / "model", tmp_path / "out"
    if kind == "mbart50":
        bart_models.write_model(model, pairs, kind, steps=60, init_std=0.05)
    else:
        m2m100_models.write_model(model, pairs, steps=50, init_std=0.05)
    before = imported(model)
    pieces = [before.tokenizer.piece(token_id) for token_id in range(before.config.vocab_size)]
    save_ctranslate2(before.model, pieces, pieces, out)
    shutil.copy(model / "sentencepiece.bpe.model", out)
    ours, peer = imported(out), ctranslate2.Translator(str(out), compute_type="float32")
    translations = ours.translate_batch([text for text, _ in pairs], beam_size=4, length_penalty=1.0)
    for (text, _), translation in zip(pairs, translations, strict=True):
        ids, first = before.tokenizer.encode(text), before.tokenizer.first_target_id(text) or 0
        assert (ours.tokenizer.encode(text), ours.tokenizer.first_target_id(text)) == (ids, first)
        source = [*(pieces[token_id] for token_id in ids), "</s>"]
        [found] = peer.translate_batch([source], target_prefix=[[pieces[first]]], beam_size=4, length_penalty=1)
        assert list(translation.hypotheses[0].tokens[:-1]) == found.hypotheses[0]
    (out / "shared_vocabulary.json").write_text(json.dumps(["x", *pieces[1:]]))
    assert_refused(out, "has tokens of languages such as '.*', and its files do not say which")


def test_an_argos_package(tokenizer: SentencePieceTokenizer, tmp_path: Path) -> None:
    """A zip archive whose model is in a folder of its own, beside the files of another program."""
    with zipfile.ZipFile(tmp_path / "translate-ar_en-1_0.argosmodel", "w") as archive:
        root = "translate-ar_en-1_0"
        archive.writestr(f"{root}/metadata.json", json.dumps({"from_code": "ar", "to_code": "en"}))
        archive.writestr(f"{root}/README.md", "text")
        archive.writestr(f"{root}/sentencepiece.model", tokenizer.to_bytes())
        for path in PUBLISHED.glob("*[bt][ix][nt]"):
            archive.write(path, f"{root}/model/{path.name}")
        for language in ("ar", "en"):
            archive.writestr(f"{root}/stanza/{language}/tokenize/x.pt", b"of another program")
    checkpoint = import_checkpoint(tmp_path / "translate-ar_en-1_0.argosmodel")
    assert checkpoint.tokenizer.languages == ("ar", "en")
    assert not checkpoint.config.source_end
    with zipfile.ZipFile(tmp_path / "translate-ar_en-1_0.argosmodel") as archive:
        archive.extractall(tmp_path)
    assert import_checkpoint(tmp_path / "translate-ar_en-1_0").config == checkpoint.config


def changed(folder: Path, name: str, content: bytes) -> Path:
    """A copy of the published model with another file."""
    shutil.copytree(PUBLISHED, folder)
    (folder / name).write_bytes(content)
    return folder


HEAD = struct.pack("<IH16sI", 2, 16, b"TransformerBase", 2)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (struct.pack("<IH16sI", 7, 16, b"TransformerBase", 2), "of version 7, Headlight reads 1 to 6"),
        (struct.pack("<IIH13s", 1, 1, 13, b"transformer/"), "cut off or damaged: 1 bytes were expected at 23"),
        (struct.pack("<IH12sII", 6, 12, b"WhisperSpec", 3, 0) + bytes(4), "a WhisperSpec of CTranslate2, revision 3"),
        (HEAD, "cut off or damaged: 4 bytes were expected at 26"),
        (HEAD + struct.pack("<I", 2**32 - 1), "declares 4294967295 variables, at most 100000 are read"),
        (
            HEAD + struct.pack("<IH2sBIIBI", 1, 2, b"x", 2, 2**31, 2**31, 4, 2**30),
            r"'x' has type 4 and shape \[2147483648, 2147483648\] in \d+ bytes, which do not fit",
        ),
        (HEAD + struct.pack("<I", 0) + b"more", "has 34 bytes, its variables end at 30"),
        (HEAD + struct.pack("<I", 0), "has no matrix encoder/embeddings_0/weight"),
    ],
)
def test_damaged_or_other_models_are_refused(content: bytes, reason: str, tmp_path: Path) -> None:
    assert_refused(changed(tmp_path / "model", "model.bin", content), reason)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("target_vocabulary.txt", b"<blank>\n<s>\n</s>\na", "has 5 pieces with '<unk>', the embedding of the target 4"),
        ("target_vocabulary.json", b"{}", "target_vocabulary.json is not a list of texts"),
        ("target_vocabulary.json", b"[", "target_vocabulary.json: "),
        ("config.json", b'{"decoder_start_token": null}', "decoder_start_token is null, so each translation begins"),
        ("config.json", b'{"decoder_start_token": "x y"}', "the vocabulary has no 'x y', which begins a text"),
        ("config.json", b'{"quantization_type": 1}', "quantization_type is 1"),
        ("metadata.json", b'{"target_prefix": "__de__"}', "target_prefix is set"),
    ],
)
def test_files_beside_a_model(name: str, content: bytes, reason: str, tmp_path: Path) -> None:
    assert_refused(changed(tmp_path / "model", name, content), reason)


def test_a_converted_marian_model_translates_as_ctranslate2(parallel_text: Pairs, tmp_path: Path) -> None:
    """The converter leaves out `<pad>`, and the decoder starts from zeros."""
    ctranslate2 = pytest.importorskip("ctranslate2")
    write_model(tmp_path / "marian", short_pairs(parallel_text), steps=25, init_std=0.05)
    converter = ctranslate2.converters.TransformersConverter(
        str(tmp_path / "marian"), copy_files=["source.spm", "target.spm"]
    )
    converter.convert(str(tmp_path / "out"), quantization="int8")
    ours = imported(tmp_path / "out")
    assert ours.config.bos_id == ours.config.pad_id == ours.config.vocab_size - 1
    peer = ctranslate2.Translator(str(tmp_path / "out"), compute_type="float32")
    texts = [text for text, _ in short_pairs(parallel_text)[:LEARNED]]
    sources = [[*ours.tokenizer.pieces(ours.tokenizer.encode(text)), "</s>"] for text in texts]
    found = peer.translate_batch(sources, beam_size=4, length_penalty=1, max_decoding_length=40)
    translations = ours.translate_batch(texts, beam_size=4, length_penalty=1.0)
    for translation, other in zip(translations, found, strict=True):
        assert list(translation.hypotheses[0].tokens[:-1]) == other.hypotheses[0]
    target = ours.tokenizer.target
    pairs = short_pairs(parallel_text)[:LEARNED]
    scored = peer.score_batch(sources, [target.pieces(target.encode(text)) for _, text in pairs])
    for pair, other in zip(pairs, scored, strict=True):
        assert ours.score(*pair).token_log_probs == pytest.approx(other.log_probs, abs=1e-3)
