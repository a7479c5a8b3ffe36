"""Forced targets on the page Translate: a token, a typed word, or a whole text."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from core.analysis.tokens.edited_target import replace_token
from core.analysis.tokens.words import readable
from core.decoding import FREE
from viz_app.drawing.display_text import plain, sentence_case
from viz_app.language import joined, tr, tr_count
from viz_app.session import readings
from viz_app.session.state import Widget, session_object

TEXT = Widget[str]("own_text")  # the visitor's own translation


@dataclass
class ForcedInput:
    """A visitor's input to be forced, and the reasons why it was refused."""

    filled_for: Hashable = None  # the reading whose translation the text box was filled with
    # of a reading: the position of the refused word, the word, and why
    word_problem: tuple[Hashable, tuple[int, str, str]] | None = None
    text_problem: tuple[Hashable, str] | None = None  # of a reading: why the text in the box was refused


def force_token(about: readings.Reading, position: int, text: str | tuple[int, ...], typed: bool) -> None:
    """Force tokens, the token of a name, or a typed text, at a position, and search on; call it in a callback."""
    translator, search, token_ids = about.model.translator, about.search, about.hypothesis.token_ids
    written = about.hypothesis.tokens[position] if position < len(token_ids) else ""

    def target() -> readings.ForcedTarget:
        tokenizer, forbidden = translator.tokenizer.target, _still_forbidden(about, position)
        constraints = search.constraints(forbidden)
        if isinstance(text, tuple):
            prefix = (*token_ids[:position], *text)
        elif typed:  # the beginning of a word is completed by the tokens of the best translation
            whole = replace_token(tokenizer, token_ids, position, text)
            begun = translator.setup.open_beginning(whole, is_ended=text[-1:].isspace())
            sizes = search.beam_size, search.length_penalty, 1
            found = translator.translate(search.text, *sizes, prefix=begun, constraints=constraints)
            prefix = begun.complete(found.hypotheses[0].token_ids)
        else:
            chosen = token_ids[position] if text == written else tokenizer.token_id(text)
            prefix = (*token_ids[:position], chosen)
        prefix = translator.setup.prefix_ids(about.translation.source, prefix, constraints)
        return readings.ForcedTarget(tuple(prefix), forbidden=forbidden)

    _force(about, position, text if typed and isinstance(text, str) else "", target)


def forbid_token(about: readings.Reading, position: int) -> None:
    """Forbid the token at a position, and search on without it; call it in a callback."""
    translator, token_ids = about.model.translator, about.hypothesis.token_ids
    token_id = token_ids[position] if position < len(token_ids) else translator.config.eos_id

    def target() -> readings.ForcedTarget:
        forbidden = (*_still_forbidden(about, position + 1), (position, token_id))
        constraints = about.search.constraints(forbidden)
        prefix = translator.setup.prefix_ids(about.translation.source, token_ids[:position], constraints)
        return readings.ForcedTarget(tuple(prefix), forbidden=forbidden)

    _force(about, position, "", target)


def _force(about: readings.Reading, position: int, typed: str, target: Callable[[], readings.ForcedTarget]) -> None:
    """Force the target that a function makes, or note why there is none, if that raises a ValueError."""
    state = session_object(ForcedInput)
    state.word_problem = None
    try:
        forced = target()
    except ValueError as error:
        message = str(error)
        reason = f"{message[:1].upper()}{message[1:]}."  # the component draws plain text
        state.word_problem = (about.identity, (position, typed, reason))
        return
    readings.force(about.model, about.search, forced)


def _still_forbidden(about: readings.Reading, stop: int) -> tuple[tuple[int, int], ...]:
    """Return what remains forbidden if the tokens before a position stay: behind it, others come before."""
    return () if about.forced is None else tuple(each for each in about.forced.forbidden if each[0] < stop)


def forbidden_options(about: readings.Reading) -> frozenset[tuple[int, str]]:
    """Return the alternatives that may not be written, with their positions."""
    constraints, explanation = about.constraints, about.explain()
    if constraints == FREE:
        return frozenset()
    translator = about.model.translator
    found: set[tuple[int, str]] = set()
    for position, (written, others) in enumerate(
        zip(explanation.predicted_tokens, explanation.alternatives, strict=True)
    ):
        excluded = constraints.excluded_at(position, translator.config.eos_id)
        pieces = set(map(translator.codec.piece, excluded)) - {written}
        found.update((position, name) for name, _ in others if name in pieces)
    return frozenset(found)


def word_problem(about: readings.Reading) -> tuple[int, str, str] | None:
    """Return the position of a refused word, the word, and why it was refused."""
    identity, problem = session_object(ForcedInput).word_problem or (None, None)
    return problem if identity == about.identity else None


def fill_in(about: readings.Reading) -> None:
    """Fill the box with the current translation, once for each reading, before the box is drawn."""
    state = session_object(ForcedInput)
    if state.filled_for != about.identity or TEXT.value is None:
        state.filled_for = about.identity
        TEXT.set(about.hypothesis.text)


def score_text(about: readings.Reading) -> None:
    """Force the text in the box as a whole translation; call it in a callback."""
    translator, search, state = about.model.translator, about.search, session_object(ForcedInput)
    state.text_problem = None
    try:
        target_ids = translator.codec.target_ids(TEXT.value or "", about.translation.source)
        target = readings.ForcedTarget(target=(*target_ids, translator.model.config.eos_id))
        target.run(about.model, search, lambda _done, _most: None)
    except ValueError as error:
        state.text_problem = (about.identity, sentence_case(str(error)))
        return
    readings.force(about.model, search, target)


def text_problem(about: readings.Reading) -> str | None:
    """Return why the text in the box was refused."""
    identity, problem = session_object(ForcedInput).text_problem or (None, None)
    return problem if identity == about.identity else None


def num_forced(about: readings.Reading) -> int:
    """Count the tokens of the target that were forced, from the first on."""
    if about.forced is None:
        return 0
    return len(about.prefix) if _is_completed(about) else len(about.prefix or about.hypothesis.token_ids)


def selected_position(about: readings.Reading) -> int | None:
    """Return the position whose alternatives are shown.

    It is that of the word selected last, or of the last token that is forced or forbidden; None if there is none.
    """
    for side, word in reversed(readings.selected_words(about)):
        if side == "target":
            return word.start
    if about.forced is None or not _is_completed(about):
        return None
    last = max((position for position, _ in about.forced.forbidden), default=-1)
    return max(last, len(about.prefix) - 1)


def origin_text(about: readings.Reading) -> str:
    """Say how the target was found, in a sentence, if it is not the best hypothesis."""
    if about.forced is None:
        return tr(
            "Number {number} of the {count} best that the search found.",
            number=about.index + 1,
            count=len(about.translation.hypotheses),
        )
    if about.forced.forbidden and _is_completed(about):
        piece = about.model.translator.codec.piece
        names = joined(
            tr("{token} as token {number}", token=f"*{plain(readable(piece(token_id)))}*", number=position + 1)
            for position, token_id in about.forced.forbidden
        )
        return tr("Without {tokens}: the beginning is kept, the rest is searched again.", tokens=names)
    if about.prefix and _is_completed(about):
        return tr_count(
            "{count} token forced, the rest searched.", "{count} tokens forced, the rest searched.", len(about.prefix)
        )
    if about.prefix:
        return tr_count(
            "A candidate of the search, {count} token forced.",
            "A candidate of the search, {count} tokens forced.",
            len(about.prefix),
        )
    if about.hypothesis.finished:
        return tr("Your translation, scored as given.")
    return tr("The beginning of a translation, scored as given.")


def _is_completed(about: readings.Reading) -> bool:
    """Whether the search has completed the forced prefix."""
    return about.forced is not None and about.forced.target is None
