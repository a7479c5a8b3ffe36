"""M2M100 and NLLB models of transformers with random or briefly trained weights, saved as people share them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from torch.nn.utils.rnn import pad_sequence

from core.formats.m2m100 import LANGUAGES
from tests.core.formats.marian_models import sentencepiece_model
from tests.core.formats.small_models import SHAPE, learn, vary_norms_and_biases
from tests.core.structured_models import Model
from tests.lazy_imports import transformers

Pairs = Sequence[tuple[str, str]]
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
DIRECTIONS = (("en", "de"), ("en", "fr"), ("de", "ru"))  # of training
NLLB_LANGUAGES = ("deu_Latn", "eng_Latn", "fra_Latn")


def write_tokenizer(folder: Path, pairs: Pairs, nllb: bool = False) -> int:
    """Write the files of the tokenizer, and return the number of pieces, with the languages."""
    lines = [text for pair in pairs for text in pair]
    (folder / "sentencepiece.bpe.model").write_bytes(sentencepiece_model(lines, model_type="bpe"))
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.bpe.model"))
    pieces = [processor.id_to_piece(token_id) for token_id in range(3, processor.vocab_size())]
    if nllb:
        settings = {"additional_special_tokens": list(NLLB_LANGUAGES), "tokenizer_class": "NllbTokenizer"}
        (folder / "special_tokens_map.json").write_text(json.dumps(settings))
        return len(SPECIAL) + len(pieces) + len(NLLB_LANGUAGES) + 1
    vocabulary = [*SPECIAL, *reversed(pieces)]
    (folder / "vocab.json").write_text(json.dumps({piece: token_id for token_id, piece in enumerate(vocabulary)}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"src_lang": "en", "tgt_lang": "de"}))
    return len(vocabulary) + len(LANGUAGES["m2m100"].split())


def write_model(
    folder: Path,
    pairs: Pairs,
    *,
    nllb: bool = False,
    steps: int = 0,
    dtype: torch.dtype = torch.float32,
    generation: dict[str, Any] | None = None,
    **changes: Any,
) -> transformers.M2M100ForConditionalGeneration:
    """Write a folder as `save_pretrained` does, and return the model with the stored weights.

    Args:
        steps: of training on the pairs; the weights are random without.
        generation: fields of generation_config.json.
        changes: fields of the configuration.
    """
    folder.mkdir(exist_ok=True)
    vocab_size = write_tokenizer(folder, pairs, nllb) + 2
    dropout = dict.fromkeys(("attention_dropout", "encoder_layerdrop", "decoder_layerdrop"), 0.0)
    config = transformers.M2M100Config(**{"vocab_size": vocab_size, **SHAPE, **dropout, **changes})
    torch.manual_seed(0)
    model = transformers.M2M100ForConditionalGeneration(config).eval()
    vary_norms_and_biases(model)
    ids = {"pad_token_id": 1, "bos_token_id": 0, "decoder_start_token_id": 2, "eos_token_id": 2}
    search = {"num_beams": 4, "max_length": 128}
    model.generation_config = transformers.GenerationConfig(**ids | search | (generation or {}))
    if steps:
        train(model, transformers.M2M100Tokenizer.from_pretrained(folder), pairs, steps)
    model.to(dtype).save_pretrained(folder)
    if dtype == torch.float32:
        return model
    return transformers.M2M100ForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()


def train(
    model: transformers.M2M100ForConditionalGeneration,
    tokenizer: transformers.M2M100Tokenizer,
    pairs: Pairs,
    steps: int,
) -> None:
    """Learn the pairs by heart, pair n from and to the languages `DIRECTIONS[n % 3]`."""
    sources: list[torch.Tensor] = []
    targets: list[torch.Tensor] = []
    for number, (source, target) in enumerate(pairs):
        tokenizer.src_lang, tokenizer.tgt_lang = DIRECTIONS[number % 3]
        sources.append(torch.tensor(tokenizer(source).input_ids))
        targets.append(torch.tensor(tokenizer(text_target=target).input_ids))
    source_ids = pad_sequence(sources, batch_first=True, padding_value=tokenizer.pad_token_id)
    labels = pad_sequence(targets, batch_first=True, padding_value=-100)
    mask = source_ids != tokenizer.pad_token_id
    learn(model, lambda: model(source_ids, mask, labels=labels).loss, steps, rate=1e-2)


def save_tokenizer_json(nllb: Path, folder: Path) -> transformers.NllbTokenizer:
    """Copy an NLLB model with its tokenizer as transformers 5 saves it, and return the tokenizer."""
    data = (nllb / "sentencepiece.bpe.model").read_bytes()
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    learned = [processor.id_to_piece(token_id) for token_id in range(3, processor.vocab_size())]
    vocabulary = {piece: n for n, piece in enumerate([*SPECIAL, *learned, *NLLB_LANGUAGES, "<mask>"])}
    merges = [
        (piece[:cut], piece[cut:])
        for piece in learned
        for cut in range(1, len(piece))
        if piece[:cut] in vocabulary and piece[cut:] in vocabulary
    ]
    tokenizer = transformers.NllbTokenizer(
        vocabulary,
        merges,
        extra_special_tokens=list(NLLB_LANGUAGES),
        src_lang="eng_Latn",
        _spm_precompiled_charsmap=Model.FromString(data).normalizer_spec.precompiled_charsmap,
    )
    shutil.copytree(nllb, folder, ignore=shutil.ignore_patterns("sentencepiece.bpe.model", "special_tokens_map.json"))
    tokenizer.save_pretrained(folder)
    return tokenizer
