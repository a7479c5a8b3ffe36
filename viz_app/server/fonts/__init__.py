"""The fonts of PDF files: the shapes of the letters on the screen, as files that matplotlib reads.

On the screen they are Source Sans 3 and Source Code Pro, which Streamlit includes as variable WOFF2 files; matplotlib
reads no such files. `python -m viz_app.server.fonts` writes the files of this folder from them. They have other names,
since the fonts' licence (OFL.txt) reserves its own for unchanged files.
"""

from pathlib import Path

SANS, MONOSPACE = "Headlight Sans", "Headlight Mono"
FOLDER = Path(__file__).parent
# Bold text is semi-bold on the screen.
WEIGHTS = {
    FOLDER / f"{family.replace(' ', '')}-{style}.ttf": (family, weight)
    for family in (SANS, MONOSPACE)
    for style, weight in (("Regular", 400), ("Bold", 600))
}
