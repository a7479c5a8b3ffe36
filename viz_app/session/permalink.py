"""The address as a permalink: what no widget keeps there by itself. A session reads it once, when it begins, and
writes it ever after.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.errors import StreamlitAPIException

from viz_app.session import readings
from viz_app.session.models import Model

if TYPE_CHECKING:
    from viz_app.components.sentence_bar import WordSelection

READ = "address_read"  # whether this session has looked at the address that it was opened with
# names there; of the hypotheses the first is 1
HYPOTHESIS, TARGET, PREFIX, MODEL, WORD = "hypothesis", "target", "prefix", "model", "word"
SEPARATOR = "."
DIGITS = 8  # of a model's digest
_ASKED_WORDS = "words_asked_for"


def read(model: Model, search: readings.Search) -> None:
    """Choose what the address names, when the session begins.

    Raises:
        ValueError: it names what cannot be.
    """
    if st.session_state.get(READ):
        return
    st.session_state[READ] = True
    st.session_state[_ASKED_WORDS] = [name for name in st.query_params.get_all(WORD) if name]
    if number := st.query_params.get(HYPOTHESIS):
        if not re.fullmatch("[1-9][0-9]?", number):
            raise ValueError(
                f"the address holds {HYPOTHESIS}={number}, expected a number from 1 on: the best hypothesis is shown "
                f"instead"
            )
        st.session_state["hypothesis"] = int(number) - 1
    prefix, target = _token_ids(PREFIX), _token_ids(TARGET)
    if prefix or target:
        made_for = st.query_params.get(MODEL, "")
        if made_for and made_for != model.digest[:DIGITS]:
            raise ValueError(
                f"the address forces tokens of another checkpoint ({made_for}), this one is {model.name} "
                f"({model.digest[:DIGITS]}): "
                "the model's own translation is shown instead"
            )
        readings.force(model, search, readings.Forced(prefix, target or None))


def _token_ids(name: str) -> tuple[int, ...]:
    """Those that the address names so."""
    ids = st.query_params.get(name, "")
    if ids and not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})*", ids):
        raise ValueError(
            f"the address holds {name}={ids}, expected token ids such as 7.12.2: the model's own translation is shown "
            f"instead"
        )
    return tuple(int(token_id) for token_id in ids.split(SEPARATOR) if token_id)


def recall_words(reading: readings.Reading) -> None:
    """Select the words that the address names, when the session begins.

    Raises:
        ValueError: it names what is no word of them; then none is selected.
    """
    if asked := st.session_state.pop(_ASKED_WORDS, None):
        readings.select_words(reading, dict.fromkeys(_word(reading, name) for name in asked))


def _word(reading: readings.Reading, asked: str) -> "WordSelection":
    """The one that the address names so."""
    named = re.fullmatch(r"(source|target)\.([1-9][0-9]{0,3})", asked)
    if named is None:
        raise ValueError(f"the address holds {WORD}={asked}, expected one such as source.3: no word is selected")
    from core.analysis.tokens.words import word_groups

    source = named[1] == "source"
    words = word_groups(reading.explanation.source_tokens if source else reading.explanation.predicted_tokens)
    if int(named[2]) > len(words):
        raise ValueError(f"the address holds {WORD}={asked}, but there are {len(words)} words: none is selected")
    return "source" if source else "target", words[int(named[2]) - 1]


def write(reading: readings.Reading) -> None:
    """Name what is looked at, unless it is the best hypothesis, and the words that are selected."""
    forced = reading.forced_as if reading.index == readings.FORCED_INDEX else None
    put(HYPOTHESIS, str(reading.index + 1) if reading.index > 0 else "")
    put(PREFIX, _joined(forced.prefix if forced else ()))
    put(TARGET, _joined((forced.target if forced else None) or ()))
    put(MODEL, reading.model.digest[:DIGITS] if forced else "")
    put(WORD, _named(reading))


def _named(reading: readings.Reading) -> list[str]:
    """The selected words, as the address names them: their side, and their number from 1."""
    if not (selected := readings.selected_words(reading)):
        return []
    from core.analysis.tokens.words import word_groups

    sides = {"source": reading.explanation.source_tokens, "target": reading.explanation.predicted_tokens}
    numbers = {
        (side, word.start): number
        for side, tokens in sides.items()
        for number, word in enumerate(word_groups(tokens), start=1)
    }
    return [f"{side}{SEPARATOR}{numbers[side, tokens.start]}" for side, tokens in selected]


def _joined(token_ids: Iterable[int]) -> str:
    return SEPARATOR.join(map(str, token_ids))


def put(name: str, value: str | list[str]) -> None:
    """Hold a value in the address under a name that is no widget's; an empty one takes it away."""
    held = st.query_params.get_all(name)
    wanted = [value] if isinstance(value, str) else value
    if not value and held:
        del st.query_params[name]
    elif value and held != wanted:
        st.query_params[name] = wanted


def preset(key: str, value: str | list[str]) -> None:
    """Give a bound widget a first value that is in the address from the start. To be called before it is drawn.

    Of itself it would write only what has changed since it was drawn first: a value that depends on the sentence would
    be another one for whoever opens the link later.
    """
    st.session_state[key] = value
    with suppress(StreamlitAPIException):  # it was drawn before, and is bound: then it writes what it is given
        put(key, value)
