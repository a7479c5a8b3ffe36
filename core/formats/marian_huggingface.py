"""OPUS-MT and other Marian models in Hugging Face's layout.

Files: config.json with model_type "marian", model.safetensors or pytorch_model.bin, the tokenizer's files (see
`core.text.marian_tokenizer`), generation_config.json. The reference is `MarianMTModel` of transformers.
"""

from collections.abc import Mapping

import torch

from core.formats import huggingface
from core.formats.checkpoint import Checkpoint
from core.formats.parameter_names import check_copies, check_names, stack_names
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.untrusted_parameters import errors_of, fill_model, meta_model
from core.formats.weights import Weights
from core.model import Transformer
from core.model.config import TransformerConfig
from core.text.marian_tokenizer import OPTIONAL, REQUIRED, MarianTokenizer

NAME = "Marian (OPUS-MT) in Hugging Face's layout"
BIAS = "final_logits_bias"
SOURCE, TARGET, OUTPUT = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"
SHARED = "model.shared.weight"


recognises = huggingface.of_types("marian")


def load(files: SourceFiles) -> Checkpoint:
    """Read a model; see `ImportFormat`."""
    settings, search = huggingface.read_settings(files)
    with huggingface.open_model_weights(files) as weights:
        config = _config(settings, search, weights)
        model = meta_model(config)
        sources = _parameter_sources(model, config, weights)
        _check_weights(weights, model, sources, config)
        tensors = weights.read_all(model, sources)
        if config.output_bias:
            bias = weights.read(BIAS)[0] if BIAS in weights.shapes else torch.zeros(config.target_size)
            tensors["output_bias"] = huggingface.excluded_bias(bias, search)
    tokenizer = _tokenizer(files, config)
    facts = huggingface.facts(NAME, files, config, search, weights.types(sources.values()), tokenizer)
    return Checkpoint(fill_model(weights.file_name, model, tensors), tokenizer, {"imported": facts})


def _config(settings: Settings, search: Settings, weights: Weights) -> TransformerConfig:
    settings.refuse(
        {
            "normalize_before": False,
            "add_final_layer_norm": False,
            "normalize_embedding": False,
            "static_position_embeddings": True,
            "is_encoder_decoder": True,
        }
    )
    vocab_size, pad_id = settings.integer("vocab_size"), settings.integer("pad_token_id")
    tied = _tied(settings, weights)
    return huggingface.build_config(
        vocab_size=vocab_size,
        target_vocab_size=settings.integer("decoder_vocab_size", vocab_size),
        scale_embedding=settings.switch("scale_embedding", False),
        tied=tied,
        output_bias=BIAS in weights.shapes or search.switch("renormalize_logits", False),
        **huggingface.shape_fields(settings, "gelu"),
        **huggingface.search_fields(settings, search, pad_id, start_id=pad_id, eos_id=0),
    )


def _tied(settings: Settings, weights: Weights) -> str:
    """`TransformerConfig.tied`, from the options and from the tensors of the file."""
    shared = settings.switch("share_encoder_decoder_embeddings", True)
    if settings.switch("tie_word_embeddings", True):
        return "all" if shared else "target"
    return "inputs" if SHARED in weights.shapes and TARGET not in weights.shapes else "none"


def _parameter_sources(model: Transformer, config: TransformerConfig, weights: Weights) -> dict[str, str]:
    """Name in the file of every parameter, the bias of the logits excepted."""
    matrices = {
        "embedding.tokens.weight": (SHARED, SOURCE, *((TARGET, OUTPUT) if config.tied == "all" else ())),
        "target_embedding.tokens.weight": (TARGET, OUTPUT) if config.tied == "target" else (TARGET,),
        "output_projection.weight": (OUTPUT,),
    }
    sources = stack_names(model, "model.")
    for name, _ in model.named_parameters():
        if name in matrices:  # whichever of several equal ones the file has; the first if it has none
            sources[name] = next((theirs for theirs in matrices[name] if theirs in weights.shapes), matrices[name][0])
    return sources


def _check_weights(weights: Weights, model: Transformer, sources: Mapping[str, str], config: TransformerConfig) -> None:
    """Compare names and shapes with the model's, tied matrices with each other, and positions with the formula."""
    expected = {theirs: tuple(model.get_parameter(ours).shape) for ours, theirs in sources.items()}
    if BIAS in weights.shapes:
        expected[BIAS] = (1, config.target_size)
    copies = {
        "all": (SHARED, SOURCE, TARGET, OUTPUT),
        "target": (TARGET, OUTPUT),
        "inputs": (SHARED, SOURCE, TARGET),
        "none": (),
    }[config.tied]
    present = [name for name in copies if name in weights.shapes]
    expected.update({name: weights.shapes[present[0]] for name in present[1:] if name not in expected})
    untied = config.tied in ("target", "none")
    check_names(weights, expected, (*huggingface.POSITIONS, *([SHARED] if untied else [])))
    check_copies(weights, present, "tie_word_embeddings or share_encoder_decoder_embeddings")
    huggingface.check_positions(weights, config, "Marian")


def _tokenizer(files: SourceFiles, config: TransformerConfig) -> MarianTokenizer:
    contents = {name: files.read(name) for name in (*REQUIRED, *OPTIONAL) if name in files.names}
    with errors_of(files.label):
        tokenizer = MarianTokenizer(contents, config.vocab_size, config.target_size, config.bos_id)
    huggingface.check_tokenizer(files, tokenizer, config)
    return tokenizer
