"""A sample of sentences: read, scored batch by batch, remembered for each checkpoint."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import streamlit as st

from core.analysis.heads.head import all_heads
from core.model import Transformer
from core.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from viz_app.features.heads import sentence_sample
from viz_app.session.models import Model

# two batches
SENTENCES = tuple(
    f"A dog runs {word}." for word in ("home", "away", "by", "on", "in", "up", "out", "off", "to the sea")
)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", state)
    yield state
    st.cache_resource.clear()


@pytest.fixture(scope="module")
def model(tiny_model: Transformer, tokenizer: SentencePieceTokenizer) -> Model:
    return Model("tiny.safetensors", "digest", Translator(tiny_model, tokenizer))


def test_a_sample_is_scored_in_parts_and_remembered_for_its_checkpoint(session: dict[str, Any], model: Model) -> None:
    sentence_sample.begin(model, SENTENCES)
    work = sentence_sample.sampling(model)
    assert work is not None
    assert sentence_sample.current(model) is None
    assert work.advance()
    assert work.done == 8
    assert not work.advance()
    assert sentence_sample.sampling(model) is None
    sentences, cards = sentence_sample.current(model) or ((), [])
    assert sentences == SENTENCES
    assert [card.head for card in cards] == all_heads(model.translator.model)
    assert all(card.num_tokens > 0 for card in cards)
    other = Model("other.safetensors", "another digest", model.translator)
    assert sentence_sample.current(other) is None
    session.clear()  # another session
    sentence_sample.begin(model, SENTENCES)
    assert sentence_sample.sampling(model) is None  # nothing is left to do
    assert sentence_sample.current(model) == (SENTENCES, cards)


def test_stopped_it_stays_where_it_was_until_it_goes_on(session: dict[str, Any], model: Model) -> None:
    sentence_sample.begin(model, SENTENCES)
    work = sentence_sample.sampling(model)
    assert work is not None
    work.advance()
    work.let_run(False)
    assert (sentence_sample.sampling(model), work.running, work.done) == (work, False, 8)
    work.let_run(True)
    assert not work.advance()


def test_two_runs_of_the_page_at_once_score_each_sentence_once(session: dict[str, Any], model: Model) -> None:
    """One that was interrupted is still at its last sentences while the next one asks for more."""
    sentence_sample.begin(model, SENTENCES)
    work = sentence_sample.sampling(model)
    assert work is not None
    with ThreadPoolExecutor(2) as runs:
        for run in [runs.submit(lambda: [True for _ in iter(work.advance, False)]) for _ in range(2)]:
            run.result()
    assert work.done == len(SENTENCES)


def test_what_is_common_in_the_sample_is_not_rare(session: dict[str, Any], model: Model) -> None:
    session[sentence_sample.SAMPLE] = ("dog dog dog", "dog")
    frequencies = sentence_sample.frequencies(model)
    piece = model.translator.tokenizer.piece(model.translator.tokenizer.encode("dog")[0])
    assert frequencies[piece] == max(frequencies.values())


def test_text_is_a_sentence_a_line() -> None:
    assert sentence_sample.sentences_of("A dog.\r\n\n  A cat. \n") == ("A dog.", "A cat.")
    assert sentence_sample.uploaded_sentences("x.txt", "Ein Hund läuft.".encode()) == ("Ein Hund läuft.",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b" \n", "there is no sentence in this text"),
        (b"a\n" * 501, "the text has 501 lines, at most 500 can be scored"),
        (b"\xff\xfe", "x.txt is not UTF-8 text"),
        (b"a" * (2**20 + 1), "x.txt is larger than 1 MB"),
    ],
)
def test_what_is_no_sample_is_refused_with_its_reason(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sentence_sample.uploaded_sentences("x.txt", content)


def test_a_sentence_that_is_too_long_is_named_and_nothing_begins(session: dict[str, Any], model: Model) -> None:
    with pytest.raises(ValueError, match="sentence 2 is too long"):
        sentence_sample.begin(model, ("A dog.", "very " * 600))
    assert session == {}
