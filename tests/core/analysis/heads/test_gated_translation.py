from collections.abc import Generator
from contextlib import contextmanager

import pytest

from core.analysis.heads.gated_translation import translate_gated
from core.analysis.heads.gating import gated
from core.analysis.heads.head import all_heads
from core.model import Transformer
from core.text.byte_pieces import BytePiece
from core.trace import Head
from core.translator import Translator

pytestmark = pytest.mark.usefixtures("short_translations")

SOURCE = "Where is the nearest station?"
OFF = {Head("cross", 0, 0): 0.0, Head("encoder_self", 1, 2): 0.0, Head("decoder_self", 2, 1): 0.5}


def test_gates_of_one_translate_as_without_and_bytes_know_their_characters(translator: Translator) -> None:
    best = translator.translate(SOURCE, 2, 0.6).hypotheses[0]
    found = translate_gated(translator, SOURCE, dict.fromkeys(all_heads(translator.model), 1.0), 2, 0.6)
    assert (found.text, found.tokens, found.finished) == (best.text, best.tokens, best.finished)
    assert found.log_prob == pytest.approx(best.log_prob, abs=1e-3)
    found = translate_gated(translator, SOURCE, {}, 2, 0.6)
    assert BytePiece in map(type, best.tokens)
    assert list(map(type, found.tokens)) == list(map(type, best.tokens))


def test_gates_hold_for_the_whole_search(translator: Translator) -> None:
    with gated(translator, OFF):
        whole = translator.translate(SOURCE, 2, 0.6).hypotheses[0]
    found = translate_gated(translator, SOURCE, OFF, 2, 0.6)
    assert found.token_ids == whole.token_ids
    assert found.token_log_probs == pytest.approx(whole.token_log_probs, abs=1e-5)
    assert found.log_prob != pytest.approx(translator.translate(SOURCE, 2, 0.6).log_prob, abs=1e-3)


def test_the_model_is_free_between_two_positions(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    depth, gaps = 0, 0
    inspect = translator.inspect

    @contextmanager
    def counted() -> Generator[Transformer]:
        nonlocal depth, gaps
        gaps += depth == 0
        depth += 1
        with inspect() as model:
            yield model
        depth -= 1

    monkeypatch.setattr(translator, "inspect", counted)
    told: list[tuple[int, int]] = []
    found = translate_gated(translator, SOURCE, OFF, 1, 0.6, progress=lambda *done: told.append(done))
    assert [position for position, _ in told] == list(range(1, len(found.tokens) + 1))
    assert all(position <= most for position, most in told)
    assert gaps > len(found.tokens)  # once to encode, then for each position
