"""A translation as it is generated: rows of tokens, one for each step."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from core.decoding import MaskPredictState, SpeculativeStep
from core.results import ScoredText
from core.text.byte_pieces import MASK
from core.text.phrases import Number, Phrase, marked
from core.translator import Translator

State = Literal["predicted", "accepted", "rejected", "chosen", "masked", "kept"]


class TokenCell(NamedTuple):
    """A token of a row."""

    position: int  # of the translation, counted from 0
    token: str  # its piece
    # `predicted` in this step; of speculative decoding `accepted`, `rejected`, or `chosen` by the large model; of
    # mask-predict `masked`: predicted, to be masked and predicted again next, `kept`: not predicted here
    state: State
    log_prob: float | None = None  # in nats, where the model has computed it


class TokenRow(NamedTuple):
    """The tokens of one step."""

    name: str
    cells: tuple[TokenCell, ...]


def search_rows(best: Sequence[tuple[str, ScoredText]]) -> list[TokenRow]:
    """A row for each search: its best translation, to which each step has added one token."""
    return [
        TokenRow(
            name,
            tuple(
                TokenCell(position, token, "predicted", log_prob)
                for position, (token, log_prob) in enumerate(zip(text.tokens, text.token_log_probs, strict=True))
            ),
        )
        for name, text in best
    ]


def speculative_rows(steps: Sequence[SpeculativeStep], translator: Translator) -> list[TokenRow]:
    """A row for each check: the drafted tokens, accepted or rejected, then the large model's own."""
    rows: list[TokenRow] = []
    start = 0
    for number, step in enumerate(steps, start=1):
        drafted, added = translator.codec.pieces(step.drafted), translator.codec.pieces(step.added)
        log_probs = step.hypothesis.token_log_probs[start:]
        cells = [
            TokenCell(start + at, token, "accepted", log_probs[at])
            if at < step.accepted
            else TokenCell(start + at, token, "rejected")
            for at, token in enumerate(drafted)
        ]
        own = [TokenCell(start + at, added[at], "chosen", log_probs[at]) for at in range(step.accepted, len(added))]
        rows.append(TokenRow(Phrase(marked("Check {number}"), number=Number(number, "d")), (*cells, *own)))
        start += len(step.added)
    return rows


def mask_predict_rows(states: Sequence[MaskPredictState], translator: Translator) -> list[TokenRow]:
    """A row for each iteration: all tokens, with marks for those predicted in it and those to be masked next."""
    rows: list[TokenRow] = []
    for state in states:
        pieces, fed = translator.codec.pieces(state.token_ids), translator.codec.pieces(state.fed_ids)
        states_of: list[State] = ["predicted" if each == MASK else "kept" for each in fed]
        for position in state.masked_next:
            states_of[position] = "masked"
        cells = enumerate(zip(pieces, states_of, state.token_log_probs, strict=True))
        name = Phrase(marked("Iteration {number}"), number=Number(state.iteration, "d"))
        rows.append(TokenRow(name, tuple(TokenCell(at, *each) for at, each in cells)))
    return rows


def passes_answer(passes: Mapping[str, int]) -> Phrase:
    """The search with the fewest passes of the decoder, by its name, beside the first, of one token after the other."""
    name, least = min(passes.items(), key=lambda each: each[1])
    words = marked("{name} needs the fewest passes of the decoder, {least}; one token after the other takes {all}.")
    return Phrase(words, name=name, least=Number(least, ","), all=Number(next(iter(passes.values())), ","))


def rows_table(rows: Sequence[TokenRow]) -> dict[str, list[Any]]:
    """A row for each token of each step."""
    cells = [(number, row.name, *cell) for number, row in enumerate(rows) for cell in row.cells]
    return {name: [cell[at] for cell in cells] for at, name in enumerate(("step", "name", *TokenCell._fields))}
