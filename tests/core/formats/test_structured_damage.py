"""Files whose structure is damaged on purpose are refused with a reason, or work; none ends the process.

`FUZZ_CASES=10000 pytest tests/core/formats/test_structured_damage.py` for all of them.
"""

import io
import itertools
import os
import random
import zipfile
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext

import numpy as np
import pytest
import sentencepiece

from core.export.attention_arrays import ArrayError, explanation_of_arrays
from core.files.npz_arrays import npz_arrays
from core.text.tokenizer import SentencePieceTokenizer
from tests.core.structured_models import Model, damaged_models

CASES = int(os.environ.get("FUZZ_CASES", "60"))  # of each kind, half of the first of them for known defects
TEXTS = [
    "A dog runs.",
    "\u00bd \ufb01 l\u00e4uft\0 \u2581x \U0001f600 \ue000",
    "",
    " ",
    "<0x41> <unk> </s>",
    "x" * 3000,
]
KNOWN = 78  # of the first copies are for defects that SentencePiece has had
KINDS_OF_MODELS = ("unigram", "bpe", "char", "word")


def sentencepiece_model(kind: str, lines: list[str]) -> bytes:
    """A model with a map of characters."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, model_type=kind, vocab_size=100, hard_vocab_limit=False,
        pad_id=0, bos_id=1, eos_id=2, unk_id=3, num_threads=1, minloglevel=2,
    )  # fmt: skip
    return model.getvalue()


def use(data: bytes) -> bool:
    """Whether a model is read; all that Headlight does with one is done."""
    try:
        tokenizer = SentencePieceTokenizer(data)
        for text in TEXTS:
            tokenizer.decode(tokenizer.encode(text))
        tokenizer.encode_batch(TEXTS)
        everything = list(range(tokenizer.vocab_size))
        tokenizer.decode(everything)
        tokenizer.pieces(everything)
        with suppress(ValueError):  # these pieces are not made by merges
            tokenizer.sample_batch(TEXTS, 0.1, seed=1)
    except ValueError:
        return False
    return True


def use_all(data: bytes, cases: int, seed: int, results: Connection) -> None:
    """Use damaged copies of a model, and send the name of each before it."""
    every, chance = list(damaged_models(data)), random.Random(seed)
    chosen = [*every[seed % 2 : KNOWN : 2], *chance.sample(every[KNOWN:], len(every) - KNOWN)]
    for name, damaged in chosen[:cases]:
        results.send(name)
        try:
            results.send(use(damaged))
        except BaseException as error:
            results.send(repr(error))
    results.close()


@pytest.mark.parametrize("kind", KINDS_OF_MODELS)
def test_a_damaged_sentencepiece_model_does_not_end_the_process(
    kind: str, parallel_text: list[tuple[str, str]], processes: ForkServerContext
) -> None:
    data = sentencepiece_model(kind, [sentence for pair in parallel_text for sentence in pair])
    use(data)
    ours, theirs = processes.Pipe(duplex=False)
    process = processes.Process(target=use_all, args=(data, CASES, KINDS_OF_MODELS.index(kind), theirs))
    process.start()
    theirs.close()
    fates: dict[str, object] = {}
    name = ""
    try:
        while True:
            name = ours.recv()
            fates[name] = "the process ended"
            fates[name] = ours.recv()
    except EOFError:
        process.join()
    assert {name: fate for name, fate in fates.items() if not isinstance(fate, bool)} == {}
    assert process.exitcode == 0
    assert set(fates.values()) == {False, True}


@pytest.mark.parametrize("part", ["normalizer_spec", "denormalizer_spec", "trainer_spec"])
def test_a_model_that_puts_long_texts_for_characters_is_refused(part: str, parallel_text: list[tuple[str, str]]):
    """A sentence would take thousands of times its length."""
    model = Model.FromString(sentencepiece_model("unigram", [sentence for pair in parallel_text for sentence in pair]))
    charsmap = model.normalizer_spec.precompiled_charsmap
    size = 4 + int.from_bytes(charsmap[:4], "little")
    shortest = b"x" * 64 if part == "trainer_spec" else charsmap[size:] + b"x" * 64 + b"\0"
    for text, is_read in ((shortest, True), (b"x" + shortest + b"x" * 65 + b"\0", False)):
        if part == "trainer_spec":
            model.trainer_spec.unk_surface = text
        else:
            getattr(model, part).precompiled_charsmap = charsmap[:size] + text
        if is_read:
            SentencePieceTokenizer(model.SerializeToString())
            continue
        with pytest.raises(ValueError, match=r"^a SentencePiece model that puts a text of \d+ bytes for a character,"):
            SentencePieceTokenizer(model.SerializeToString())


NUMBERS = ("<f4", "<f2", "<f8", ">f4", "|b1", "<M8[s]", "<c8")
DESCRIPTIONS = (*NUMBERS, "<U2", ">U2", "<U0", "|S4", "|S0", "|V8", "|O", "x", 1, None)
SHAPES = ((4,), (2, 2), (0,), (), (-4,), (2**63,), (0, 2**62), (True,), (1.5,), 4, "x", None)


def test_headers_of_arrays_are_refused_or_read() -> None:
    fates = set[bool]()
    for name in ("source_tokens", "cross_attentions"):
        for descr, shape, order in itertools.product(DESCRIPTIONS, SHAPES, (False, True)):
            header, file = repr({"descr": descr, "shape": shape, "fortran_order": order}).encode(), io.BytesIO()
            with zipfile.ZipFile(file, "w") as archive:
                prefix = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
                archive.writestr(f"{name}.npy", prefix + header + b"a\0\0\0b\0\0\0" * 4)
                with archive.open("target_tokens.npy", "w") as entry:
                    np.save(entry, np.array(["<s>", "a"]))
            try:
                arrays = npz_arrays(file)
                fates.add(True)
            except ValueError:
                fates.add(False)
                continue
            with suppress(ArrayError):
                explanation_of_arrays({"source_tokens": np.array(["a"]), **arrays})
    assert fates == {False, True}
