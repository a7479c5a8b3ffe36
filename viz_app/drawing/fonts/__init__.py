"""The font of exported pictures: the shapes of the letters on the screen, as files that matplotlib reads.

On the screen that is Source Sans 3, which Streamlit includes as one variable WOFF2 file; matplotlib reads no such file.
`python -m viz_app.drawing.fonts` writes the two files of this folder from it. They have another name, since the font's
licence (OFL.txt) reserves its own for unchanged files.
"""

from pathlib import Path

FAMILY = "Headlight Sans"
FOLDER = Path(__file__).parent
REGULAR, BOLD = FOLDER / "HeadlightSans-Regular.ttf", FOLDER / "HeadlightSans-Bold.ttf"
WEIGHTS = {REGULAR: 400, BOLD: 600}  # bold text is semi-bold on the screen
