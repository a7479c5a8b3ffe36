"""What a page shows first: where its first picture begins, and how many controls stand above the fold."""

from playwright.sync_api import Page

WIDTH = 1440  # of the window in which the limit holds
LIMIT = 312  # pixels from its upper edge to the picture, below an answer and a sentence that take one line each
# A picture, or a table that stands for one; the frame of the page has components, too.
FIRST_PICTURE = """() => {
  const tables = ".stDataFrame, .table-1, .table-3, .facts-table, .token-rows";
  const kinds = ".stBidiComponent, .stPlotlyChart, .stImage, " + tables;
  const frame = ".st-key-top-bar, .st-key-frame_script";
  const tops = [...document.querySelectorAll("[data-testid=stMain] :is(" + kinds + ")")]
    .filter((each) => !each.closest(frame) && each.getClientRects().length)
    .map((each) => each.getBoundingClientRect())
    .filter(({ height }) => height > 50)
    .map(({ top }) => top);
  return tops.length ? Math.min(...tops) : null;
}"""


FOLD, MOST_CONTROLS = 860, 6  # pixels of a window's height; of a view's own controls above it
# Those of the frame and the files of a picture, which appear on hover, are not a view's own.
CONTROLS = """(fold) => {
  const named = (names) => names.map((name) => ".st" + name).join(", ");
  const boxes = ["Selectbox", "MultiSelect", "Checkbox", "TextInput", "TextArea", "NumberInput", "Slider"];
  const kinds = named([...boxes, "Button", "ButtonGroup", "FileUploader", "Popover", "FormSubmitButton"]);
  return [...document.querySelectorAll("[data-testid=stMain] :is(" + kinds + ")")].filter((each) => {
    const { top, height } = each.getBoundingClientRect();
    const isPart = each.closest(".st-key-top-bar, .st-key-below-sentence") || each.parentElement.closest(kinds);
    return !isPart && height > 4 && top < fold && each.checkVisibility({ opacityProperty: true });
  }).length;
}"""


def controls(page: Page) -> int:
    """Count a view's own controls above the fold of a window 860 pixels high."""
    return page.evaluate(CONTROLS, FOLD)


def first_picture(page: Page) -> float | None:
    """Return where the first picture begins, in pixels from the upper edge of the window; None if there is none."""
    return page.evaluate(FIRST_PICTURE)
