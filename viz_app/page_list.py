"""What the pages of the app and their views are, in the order of the sidebar. No other module has a list of them."""

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


class View(NamedTuple):
    """A view of a page: a script with an address of its own."""

    name: str  # its address, which does not change
    folder: str  # below views/, with its script `view.py`
    title: str  # in the row of views above the page
    # the kinds of model that it is for; with others a note in its place leads to what fits
    models: frozenset[ModelKind]
    # whether the sentence and its translation are shown above the view; elsewhere they are kept
    has_sentence: bool = True
    has_badges: bool = False  # whether it ends with the checks that it shows what the model did

    @property
    def script(self) -> str:
        """The path of the script, from the folder of the app."""
        return f"views/{self.folder}/view.py"


class AppPage(NamedTuple):
    """A page of the app: an entry of the sidebar, with views that answer the same question."""

    title: str  # in the sidebar
    views: tuple[View, ...]  # the first of them opens first


PAGES = tuple(
    AppPage(title, views)
    for title, views in {
        marked("Overview"): (
            View("overview", "overview", marked("Overview"), NEXT_TOKENS),
            View("discoveries", "overview/discoveries", marked("Discoveries"), TRANSLATIONS, has_sentence=False),
        ),
        marked("Translate"): (
            View("translate", "translate/translation", marked("Translation"), TRANSLATIONS, has_badges=True),
            View("beam", "translate/beam", marked("Beam"), TRANSLATIONS),
            View("generation", "translate/generation", marked("Faster generation"), TRANSLATIONS | MASK_PREDICT),
            View("score", "translate/score", marked("Score a file"), TRANSLATIONS),
        ),
        marked("Heads"): (
            View("heads", "heads/grid", marked("All heads"), NEXT_TOKENS | ATTENTION, has_badges=True),
            View("alignment", "heads/alignment", marked("Alignment"), TRANSLATIONS | ATTENTION, has_badges=True),
        ),
        marked("Why this word"): (
            View("contrast", "why/contrast", marked("Why A rather than B"), NEXT_TOKENS),
            View("contributions", "why/contributions", marked("What heads write"), NEXT_TOKENS),
            View("score_components", "why/score_components", marked("Why a head looks there"), NEXT_TOKENS),
            View("lens", "why/lens", marked("Layer by layer"), TRANSLATIONS),
        ),
        marked("Experiments"): (
            View("switches", "experiments/switches", marked("Switches"), TRANSLATIONS),
            View("patching", "experiments/patching", marked("Patching"), TRANSLATIONS),
            View("head_paths", "experiments/head_paths", marked("Which head feeds which"), NEXT_TOKENS),
        ),
        marked("Step by step"): (
            View("step_through", "steps/token_path", marked("One token"), NEXT_TOKENS),
            View("training_step", "steps/training_step", marked("One step of training"), NEXT_TOKENS),
        ),
        marked("Compare"): (
            View("compare", "compare/one_sentence", marked("One sentence"), TRANSLATIONS),
            View("test_set", "compare/test_set", marked("A test set"), TRANSLATIONS, has_sentence=False),
        ),
        marked("Corpus"): (View("corpus", "corpus", marked("Corpus"), TRANSLATIONS),),
        marked("Paper"): (
            View("sections", "paper/sections", marked("Section by section"), ANY, has_sentence=False),
            View("paper_figures", "paper/paper_figures", marked("Figures"), NEXT_TOKENS, has_sentence=False),
            View("positions", "paper/positions", marked("Positions"), NEXT_TOKENS),
            View("why", "paper/table1", marked("Table 1"), ANY, has_sentence=False),
            View("table_2", "paper/table2", marked("Table 2"), ANY, has_sentence=False),
            View("table_3", "paper/table3", marked("Table 3"), ANY, has_sentence=False),
            View("build_one", "paper/build_one", marked("Build one"), ANY, has_sentence=False),
            View("exercises", "paper/exercises", marked("Exercises"), TRANSLATIONS | ATTENTION),
        ),
        marked("Models"): (
            View("checkpoint", "models/checkpoint", marked("Report"), ANY, has_sentence=False),
            View("training", "models/training", marked("Training"), ANY, has_sentence=False),
            View("over_training", "models/over_training", marked("Over training"), NEXT_TOKENS),
            View("parsing", "models/parsing", marked("Parsing"), NEXT_TOKENS | MASK_PREDICT),
            View("picture", "models/picture", marked("Read a picture"), ANY, has_sentence=False),
        ),
    }.items()
)

VIEWS = tuple(view for page in PAGES for view in page.views)


def script_of(name: str) -> str:
    """Return the script of a view, by its address, as `st.page_link` takes it."""
    return next(each.script for each in VIEWS if each.name == name)
