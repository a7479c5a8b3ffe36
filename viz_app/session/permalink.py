"""Address parameters that belong to no widget: hypothesis, forced tokens, words.

They are read here when the visitor comes to an address; the sentence bar writes them.
"""

import re
from typing import TYPE_CHECKING

from viz_app.language import RefusedError
from viz_app.session import readings
from viz_app.session.address import FORBIDDEN, FORCED_MODEL, HYPOTHESIS, PREFIX, TARGET, WORD
from viz_app.session.fields import Field, is_history_navigation
from viz_app.session.models import Model

if TYPE_CHECKING:
    from viz_app.components.sentence_bar import WordSelection

SEPARATOR = "."
DIGITS = 8  # of a model's digest


def restore_target(model: Model, search: readings.Search) -> None:
    """Show the hypothesis, or force the tokens, of an address that the visitor has come to.

    Raises:
        ValueError: it names an impossible one.
    """
    number, made_for = _text(HYPOTHESIS), _text(FORCED_MODEL)
    ids = {each: _text(each) for each in (PREFIX, TARGET, FORBIDDEN)}
    if is_history_navigation():
        readings.new_sentence()
    if number:
        if not re.fullmatch("[1-9][0-9]?", number):
            raise RefusedError(
                "the address has {parameter}={value}, expected a number from 1 on: the best translation is shown "
                "instead",
                parameter=HYPOTHESIS.key,
                value=number,
            )
        readings.HYPOTHESIS.set(int(number) - 1)
    prefix, target = (_token_ids(each, ids[each]) for each in (PREFIX, TARGET))
    forbidden = _forbidden(ids[FORBIDDEN])
    if prefix or target or forbidden:
        if made_for and made_for != model.digest[:DIGITS]:
            raise RefusedError(
                "the address forces tokens of another checkpoint ({other}), this one is {name} ({digest}): the "
                "model's own translation is shown instead",
                other=made_for,
                name=model.name,
                digest=model.digest[:DIGITS],
            )
        readings.force(model, search, readings.ForcedTarget(prefix, target or None, forbidden))


def _text(setting: Field[str]) -> str:
    """Read a field from the address; "" if that leaves it out."""
    named = setting.take()
    return named.value if named is not None else ""


def _token_ids(setting: Field[str], ids: str) -> tuple[int, ...]:
    if ids and not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})*", ids):
        raise RefusedError(
            "the address has {parameter}={value}, expected token ids such as 7.12.2: the model's own translation "
            "is shown instead",
            parameter=setting.key,
            value=ids,
        )
    return tuple(int(token_id) for token_id in ids.split(SEPARATOR) if token_id)


def _forbidden(numbers: str) -> tuple[tuple[int, int], ...]:
    """Read the forbidden tokens of the address, as positions from 0 and token ids."""
    if numbers and not re.fullmatch(r"[1-9][0-9]{0,3}\.[0-9]{1,9}(\.[1-9][0-9]{0,3}\.[0-9]{1,9})*", numbers):
        raise RefusedError(
            "the address has {parameter}={value}, expected positions and token ids such as 3.12: the model's own "
            "translation is shown instead",
            parameter=FORBIDDEN.key,
            value=numbers,
        )
    values = [int(number) for number in numbers.split(SEPARATOR) if number]
    return tuple((position - 1, token_id) for position, token_id in zip(values[::2], values[1::2], strict=True))


def restore_words(reading: readings.Reading) -> None:
    """Select the words of an address that the visitor has come to.

    Raises:
        ValueError: one of them is not a word of the reading; then none is selected.
    """
    names = [name for name in WORD.texts if name]
    WORD.take()
    readings.select_words(reading, dict.fromkeys(_word(reading, name) for name in names))


def _word(reading: readings.Reading, name: str) -> "WordSelection":
    parts = re.fullmatch(r"(source|target)\.([1-9][0-9]{0,3})", name)
    if parts is None:
        raise RefusedError(
            "the address has {parameter}={value}, expected one such as source.3: no word is selected",
            parameter=WORD.key,
            value=name,
        )
    from core.analysis.tokens.words import word_groups

    is_source, explanation = parts[1] == "source", reading.explain()
    words = word_groups(explanation.source_tokens if is_source else explanation.predicted_tokens)
    if int(parts[2]) > len(words):
        raise RefusedError(
            "the address has {parameter}={value}, but there are {count} words: none is selected",
            parameter=WORD.key,
            value=name,
            count=len(words),
        )
    return "source" if is_source else "target", words[int(parts[2]) - 1]
