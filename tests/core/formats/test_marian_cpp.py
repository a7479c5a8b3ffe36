"""Files of Marian itself: the same weights as models of Hugging Face, which transformers runs."""

import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core.formats.checkpoint import CheckpointError
from core.formats.importing import import_checkpoint
from core.formats.marian_cpp import flat_yaml
from core.model import sinusoidal_encoding
from core.translator import Translator
from tests.core.formats.conftest import EXTRA_TOKENS
from tests.core.formats.marian_cpp_models import save_arrays, write_marian
from tests.core.formats.marian_models import Pairs, sentencepiece_model
from tests.core.formats.small_models import assert_converted, assert_refused
from tests.damage import damaged

Arrays = dict[str, np.ndarray]


write = write_marian  # of the fixture `original`


def arrays_of(folder: Path) -> Arrays:
    return {name: array for name, array in np.load(folder / "opus.npz").items() if not name.startswith("special:")}


@pytest.mark.parametrize("two", [False, True])
def test_the_same_logits_as_transformers(two: bool, tmp_path: Path, parallel_text: Pairs) -> None:
    reference = write_marian(tmp_path, parallel_text, two=two, layers=2)
    found = import_checkpoint(tmp_path)
    assert found.config.tied == ("target" if two else "all")
    pad = reference.config.pad_token_id
    assert (found.config.pad_id, found.config.bos_id, found.config.eos_id) == (pad, pad, 0)
    for source, target in parallel_text[:6]:
        source_ids = torch.tensor([[*found.tokenizer.encode(source), 0]])
        fed = torch.tensor([[pad, *found.tokenizer.target.encode(target)]])
        with torch.inference_mode():
            expected = reference(source_ids, decoder_input_ids=fed).logits
            ours = found.model(source_ids, fed)
        torch.testing.assert_close(ours[..., :-1], expected[..., :-1], rtol=0, atol=1e-4)
        assert ours.softmax(-1)[..., -1].max() == 0, "<pad> is not a piece of Marian's own softmax"


@pytest.mark.parametrize("two", [False, True])
def test_the_same_probabilities_and_translations_as_ctranslate2(two: bool, tmp_path: Path, parallel_text: Pairs):
    """Its converter of Marian's files is independent of transformers. Its norms add 1e-5 instead of 1e-9."""
    ctranslate2 = pytest.importorskip("ctranslate2")
    write_marian(tmp_path, parallel_text, two=two)
    found = import_checkpoint(tmp_path)
    # without a table of its own, CTranslate2 takes the frequencies of Hugging Face
    table = sinusoidal_encoding(128, 32, order="halves", exponent="i/(n-1)").numpy()
    save_arrays(tmp_path, arrays_of(tmp_path) | {"Wpos": table}, **{"transformer-guided-alignment-layer": "last"})
    vocabularies = sorted(path.name for path in tmp_path.glob("*.vocab.yml"))
    (tmp_path / "decoder.yml").write_text(json.dumps({"models": ["opus.npz"], "vocabs": vocabularies}))
    converter = ctranslate2.converters.OpusMTConverter(str(tmp_path))
    reference = ctranslate2.Translator(converter.convert(str(tmp_path / "converted")), compute_type="float32")
    translator, tokenizer = Translator(found.model, found.tokenizer), found.tokenizer
    translations = translator.translate_batch([source for source, _ in parallel_text[:6]], length_penalty=0.0)
    for (source, target), translation in zip(parallel_text[:6], translations, strict=True):
        target_ids = tokenizer.target.encode(target)
        pieces = [tokenizer.piece(token_id) for token_id in tokenizer.encode(source)]
        expected = reference.score_batch([pieces], [[tokenizer.target.piece(token_id) for token_id in target_ids]])
        ours = translator.score(source, [*target_ids, 0]).token_log_probs
        assert ours == pytest.approx(expected[0].log_probs, abs=1e-3)
        options: dict[str, Any] = {"beam_size": 4, "length_penalty": 0, "min_decoding_length": 0}
        (found,) = reference.translate_batch([pieces], max_decoding_length=len(pieces) + 1 + EXTRA_TOKENS, **options)
        assert found.hypotheses[0] == [token for token in translation.hypotheses[0].tokens if token != "</s>"]


def test_a_converted_file_is_the_same_model(tmp_path: Path, parallel_text: Pairs, capsys: pytest.CaptureFixture[str]):
    write_marian(tmp_path / "model", parallel_text, codes=[">>deu<<", ">>fra<<"])
    again = assert_converted(tmp_path / "model", tmp_path / "out.safetensors")
    assert "target languages      >>deu<<, >>fra<<" in capsys.readouterr().out
    assert again.tokenizer.piece(again.tokenizer.encode(">>fra<< A dog.")[0]) == ">>fra<<"


def test_a_sentencepiece_model_is_the_vocabulary_also_with_its_usual_numbers(copy: Path, parallel_text: Pairs) -> None:
    size = len((copy / "opus.vocab.yml").read_text().splitlines())
    for path in [*copy.glob("*.yml"), *copy.glob("*.spm")]:
        path.unlink()
    lines = [text for pair in parallel_text for text in pair]
    data = sentencepiece_model(lines, size, "bpe", eos_id=0, unk_id=1, bos_id=-1)
    (copy / "vocab.spm").write_bytes(data)
    tokenizer = import_checkpoint(copy).tokenizer
    ids = tokenizer.encode("The old house.")
    assert "".join(tokenizer.pieces(ids)) == "▁The▁old▁house."
    assert tokenizer.target.decode([*ids, 0]) == "The old house."

    names = {"unk_id": 0, "bos_id": 1, "eos_id": 2, "eos_piece": "<end>", "unk_piece": "<what>"}
    (copy / "vocab.spm").write_bytes(sentencepiece_model(lines, size, "bpe", **names))
    checkpoint = import_checkpoint(copy)
    assert (checkpoint.config.eos_id, checkpoint.tokenizer.eos_id) == (2, 2)
    assert checkpoint.tokenizer.encode("\u2603")[-1] == 0
    (copy / "vocab.spm").write_bytes(sentencepiece_model(lines, size, "bpe", unk_id=0, bos_id=1, eos_id=-1))
    assert_refused(copy, r"vocab.spm has no </s> or no <unk>: it is of another program$")


@pytest.mark.parametrize("two", [False, True])
def test_the_end_is_where_the_vocabulary_has_it(two: bool, tmp_path: Path, parallel_text: Pairs) -> None:
    """The pieces in another order are the same model, with the same log-probabilities."""
    write_marian(tmp_path, parallel_text, two=two)
    before = import_checkpoint(tmp_path)
    translator = Translator(before.model, before.tokenizer)
    scores = [translator.score(text, [5, 9, 0]).token_log_probs for text, _ in parallel_text[:4]]
    order = [1, 2, 0]  # <unk>, a piece, </s>
    arrays = arrays_of(tmp_path)
    for name in arrays.keys() & {"Wemb", "encoder_Wemb", "decoder_Wemb"}:
        arrays[name][:3] = arrays[name][order]
    arrays["decoder_ff_logit_out_b"][:, :3] = arrays["decoder_ff_logit_out_b"][:, order]
    save_arrays(tmp_path, arrays)
    for path in tmp_path.glob("*.vocab.yml"):
        rows = [line.rpartition(": ") for line in path.read_text().splitlines()]
        path.write_text("".join(f"{piece}: {order.index(int(n)) if int(n) < 3 else n}\n" for piece, _, n in rows))
    found = import_checkpoint(tmp_path)
    assert (found.config.eos_id, found.tokenizer.token_id("<unk>")) == (2, 0)
    again = [Translator(found.model, found.tokenizer).score(text, [5, 9, 2]) for text, _ in parallel_text[:4]]
    for one, other in zip(scores, again, strict=True):
        assert other.token_log_probs == pytest.approx(one, abs=1e-4)


def test_two_vocabularies_with_other_numbers_of_the_end(tmp_path: Path, parallel_text: Pairs) -> None:
    write_marian(tmp_path, parallel_text, two=True)
    path = tmp_path / "opus.trg.vocab.yml"
    rows = [line.rpartition(": ") for line in path.read_text().splitlines()]
    path.write_text("".join(f"{piece}: {(1, 0)[int(n)] if int(n) < 2 else n}\n" for piece, _, n in rows))
    assert_refused(tmp_path, r"'</s>' is at 0 in the vocabulary of the source and at 1 in that of the")


def test_options_and_vocabularies_in_yaml() -> None:
    text = "a: 5\nb: \"\"\nc:\n  - x\n  - \"y\\u00e4\\x41\"\nd: 'it''s'\ne: []\n# no: 1\n"
    assert flat_yaml(text) == {"a": "5", "b": "", "c": ["x", "yäA"], "d": "it's", "e": []}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}, r"its decoder has recurrent cells \(dec-cell: "),
        ({"transformer-decoder-autoreg": "average-attention"}, r"transformer-decoder-autoreg is 'average-attention'"),
        ({"type": "s2s"}, r"^opus.npz: type is 's2s', and Headlight imports only models with 'transformer'$"),
        ({"right-left": "true"}, r"right-left is 'true', and Headlight imports only models with 'false'$"),
        ({"transformer-ffn-activation": "gelu"}, r"transformer-ffn-activation is 'gelu', expected relu or swish$"),
        ({"transformer-preprocess": "n"}, r"are \('n', 'dan', ''\), expected '', 'dan' and '', or 'n', 'da' and 'n'$"),
        ({"enc-depth": 2}, r"missing \(16\): encoder_l2_ffn_W1; "),
        ({"dim-emb": "x"}, r"dim-emb is 'x', expected an integer$"),
        ({"dim-emb": 64}, r"of another shape \(\d+\): Wemb: \[\d+, 32\], expected \[\d+, 64\]"),
    ],
)
def test_what_cannot_be_imported_is_refused(options: dict[str, Any], message: str, copy: Path) -> None:
    save_arrays(copy, arrays_of(copy), **options)
    assert_refused(copy, message)


def test_norms_on_the_input_of_sub_layers(copy: Path) -> None:
    """The last norm's gain is zero and its bias one: every logit is the sum of a row and the bias."""
    arrays = {f"{name}_pre" if "_ln_" in name else name: array for name, array in arrays_of(copy).items()}
    for stack in ("encoder", "decoder"):
        arrays[f"{stack}_top_ln_scale"] = np.zeros((1, 32), np.float32)
        arrays[f"{stack}_top_ln_bias"] = np.ones((1, 32), np.float32)
    options = {"preprocess": "n", "postprocess": "da", "postprocess-top": "n"}
    save_arrays(copy, arrays, **{f"transformer-{name}": value for name, value in options.items()})
    found = import_checkpoint(copy)
    assert (found.config.norm, found.config.final_norm) == ("pre", True)
    logits = found.model(torch.tensor([[5, 6, 0]]), torch.tensor([[found.config.bos_id, 7]]))
    expected = torch.from_numpy(arrays["Wemb"].sum(1) + arrays["decoder_ff_logit_out_b"][0])
    torch.testing.assert_close(logits[..., :-1], expected.expand_as(logits[..., :-1]), rtol=0, atol=1e-4)


def lying_header(data: bytes) -> bytes:
    """An archive whose first array declares a hundred times as many elements as it has."""
    found = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(found, "w") as changed:
        for name in archive.namelist():
            array = archive.read(name)
            if name == "encoder_l1_ffn_b1.npy":
                array = array.replace(b"'shape': (1, 64), }  ", b"'shape': (1, 6400), }")
            changed.writestr(name, array)
    return found.getvalue()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[: len(data) // 2], r"^opus.npz is a damaged or unusual zip archive: copy or download"),
        (lambda data: b"", r"^opus.npz is a damaged or unusual zip archive: copy or download"),
        (lying_header, r"^opus.npz: 'encoder_l1_ffn_b1.npy' has type float32 and shape \[1, 6400\], in 384 bytes: exp"),
    ],
)
def test_damaged_arrays_are_refused(damage: Any, message: str, copy: Path) -> None:
    (copy / "opus.npz").write_bytes(damage((copy / "opus.npz").read_bytes()))
    assert_refused(copy, message)


@pytest.mark.parametrize("header", [b"{'shape': (3,", b"{" * 500, b"-" * 3000 + b"1", b"{'descr': 1}", b"[1][5]"])
def test_a_header_that_is_no_python_is_refused(header: bytes, copy: Path) -> None:
    with zipfile.ZipFile(copy / "opus.npz", "a") as archive:  # the checksums are right
        archive.writestr("extra.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    assert_refused(copy, r"^opus.npz: 'extra.npy' is not an array: ")


def test_an_array_that_occurs_twice_is_refused(copy: Path) -> None:
    with zipfile.ZipFile(copy / "opus.npz", "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("Wemb.npy", archive.read("Wemb.npy"))
    assert_refused(copy, r"^opus.npz has arrays of the same name, or more than 100000$")


def test_a_damaged_archive_is_refused_or_another_model(copy: Path) -> None:
    data, refused = (copy / "opus.npz").read_bytes(), 0
    for seed in range(40):
        (copy / "opus.npz").write_bytes(damaged(data, random.Random(seed), start=-6000))  # the directory is at the end
        try:
            import_checkpoint(copy)
        except CheckpointError:
            refused += 1
    assert refused > 20


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((1, 64), np.float64), r"'encoder_l1_ffn_b1.npy' has type float64 and shape \[1, 64\], in \d+ bytes:"),
        (np.zeros((1, 64), np.int8), r"'encoder_l1_ffn_b1.npy' has type int8"),
        (np.array([[{}] * 64]), r"'encoder_l1_ffn_b1.npy' has type object"),
        (np.full((1, 64), np.nan, np.float32), r"has 64 values that are not finite"),
    ],
)
def test_arrays_of_other_types_are_refused(array: np.ndarray, message: str, copy: Path) -> None:
    save_arrays(copy, arrays_of(copy) | {"encoder_l1_ffn_b1": array})
    assert_refused(copy, message)


def test_a_compressed_file_is_refused(copy: Path) -> None:
    np.savez_compressed(copy / "opus.npz", **dict(np.load(copy / "opus.npz")))
    assert_refused(copy, r"is compressed or larger than the file")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a: 1\nb\n", r"line 2 of opus.vocab.yml is 'b', expected a piece and its id$"),
        (b"a: 1\na: 2\n", r"line 2 of opus.vocab.yml has 'a' a second time$"),
        (b"a: &x 1\n", r"line 1 of opus.vocab.yml is 'a: &x 1', expected a piece and its id$"),
        (b"</s>: 0\n<unk>: 99999\n", r"vocab.json: the id of '<unk>' is 99999, expected an integer from 0 to"),
        (b"\xff: 1\n", r"'utf-8' codec can't decode"),
    ],
)
def test_vocabularies_that_are_none(data: bytes, message: str, copy: Path) -> None:
    (copy / "opus.vocab.yml").write_bytes(data)
    assert_refused(copy, message)
