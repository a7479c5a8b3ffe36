"""Common parts of all Plotly figures."""

import subprocess
import sys

from viz_app.session.models import ROOT

# A figure is drawn when the server has begun to import pandas.
EARLY_FIGURE = """
import importlib, threading
from tests.viz_app.half_imported import Meanwhile
from viz_app.figures.plotly_chart import empty_figure
from viz_app.figures.theme import LIGHT

def draw():
    figure = empty_figure(LIGHT, height=100).add_heatmap(x=["a", "b"], z=[[0.1, 0.2]])
    drawn.append(len(figure.to_json()) > 100)

drawn = []
drawing = threading.Thread(target=draw)
Meanwhile("pandas", drawing)
importlib.import_module("pandas")
drawing.join()
print(drawn)
"""


def test_a_figure_can_be_drawn_while_another_thread_imports_pandas() -> None:
    """Plotly finds it in `sys.modules` by itself, and uses types that it may not have yet."""
    done = subprocess.run([sys.executable, "-c", EARLY_FIGURE], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "[True]\n", done.stderr
