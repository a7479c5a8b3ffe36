"""Where the first picture of a page begins: selectors stand above it, explanations below it or in its help."""

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


def first_picture(page: Page) -> float | None:
    """Return where the first picture begins, in pixels from the upper edge of the window; None if there is none."""
    return page.evaluate(FIRST_PICTURE)
