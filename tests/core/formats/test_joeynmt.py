"""Files of JoeyNMT: the same weights as a `torch.nn.Transformer`, whose arithmetic is the same."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from core.cli import commands as cli
from core.formats.importing import import_checkpoint
from core.formats.joeynmt import yaml_object
from core.text.byte_pair_encoding import BytePairEncoding
from core.translator import Translator
from tests.core.formats.joeynmt_models import write_joey
from tests.core.formats.small_models import assert_converted, assert_refused, explained, imported
from tests.core.formats.torch_models import Pairs

write = write_joey  # of the fixture `original`


def change(folder: Path, place: str, value: Any) -> None:
    """Set an option, given as `section.option`; None removes it."""
    options = yaml.safe_load((folder / "config.yaml").read_text())
    *sections, name = place.split(".")
    section = options
    for each in sections:
        section = section.setdefault(each, {})
    section[name] = value
    if value is None:
        del section[name]
    (folder / "config.yaml").write_text(yaml.safe_dump(options))


def same_logits(folder: Path, reference: Any, pairs: Pairs) -> None:
    translator = imported(folder)
    for source, target in pairs:
        source_ids, fed, _ = translator.token_ids(source, target)
        assert (source_ids[-1], fed[0]) == (3, 2)
        ours = translator.model(torch.tensor([source_ids]), torch.tensor([fed]))
        expected = reference(torch.tensor([source_ids]), torch.tensor([fed]))
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("norm", "activation", "num_layers"), [("pre", "relu", 2), ("post", "swish", 2), ("post", "gelu", 1)]
)
def test_the_same_logits_as_pytorch(norm: str, activation: str, num_layers: int, tmp_path: Path, parallel_text: Pairs):
    same_logits(tmp_path, write_joey(tmp_path, parallel_text, norm, activation, num_layers), parallel_text[:4])


def test_version_1_has_norms_before_the_sub_layers_and_text_in_pieces(tmp_path: Path, parallel_text: Pairs) -> None:
    reference = write_joey(tmp_path, parallel_text)
    for side in ("encoder", "decoder"):
        change(tmp_path, f"model.{side}.layer_norm", None)
    data = {"src": "en", "trg": "de", "level": "bpe", "lowercase": False, "src_vocab": "x/src_vocab.txt"}
    change(tmp_path, "data", data)
    change(tmp_path, "joeynmt_version", None)
    for name in ("source.model", "target.model"):
        (tmp_path / name).rename(tmp_path / f"{name}.old")
    assert_refused(tmp_path, r"has no files that split words into pieces: .* convert with --tokenized")
    found = import_checkpoint(tmp_path, tokenized=True)
    assert (found.config.norm, found.config.final_norm) == ("pre", True)
    assert found.tokenizer.encode(" ".join(found.tokenizer.piece(token_id) for token_id in (5, 9))) == [5, 9]
    ours = found.model(torch.tensor([[5, 9, 3]]), torch.tensor([[2, 7]]))
    expected = reference(torch.tensor([[5, 9, 3]]), torch.tensor([[2, 7]]))
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-4)


def test_a_converted_file_is_the_same_model(copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(copy, "testing.no_repeat_ngram_size", 3)
    again = assert_converted(copy, tmp_path / "out.safetensors")
    report = capsys.readouterr().out
    assert "format                JoeyNMT" in report
    assert "search of the source  num_beams 5, length_penalty 1.0" in report
    assert "options not applied   no_repeat_ngram_size" in report
    explained(Translator(again.model, again.tokenizer), "The old house.")


def test_each_side_keeps_its_sentencepiece_model(tmp_path: Path, parallel_text: Pairs) -> None:
    pytest.importorskip("ctranslate2")
    write_joey(tmp_path / "model", parallel_text, "post")
    assert cli.main(["convert", str(tmp_path / "model"), str(tmp_path / "out"), "--to", "ctranslate2"]) == 0
    for side in ("source", "target"):
        assert (tmp_path / f"out/{side}.spm").read_bytes() == (tmp_path / f"model/{side}.model").read_bytes()


def test_text_is_prepared_as_the_configuration_says(copy: Path) -> None:
    """Compatibility characters, Moses' words, lower case, then merges as far as the vocabulary has them."""
    rules = {"codes": "models/codes", "pretokenizer": "moses"}
    for side in ("src", "trg"):
        size = len((copy / f"{side}_vocab.txt").read_text().splitlines())
        pieces = ["<unk>", "<pad>", "<s>", "</s>", "well-@@", "k", "w", "n", ".", "(", ")", "2@@", "th@@", "e", "'s"]
        pieces += [f"unused{number}" for number in range(size - len(pieces))]
        (copy / f"{side}_vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
        (copy / "codes").write_text("w e\nl l\nwe ll\nwell -\nwell- k\nk n\nn o\nw n</w>\nt h\nth e</w>\n")
        for name, value in {
            "tokenizer_type": "subword-nmt",
            "tokenizer_cfg": rules,
            "lowercase": True,
            "normalize": True,
        }.items():
            change(copy, f"data.{side}.{name}", value)
    tokenizer = import_checkpoint(copy).tokenizer

    def pieces_of(text: str) -> list[str]:
        return [tokenizer.piece(token_id) for token_id in tokenizer.encode(text)]

    assert pieces_of("Well-k (n)") == ["well-@@", "k", "(", "n", ")"], "hyphens are not split off"
    assert pieces_of("（The） ²") == ["(", "th@@", "e", ")", "<unk>"], "merged to 'the', which the vocabulary lacks"
    assert tokenizer.target.decode([9, 12, 13, 10, 8, 3]) == "(the)."


def test_pieces_that_joeynmt_would_not_use_are_in_the_report(copy: Path) -> None:
    assert import_checkpoint(copy).training["imported"]["options not applied"] == []
    pieces = (copy / "src_vocab.txt").read_text().splitlines()
    changed = [f"other{number}" if number in (7, 9) else piece for number, piece in enumerate(pieces)]
    (copy / "src_vocab.txt").write_text("\n".join(changed))
    assert import_checkpoint(copy).training["imported"]["options not applied"] == [
        "restriction of SentencePiece to the vocabularies (2 pieces are <unk>)"
    ]


def test_pieces_that_the_vocabulary_lacks_are_taken_apart() -> None:
    """By hand: of `then`, the merges make `the` + `n`; without `the@@` they are `th` + `e`, without `th@@` letters."""
    merges = [("t", "h"), ("th", "e"), ("the", "n</w>"), ("x", "</w>")]
    assert BytePairEncoding(merges[:3], ["then"]).word_pieces("then") == ("then",)
    assert BytePairEncoding(merges[:3], ["the@@", "n"]).word_pieces("then") == ("the@@", "n")
    assert BytePairEncoding(merges[:3], ["th@@", "e@@", "n"]).word_pieces("then") == ("th@@", "e@@", "n")
    assert BytePairEncoding(merges[:3], []).word_pieces("then") == ("t@@", "h@@", "e@@", "n")
    assert BytePairEncoding(merges, []).word_pieces("x") == ("x",)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("model.encoder.type", "recurrent", r"^config.yaml: model: encoder: type is 'recurrent', and Headlight import"),
        ("model.encoder.type", None, r"^config.yaml: model: encoder: type is 'recurrent', and Headlight imports only"),
        ("model.decoder.alpha", 1.5, r"^config.yaml: model: decoder: alpha is 1.5, and Headlight imports only models"),
        ("model.encoder.activation", "tanh", r"encoder: activation is 'tanh', expected one of relu, gelu, swish$"),
        ("model.encoder.activation", "gelu", r"^config.yaml: model: activation is 'gelu' in the encoder and 'relu' in"),
        ("model.encoder.layer_norm", "post", r"^config.yaml: model: layer_norm is 'post' in the encoder and 'pre' in"),
        ("model.encoder.layer_norm", "none", r"^config.yaml: model: encoder: layer_norm is 'none', expected pre or po"),
        ("model.decoder.embeddings.scale", False, r"scale of the embeddings is True in the encoder and False in the d"),
        ("model.encoder.num_layers", 2, r"missing \(16\): encoder.layers.1.feed_forward.layer_norm.bias; "),
        ("model.encoder.num_heads", 5, r"^config.yaml: d_model \(32\) must be divisible by num_heads \(5\)"),
        ("data.src.level", "syllable", r"^config.yaml: data: src: level is 'syllable', expected one of word, b"),
        ("data.src.tokenizer_type", "wordpiece", r"tokenizer_type is 'wordpiece', expected sentencepiece or subword-n"),
        ("data.src.tokenizer_cfg.pretokenizer", "mecab", r"tokenizer_cfg: pretokenizer is 'mecab', expected none or m"),
        ("data.src.lowercase", True, r"^config.yaml: data: the texts of both sides are split in different ways"),
        ("data.special_symbols.lang_tags", ["<de>"], r"lang_tags is \['<de>'\], and Headlight imports only models wit"),
        ("data.special_symbols.pad_token", "[PAD]", r"of another shape \(\d\): "),
        ("data.src", 5, r"^config.yaml: data: src is 5, expected options$"),
        ("model", [1], r"^config.yaml: model is \[1\], expected options$"),
    ],
)
def test_what_cannot_be_imported_is_refused(place: str, value: Any, message: str, copy: Path) -> None:
    change(copy, place, value)
    assert_refused(copy, message)


def test_version_2_3_without_the_place_of_norms_is_refused(tmp_path: Path, parallel_text: Pairs) -> None:
    write_joey(tmp_path, parallel_text, "post")
    for side in ("encoder", "decoder"):
        change(tmp_path, f"model.{side}.layer_norm", None)
    assert_refused(tmp_path, r"encoder has no layer_norm: version 2.3 then has norms before the sub-la")
    change(tmp_path, "joeynmt_version", "2.0.0")
    assert import_checkpoint(tmp_path).config.norm == "post"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("best.ckpt", b"", r"^best.ckpt is cut off, damaged or not a PyTorch file"),
        ("config.yaml", b"a: &x [1]\nb: *x\n", r"^config.yaml: it refers to a part of itself \(\*\), expected every v"),
        ("config.yaml", b"a: 1\na: 2\n", r"^config.yaml: one of its sections has a key twice$"),
        ("config.yaml", b"[\n" * 2000, r"^config.yaml: it is nested too deeply or no YAML: maximum recursion"),
        ("config.yaml", b"a: !!python/object:os.system []", r"no YAML: could not determine a constructor for the tag"),
        ("config.yaml", b"- 1", r"^config.yaml: it is a list, expected options by name$"),
        ("config.yaml", b"1: 2", r"^config.yaml: it is a dict, expected options by name$"),
        ("config.yaml", b"a: \xff", r"^config.yaml: 'utf-8' codec can't decode byte 0xff"),
        ("config.yaml", b"a: " + b"x" * 70_000, r"config.yaml has 70003 bytes, at most 65536 are read$"),
        ("src_vocab.txt", None, r"^model has no src_vocab.txt: give the vocabularies of the model$"),
        ("src_vocab.txt", b"\xff\n", r"^model: src_vocab.txt is not UTF-8: 'utf-8' codec can't decode"),
        ("src_vocab.txt", "a\n".encode("utf-16"), r"^model: src_vocab.txt is not UTF-8 text: it is UTF-16; convert"),
        ("trg_vocab.txt", b"a\n", r"of another shape \(\d\): .*trg_embed.lut.weight: "),
    ],
)
def test_damaged_files_are_refused(name: str, data: bytes | None, message: str, copy: Path) -> None:
    (copy / name).unlink()
    if data is not None:
        (copy / name).write_bytes(data)
    assert_refused(copy, message)


def test_the_length_of_yaml_is_bounded() -> None:
    with pytest.raises(ValueError, match=r"^it has 65537 bytes, at most 65536 are read$"):
        yaml_object(b" " * 65537)


def test_files_with_other_contents_are_refused(copy: Path) -> None:
    torch.save({"model": {}}, copy / "best.ckpt")
    assert_refused(copy, r"^best.ckpt is not a file of JoeyNMT: it has no 'model_state'$")
    for name in ("1.ckpt", "2.ckpt"):
        shutil.copy(copy / "best.ckpt", copy / name)
    (copy / "best.ckpt").unlink()
    assert_refused(copy, r"^model has 2 files \*.ckpt: give one of them, with its vocabularies$")
