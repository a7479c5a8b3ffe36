"""A sentence translated: its hypotheses, and the heads of the selected one."""

from typing import Any

import ipywidgets

from core.notebook.head_view import HeadView
from core.notebook.hypothesis_view import HypothesisView
from core.notebook.widget import with_html
from core.results import Translation
from core.translator import Translator


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
