"""Contrast of the colours in style sheets and in Streamlit's settings (WCAG 2.2, 1.4.3 and 1.4.11)."""

import re
import tomllib

import pytest

from viz_app.drawing.head_grid import contrast
from viz_app.drawing.theme import theme_named
from viz_app.session.models import ROOT

TEXT, MARK = 4.5, 3.0
SETTINGS = tomllib.loads((ROOT / "viz_app/.streamlit/config.toml").read_text())["theme"]
THEME_CSS = (ROOT / "viz_app/components/theme.css").read_text()
PAGE_CSS = (ROOT / "viz_app/frame/style.css").read_text()
EXPORT_CSS = (ROOT / "core/drawing/colors.css").read_text()
both = pytest.mark.parametrize("scheme", ["light", "dark"])


def mixed(over: str, under: str, share: float) -> str:
    """A colour as CSS mixes it in sRGB."""
    channels = (round(share * int(over[i : i + 2], 16) + (1 - share) * int(under[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{channel:02x}" for channel in channels)


def shares(css: str, color: str) -> list[float]:
    """The parts of a colour in all mixtures that are a text's colour."""
    found = re.findall(rf"(?<![\w-])(?:color|--faint): color-mix\(in srgb, {re.escape(color)} (\d+)%", css)
    return [int(share) / 100 for share in found]


@both
def test_the_app_can_be_read(scheme: str) -> None:
    settings = SETTINGS[scheme]
    text, accent, ground = settings["textColor"], settings["primaryColor"], settings["backgroundColor"]
    assert (text, ground) == (theme_named(scheme).text, theme_named(scheme).background)
    grounds = [ground, settings["secondaryBackgroundColor"], *settings["sidebar"].values()]
    faint = shares(THEME_CSS, "var(--text)")
    assert len(faint) == 1
    opacities = [float(opacity) for opacity in re.findall(r"opacity: (\d[.\d]*)", PAGE_CSS)]
    opacities = [opacity for opacity in opacities if opacity]  # 0 is for what nobody is to see now
    for each in grounds:
        for share in (*faint, *shares(PAGE_CSS, "currentColor"), *opacities):
            assert contrast(mixed(text, each, share), each) >= TEXT, (share, each)
        assert contrast(accent, each) >= MARK  # also of the focus


@both
def test_an_exported_page_can_be_read(scheme: str) -> None:
    pairs = dict(re.findall(r"--([\w-]+): light-dark\((#\w+, #\w+)\)", EXPORT_CSS))
    colors = {name: pair.split(", ")[scheme == "dark"] for name, pair in pairs.items()}
    for ground in (colors["ground"], colors["tint"]):
        assert all(contrast(colors[name], ground) >= TEXT for name in ("text", "faint", "accent"))
