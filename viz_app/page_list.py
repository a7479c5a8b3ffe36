"""The pages of the app in the order of the sidebar, in groups."""

from typing import NamedTuple

from viz_app.language import marked


class AppPage(NamedTuple):
    """A page of the app.

    Attributes:
        name: its address.
        folder: below views/, which has its script `view.py`.
        title: in the sidebar.
        has_sentence: whether the sentence and its translation are shown above the page; elsewhere they are kept.
        needs_model: whether it is not drawn for attention without a model.
    """

    name: str
    folder: str
    title: str
    has_sentence: bool = True
    needs_model: bool = True

    @property
    def script(self) -> str:
        """The path of the script, from the folder of the app."""
        return f"views/{self.folder}/view.py"


GROUPS: dict[str, tuple[AppPage, ...]] = {
    marked("Look"): (
        AppPage("translate", "translate/translation", marked("Translate")),
        AppPage("heads", "heads/grid", marked("Heads"), needs_model=False),
        AppPage("alignment", "heads/alignment", marked("Alignment"), needs_model=False),
        AppPage("compare", "compare", marked("Compare")),
        AppPage("corpus", "corpus", marked("Corpus"), has_sentence=False),
    ),
    marked("Change"): (
        AppPage("beam", "translate/beam", marked("Beam")),
        AppPage("generation", "translate/generation", marked("Generation")),
        AppPage("switches", "experiments/switches", marked("Switches")),
        AppPage("contributions", "why/contributions", marked("What heads write")),
        AppPage("contrast", "why/contrast", marked("Why A rather than B")),
        AppPage("lens", "why/lens", marked("Layer by layer")),
        AppPage("patching", "experiments/patching", marked("Patching")),
        AppPage("head_paths", "experiments/head_paths", marked("Head to head")),
    ),
    marked("Paper"): (
        AppPage(
            "sections", "paper/sections", marked("The paper, section by section"), has_sentence=False, needs_model=False
        ),
        AppPage("step_through", "steps", marked("Step by step")),
        AppPage("positions", "paper/positions", marked("Positions")),
        AppPage("paper_figures", "paper/paper_figures", marked("Figures"), has_sentence=False),
        AppPage("why", "paper/table1", marked("Table 1"), has_sentence=False, needs_model=False),
    ),
    marked("Models"): (
        AppPage("checkpoint", "models/checkpoint", marked("Checkpoint"), has_sentence=False, needs_model=False),
        AppPage("training", "models/training", marked("Training"), has_sentence=False, needs_model=False),
        AppPage("over_training", "models/over_training", marked("Over training")),
        AppPage("parsing", "models/parsing", marked("Parsing")),
        AppPage("picture", "models/picture", marked("Read a picture"), has_sentence=False, needs_model=False),
        AppPage("score", "translate/score", marked("Score a file")),
    ),
}
PAGES = tuple(page for group in GROUPS.values() for page in group)


def script_of(name: str) -> str:
    """Return the script of a page, by its address, as `st.page_link` takes it."""
    return next(each.script for each in PAGES if each.name == name)
