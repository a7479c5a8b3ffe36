"""The analysis `step`: one token followed through the model, every number."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.analysis.declaration import FIRST, Analysis, Columns, PicturedResult, option
from core.analysis.token_path.steps import TokenPath
from core.analysis.token_path.token_walk import follow_token
from core.text.phrases import Phrase, marked
from core.trace import Head, Stack
from core.translator import Translator


@dataclass(frozen=True)
class StepOptions:
    """Options of `step`; token, layer and head are counted from 0."""

    stack: Stack = option("decoder", "stack whose token is followed")
    token: int = option(
        help="number of the token, counted from 1: of the source, or of the predicted tokens", from_1=True
    )
    layer: int = option(0, "layer, counted from 1", from_1=True)
    head: int = option(0, "head, counted from 1", from_1=True)
    part: str | None = option(None, "print this part alone, such as cross or feed_forward", metavar="NAME")


@dataclass(frozen=True)
class TokenNumbers(PicturedResult):
    """The numbers of a token on its way through a layer, of one part or of all."""

    path: TokenPath
    part: str | None = None

    def table(self) -> Columns:
        """A row for each number; positions, heads and dimensions are counted from 0."""
        return self.path.table(self.part)

    def answer(self, at: Head = FIRST) -> str:
        """How exact the numbers are."""
        return Phrase(
            marked("The numbers of {token}, computed by the formulas, differ from the model's own by at most {gap}."),
            token=self.path.tokens[self.path.position],
            gap=f"{self.path.gap:.1g}",
        )

    def summary(self) -> str:
        """The followed token, and how exact the numbers are."""
        path = self.path
        token = path.tokens[path.position]
        is_decoder = path.stack == "decoder"
        predicts = f", predicts {path.explanation.predicted_tokens[path.position]}" if is_decoder else ""
        return (
            f"{path.stack}, {token}{predicts}, layer {path.layer + 1}, head {path.head + 1}: computed again by the "
            f"formulas, {len(path.differences)} quantities differ from the model's own by at most {path.gap:.1g}"
        )


def step(translator: Translator, source: str, target: str | Sequence[int], options: StepOptions) -> TokenNumbers:
    """Follow one token through the model.

    Raises:
        ValueError: as `follow_token`.
    """
    place = options.token, options.layer, options.head
    return TokenNumbers(follow_token(translator, source, target, options.stack, *place), options.part)


STEP = Analysis("step", "print every number on one token's way through a layer", step, StepOptions)
