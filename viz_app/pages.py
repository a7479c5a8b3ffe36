"""The pages of the app in the order of the sidebar, in groups."""

from typing import NamedTuple

from viz_app.language import marked


class AppPage(NamedTuple):
    """A page of the app.

    Attributes:
        name: of the script in app_pages/, and of the address.
        title: in the sidebar.
        has_sentence: whether the sentence and its translation are shown above the page; elsewhere they are kept.
        needs_model: whether it is not drawn for attention without a model.
    """

    name: str
    title: str
    has_sentence: bool = True
    needs_model: bool = True


GROUPS: dict[str, tuple[AppPage, ...]] = {
    marked("Look"): (
        AppPage("translate", marked("Translate")),
        AppPage("heads", marked("Heads"), needs_model=False),
        AppPage("alignment", marked("Alignment"), needs_model=False),
        AppPage("compare", marked("Compare")),
        AppPage("corpus", marked("Corpus"), has_sentence=False),
    ),
    marked("Change"): (
        AppPage("beam", marked("Beam")),
        AppPage("generation", marked("Generation")),
        AppPage("switches", marked("Switches")),
        AppPage("contributions", marked("What heads write")),
        AppPage("contrast", marked("Why A rather than B")),
        AppPage("lens", marked("Layer by layer")),
        AppPage("patching", marked("Patching")),
        AppPage("head_paths", marked("Head to head")),
    ),
    marked("Paper"): (
        AppPage("sections", marked("The paper, section by section"), has_sentence=False, needs_model=False),
        AppPage("step_through", marked("Step by step")),
        AppPage("positions", marked("Positions")),
        AppPage("paper_figures", marked("Figures"), has_sentence=False),
        AppPage("why", marked("Table 1"), has_sentence=False, needs_model=False),
    ),
    marked("Models"): (
        AppPage("checkpoint", marked("Checkpoint"), has_sentence=False, needs_model=False),
        AppPage("training", marked("Training"), has_sentence=False, needs_model=False),
        AppPage("over_training", marked("Over training")),
        AppPage("parsing", marked("Parsing")),
        AppPage("picture", marked("Read a picture"), has_sentence=False, needs_model=False),
        AppPage("score", marked("Score a file")),
    ),
}
PAGES = tuple(page for group in GROUPS.values() for page in group)
