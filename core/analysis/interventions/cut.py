"""The analysis `cut`: set attention weights, or search for decisive ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.analysis.declaration import Analysis, Columns, PicturedResult, option, print_table
from core.analysis.interventions.cut_search import MAX_CUTS, CutSearch, find_cuts
from core.analysis.interventions.cut_translation import translate_cut
from core.analysis.interventions.cuts import Cut, CutEffect, cut_effect, parse_cut
from core.analysis.pictures import Grid, effects_row
from core.analysis.subject import predicted_position
from core.analysis.tokens.words import readable_all
from core.files.console import show
from core.files.number_range import COUNTED_FROM_1
from core.results import ScoredText
from core.text.phrases import Number, Phrase, marked
from core.trace import KINDS, Head, Kind
from core.translator import Translator


@dataclass(frozen=True)
class CutTranslation(PicturedResult):
    """Effect of cuts on a translation, and the best translation under them."""

    effect: CutEffect
    found: ScoredText

    def table(self) -> Columns:
        """A row for each predicted token."""
        return self.effect.table()

    def pictures(self, at: Head | None = None) -> tuple[Grid, ...]:
        """The change of the log-probability of each token."""
        tokens = readable_all(self.effect.before.predicted_tokens)
        title = Phrase(marked("Change of the log-probability of each token"))
        return (effects_row(title, tokens, self.effect.changes),)

    def answer(self, at: Head | None = None) -> str:
        """The change of the whole translation, and the best one under the cuts."""
        words = marked("The log-probability changes by {change} nats; the translation becomes \u201c{text}\u201d.")
        return Phrase(words, change=Number(self.effect.change, "+.2f"), text=self.found.text)

    def summary(self) -> str:
        """Both translations."""
        return f"before: {self.effect.before.target}\nafter:  {self.found.text}"


@dataclass(frozen=True)
class FoundCuts(PicturedResult):
    """Cuts that change a predicted token, counted from 0, from one piece to another."""

    search: CutSearch
    position: int
    before: str
    after: str

    def table(self) -> Columns:
        """A row for each cut, by its name."""
        return {"cut": [*map(str, self.search.cuts)]}

    def pictures(self, at: Head | None = None) -> tuple[Grid, ...]:
        """None: the cuts are few."""
        return ()

    def answer(self, at: Head | None = None) -> str:
        """The token before and after the cuts."""
        token = Number(self.position + 1, "d")
        return Phrase(
            marked("Token {token}: {before} becomes {after}."), token=token, before=self.before, after=self.after
        )

    def summary(self) -> str:
        """The token before and after the cuts."""
        return f"token {self.position + 1}: {self.before} becomes {self.after}"


@dataclass(frozen=True)
class CutOptions:
    """Options of `cut`: weights to set, or the position, counted from 0, of a token to change."""

    cut: tuple[Cut, ...] | None = option(
        None,
        "weights to set, counted from 1, such as 'cross L5 H3 row 4 column 2': without a row or a column all are "
        "set, 'to 0.5' sets another number than 0, 'rest' scales the rest of the row",
        metavar="CUT",
        group="what!",
        type=str,
        parse=lambda names: tuple(map(parse_cut, names)),
    )
    find: int | None = option(
        None,
        "search for few weights that change predicted token N",
        group="what!",
        type=COUNTED_FROM_1,
        read=lambda sentence, number: predicted_position(sentence, number, "--find"),
    )
    kinds: tuple[Kind, ...] = option(("cross",), "attention searched by --find (default: cross)", choices=KINDS)
    beam_size: int = option(4)
    length_penalty: float = option(0.6)


def cut(
    translator: Translator, source: str, target: str | Sequence[int], options: CutOptions
) -> CutTranslation | FoundCuts:
    """Set attention weights and translate again, or search for few weights that change a token.

    The progress of a search is shown on stderr.

    Raises:
        ValueError: as `cut_effect` and `find_cuts`, or no cuts change the token.
    """
    position = options.find
    if position is None:
        cuts = options.cut or ()
        effect = cut_effect(translator, source, target, cuts)
        search = options.beam_size, options.length_penalty
        return CutTranslation(effect, translate_cut(translator, source, cuts, *search))
    before = translator.codec.pieces(translator.token_ids(source, target).predicted)[position]
    state: CutSearch | None = None
    for state in find_cuts(translator, source, target, position, options.kinds):
        show(f"{len(state.cuts)} cuts, margin {state.margin:.3f}")
    if state is None or not state.is_minimal:
        raise ValueError(
            f"no cuts were found that change token {position + 1} ({before}), with at most {MAX_CUTS}: allow other "
            f"attention with --kinds"
        )
    return FoundCuts(state, position, before, translator.codec.piece(state.winner))


def _write(result: CutTranslation | FoundCuts, options: CutOptions) -> None:
    if isinstance(result, CutTranslation):
        print_table(result, options)
        return
    print(*result.search.cuts, sep="\n")
    show(result.summary())


CUT = Analysis("cut", "set attention weights, and translate again", cut, CutOptions, write=_write)
