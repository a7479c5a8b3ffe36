"""`python -m core`: translation by lines, contents of a file, errors in one line with an exit code."""

import hashlib
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.cli import commands as cli
from core.cli.file_translation import lines
from core.decoding import Constraints, Forbidden, Sampling, forbidden_token
from core.export import load_explanation
from core.formats.checkpoint import save_checkpoint
from core.inference.cpu_inference import PackedTransformer, computation
from core.model import Transformer
from core.model.config import TransformerConfig
from core.native import library
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator

Translate = Callable[..., tuple[int, str, str]]
LINES = ["A dog runs.", "", "Where is the sea?", "   ", "No."]


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    return lambda data: monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))


@pytest.fixture
def translate(feed: Callable[[bytes], None], capsys: pytest.CaptureFixture[str], tiny_checkpoint: Path) -> Translate:
    """Feed lines to `translate` with options, and return its status and what it wrote."""

    def run(data: bytes, *options: str) -> tuple[int, str, str]:
        feed(data)
        status = cli.main(["translate", "--checkpoint", str(tiny_checkpoint), *options])
        return status, *capsys.readouterr()

    return run


def test_a_line_in_a_line_out_in_order(translate: Translate, translator: Translator, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lines, "WINDOW_LINES", 2)
    data = "\n".join(LINES).encode()  # the last line has no end
    status, out, progress = translate(data, "--beam-size", "2", "--length-penalty", "1")
    assert status == 0
    expected = [
        " ".join(translator.translate(line, 2, 1.0).text.splitlines()) if line.strip() else "" for line in LINES
    ]
    assert out.split("\n") == [*expected, ""]
    assert "5/5" in progress


@pytest.mark.parametrize(("arguments", "precision"), [([], "exact"), (["--precision", "fast"], "fast")])
def test_the_precision_is_the_translator_s(
    translate: Translate, monkeypatch: pytest.MonkeyPatch, arguments: list[str], precision: str
) -> None:
    used: list[str] = []

    def translate_batch(translator: Translator, texts: list[str], *_: object, **__: object) -> list[SimpleNamespace]:
        used.append(translator.shared.precision)
        return [SimpleNamespace(hypotheses=[SimpleNamespace(text=text)]) for text in texts]

    monkeypatch.setattr(Translator, "translate_batch", translate_batch)
    assert translate(b"No.\n", *arguments)[0] == 0
    assert set(used) == {precision}


def test_the_best_hypotheses_of_each_line_have_tabs_between_them(translate: Translate, translator: Translator) -> None:
    data = ("\n".join(LINES) + "\n" + "It rains. " * 100).encode()
    status, out, _ = translate(data, "--beam-size", "3", "--n-best", "3")
    assert status == 0
    *found, split, end = out.split("\n")

    def hypotheses(text: str) -> list[str]:
        found = translator.translate(text, 3, num_hypotheses=3).hypotheses
        return [" ".join(each.text.splitlines()).replace("\t", " ") for each in found]

    assert found == ["\t".join(hypotheses(line)) if line.strip() else "" for line in LINES]
    assert split.split("\t") == [" ".join([each] * 100) for each in hypotheses("It rains.")]
    assert end == ""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"b\xffd", "line 2 of the input is not UTF-8 text: byte 0xff at position 1; convert it to UTF-8"),
        (b"a\0b", "line 2 of the input is not UTF-8 text: NUL (byte 0x00) at position 1; convert it to UTF-8"),
        (b"x" * 600, "line 2: the text has 602 tokens, at most 512 can be translated at once: shorten or split it"),
        (b"x" * (2**20 + 1), "line 2 of the input has more than 1,048,576 bytes: split it"),
    ],
)
def test_a_line_that_cannot_be_translated_is_reported_and_left_empty(
    translate: Translate, translator: Translator, line: bytes, message: str
) -> None:
    status, out, err = translate(b"No.\n" + line + b"\nNo.\n")
    assert status == 3
    translation = " ".join(translator.translate("No.").text.splitlines())
    assert out.split("\n") == [translation, "", translation, ""]
    assert message in err.splitlines()
    assert err.splitlines()[-1] == "1 of 3 lines could not be translated and are empty"


def test_a_byte_order_mark_is_not_translated(translate: Translate) -> None:
    plain = translate(b"No.\r\nA dog\xe2\x80\xa8runs.")
    marked = translate(b"\xef\xbb\xbfNo.\n\xef\xbb\xbfA dog runs.\n")
    assert plain[:2] == marked[:2]
    assert (plain[0], plain[1].count("\n")) == (0, 2)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_no_line_of_another_encoding_is_translated(translate: Translate, tmp_path: Path, encoding: str) -> None:
    output = tmp_path / "out"
    status, _, error = translate("A dog runs.\nNo.\n".encode(encoding), "--output", str(output))
    assert status == 1
    assert "translate: the input is not UTF-8 text: it is UTF-16" in error
    assert not output.exists()


def test_no_lines_in_no_lines_out(translate: Translate) -> None:
    assert translate(b"")[:2] == (0, "")


@pytest.mark.parametrize(
    ("data", "arguments", "message"),
    [
        (b"fine\nb\xffd\n", ["--strict"], "translate: line 2 of the input is not UTF-8 text: byte 0xff at position 1"),
        (b"fine\n" + b"x" * 600, ["--strict"], "translate: line 2: the text has 60"),
        (b"fine\n", ["--resume"], "translate: --resume needs --output FILE"),
        (b"fine\n", ["--input", "missing.txt"], "translate: missing.txt: no such file or directory"),
        (
            b"fine\n",
            ["--output", "/dev/null"],
            "--output /dev/null is not a regular file: redirect standard output to it",
        ),
        (b"", ["--n-best", "7", "--beam-size", "6"], "translate: --n-best (7) must be from 1 to --beam-size (6)"),
        (b"", ["--n-best", "2", "--draft", "CHECKPOINT"], "translate: --n-best (2) must be from 1 to --beam-size (1)"),
        (b"", ["--top-p", "0.9"], "--top-p needs --samples N: a search draws nothing at random"),
        (b"", ["--samples", "2", "--beam-size", "3"], "--samples with --beam-size: samples are drawn, not searched"),
        (b"", ["--samples", "2", "--n-best", "2"], "--samples with --n-best: samples are drawn, not searched for"),
        (b"", ["--prefix", "Es r", "--samples", "2"], "--prefix with --samples: only beam and greedy search complete"),
        (b"", ["--prefix", "Es r", "--draft", "x"], "--prefix with --draft: only beam and greedy search complete"),
        (b"", ["--text", "Es r", "--input", "x"], "--text with --input: one text or one file is translated"),
    ],
)
def test_errors_are_one_line(
    translate: Translate, data: bytes, arguments: list[str], message: str, tiny_checkpoint: Path
) -> None:
    status, out, err = translate(data, *(each.replace("CHECKPOINT", str(tiny_checkpoint)) for each in arguments))
    assert (status, out) == (1, "")
    assert message in err.splitlines()[-1]
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        (["inspect"], "there is no {}: give a folder, a zip archive, or the files of a checkpoint"),
        (["translate", "--checkpoint"], "there is no checkpoint at {}: give the path of a .safetensors file"),
    ],
)
def test_files_that_are_no_checkpoint(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: list[str], missing: str
) -> None:
    (tmp_path / "text.safetensors").write_text("no checkpoint at all, only text")
    assert cli.main([*command, str(tmp_path / "text.safetensors")]) == 1
    assert "text.safetensors" in capsys.readouterr().err
    assert cli.main([*command, str(tmp_path / "missing.safetensors")]) == 1
    assert missing.format(tmp_path / "missing.safetensors") in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["translate", "--beam-size", "wide"], ["inspect"], ["nonsense"]])
def test_wrong_usage_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        cli.main(arguments)
    assert leaving.value.code == 2
    assert "usage: python -m core" in capsys.readouterr().err


def test_inspect_shows_what_is_in_the_file(
    tmp_path: Path, tiny_model: Transformer, tokenizer: SentencePieceTokenizer, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = {
        "preset": "tiny",
        "data": {"files": ["a.en", "a.de"], "pairs": 20},
        "note": "\x1b[2Jcleared",
        "scores": [{"test_set": "dev", "bleu": 1.25}, {"test_set": "test", "bleu": 2.5}],
    }
    save_checkpoint(tmp_path / "tiny.safetensors", tiny_model, tokenizer, facts)
    assert cli.main(["inspect", str(tmp_path / "tiny.safetensors")]) == 0
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines()]
    total = sum(parameter.numel() for parameter in tiny_model.parameters())
    for expected in (
        ["vocab_size", "400"],
        ["total", f"{total:,}"],
        ["embedding", f"{400 * 32:,}"],
        ["pieces", "400"],
        ["preset", "tiny"],
        ["files", "a.en,", "a.de"],
        ["pairs", "20"],
        ["test_set", "test"],
        ["bleu", "2.5"],
    ):
        assert expected in lines
    assert {field.name for field in fields(TransformerConfig)} <= {line[0] for line in lines if line}
    assert "\x1b" not in out
    assert r"\x1b[2Jcleared" in out
    _, products = out.split("Matrix products on this machine\n")
    exact, fast, *_ = (line.split(maxsplit=1) for line in products.splitlines())
    packed = PackedTransformer(tiny_model, "fast")
    assert exact == ["exact", f"{packed.products[0].name}; {computation(tiny_model)}"]
    assert fast[0] == "fast"
    assert set(fast[1].split(", ")) <= {product.name for product in packed.products}
    if len(packed.products) > 1:
        assert products.count(" us") == len(packed.choices) * len(packed.products) + sum(
            map(len, packed.step_seconds.values())
        )


def test_inspect_where_nothing_is_packed(
    tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "library", lambda: None)
    for product in ("has_packed", "has_half"):
        monkeypatch.setattr(f"core.inference.cpu_inference.{product}", lambda: False)
    assert cli.main(["inspect", str(tiny_checkpoint)]) == 0
    expected = "exact  PyTorch, as this PyTorch has no packed product for its weights"
    assert expected in capsys.readouterr().out


def test_a_file_without_training_facts(
    tmp_path: Path, tiny_model: Transformer, tokenizer: SentencePieceTokenizer, capsys: pytest.CaptureFixture[str]
) -> None:
    save_checkpoint(tmp_path / "bare.safetensors", tiny_model, tokenizer)
    assert cli.main(["inspect", str(tmp_path / "bare.safetensors")]) == 0
    assert "facts  none" in capsys.readouterr().out


@pytest.mark.parametrize("suffix", ["html", "npz", "json"])
def test_explain_writes_a_file(
    capsys: pytest.CaptureFixture[str], tiny_checkpoint: Path, tmp_path: Path, suffix: str, translator: Translator
) -> None:
    output = tmp_path / f"out.{suffix}"
    command = ["explain", "--checkpoint", str(tiny_checkpoint), "--text", "A dog.", "-o", str(output)]
    assert cli.main([*command, "--beam-size", "2"]) == 0
    best = translator.translate("A dog.", 2)
    assert best.text in capsys.readouterr().out
    if suffix == "html":
        assert output.read_text("utf-8").startswith("<!doctype html>")
        return
    found = load_explanation(output)
    searched = best.hypotheses[0].token_log_probs
    assert found.explanation.log_probs[: len(searched)] == pytest.approx(searched, abs=1e-4)
    assert found.settings == {"target": "search", "beam_size": 2, "length_penalty": 0.6}
    assert found.model["sha256"] == hashlib.sha256(tiny_checkpoint.read_bytes()).hexdigest()
    assert cli.main([*command, "--target", "Ein Hund."]) == 0
    assert load_explanation(output).explanation.target == "Ein Hund."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "out.pdf"], "unknown suffix '.pdf': the file name must end with one of .html, .npz, .json"),
        (["-o", "none/out.html"], "out.html cannot be written: there is no folder"),
        (["-o", "folder.html"], "folder.html cannot be written (Is a directory): give another path"),
        (["-o", "out.html", "--text", " "], "there is nothing to translate"),
        (["-o", "out.html", "--checkpoint", "missing.safetensors"], "there is no checkpoint at missing.safetensors"),
    ],
)
def test_explain_says_what_is_wrong_and_writes_nothing(
    capsys: pytest.CaptureFixture[str],
    tiny_checkpoint: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.html").mkdir()
    assert (
        cli.main(
            ["explain", "--checkpoint", str(tiny_checkpoint), "--text", "A dog.", "--target", "Ein Hund.", *arguments]
        )
        == 1
    )
    assert message in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["folder.html"]


def test_as_a_program(tiny_checkpoint: Path) -> None:
    arguments = ["translate", "--checkpoint", str(tiny_checkpoint), "--beam-size", "1"]
    command = [sys.executable, "-X", "importtime", "-m", "core", *arguments]
    done = subprocess.run(command, input=b"No.\n\n", capture_output=True, check=True, timeout=120)
    assert done.stdout.count(b"\n") == 2
    assert done.stdout.endswith(b"\n\n")
    assert b"2/2" in done.stderr
    assert b"safetensors" in done.stderr
    assert b"sympy" not in done.stderr, "PyTorch's compiler, which some operations import, takes a second or more"


def test_a_closed_pipe_is_no_error(
    tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with `| head`: the reader of standard output is gone."""
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as cut:
        monkeypatch.setattr(sys, "stdout", cut)
        assert cli.main(["inspect", str(tiny_checkpoint)]) == 1
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", [["translate"], ["explain", "--text", "A dog runs.", "-o", "out.json"]])
def test_weights_that_overflow_are_one_line(
    command: list[str], feed: Callable[[bytes], None], capsys: pytest.CaptureFixture[str], overflowing_checkpoint: Path
) -> None:
    feed(b"A dog runs.\n")
    assert cli.main([command[0], "--checkpoint", str(overflowing_checkpoint), *command[1:]]) == 1
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith(
        f"python -m core {command[0]}: overflowing.safetensors: embedding.tokens.weight holds the weight 3e+38, at "
        f"most 65504"
    )
    assert error.count("\n") == 1


def test_constraints_and_samples_are_those_of_the_translator(
    translate: Translate, tiny_checkpoint: Path, translator: Translator
) -> None:
    target = translator.tokenizer.target
    first = translator.translate("It rains.", 1).hypotheses[0].token_ids[0]
    own = Constraints(min_length=9, forbidden=(Forbidden(first, 0),))
    named = f"1:{target.piece(first)}"
    assert forbidden_token(named, target) == own.forbidden[0]

    def written(texts: Iterable[str]) -> str:
        return "\t".join(" ".join(each.splitlines()).replace("\t", " ") for each in texts) + "\n"

    limits = ["--min-length", "9", "--forbid", named]
    for search, expected in (
        (["--beam-size", "2"], [translator.translate("It rains.", 2, constraints=own).text]),
        (["--draft", str(tiny_checkpoint)], [translator.translate("It rains.", 1, constraints=own).text]),
        (["--prefix", "Es r"], [translator.translate("It rains.", prefix="Es r", constraints=own).text]),
        (
            ["--samples", "3", "--temperature", "0.7", "--top-p", "0.8", "--seed", "5"],
            [
                sample.text
                for sample in translator.sample(
                    "It rains.", Sampling(num_samples=3, temperature=0.7, top_p=0.8, seed=5), constraints=own
                )
            ],
        ),
    ):
        assert translate(b"It rains.\n", *limits, *search)[:2] == (0, written(expected))


def test_a_text_is_translated_a_sentence_a_line(translate: Translate, translator: Translator) -> None:
    status, out, _ = translate(b"", "--beam-size", "1", "--text", "It\nrains. A dog\n\nruns.")
    assert status == 0
    translated = translator.translate_batch(["It rains.", "A dog", "runs."], 1)
    lines = [" ".join(each.text.split()) for each in translated]
    assert [" ".join(each.split()) for each in out.split("\n")] == [*lines[:2], "", lines[2], ""]
