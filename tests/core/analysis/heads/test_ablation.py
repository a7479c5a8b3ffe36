import pytest

from core.analysis.heads import ablation
from core.analysis.heads.ablation import HeadsOff, ablate_each_head, gate_effect, token_changes
from core.analysis.heads.head import all_heads
from core.text.tokenizer import SentencePieceTokenizer
from core.trace import Head
from core.translator import Translator
from tests.core.analysis.conftest import random_translator

SOURCE, TARGET = "Where is the nearest station?", "Wo ist der nächste Bahnhof?"


def test_gates_of_one_change_nothing(translator: Translator):
    effect = gate_effect(translator, SOURCE, TARGET, dict.fromkeys(all_heads(translator.model), 1.0))
    assert effect.change == pytest.approx(0, abs=1e-5)


def test_ablating_each_head_equals_its_gate_at_zero(translator: Translator, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ablation, "BLOCK_TOKENS", 200)  # several heads at once, and a last batch that is not full
    effects = dict(ablate_each_head(translator, SOURCE, TARGET))
    assert list(effects) == all_heads(translator.model)
    for head in (
        Head("encoder_self", 0, 1),
        Head("encoder_self", 1, 2),
        Head("decoder_self", 2, 0),
        Head("cross", 0, 2),
        Head("cross", 2, 2),
    ):
        alone = gate_effect(translator, SOURCE, TARGET, {head: 0.0})
        assert effects[head].log_probs == pytest.approx(alone.log_probs, abs=1e-4)
        assert effects[head].change == pytest.approx(alone.change, abs=1e-3)
        assert abs(alone.change) > 1e-3


def test_a_forced_first_token_is_no_prediction(tokenizer: SentencePieceTokenizer):
    translator = random_translator(tokenizer, forced_first_id=9)
    for head, effect in ablate_each_head(translator, SOURCE, TARGET):
        alone = gate_effect(translator, SOURCE, TARGET, {head: 0.0})
        assert effect.log_probs[0] == effect.changes[0] == alone.changes[0] == 0
        assert effect.change == pytest.approx(alone.change, abs=1e-3)
        assert any(effect.changes[1:])


def test_changes_are_after_minus_before(translator: Translator):
    before = translator.explain(SOURCE, TARGET).log_probs
    effect = gate_effect(translator, SOURCE, TARGET, {Head("cross", 1, 0): 0.5})
    assert effect.changes == pytest.approx([new - old for new, old in zip(effect.log_probs, before, strict=True)])
    assert effect.change == pytest.approx(sum(effect.log_probs) - sum(before))


def test_closing_the_iterator_stops_the_work(translator: Translator, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ablation, "BLOCK_TOKENS", 1)
    calls: list[int] = []
    encode = translator.model.encode
    monkeypatch.setattr(translator.model, "encode", lambda ids: (calls.append(1), encode(ids))[1])
    effects = ablate_each_head(translator, SOURCE, TARGET)
    next(effects)
    effects.close()
    assert len(calls) == 2  # once whole, once with the first head off


HEADS = [
    *(Head("encoder_self", 0, head) for head in range(3)),
    Head("decoder_self", 0, 0),
    *(Head("cross", layer, head) for layer in range(2) for head in range(2)),
]
FOUND = HeadsOff(HEADS, {HEADS[1]: 0.5, HEADS[5]: 0.0}, {HEADS[0]: -2.0, HEADS[1]: 1.0}, dict.fromkeys(HEADS, 0.5))


def test_every_head_has_its_cell_and_every_layer_one_for_all():
    (grid,) = FOUND.pictures()
    assert [(name, count) for name, count in grid.groups] == [("Encoder", 4), ("Decoder", 2), ("Cross", 3)]
    clicked = [(row, column, FOUND.heads_at((row, column))) for row, (_, cells) in enumerate(grid.rows)
               for column, cell in enumerate(cells) if cell]  # fmt: skip
    assert [heads[0] for *_, heads in clicked if len(heads) == 1 and heads[0].kind != "decoder_self"] == [
        each for each in HEADS if each.kind != "decoder_self"
    ]
    assert (0, 0, HEADS[:3]) in clicked
    assert (1, 6, HEADS[6:]) in clicked
    cells = {cell.head: cell for _, row in grid.rows for cell in row if cell and cell.head}
    assert set(cells) == set(HEADS)
    assert [cells[head].text for head in HEADS[:6]] == ["-2.0", "0.5", "", "", "", "off"]
    assert cells[HEADS[0]].says == "on, off alone: -2.000 nats"
    assert (cells[HEADS[0]].shade, cells[HEADS[2]].shade) == (-1, 0)
    assert [head for head, cell in cells.items() if cell.is_strong] == list(FOUND.gates)


def test_the_table_and_the_answer_name_the_most_harmful_head():
    table = FOUND.table()
    assert table["gate"] == [1, 0.5, 1, 1, 1, 0, 1, 1]
    assert table["change_when_off"] == [-2, 1, *[None] * 6]
    assert table["within_layer"][-1] == pytest.approx(0.5**0.5)
    assert FOUND.ranked == HEADS[:2]
    assert FOUND.answer() == (
        "Without Encoder L1 H1, the relative probability of the translation falls from 1.00 to 0.14; without a head "
        "drawn by lot, to 2.72, the median of the other 1."
    )
    assert HeadsOff(HEADS, {}, {}).answer() == "No head is measured yet."


def test_tokens_have_their_change_and_the_result():
    assert token_changes(["\u2581Ein", "Hund"], [-1.0, -2.0], [0.5, 0.0])["log_prob_switched"] == [-0.5, -2.0]
