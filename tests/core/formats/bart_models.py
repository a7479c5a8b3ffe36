"""BART, mBART, mBART-50 and Pegasus models of transformers with random or briefly trained weights."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from torch.nn.utils.rnn import pad_sequence

from core.formats.bart_tokenizers import MBART50_LANGUAGES, MBART_LANGUAGES, PEGASUS_FIRST, PEGASUS_OFFSET
from tests.core.formats.marian_models import sentencepiece_model
from tests.core.formats.small_models import SHAPE, learn, vary_norms_and_biases
from tests.lazy_imports import transformers

Pairs = Sequence[tuple[str, str]]
KINDS = ("bart", "mbart", "mbart50", "pegasus")
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
CLASSES = {"bart": "Bart", "mbart": "MBart", "mbart50": "MBart", "pegasus": "Pegasus"}
PEGASUS_SPECIAL = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}


def write_tokenizer(folder: Path, pairs: Pairs, kind: str) -> Any:
    """Write the files of a tokenizer as published models have them, and return that of transformers."""
    lines = [text for pair in pairs for text in pair]
    if kind == "bart":
        made: Any = importlib.import_module("tokenizers").ByteLevelBPETokenizer()
        made.train_from_iterator(lines, 420, 2, False, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
        made.save_model(str(folder))
        vocabulary = json.loads((folder / "vocab.json").read_text())
        merges = [tuple(line.split(" ")) for line in (folder / "merges.txt").read_text().splitlines()[1:]]
        mask = transformers.AddedToken("<mask>", lstrip=True, special=True)
        return transformers.BartTokenizer(vocabulary, merges, mask_token=mask)
    name = "spiece.model" if kind == "pegasus" else "sentencepiece.bpe.model"
    data = sentencepiece_model(lines, 150, "unigram", **(PEGASUS_SPECIAL if kind == "pegasus" else {}))
    (folder / name).write_bytes(data)
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    learned = [
        (processor.id_to_piece(number), processor.get_score(number))
        for number in range(2 if kind == "pegasus" else 3, processor.vocab_size())
    ]
    from tests.core.structured_models import Model

    charsmap = Model.FromString(data).normalizer_spec.precompiled_charsmap
    if kind == "pegasus":
        unknown = [f"<unk_{number}>" for number in range(2, PEGASUS_OFFSET)]
        vocabulary = [*((piece, 0.0) for piece in (*PEGASUS_FIRST, *unknown)), *learned]
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PegasusTokenizer"}))
        return transformers.PegasusTokenizer(vocabulary, _spm_precompiled_charsmap=charsmap)
    languages = MBART50_LANGUAGES if kind == "mbart50" else MBART_LANGUAGES
    special = [(piece, 0.0) for piece in SPECIAL]
    vocabulary = [*special, *learned, *((piece, 0.0) for piece in (*languages, "<mask>"))]
    tokenizer_class = "MBart50Tokenizer" if kind == "mbart50" else "MBartTokenizer"
    settings = {"tokenizer_class": tokenizer_class, "src_lang": "en_XX", "tgt_lang": "de_DE"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    options = {"_spm_precompiled_charsmap": charsmap} if kind == "mbart50" else {}
    return getattr(transformers, tokenizer_class)(vocabulary, src_lang="en_XX", tgt_lang="de_DE", **options)


def generation_of(kind: str, tokenizer: Any) -> dict[str, Any]:
    """Options of the search that published models have."""
    end = tokenizer.eos_token_id
    german = tokenizer.convert_tokens_to_ids("de_DE")
    starts = {"bart": end, "mbart": german, "mbart50": end, "pegasus": 0}
    firsts = {"bart": 0, "mbart50": german}
    return {
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": end,
        "decoder_start_token_id": starts[kind],
        "forced_bos_token_id": firsts.get(kind),
        "num_beams": 4,
        "max_length": 60,
    }


def write_model(
    folder: Path,
    pairs: Pairs,
    kind: str = "bart",
    *,
    steps: int = 0,
    generation: dict[str, Any] | None = None,
    **changes: Any,
) -> tuple[Any, Any]:
    """Write a folder as `save_pretrained` does, and return the model with its tokenizer.

    Args:
        steps: of training on the pairs; the weights are random without.
        generation: fields of generation_config.json.
        changes: fields of the configuration.
    """
    folder.mkdir(exist_ok=True)
    tokenizer = write_tokenizer(folder, pairs, kind)
    options = generation_of(kind, tokenizer)
    config = getattr(transformers, f"{CLASSES[kind]}Config")(
        **{
            **SHAPE,
            "vocab_size": len(tokenizer) + 1,
            "attention_dropout": 0.0,
            "activation_function": "relu" if kind == "pegasus" else "gelu",
            "scale_embedding": kind != "bart",
            **{name: options[name] for name in ("decoder_start_token_id", "pad_token_id", "eos_token_id")},
            "bos_token_id": 0,
            "forced_eos_token_id": None,
            **changes,
        }
    )
    torch.manual_seed(0)
    model = getattr(transformers, f"{CLASSES[kind]}ForConditionalGeneration")(config).eval()
    vary_norms_and_biases(model)
    with torch.no_grad():
        model.final_logits_bias.normal_(0, 0.3)
        for side in (model.model.encoder, model.model.decoder):
            if kind != "pegasus":
                side.layernorm_embedding.weight.add_(torch.randn_like(side.layernorm_embedding.weight), alpha=0.1)
    model.generation_config = transformers.GenerationConfig(**{**options, **(generation or {})})
    if steps:
        train(model, tokenizer, pairs, steps, kind)
    model.save_pretrained(folder)
    return model, tokenizer


def train(model: Any, tokenizer: Any, pairs: Pairs, steps: int, kind: str) -> None:
    """Learn the pairs by heart."""
    pad = tokenizer.pad_token_id
    sources = [torch.tensor(tokenizer(source).input_ids) for source, _ in pairs]
    targets = [torch.tensor(tokenizer(text_target=target).input_ids) for _, target in pairs]
    source_ids = pad_sequence(sources, batch_first=True, padding_value=pad)
    labels = pad_sequence(targets, batch_first=True, padding_value=-100)
    if kind == "mbart":  # its labels end with the language, with which the decoder starts
        labels = pad_sequence([each[:-1] for each in targets], batch_first=True, padding_value=-100)
    start = model.generation_config.decoder_start_token_id
    fed = torch.cat((torch.full_like(labels[:, :1], start), labels[:, :-1].clamp_min(0)), 1)
    mask = source_ids != pad
    learn(
        model,
        lambda: torch.nn.functional.cross_entropy(
            model(source_ids, mask, decoder_input_ids=fed).logits.flatten(0, 1), labels.flatten()
        ),
        steps,
        rate=1e-2,
    )
