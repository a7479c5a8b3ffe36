"""Checks of a page's accessibility with axe-core."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import axe_playwright_python
from playwright.sync_api import Page

from tests.e2e.idle import wait_until_idle

# Streamlit's own markup, by rule and element.
STREAMLITS = {
    ("presentation-role-conflict", "[data-testid=stFileUploaderDropzone]"),  # has a name though it is no widget
    ("target-size", "[data-testid=stMultiSelect] button"),  # of 22.5 pixels: removes all selections
}
RUN = """([root, without, known, rules]) => axe
  .run({ include: root || document, exclude: without }, {
    resultTypes: ["violations"],
    elementRef: true,
    preload: false,
    ...(rules ? { runOnly: { type: "rule", values: rules } } : { rules: { "target-size": { enabled: true } } }),
  })
  .then(({ violations }) =>
    violations.flatMap(({ id, nodes }) =>
      nodes
        .filter(({ element }) => !known.some(([rule, selector]) => rule === id && element.matches(selector)))
        .map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}\\n${failureSummary}`),
    ),
  )"""


def violations(page: Page, root: str = "", *, without: Sequence[str] = (), rules: list[str] | None = None) -> list[str]:
    """Return what violates a rule in the page, its shadow roots included.

    Args:
        root: selector of the part to check; by default all.
        without: selectors of parts that have been checked before. Rules about the page as a whole apply.
        rules: names of rules; by default all that axe-core has on by itself, and `target-size`.
    """
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(axe_core())
    found: list[Any] = page.evaluate(RUN, [root, list(without), sorted(STREAMLITS), rules])
    return [str(each) for each in found]


def violations_when_drawn(
    page: Page, root: str = "", *, without: Sequence[str] = (), rules: list[str] | None = None
) -> list[str]:
    """As `violations`, of a page of the app once nothing on it is about to be replaced, which is drawn in grey."""
    found: list[str] = []
    for _ in range(5):
        wait_until_idle(page, still=True)
        messages = page.evaluate("window.messages")
        found = violations(page, root, without=without, rules=rules)
        if not found or page.evaluate("window.messages") == messages:
            break  # the app has changed nothing meanwhile
    return found


@cache
def axe_core() -> str:
    """The script of axe-core, which a Python package brings along."""
    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
