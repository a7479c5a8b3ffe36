"""The exercises: answers that are known, against made attention and independent computations."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import torch

from core.analysis.exercises import EXERCISES, Opened, order_changes
from core.capture import AttentionMap, Kind
from core.results import Explanation
from core.trace import edit, places
from core.translator import Translator

FED, WORDS = ("<s>", "\u2581Er", "\u2581kommt", "\u2581nicht"), ("\u2581He", "\u2581not", "\u2581comes", "</s>")


def made(**weights: torch.Tensor) -> Opened:
    """A sentence of four tokens whose attention, without a model, has these weights."""
    maps: dict[Kind, tuple[AttentionMap, ...]] = {}
    for kind in ("encoder_self", "decoder_self", "cross"):
        if kind in weights:
            rows, predicted = (WORDS, None) if kind == "encoder_self" else (FED, (*FED[1:], "</s>"))
            maps[kind] = (
                AttentionMap(kind, 0, weights[kind], rows, FED if kind == "decoder_self" else WORDS, predicted),
            )
    return Opened(Explanation("He not comes", "Er kommt nicht", WORDS, FED, (*FED[1:], "</s>"), (), (), maps))


def of(translator: Translator, text: str = "A dog runs.") -> Opened:
    target = translator.translate(text, beam_size=1).hypotheses[0].token_ids
    return Opened(translator.explain(text, target), translator, target)


def test_the_head_of_the_word_before() -> None:
    before = torch.eye(4)[[0, 0, 1, 2]]
    opened = made(encoder_self=torch.stack([torch.eye(4), before, before * 0.95 + 0.0125, torch.full((4, 4), 0.25)]))
    measured = EXERCISES["previous"].measure(opened)
    assert measured.right == ["encoder L1 H2", "encoder L1 H3"]
    assert "L1 H2 has the most weight on the token before: 75%" in measured.says  # the first has none
    assert measured.means("encoder L1 H1") == (
        "L1 H1 has 0% of its weight on the token before. In 100% of its rows it looks most at distance 0 (0: itself)."
    )


def test_the_mask_is_counted_in_the_weights() -> None:
    full = torch.full((1, 4, 4), 0.25)
    for weights, seen, later in ((full.tril(), "3", 0), (full, "4", 1)):
        measured = EXERCISES["mask"].measure(made(decoder_self=weights))
        assert measured.right == [seen]
        assert f"{later} of them later ones" in measured.says
        assert "would not see all" in measured.means("1")
    assert "copy" in EXERCISES["mask"].measure(made(decoder_self=full.tril())).means("4")
    assert "\u201ckommt\u201d is number 3" in EXERCISES["mask"].question(made(decoder_self=full))


def test_positions_tell_the_order(checkpoint_of_any_kind: Path) -> None:
    translator = Translator.from_checkpoint(checkpoint_of_any_kind)
    opened, model = of(translator), translator.model
    changed, without = order_changes(translator, ids := translator.token_ids("A dog runs.", opened.target).source)
    assert EXERCISES["positions"].measure(opened).right == ["other" if model.config.positions == "relative" else "same"]
    assert changed > 0.01
    with torch.inference_mode(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(model.embedding.positions, "forward", lambda start, stop: torch.zeros(stop - start, 1))
        states, turned = (model.encode(torch.tensor([each]))[0, :-1] for each in (ids, [*ids[-2::-1], ids[-1]]))
    own = float(((turned.flip(0) - states).norm(dim=-1) / states.norm(dim=-1)).mean())
    assert without == pytest.approx(own, abs=1e-4)


def test_the_source_of_a_negation() -> None:
    weights = torch.full((1, 4, 4), 0.1)
    weights[0, [0, 1, 2, 3], [0, 2, 1, 3]] = 0.7
    exercise, opened = EXERCISES["negation"], made(cross=weights)
    measured = exercise.measure(opened)
    assert list(exercise.options(opened)) == ["He", "not", "comes"]
    assert measured.right == ["not"]
    own = weights[0, 2, :3] / weights[0, :3, :3].sum(0).sqrt()
    assert f"\u201cnot\u201d has {own[1] / own.sum():.0%} of the weight" in measured.says
    assert measured.means("He").startswith(f"\u201cHe\u201d has {own[0] / own.sum():.0%} of the weight")
    assert exercise.question(opened) == "Which word of the source does \u201cnicht\u201d come from?"


@pytest.mark.parametrize(("more", "found"), [(0.0, "same"), (0.5, "little"), (2.0, "much"), (-0.5, "less")])
def test_a_wider_beam_buys_what_the_search_finds(more: float, found: str) -> None:
    def translate(_: str, beam_size: int) -> SimpleNamespace:
        changed = more if beam_size > 1 else 0.0
        return SimpleNamespace(hypotheses=[SimpleNamespace(token_ids=(changed,), log_prob=changed - 3)])

    opened = made()._replace(translator=cast("Translator", SimpleNamespace(translate=translate)))
    measured = EXERCISES["beam"].measure(opened)
    assert measured.right == [found]
    assert f"log-probability -3.00, the beam one with {more - 3:.2f}" in measured.says


def test_the_part_without_which_most_is_lost(translator: Translator) -> None:
    opened, falls = of(translator), dict[str, float]()
    for kind, pattern in {
        "encoder_self": "encoder.*.self",
        "decoder_self": "decoder.*.self",
        "cross": "*.cross",
    }.items():
        off = dict.fromkeys(places(translator.model, f"{pattern}_attention.heads"), torch.zeros_like)
        with translator.inspect() as model, edit(model, off):
            after = translator.explain("A dog runs.", opened.target).log_probs
        falls[kind] = sum(opened.explanation.log_probs) - sum(after)
    measured = EXERCISES["part"].measure(opened)
    assert measured.right == [worst := max(falls, key=falls.__getitem__)]
    assert f"by {falls[worst]:.1f} nats" in measured.says
    assert f"falls by {falls['cross']:.1f}" in measured.means("cross")


def test_what_cannot_be_asked_is_said() -> None:
    cross = torch.full((1, 4, 4), 0.25)
    for name, each in EXERCISES.items():
        wanted = "not in this file: open" if name in ("previous", "mask", "negation") else "only its attention is open"
        assert wanted in (each.refusal(made()) or "")
    opened = made(cross=cross)
    (layer,) = opened.explanation.maps["cross"]
    layer = replace(layer, predicted_tokens=("\u2581Er", "\u2581kommt", "\u2581heute", "</s>"))
    without = opened._replace(explanation=replace(opened.explanation, maps={"cross": (layer,)}))
    assert "no word such as nicht: try another" in (EXERCISES["negation"].refusal(without) or "")
    assert EXERCISES["negation"].refusal(opened) is None
