"""A sample of sentences: read, scored batch by batch, kept for each checkpoint."""

from collections.abc import Iterator

import pytest
import streamlit as st

from core.analysis.heads.head import all_heads
from viz_app.session.model_memory import Loaded
from viz_app.session.models import Model
from viz_app.views.heads.grid import sentence_sample
from viz_app.views.heads.grid.sentence_sample import Sample

# two batches
SENTENCES = tuple(
    f"A dog runs {word}." for word in ("home", "away", "by", "on", "in", "up", "out", "off", "to the sea")
)


@pytest.fixture(autouse=True)
def nothing_scored() -> Iterator[None]:
    yield
    st.cache_resource.clear()


def test_a_sample_is_scored_in_parts_and_kept_for_its_checkpoint(model: Model) -> None:
    sample = Sample()
    sample.begin(model, SENTENCES)
    job = sample.unfinished_job(model)
    assert job is not None
    assert sample.cards(model) is None
    assert job.advance(0)
    assert job.done == 8
    assert not job.advance(0)
    assert sample.unfinished_job(model) is None
    assert sample.sentences == SENTENCES
    cards = sample.cards(model)
    assert cards is not None
    assert [card.head for card in cards] == all_heads(model.translator.model)
    assert all(card.num_tokens > 0 for card in cards)
    other = Model("other.safetensors", "another digest", Loaded(model.translator))
    assert sample.cards(other) is None
    another = Sample()  # of another session
    another.begin(model, SENTENCES)
    assert another.unfinished_job(model) is None  # nothing is left to compute
    assert another.cards(model) == cards


def test_what_is_common_in_the_sample_is_not_rare(model: Model) -> None:
    frequencies = sentence_sample.frequencies(model, ("dog dog dog", "dog"))
    piece = model.translator.tokenizer.piece(model.translator.tokenizer.encode("dog")[0])
    assert frequencies[piece] == max(frequencies.values())


def test_a_sentence_that_is_too_long_is_named_and_nothing_begins(model: Model) -> None:
    sample = Sample()
    with pytest.raises(ValueError, match="sentence 2: the text has 2401 tokens, at most 512"):
        sample.begin(model, ("A dog.", "very " * 600))
    assert sample == Sample()
