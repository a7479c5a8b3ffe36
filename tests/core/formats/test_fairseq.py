"""Files of fairseq: the same weights as FSMT models, which transformers reads."""

from __future__ import annotations

import pickle
import shutil
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import pytest
import torch
from sentencepiece import SentencePieceProcessor

from core.formats.checkpoint import CheckpointError
from core.formats.importing import import_checkpoint
from core.formats.several_models import model_names
from core.text.byte_pair_encoding import BytePairEncoding, read_merges
from core.translator import Translator
from tests.core.formats.fairseq_models import as_args, as_cfg, fairseq_state, old_names, write_fairseq
from tests.core.formats.fsmt_models import Pairs, target_ids, write_model
from tests.core.formats.marian_models import sentencepiece_model
from tests.core.formats.small_models import assert_converted, assert_refused, assert_same_logits, explained
from tests.core.formats.test_weight_files import Command
from tests.lazy_imports import transformers

Fsmt: TypeAlias = "tuple[Path, transformers.FSMTForConditionalGeneration]"


@pytest.fixture(scope="module")
def fsmt(tmp_path_factory: pytest.TempPathFactory, parallel_text: Pairs) -> Fsmt:
    folder = tmp_path_factory.mktemp("fsmt")
    return folder, write_model(folder, parallel_text, two=True, encoder_layers=2, decoder_layers=2)


@pytest.mark.parametrize(
    ("rename", "container", "legacy"), [(dict, as_cfg, False), (old_names, as_args, True), (dict, as_args, False)]
)
def test_the_same_logits_as_fsmt(
    rename: Callable[..., Any],
    container: Callable[..., Any],
    legacy: bool,
    fsmt: Fsmt,
    tmp_path: Path,
    parallel_text: Pairs,
) -> None:
    folder, reference = fsmt
    write_fairseq(tmp_path, folder, rename(fairseq_state(reference)), container, legacy)
    found, tokenizer = import_checkpoint(tmp_path), transformers.FSMTTokenizer.from_pretrained(folder)
    assert (found.config.bos_id, found.config.eos_id, found.config.pad_id) == (2, 2, 1)
    assert found.config.early_stopping
    assert found.config.penalty_formula == "length"
    for source, target in parallel_text[:6]:
        source_ids = tokenizer(source, return_tensors="pt").input_ids
        assert found.tokenizer.encode(source) == source_ids[0, :-1].tolist()
        target_ids_ = target_ids(folder, [target])
        assert found.tokenizer.target.encode(target) == target_ids_[0, :-1].tolist()
        fed = torch.cat((torch.tensor([[2]]), target_ids_[:, :-1]), 1)
        assert_same_logits(found.model, reference, source_ids, fed)


def test_a_converted_file_is_the_same_model(fsmt: Fsmt, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_fairseq(tmp_path / "model", fsmt[0], fairseq_state(fsmt[1]))
    again = assert_converted(tmp_path / "model", tmp_path / "out.safetensors")
    assert "format                fairseq" in capsys.readouterr().out
    explained(Translator(again.model, again.tokenizer), "The old house.")


def test_tied_matrices_are_found_by_content(fsmt: Fsmt, tmp_path: Path) -> None:
    state = fairseq_state(fsmt[1])
    del state["decoder.output_projection.weight"]  # as old files with share_decoder_input_output_embed
    write_fairseq(tmp_path, fsmt[0], state)
    assert import_checkpoint(tmp_path).config.tied == "target"


def test_norms_before_the_sub_layers_and_after_the_stacks(fsmt: Fsmt, tmp_path: Path) -> None:
    """Pre-norm with final norms, whose gain and bias are the only parameters of the last step before the logits."""
    state = fairseq_state(fsmt[1])
    for stack in ("encoder", "decoder"):
        state |= {f"{stack}.layer_norm.weight": torch.zeros(32), f"{stack}.layer_norm.bias": torch.ones(32)}
    write_fairseq(tmp_path, fsmt[0], state, encoder_normalize_before=True, decoder_normalize_before=True)
    found = import_checkpoint(tmp_path)
    assert (found.config.norm, found.config.final_norm) == ("pre", True)
    logits = found.model(torch.tensor([[5, 6, 2]]), torch.tensor([[2, 7]]))
    expected = state["decoder.output_projection.weight"].sum(1)
    torch.testing.assert_close(logits, expected.expand_as(logits), rtol=0, atol=1e-4)


def test_a_sentencepiece_model_splits_without_moses(fsmt: Fsmt, tmp_path: Path, parallel_text: Pairs) -> None:
    write_fairseq(tmp_path, fsmt[0], fairseq_state(fsmt[1]))
    (tmp_path / "bpecodes").unlink()
    (tmp_path / "sentencepiece.bpe.model").write_bytes(sentencepiece_model([source for source, _ in parallel_text]))
    processor = SentencePieceProcessor(model_file=str(tmp_path / "sentencepiece.bpe.model"))
    pieces = [processor.id_to_piece(token_id) for token_id in reversed(range(3, processor.vocab_size()))]
    for code in ("en", "de"):
        size = len((tmp_path / f"dict.{code}.txt").read_text().splitlines())
        found = [*pieces, *(f"madeupword{number:04}" for number in range(size - len(pieces)))]
        (tmp_path / f"dict.{code}.txt").write_text("".join(f"{piece} 1\n" for piece in found))
    tokenizer = import_checkpoint(tmp_path).tokenizer
    for text, _ in parallel_text:
        ids = tokenizer.encode(text)
        assert ids == [4 + pieces.index(piece) for piece in processor.encode(text, out_type=str)]
        assert tokenizer.pieces(ids) == processor.encode(text, out_type=str)
        assert tokenizer.target.decode([*ids, 2]) == text


def test_whole_words_are_split_at_spaces(fsmt: Fsmt, tmp_path: Path) -> None:
    """By the dictionaries, whatever codes lie beside them; `--tokenized` takes pieces of codes."""
    write_fairseq(tmp_path, fsmt[0], fairseq_state(fsmt[1]))
    pieces = [line.split()[0] for line in (tmp_path / "dict.en.txt").read_text().splitlines()]
    part = next(piece for piece in pieces if piece.endswith("@@"))
    tokenizer = import_checkpoint(tmp_path, tokenized=True).tokenizer
    assert tokenizer.encode(f"{part} {pieces[0]} &") == [4 + pieces.index(part), 4, 3]
    for code in ("en", "de"):
        size = len((tmp_path / f"dict.{code}.txt").read_text().splitlines())
        (tmp_path / f"dict.{code}.txt").write_text("".join(f"a_{number} 1\n" for number in range(size)))
    tokenizer = import_checkpoint(tmp_path).tokenizer
    assert tokenizer.encode("a_3 a_0  b a_1") == [7, 4, 3, 5]
    assert tokenizer.target.decode([7, 4, 2]) == "a_3 a_0"


def test_the_folders_of_a_training(fsmt: Fsmt, tmp_path: Path) -> None:
    data = tmp_path / "data-bin" / "x"
    write_fairseq(tmp_path / "checkpoints", fsmt[0], fairseq_state(fsmt[1]))
    write_fairseq(data, fsmt[0], fairseq_state(fsmt[1]))
    (tmp_path / "checkpoints/bpecodes").rename(tmp_path / "bpecodes")
    for code in ("en", "de"):
        (tmp_path / f"checkpoints/dict.{code}.txt").unlink()
    assert import_checkpoint(tmp_path).config.d_model == 32
    assert model_names(tmp_path) == []
    assert_refused(tmp_path / "checkpoints", r"have dict.\*.txt beside them or in data-bin: give the folder of both")
    shutil.copytree(data, tmp_path / "data-bin" / "y")
    assert_refused(tmp_path, r"has several models \(data-bin/x/dict.de.txt, data-bin/x/dict.en.txt, data-bin/y/dict.de")


def test_merges_of_all_versions() -> None:
    """Worked out by hand: `t h` first, then `th e` at the end of a word."""
    new = BytePairEncoding(read_merges(b"#version: 0.2\nt h\nth e</w>\n"))
    fast = BytePairEncoding(read_merges(b"t h 90\nth e</w> 80\n"))
    old = BytePairEncoding(read_merges(b"t h\ne </w>\nth e</w>\n"))
    for merges in (new, fast, old):
        assert merges.word_pieces("the") == ("the",)
        assert merges.word_pieces("then") == ("th@@", "e@@", "n")
        assert merges.word_pieces("thth") == ("th@@", "th") if merges is old else ("th@@", "t@@", "h")
        assert merges.word_pieces("x") == ("x",)
    assert len(new.word_pieces("th" * 1000)) == 2000  # too long to be merged, and for a model


def fairseq_class(monkeypatch: pytest.MonkeyPatch, module: str, name: str) -> type:
    """A class that is pickled under another name."""
    for length in range(1, len(module.split(".")) + 1):
        part = ".".join(module.split(".")[:length])
        monkeypatch.setitem(sys.modules, part, ModuleType(part))
    made = type(name, (), {"__module__": module})
    setattr(sys.modules[module], name, made)
    return made


def test_objects_of_fairseq_and_omegaconf_are_not_needed(fsmt: Fsmt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    meter = fairseq_class(monkeypatch, "fairseq.meters", "AverageMeter")()
    meter.avg = 3.0
    config_class = fairseq_class(monkeypatch, "omegaconf.dictconfig", "DictConfig")
    node_class = fairseq_class(monkeypatch, "omegaconf.nodes", "AnyNode")

    def config(values: dict[str, Any]) -> Any:
        found = config_class()
        found._content = {}
        for name, value in values.items():
            found._content[name] = value if isinstance(value, config_class) else node_class()
            if not isinstance(value, config_class):
                found._content[name]._val = value
        return found

    def container(options: dict[str, Any]) -> dict[str, Any]:
        sections = as_cfg(options)["cfg"]
        model, task = config(vars(sections["model"])), config(sections["task"])
        return {"cfg": config({"model": model, "task": task}), "meters": {"loss": meter}}

    write_fairseq(tmp_path, fsmt[0], fairseq_state(fsmt[1]), container)
    monkeypatch.undo()
    assert import_checkpoint(tmp_path).config.num_encoder_layers == 2


def test_nothing_is_executed(fsmt: Fsmt, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    state = fairseq_state(fsmt[1])

    def inside(options: dict[str, Any]) -> dict[str, Any]:
        return {"args": Namespace(**options, hook=Command(tmp_path / "executed"))}

    for container in (inside, lambda options: {**as_args(options), "extra": Command(tmp_path / "executed")}):
        write_fairseq(folder, fsmt[0], state, container)
        assert_refused(folder, r"^model.pt is not a file of tensors alone, or damaged")
    (folder / "model.pt").write_bytes(pickle.dumps(Command(tmp_path / "executed")))
    with pytest.raises(CheckpointError):
        import_checkpoint(folder)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arch": "fconv_wmt_en_de"}, r"^model.pt: arch is 'fconv_wmt_en_de', expected a transformer$"),
        ({"task": "translation_multi_simple_epoch"}, r"^model.pt: task is 'translation_multi_simple_epoch', and Head"),
        ({"encoder_learned_pos": True}, r"encoder_learned_pos is True, and Headlight imports only models with False"),
        ({"adaptive_softmax_cutoff": "5000,10000"}, r"adaptive_softmax_cutoff is '5000,10000', and Headlight imports"),
        ({"activation_fn": "gelu_fast"}, r"activation_fn is 'gelu_fast', expected one of relu, gelu, swish$"),
        ({"decoder_normalize_before": True}, r"decoder_normalize_before is True, expected False as of the encoder$"),
        ({"decoder_embed_dim": 16}, r"decoder_embed_dim is 16, expected 32 as of the encoder$"),
        ({"encoder_layers": None}, r"^model.pt has no encoder_layers: expected an integer$"),
        ({"encoder_layers": 3}, r"missing \(16\): encoder.layers.2.fc1.bias; "),
        ({"source_lang": "fr"}, r"has no dict.fr.txt: its dictionaries are dict.de.txt, dict.en.txt$"),
        ({"source_lang": "../en"}, r"has no dict.../en.txt: its dictionaries are"),
        ({"bpe": "gpt2"}, r"bpe is 'gpt2', expected subword_nmt or fastbpe or sentencepiece$"),
        ({"tokenizer": "nltk"}, r"tokenizer is 'nltk', expected moses or space$"),
    ],
)
def test_what_cannot_be_imported_is_refused(changes: dict[str, Any], message: str, fsmt: Fsmt, tmp_path: Path) -> None:
    write_fairseq(tmp_path, fsmt[0], fairseq_state(fsmt[1]), **changes)
    assert_refused(tmp_path, message)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("dict.en.txt", b"a 1\nb\n", r"line 2 of dict.en.txt is 'b', expected a piece and how often it occurs$"),
        ("dict.en.txt", b"a 1\na 2\n", r"line 2 of dict.en.txt has 'a' a second time$"),
        ("dict.en.txt", b"<unk> 1\n", r"line 1 of dict.en.txt has '<unk>' a second time$"),
        ("dict.en.txt", b"\xff 1\n", r"dict.en.txt is not UTF-8"),
        ("dict.en.txt", b"x" * 600 + b" 1\n", r"the piece 'x+ has 600 characters, at most 512 are read"),
        (
            "dict.en.txt",
            10**4,
            r"dict.en.txt has 10000 lines and its matrix \d+ rows, expected 4 more rows than lines: they are of diff",
        ),
        ("codes", b"a b\n", r"has 2 files that split words into pieces: expected one SentencePiece model"),
        ("bpecodes", None, r"has no files that split words into pieces: expected one SentencePiece model"),
        ("model.pt", b"", r"^model.pt is cut off, damaged or not a PyTorch file"),
        ("checkpoint1.pt", b"", None),
    ],
)
def test_damaged_files_are_refused(
    name: str, data: bytes | int | None, message: str | None, fsmt: Fsmt, tmp_path: Path
) -> None:
    """With `data` in the file; an int: so many lines; None: without the file."""
    if isinstance(data, int):
        data = b"".join(b"%d 1\n" % number for number in range(data))
    write_fairseq(tmp_path, fsmt[0], fairseq_state(fsmt[1]))
    if data is None:
        (tmp_path / name).unlink()
    elif name == "dict.en.txt" and data.count(b"\n") < 3:  # the first lines
        lines = (tmp_path / name).read_bytes().splitlines(keepends=True)
        (tmp_path / name).write_bytes(data + b"".join(lines[data.count(b"\n") :]))
    else:
        (tmp_path / name).write_bytes(data)
    if message is None:
        assert import_checkpoint(tmp_path).config.d_model == 32
        (tmp_path / "model.pt").rename(tmp_path / "model1.pt")
        message = r"has 2 models \('checkpoint1.pt', 'model1.pt'\): give the dictionaries, the codes and one of them$"
    assert_refused(tmp_path, message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": torch.zeros(2)}, r"^model.pt is not a file of fairseq: it has no 'model', expected it with 'args' or"),
        ({"model": {}, "args": None}, r"^model.pt: neither its 'args' nor its 'cfg' can be read"),
        ({"model": [5], "args": Namespace(a=1)}, r"^model.pt holds a list, expected tensors by name$"),
        (
            {"model": {"x.in_proj_weight": torch.zeros(4, 2)}, "args": Namespace(a=1)},
            r"'x.in_proj_weight' has shape \[4, 2\], expected queries, keys and values, one after the other$",
        ),
        (
            {"model": {"x.in_proj_bias": torch.zeros(3), "x.q_proj.bias": torch.zeros(1)}, "args": Namespace(a=1)},
            r"^model.pt has 'x.q_proj.bias' twice, under an older and a newer name$",
        ),
    ],
)
def test_files_with_other_contents_are_refused(content: Any, message: str, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "model.pt")
    (tmp_path / "dict.en.txt").write_text("a 1\n")
    assert_refused(tmp_path, message)
