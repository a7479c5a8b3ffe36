"""FSMT models of transformers with random or briefly trained weights, saved as people share them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from tests.core.formats.small_models import LEARNED, SHAPE, learn, vary_norms_and_biases
from tests.lazy_imports import sacremoses, transformers

Pairs = Sequence[tuple[str, str]]
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")


@cache
def learned_merges(words: tuple[str, ...], number: int) -> list[tuple[str, str]]:
    """Byte-pair encoding (Sennrich et al. 2016, algorithm 1)."""
    vocabulary = {(*word[:-1], f"{word[-1]}</w>"): count for word, count in Counter(words).items()}
    merges: list[tuple[str, str]] = []
    for _ in range(number):
        pairs: Counter[tuple[str, str]] = Counter()
        for symbols, count in vocabulary.items():
            for pair in pairwise(symbols):
                pairs[pair] += count
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        for symbols in list(vocabulary):
            text = f" {' '.join(symbols)} ".replace(f" {best[0]} {best[1]} ", f" {''.join(best)} ")
            vocabulary[tuple(text.split())] = vocabulary.pop(symbols)
    return merges


@cache
def words_of(lines: tuple[str, ...], language: str) -> list[str]:
    moses = sacremoses.MosesTokenizer(language)
    return [word for line in lines for word in moses.tokenize(line, aggressive_dash_splits=True)]


def dictionary(words: Sequence[str], merges: Sequence[tuple[str, str]]) -> list[str]:
    """Special pieces, then all symbols that may occur, in FSMT's notation."""
    letters = dict.fromkeys(letter for word in words for letter in word)
    symbols = [*letters, *(f"{letter}</w>" for letter in letters), *("".join(pair) for pair in merges)]
    return list(dict.fromkeys([*SPECIAL, *symbols]))


def write_tokenizer(folder: Path, pairs: Pairs, two: bool = False) -> tuple[int, int]:
    """Write the vocabularies and merges, and return the sizes of both vocabularies."""
    sides = [words_of(side, code) for side, code in zip(zip(*pairs, strict=True), ("en", "de"), strict=True)]
    both = [word for side in sides for word in side]
    merges = learned_merges(tuple(both), 150)
    pieces = [dictionary(words, merges) for words in (sides if two else [both, both])]
    for name, side in zip(("vocab-src.json", "vocab-tgt.json"), pieces, strict=True):
        (folder / name).write_text(json.dumps({piece: token_id for token_id, piece in enumerate(side)}))
    (folder / "merges.txt").write_text("".join(f"{first} {second}\n" for first, second in merges))
    (folder / "tokenizer_config.json").write_text(json.dumps({"langs": ["en", "de"], "model_max_length": 1024}))
    return len(pieces[0]), len(pieces[1])


def write_model(
    folder: Path, pairs: Pairs, *, two: bool = False, steps: int = 0, dtype: torch.dtype = torch.float32, **changes: Any
) -> transformers.FSMTForConditionalGeneration:
    """Write a folder as `save_pretrained` does, and return the model with the stored weights.

    Args:
        two: two vocabularies.
        steps: of training on the first `LEARNED` pairs; the weights are random without.
        changes: fields of the configuration.
    """
    folder.mkdir(exist_ok=True)
    source_size, target_size = write_tokenizer(folder, pairs, two)
    config = transformers.FSMTConfig(
        **{"langs": ["en", "de"], "src_vocab_size": source_size, "tgt_vocab_size": target_size, **SHAPE, **changes}
    )
    torch.manual_seed(0)
    model = transformers.FSMTForConditionalGeneration(config).eval()
    vary_norms_and_biases(model)
    model.generation_config = transformers.GenerationConfig(
        pad_token_id=1, bos_token_id=0, decoder_start_token_id=2, eos_token_id=2, num_beams=4, max_length=128
    )
    for stack in (model.model.encoder, model.model.decoder):
        stack.embed_positions.weight.requires_grad_(False)  # it is a formula
    if steps:
        train(model, folder, pairs[:LEARNED], steps)
    state = model.to(dtype).state_dict()
    if dtype != torch.float32:  # published files have no tables of positions, which half precision would round
        state = {name: tensor for name, tensor in state.items() if "embed_positions" not in name}
    model.save_pretrained(folder, state_dict=state)
    if dtype == torch.float32:
        return model
    return transformers.FSMTForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()


@cache
def exchanged_tokenizer(folder: Path) -> transformers.FSMTTokenizer:
    """FSMT's tokenizer, which numbers sources only, with both sides exchanged."""
    return transformers.FSMTTokenizer(
        ["de", "en"], folder / "vocab-tgt.json", folder / "vocab-src.json", folder / "merges.txt"
    )


def target_ids(folder: Path, texts: Sequence[str]) -> torch.Tensor:
    """Ids of targets with `</s>`."""
    return exchanged_tokenizer(folder)(list(texts), return_tensors="pt", padding=True).input_ids


def train(model: transformers.FSMTForConditionalGeneration, folder: Path, pairs: Pairs, steps: int) -> None:
    """Learn the pairs by heart."""
    batch = transformers.FSMTTokenizer.from_pretrained(folder)(
        [source for source, _ in pairs], return_tensors="pt", padding=True
    )
    target = target_ids(folder, [target for _, target in pairs])
    fed = torch.cat((torch.full((len(target), 1), 2), target[:, :-1]), 1)

    def loss() -> torch.Tensor:
        logits = model(batch.input_ids, batch.attention_mask, fed, use_cache=False).logits
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=1)

    learn(model, loss, steps, rate=5e-3)
