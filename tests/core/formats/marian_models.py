"""Marian models of transformers with random or briefly trained weights, saved as people share them."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import sentencepiece
import torch

from tests.core.formats.small_models import LEARNED, SHAPE, learn, vary_norms_and_biases
from tests.lazy_imports import transformers

Pairs = Sequence[tuple[str, str]]


def sentencepiece_model(
    lines: Sequence[str], vocab_size: int = 150, model_type: str = "unigram", **options: Any
) -> bytes:
    return _trained(tuple(lines), vocab_size, model_type, **options)


@cache  # most models have the same two
def _trained(lines: tuple[str, ...], vocab_size: int, model_type: str, **options: Any) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=vocab_size,
        model_type=model_type,
        hard_vocab_limit=model_type != "unigram",
        character_coverage=1.0,
        num_threads=1,
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def short_pairs(pairs: Pairs) -> list[tuple[str, str]]:
    """24 different sentences of at most four words, which a small model learns fast."""
    words = [(source.split(), target.split()) for source, target in pairs]
    found = [(" ".join(one[at : at + 4]), " ".join(other[at : at + 4])) for at in range(3) for one, other in words]
    assert len({source for source, _ in found[:24]}) == 24
    return found[:24]


def without_padding(token_ids: list[int], eos_id: int) -> list[int]:
    """A row of the output of `generate`, up to the `</s>` after its start, which may be `</s>` too."""
    return token_ids[: token_ids.index(eos_id, 1) + 1]


def write_tokenizer(folder: Path, pairs: Pairs, codes: Sequence[str] = (), two: bool = False) -> tuple[int, int]:
    """Write source.spm, target.spm and the vocabularies, `</s>` first, `<pad>` last, and return their sizes."""
    pieces: list[list[str]] = []
    for name, lines in zip(("source.spm", "target.spm"), zip(*pairs, strict=True), strict=True):
        (folder / name).write_bytes(sentencepiece_model(lines))
        processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / name))
        pieces.append([processor.id_to_piece(token_id) for token_id in range(3, processor.vocab_size())])
    sides = pieces if two else [[*pieces[0], *pieces[1]]]
    vocabularies = [list(dict.fromkeys(["</s>", "<unk>", *codes, *side])) for side in sides]
    longest = max(map(len, vocabularies))
    vocabularies = [[*side, *(f"<extra {n}>" for n in range(longest - len(side))), "<pad>"] for side in vocabularies]
    for name, side in zip(("vocab.json", "target_vocab.json"), vocabularies, strict=False):
        (folder / name).write_text(json.dumps({piece: token_id for token_id, piece in enumerate(side)}))
    settings = {"source_lang": "en", "target_lang": "de", "separate_vocabs": two, "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return len(vocabularies[0]), len(vocabularies[-1])


def write_model(
    folder: Path,
    pairs: Pairs,
    *,
    codes: Sequence[str] = (),
    two: bool = False,
    steps: int = 0,
    dtype: torch.dtype = torch.float32,
    generation: dict[str, Any] | None = None,
    **changes: Any,
) -> transformers.MarianMTModel:
    """Write a folder as `save_pretrained` does, and return the model with the stored weights.

    Args:
        two: two vocabularies, in `target_vocab.json`.
        steps: of training on the first `LEARNED` pairs; the weights are random without.
        generation: fields of generation_config.json.
        changes: fields of the configuration.
    """
    folder.mkdir(exist_ok=True)
    vocab_size, target_size = write_tokenizer(folder, pairs, codes, two)
    sizes = {"vocab_size": vocab_size, "decoder_vocab_size": target_size, **SHAPE}
    own = {"activation_function": "swish", "scale_embedding": True, "share_encoder_decoder_embeddings": not two}
    ids = dict.fromkeys(("pad_token_id", "decoder_start_token_id"), target_size - 1)
    ids |= {"eos_token_id": 0, "forced_eos_token_id": None}
    config = transformers.MarianConfig(**sizes | own | ids | changes)
    torch.manual_seed(0)
    model = transformers.MarianMTModel(config).eval()
    with torch.no_grad():
        model.final_logits_bias.normal_(std=0.3)
    vary_norms_and_biases(model)
    pad = config.pad_token_id
    ids = {"pad_token_id": pad, "decoder_start_token_id": config.decoder_start_token_id, "eos_token_id": 0}
    search = {"bad_words_ids": [[pad]], "num_beams": 4, "max_length": 128}
    model.generation_config = transformers.GenerationConfig(**ids | search | (generation or {}))
    if steps:
        train(model, transformers.MarianTokenizer.from_pretrained(folder), pairs[:LEARNED], steps)
    model.to(dtype).save_pretrained(folder)
    if dtype == torch.float32:
        return model
    return transformers.MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval()


def train(model: transformers.MarianMTModel, tokenizer: transformers.MarianTokenizer, pairs: Pairs, steps: int) -> None:
    """Learn the pairs by heart."""
    batch = tokenizer([source for source, _ in pairs], return_tensors="pt", padding=True)
    labels = tokenizer(text_target=[target for _, target in pairs], return_tensors="pt", padding=True).input_ids
    labels[labels == tokenizer.pad_token_id] = -100
    learn(model, lambda: model(**batch, labels=labels).loss, steps, rate=2e-2)
