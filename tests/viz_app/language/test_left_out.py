"""No text of the app is left out: every one is marked for the catalogues."""

import ast
from pathlib import Path

import pytest

from tests.viz_app.language.left_out import ROOT, left_out, texts_in

PARTS = sorted(path for path in (ROOT / "viz_app").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists())


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_every_text_is_marked(part: Path) -> None:
    files = sorted(part.rglob("*.py")) if part.is_dir() else [part]
    assert [f"{file.relative_to(ROOT)}:{line}: {text!r}" for file in files for line, text in left_out(file)] == []


@pytest.mark.parametrize(
    "code",
    [
        "st.info('Two words')",
        "st.caption('Export')",
        "place.metric('Steps', 3)",
        "selectbox(tr('Kind'), label='Kind')",
        "st.button(key='stop', label='Stop' if running else 'Continue')",
        "st.tabs(['Map', 'Table'])",
        "column_config.NumberColumn(help='Rank')",
        "KIND_NAMES = {'cross': 'Cross'}",
        "METHOD_TEXTS: dict[str, str] = {'all': 'All'}",
        "f'{count} heads'",
        "f'{layer}, head {number}'",
        "f'at {place}'",
        "html = '<th>Rank</th>'",
        'html = \'<div class="facts" aria-label="Facts">\'',
        "go.Scatter(x, name='Weight')",
        "raise ValueError(f'no {name} here')",
    ],
)
def test_a_text_is_found(code: str) -> None:
    assert list(texts_in(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "'''A docstring of words.'''",
        "st.info(tr('Two words'))",
        "ABOUT = marked('Two words')",
        "st.button(key='stop', icon=':material/stop:')",
        "st.selectbox(tr('Model'), names, None)",
        "reason == 'Headlight opens'",
        "re.compile('two words')",
        "f'{name}-{number}.csv'",
        "f'd_model {width}'",
        "html = f'<div class=\"two words\">{text}</div>'",
        "part = f'from core import {name}'",
        "raise SettingError(f'the variable {name} is wrong')",
    ],
)
def test_what_is_no_text_is_not(code: str) -> None:
    assert list(texts_in(ast.parse(code))) == []
