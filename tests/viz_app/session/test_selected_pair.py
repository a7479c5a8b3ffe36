"""The call that orders heads by their weight between two words, as the page Heads exports it."""

import math
import shutil
from pathlib import Path

import pytest

from core.analysis.heads.word_pair import named_word, word_pair
from core.analysis.recorded_call import table_script
from tests.viz_app.pages import Start, opened, reading
from viz_app.session.selected_pair import linking_call, linking_heads


def test_the_script_computes_the_table_that_is_shown(
    start: Start, tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = reading(opened(start(text="The dog runs because it is old.", beam_size="1"), "heads"))
    explanation = about.explain()
    pair = word_pair(explanation, named_word(explanation, "source.5"), named_word(explanation, "source.2"))
    assert pair is not None
    found, shown = linking_call(about, pair).run(), linking_heads(about, pair)
    assert [head for head, _ in found.heads] == [head for head, _ in shown.heads]
    assert all(
        math.isclose(one, other, rel_tol=1e-5) for (_, one), (_, other) in zip(found.heads, shown.heads, strict=True)
    )
    code = table_script(linking_call(about, pair).then("table"), "heads.csv")
    assert "PairOptions(query='source.5', key='source.2')" in code
    shutil.copy(tiny_checkpoint, tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    lines = (tmp_path / "heads.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].replace("\t", ",").lstrip("\ufeff") == "kind,layer,head,weight"
    assert len(lines) == 1 + len(shown.heads)
