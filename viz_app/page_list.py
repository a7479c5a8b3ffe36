"""What the pages of the app are, in the groups and the order of the sidebar. No other module has a list of them."""

from typing import Literal, NamedTuple

from viz_app.language import marked

# What can be open: a translation model, one that predicts all tokens at once, a parser, a reader of pictures of text,
# or attention without a model.
ModelKind = Literal["translation", "mask-predict", "parser", "pictures", "attention"]

TRANSLATIONS: frozenset[ModelKind] = frozenset({"translation"})
NEXT_TOKENS: frozenset[ModelKind] = frozenset({"translation", "parser"})  # of a text, one after the other
MASK_PREDICT: frozenset[ModelKind] = frozenset({"mask-predict"})
ATTENTION: frozenset[ModelKind] = frozenset({"attention"})
ANY: frozenset[ModelKind] = frozenset({"translation", "mask-predict", "parser", "pictures", "attention"})


class AppPage(NamedTuple):
    """A page of the app.

    Attributes:
        name: its address, which does not change.
        folder: below views/, with its script `view.py`.
        title: in the sidebar.
        models: the kinds of model that it is for; with others a note in its place leads to what fits.
        has_sentence: whether the sentence and its translation are shown above the page; elsewhere they are kept.
        has_badges: whether it ends with the checks that it shows what the model did.
    """

    name: str
    folder: str
    title: str
    models: frozenset[ModelKind]
    has_sentence: bool = True
    has_badges: bool = False

    @property
    def script(self) -> str:
        """The path of the script, from the folder of the app."""
        return f"views/{self.folder}/view.py"


GROUPS: dict[str, tuple[AppPage, ...]] = {
    marked("Look"): (
        AppPage("translate", "translate/translation", marked("Translate"), TRANSLATIONS, has_badges=True),
        AppPage("overview", "overview", marked("Overview"), NEXT_TOKENS),
        AppPage("heads", "heads/grid", marked("Heads"), NEXT_TOKENS | ATTENTION, has_badges=True),
        AppPage("alignment", "heads/alignment", marked("Alignment"), TRANSLATIONS | ATTENTION, has_badges=True),
        AppPage("compare", "compare", marked("Compare"), TRANSLATIONS),
        AppPage("corpus", "corpus", marked("Corpus"), TRANSLATIONS, has_sentence=False),
    ),
    marked("Change"): (
        AppPage("beam", "translate/beam", marked("Beam"), TRANSLATIONS),
        AppPage("generation", "translate/generation", marked("Generation"), TRANSLATIONS | MASK_PREDICT),
        AppPage("switches", "experiments/switches", marked("Switches"), TRANSLATIONS),
        AppPage("contributions", "why/contributions", marked("What heads write"), NEXT_TOKENS),
        AppPage("contrast", "why/contrast", marked("Why A rather than B"), NEXT_TOKENS),
        AppPage("lens", "why/lens", marked("Layer by layer"), TRANSLATIONS),
        AppPage("patching", "experiments/patching", marked("Patching"), TRANSLATIONS),
        AppPage("head_paths", "experiments/head_paths", marked("Head to head"), NEXT_TOKENS),
    ),
    marked("Paper"): (
        AppPage("sections", "paper/sections", marked("The paper, section by section"), ANY, has_sentence=False),
        AppPage("step_through", "steps", marked("Step by step"), NEXT_TOKENS),
        AppPage("positions", "paper/positions", marked("Positions"), NEXT_TOKENS),
        AppPage("paper_figures", "paper/paper_figures", marked("Figures"), NEXT_TOKENS, has_sentence=False),
        AppPage("why", "paper/table1", marked("Table 1"), ANY, has_sentence=False),
    ),
    marked("Models"): (
        AppPage("checkpoint", "models/checkpoint", marked("Checkpoint"), ANY, has_sentence=False),
        AppPage("training", "models/training", marked("Training"), ANY, has_sentence=False),
        AppPage("over_training", "models/over_training", marked("Over training"), NEXT_TOKENS),
        AppPage("parsing", "models/parsing", marked("Parsing"), NEXT_TOKENS | MASK_PREDICT),
        AppPage("picture", "models/picture", marked("Read a picture"), ANY, has_sentence=False),
        AppPage("score", "translate/score", marked("Score a file"), TRANSLATIONS),
    ),
}
PAGES = tuple(page for group in GROUPS.values() for page in group)


def script_of(name: str) -> str:
    """Return the script of a page, by its address, as `st.page_link` takes it."""
    return next(each.script for each in PAGES if each.name == name)
