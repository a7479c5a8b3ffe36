"""The hypotheses of a translation, one of them selected."""

from typing import Any

import ipywidgets
import traitlets

from core.drawing.drawing_data import label_spans, spoken
from core.notebook.head_view import HeadView
from core.notebook.widget import NotebookWidget, widget_module, with_html
from core.results import ScoredText, Translation
from core.translator import Translator

HEADER = ["", "Hypothesis", "score", "log-prob", "tokens"]


class HypothesisView(NotebookWidget):
    """The hypotheses of a search as a table, and the tokens of the selected one with their probabilities.

    Attributes:
        hypothesis: number of the selected hypothesis, counted from 0, the best; assign or `observe` it.

    Raises:
        TraitError: on assignment, if there is no such hypothesis.
    """

    _esm = widget_module(__file__)
    _data = traitlets.Dict().tag(sync=True)
    hypothesis = traitlets.Int(0).tag(sync=True)

    def __init__(self, translation: Translation) -> None:
        self.translation = translation
        data = {
            "source": translation.source,
            "header": HEADER,
            "hypotheses": [_data_of(hypothesis) for hypothesis in translation.hypotheses],
        }
        super().__init__(_data=data)

    @property
    def selected(self) -> ScoredText:
        """The selected hypothesis."""
        return self.translation.hypotheses[self.hypothesis]

    def static_html(self) -> str:
        return self.translation._repr_html_()  # pyright: ignore[reportPrivateUsage]  # IPython's name

    @traitlets.validate("hypothesis")
    def _known_hypothesis(self, proposal: dict[str, Any]) -> int:
        value, count = proposal["value"], len(self.translation.hypotheses)
        if not 0 <= value < count:
            raise traitlets.TraitError(f"there is no hypothesis {value}: expected 0 to {count - 1}")
        return value


def _data_of(hypothesis: ScoredText) -> dict[str, Any]:
    """Data of one hypothesis, see `Hypothesis` in hypothesis_view.js."""
    return {
        "text": hypothesis.text,
        "numbers": _numbers(hypothesis),
        "tokens": [
            {"spans": label_spans(token), "name": spoken(token), "logProb": round(log_prob, 4)}
            for token, log_prob in zip(hypothesis.tokens, hypothesis.token_log_probs, strict=True)
        ],
    }


def _numbers(hypothesis: ScoredText) -> list[str]:
    """Score, log-probability and number of tokens, with real minus signs."""
    scores = (f"{value:.2f}".replace("-", "\u2212") for value in (hypothesis.score, hypothesis.log_prob))
    return [*scores, str(len(hypothesis.tokens))]


class TranslatorView(ipywidgets.VBox):
    """The hypotheses of a translation above the attention of the selected one.

    Attributes:
        translation: the result of the search.
        hypotheses: the table; its trait `hypothesis` selects the one that is explained.
        heads: the heads for that hypothesis; its traits are the selected head and words.
    """

    def __init__(self, translator: Translator, translation: Translation) -> None:
        self.translation = translation
        self.hypotheses = HypothesisView(translation)

        def explained(_change: object = None) -> Any:
            return translator.explain(translation.source, self.hypotheses.selected.token_ids)

        self.heads = HeadView(explained(), config=translator.config)
        self.hypotheses.observe(lambda change: setattr(self.heads, "explanation", explained(change)), "hypothesis")
        super().__init__([self.hypotheses, self.heads])

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        static = self.hypotheses.static_html() + self.heads.static_html()
        return with_html((super()._repr_mimebundle_(**kwargs), self.heads.display_metadata()), static)
