"""CTranslate2's format, written by its own converter from a specification.

The library's converter for Marian models starts every translation with a zero vector and drops the last piece of the
vocabulary, which is right for OPUS-MT only. The specification is therefore filled in here, for every start.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from core.files.extras import needs
from core.formats import output_folder
from core.formats.checkpoint import Checkpoint
from core.model import Embedding, FeedForward, LearnedPositions, MultiHeadAttention, Transformer
from core.model.config import TransformerConfig
from core.text.byte_pieces import UNKNOWN
from core.text.marian_tokenizer import SOURCE_MODEL, TARGET_MODEL

LAYOUT = "CTranslate2's format"
VALUES: dict[str, object] = {**output_folder.COMMON_VALUES, "forced_first_id": None}
ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "swish": "SWISH"}
CODE = """
import ctranslate2
import sentencepiece

folder = "."  # this one
source = sentencepiece.SentencePieceProcessor(model_file=f"{{folder}}/source.spm")
target = sentencepiece.SentencePieceProcessor(model_file=f"{{folder}}/target.spm")
translator = ctranslate2.Translator(folder)
tokens = [*source.encode("A dog runs.", out_type=str), {end!r}]
options = dict(beam_size=4, length_penalty={alpha}, suppress_sequences={never})
print(target.decode_pieces(translator.translate_batch([tokens], **options)[0].hypotheses[0]))
"""


def write_ctranslate2(checkpoint: Checkpoint, path: Path) -> None:
    """Write a model in CTranslate2's format into a new folder, with its SentencePiece models; see `new_folder`.

    Raises:
        ValueError: the format does not support the architecture or the tokenizer.
        MissingPackageError: CTranslate2 is not installed.
    """
    config, tokenizer = checkpoint.config, checkpoint.tokenizer
    _check_architecture(config)
    files = output_folder.sentencepiece_files(checkpoint, LAYOUT)
    pieces = output_folder.pieces_of(tokenizer), output_folder.pieces_of(tokenizer.target)
    never = dict.fromkeys((config.pad_id, config.bos_id, *config.never_ids))
    code = CODE.format(
        end=pieces[0][config.eos_id],
        alpha=0.6 if config.penalty_formula == "paper" else 1,
        never=[[pieces[1][token_id]] for token_id in never],
    )
    difference = "Tokens that are never generated: `suppress_sequences` names them, as the format does not hold them."
    punctuation = "Headlight normalises it first, by the rules of Moses."
    text = output_folder.readme(checkpoint, "A translation model for CTranslate2", code, difference, punctuation)
    with output_folder.new_folder(path) as folder:
        save_ctranslate2(checkpoint.model, *pieces, folder)
        for name in (SOURCE_MODEL, TARGET_MODEL):
            (folder / name).write_bytes(files[name])
        (folder / output_folder.README).write_bytes(text)


def _check_architecture(config: TransformerConfig) -> None:
    """Check that the format has room for an architecture, or raise a `ValueError`."""
    positions = "sinusoidal" if config.relative else config.positions
    output_folder.require_values(config, {**VALUES, "positions": positions, "final_norm": config.norm == "pre"}, LAYOUT)


def save_ctranslate2(
    model: Transformer, source_pieces: Sequence[str], target_pieces: Sequence[str], folder: Path
) -> None:
    """Write the files of `ctranslate2.Translator` into a folder, in float32, with all tokens' names, `<unk>` too.

    Raises:
        ValueError: the format does not support the architecture.
        MissingPackageError: CTranslate2 is not installed.
    """
    _check_architecture(model.config)
    with needs("benchmarks", "CTranslate2's format"):
        from ctranslate2.converters.converter import Converter

    class SpecificationConverter(Converter):  # pyright: ignore[reportUntypedBaseClass]
        """Converter of a model whose specification exists already."""

        def _load(self) -> Any:
            return transformer_specification(model, source_pieces, target_pieces)

    SpecificationConverter().convert(str(folder), force=True)


def transformer_specification(model: Transformer, source_pieces: Sequence[str], target_pieces: Sequence[str]) -> Any:
    """Return a `TransformerSpec` with the parameters and the vocabularies."""
    from ctranslate2.specs import common_spec, transformer_spec

    config = model.config
    options: dict[str, Any] = {
        "pre_norm": config.norm == "pre",
        "activation": getattr(common_spec.Activation, ACTIVATIONS[config.activation]),
        "layernorm_embedding": config.embedding_norm,
    }
    encoder: Any = transformer_spec.TransformerEncoderSpec(
        config.num_encoder_layers, config.encoder_heads.num_heads, **options
    )
    decoder: Any = transformer_spec.TransformerDecoderSpec(
        config.num_decoder_layers, config.decoder_heads.num_heads, **options
    )
    stacks: Any = (
        (model.encoder, encoder, encoder.embeddings[0], model.embedding),
        (model.decoder, decoder, decoder.embeddings, model.fed_embedding),
    )
    for ours, theirs, embedding, tokens in stacks:
        _set_embedding(theirs, embedding, tokens)
        theirs.scale_embeddings = config.scale_embedding
        if config.embedding_norm:
            _set_norm(theirs.layernorm_embedding, ours.input_norm)
        if config.final_norm:
            _set_norm(theirs.layer_norm, ours.output_norm)
        for layer, other in zip(ours.layers, theirs.layer, strict=True):
            _set_self_attention(other.self_attention, layer.self_attention, layer.self_attention_norm)
            _set_feed_forward(other.ffn, layer.feed_forward, layer.feed_forward_norm)
            if hasattr(other, "attention"):
                _set_cross_attention(other.attention, layer.cross_attention, layer.cross_attention_norm)
    decoder.projection.weight = _array(model.unembedding)
    if model.output_bias is not None:
        decoder.projection.bias = _array(model.output_bias)
    specification: Any = transformer_spec.TransformerSpec(encoder, decoder)
    specification.register_source_vocabulary(list(source_pieces))
    specification.register_target_vocabulary(list(target_pieces))
    specification.config.decoder_start_token = specification.config.bos_token = target_pieces[config.bos_id]
    specification.config.eos_token, specification.config.unk_token = target_pieces[config.eos_id], UNKNOWN
    specification.config.layer_norm_epsilon = config.norm_eps
    return specification


def _set_embedding(stack: Any, embedding: Any, ours: Embedding) -> None:
    count = (
        ours.positions.table.num_embeddings
        if isinstance(ours.positions, LearnedPositions)
        else output_folder.MAX_POSITIONS
    )
    embedding.weight = _array(ours.tokens.weight)
    stack.position_encodings.encodings = _array(ours.positions(0, count))


def _set_self_attention(spec: Any, attention: MultiHeadAttention, norm: nn.LayerNorm) -> None:
    _set_linear(spec.linear[0], attention.q_proj, attention.k_proj, attention.v_proj)
    _set_linear(spec.linear[1], attention.out_proj)
    _set_norm(spec.layer_norm, norm)


def _set_cross_attention(spec: Any, attention: MultiHeadAttention, norm: nn.LayerNorm) -> None:
    _set_linear(spec.linear[0], attention.q_proj)
    _set_linear(spec.linear[1], attention.k_proj, attention.v_proj)
    _set_linear(spec.linear[2], attention.out_proj)
    _set_norm(spec.layer_norm, norm)


def _set_feed_forward(spec: Any, feed_forward: FeedForward, norm: nn.LayerNorm) -> None:
    _set_linear(spec.linear_0, feed_forward.inner)
    _set_linear(spec.linear_1, feed_forward.outer)
    _set_norm(spec.layer_norm, norm)


def _set_linear(spec: Any, *projections: nn.Linear) -> None:
    """Stack several projections into one."""
    spec.weight = np.concatenate([_array(projection.weight) for projection in projections])
    biases = [projection.bias for projection in projections]
    if biases[0] is not None:  # pyright: ignore[reportUnnecessaryComparison]
        spec.bias = np.concatenate([_array(bias) for bias in biases])


def _set_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _array(tensor: Tensor) -> "np.ndarray[Any, Any]":
    return tensor.detach().cpu().float().numpy()
