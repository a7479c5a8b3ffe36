"""The pages of the app in the order of the sidebar, in groups."""

from typing import NamedTuple


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
    "Look": (
        AppPage("translate", "Translate"),
        AppPage("heads", "Heads", needs_model=False),
        AppPage("alignment", "Alignment", needs_model=False),
        AppPage("compare", "Compare"),
        AppPage("corpus", "Corpus", has_sentence=False),
    ),
    "Change": (
        AppPage("beam", "Beam"),
        AppPage("generation", "Generation"),
        AppPage("switches", "Switches"),
        AppPage("contributions", "What heads write"),
        AppPage("contrast", "Why A rather than B"),
        AppPage("lens", "Layer by layer"),
        AppPage("patching", "Patching"),
        AppPage("head_paths", "Head to head"),
    ),
    "Paper": (
        AppPage("sections", "The paper, section by section", has_sentence=False, needs_model=False),
        AppPage("step_through", "Step by step"),
        AppPage("positions", "Positions"),
        AppPage("paper_figures", "Figures", has_sentence=False),
        AppPage("why", "Table 1", has_sentence=False, needs_model=False),
    ),
    "Models": (
        AppPage("checkpoint", "Checkpoint", has_sentence=False, needs_model=False),
        AppPage("training", "Training", has_sentence=False, needs_model=False),
        AppPage("over_training", "Over training"),
        AppPage("parsing", "Parsing"),
        AppPage("picture", "Read a picture", has_sentence=False, needs_model=False),
        AppPage("score", "Score a file"),
    ),
}
PAGES = tuple(page for group in GROUPS.values() for page in group)
# former addresses, and where they lead
MOVED = {f"/{PAGES[0].name}": "/", "/bertviz": "/heads?view=BertViz"}
