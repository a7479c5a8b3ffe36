"""The least probable word, beside a search by hand."""

from pathlib import Path

import torch

from core.analysis.word_scores import least_probable
from core.capture import AttentionMap
from core.results import Explanation
from core.translator import Translator

TOKENS = ("\u2581Ein", "\u2581Bahn", "hof", ".", "</s>")


def explained(log_probs: tuple[float, ...], tokens: tuple[str, ...] = TOKENS, num_forced: int = 0) -> Explanation:
    return Explanation("", "", ("\u2581a", "</s>"), tokens, tokens, log_probs, (), {}, num_forced)


def test_a_word_counts_by_the_product_of_its_pieces() -> None:
    log_probs = (-1.5, -1.2, -0.9, -0.1, -0.1)
    assert least_probable.least_probable_word(TOKENS, log_probs) == range(1, 3)  # -2.1
    assert least_probable.least_probable_token(explained(log_probs)) == 1


def test_punctuation_and_special_tokens_are_no_words() -> None:
    log_probs = (-0.1, -0.1, -0.2, -9.0, -9.0)
    assert least_probable.least_probable_token(explained(log_probs)) == 2
    assert least_probable.least_probable_token(explained((-0.5, -0.7), (".", "</s>"))) == 0  # nothing else
    assert least_probable.least_probable_token(explained((-0.7,), ("</s>",))) == 0


def test_forced_tokens_are_left_out() -> None:
    assert least_probable.least_probable_token(explained((-9.0, -0.1, -0.2, -0.1, -0.1), num_forced=1)) == 2


def test_without_log_probabilities_it_is_the_first_token() -> None:
    assert least_probable.least_probable_word(TOKENS, ()) is None
    assert least_probable.least_probable_token(explained(())) == 0


def test_the_source_token_is_the_one_that_its_row_attends_to() -> None:
    source = ("\u2581a", "\u2581sta", "tion", "</s>")
    weights = torch.zeros(2, 5, 4)
    weights[:, 1] = torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4]])
    lower = AttentionMap("cross", 0, torch.eye(4)[[0] * 5][None], TOKENS, source, TOKENS)
    upper = AttentionMap("cross", 1, weights, TOKENS, source, TOKENS)
    found = Explanation("", "", source, TOKENS, TOKENS, (-0.1, -2.0, -1.0, 0.0, 0.0), (), {"cross": (lower, upper)})
    assert least_probable.least_probable_source_token(found) == 2
    assert least_probable.least_probable_source_token(explained((-1.0,) * 5)) == 0  # no cross-attention


def test_it_is_a_token_of_any_translation(tiny_checkpoint: Path) -> None:
    translator = Translator.from_checkpoint(tiny_checkpoint)
    found = translator.explain("A dog runs.", "Ein Hund rennt.")
    position = least_probable.least_probable_token(found)
    group = least_probable.least_probable_word(found.predicted_tokens, found.log_probs)
    assert group is not None
    assert position in group
    assert found.log_probs[position] == min(found.log_probs[place] for place in group)
