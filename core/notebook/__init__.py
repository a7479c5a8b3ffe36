"""Widgets for notebooks in Jupyter, Visual Studio Code and Colab.

    explanation.show()               a `HeadView`: the grid of heads with one of them large
    translation.show()               a `HypothesisView`: the hypotheses, and the tokens of one of them
    translator.show("A dog runs.")   a `TranslatorView`: both, for a sentence

The selection in each is a trait: readable and settable from Python, and observable. The widgets draw with the modules
of `core.drawing`, as the app does. A notebook converted to HTML shows a page of the same drawings in their place.

Needs anywidget, which the extra `notebook` installs. No network is needed in Jupyter and, with a local kernel, in
Visual Studio Code. Colab loads its widget manager and the script of anywidget from the internet. What was tried in
each is in docs/notebooks/index.md.
"""

from core.files.extras import needs

with needs("notebook", "show()"):
    from core.notebook.head_view import HeadView
    from core.notebook.hypothesis_view import HypothesisView, TranslatorView

__all__ = ["HeadView", "HypothesisView", "TranslatorView"]
