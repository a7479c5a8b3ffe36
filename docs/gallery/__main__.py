"""`python -m docs.gallery OUT`: twenty sentences as pages of `core explain`, and their cards.

OUT gets a page NAME.html for each, which opens from the disk, and `cards.html`, the part of the front page of the
documentation that links to them.
"""

import argparse
from pathlib import Path

from docs.gallery.exhibits import EXHIBITS
from docs.gallery.pages import card, checked, standalone_page


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m docs.gallery", description=__doc__)
    parser.add_argument("out", type=Path, help="folder for the pages; made if it is missing")
    out = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    cards: list[str] = []
    for exhibit in EXHIBITS:
        explanation = checked(exhibit)
        (out / f"{exhibit.name}.html").write_text(standalone_page(exhibit, explanation), "utf-8")
        cards.append(card(exhibit, explanation))
    (out / "cards.html").write_text("\n".join(cards), "utf-8")


if __name__ == "__main__":
    main()
