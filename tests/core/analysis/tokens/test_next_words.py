"""Probabilities of words against sums over all spellings, of a made model that spells words in many ways."""

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from core.analysis.tokens import next_words as module
from core.decoding.text_codec import PassIds
from tests.core.decoding.test_prefixes import spelled

SURFACES = spelled(b"", b" a", b" ab", b" abb", b"b", b"bb", b".", b" c")  # behind three that are never written
END, GOES_ON, PUNCTUATION = 3, (7, 8), 9
TARGET = (4, 7, 9, 10, 8, 3)  # " ab", ".", " cbb", the end


def behind(beginning: tuple[int, ...]) -> Tensor:
    """What the made model finds probable behind some tokens, [V]."""
    weights = torch.rand(11, generator=torch.Generator().manual_seed(hash(beginning) % 2**32)).exp()
    weights[:3] = 0
    return weights / weights.sum()


@pytest.fixture
def translator() -> Any:
    begun: list[tuple[int, ...]] = [()]

    def next_logits(token_ids: Tensor, parents: Tensor, _sentences: None) -> Tensor:
        nonlocal begun
        pairs = zip(parents[0].tolist(), token_ids[0].tolist(), strict=True)
        begun = [(*begun[parent], token) if token else () for parent, token in pairs]
        return torch.stack([behind(each) for each in begun]).log()[None]

    return SimpleNamespace(
        token_ids=lambda *_: PassIds([1], [0, *TARGET[:-1]], [*TARGET]),
        codec=SimpleNamespace(require_autoregressive=str, piece=str),
        setup=SimpleNamespace(surfaces=SURFACES, options=lambda: SimpleNamespace(excluded=(0, 1, 2))),
        shared=SimpleNamespace(next_logits=lambda *_, **__: next_logits),
        model=SimpleNamespace(device="cpu"),
    )


def summed(before: tuple[int, ...], word: bytes) -> float:
    """The probability of a word behind a target, by all sequences of up to four pieces."""
    total = 0.0
    for pieces in (each for length in range(1, 5) for each in product(range(4, 11) if word else [END], repeat=length)):
        if b"".join(SURFACES.of_token[each] for each in pieces) == word and {*pieces[1:]} <= {*GOES_ON}:
            ends = 1 if pieces[-1] in (END, PUNCTUATION) else 1 - float(behind((*before, *pieces))[[*GOES_ON]].sum())
            of_pieces = [behind((*before, *pieces[:at]))[each] for at, each in enumerate(pieces)]
            total += float(torch.stack(of_pieces).prod()) * ends
    return total


@pytest.mark.parametrize("least", [0.0005, 0.02, 0.1])
def test_a_word_is_as_probable_as_all_its_spellings(
    translator: Any, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LEAST", least)
    found = module.next_words(translator, "", "", num_words=6)
    assert list(found) == [range(2), range(2, 3), range(3, 5), range(5, 6)]
    for positions, options in found.items():
        assert [each.token_ids for each in options if each.is_written] == [TARGET[positions.start : positions.stop]]
        for each in options:
            exact = summed(TARGET[: positions.start], b"".join(SURFACES.of_token[token] for token in each.token_ids))
            assert each.probability - 1e-6 <= exact <= each.probability + each.missing + 1e-6
            assert least > 0.001 or each.missing < 0.01
