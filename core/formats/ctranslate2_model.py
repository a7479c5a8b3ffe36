"""Models of CTranslate2, such as those of Argos Translate.

Files: model.bin with the parameters, a vocabulary for both sides or one for each, in newer models a config.json with
the special tokens; SentencePiece models or merges of byte-pair encoding, which split the text. An Argos package has a
metadata.json with the languages. The reference is `ctranslate2.Translator`.
"""

import math
import re
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from core.formats import huggingface
from core.formats.checkpoint import Checkpoint, CheckpointError
from core.formats.ctranslate2_binary import NAMES, BinaryModel, begins_like_ctranslate2, read_binary
from core.formats.ctranslate2_vocabulary import Vocabulary
from core.formats.huggingface import EXCLUDED_LOGIT
from core.formats.parameter_names import check_names, tied_by_content
from core.formats.progress import advance
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.untrusted_parameters import as_parameter, fill_model, meta_model
from core.formats.weights import Weights
from core.model import Transformer, sinusoidal_encoding
from core.model.config import TransformerConfig
from core.model.half_precision import is_large

NAME = "CTranslate2"
MODEL = "model.bin"
HEADS = {"TransformerBase": 8, "TransformerBig": 16, "TransformerSpec": 8}  # where the file does not have their number
ACTIVATIONS = ("relu", "gelu_tanh", "swish", "gelu")  # by their number
DECODER_EMBEDDING, OUTPUT, BIAS = "decoder/embeddings/weight", "decoder/projection/weight", "decoder/projection/bias"
SOURCE_EMBEDDINGS = ("encoder/embeddings_0/weight", "encoder/embeddings/weight")
# Options with the only value that Headlight knows, of both stacks.
KNOWN = {"alibi": 0, "multi_query_attention": 0, "scale_outputs": 1}
_PARTS = {
    "self_attention.q_proj": ("self_attention/linear_0", 0, 3),
    "self_attention.k_proj": ("self_attention/linear_0", 1, 3),
    "self_attention.v_proj": ("self_attention/linear_0", 2, 3),
    "self_attention.out_proj": ("self_attention/linear_1", 0, 1),
    "cross_attention.q_proj": ("attention/linear_0", 0, 1),
    "cross_attention.k_proj": ("attention/linear_1", 0, 2),
    "cross_attention.v_proj": ("attention/linear_1", 1, 2),
    "cross_attention.out_proj": ("attention/linear_2", 0, 1),
    "feed_forward.inner": ("ffn/linear_0", 0, 1),
    "feed_forward.outer": ("ffn/linear_1", 0, 1),
    "self_attention_norm": ("self_attention/layer_norm", 0, 1),
    "cross_attention_norm": ("attention/layer_norm", 0, 1),
    "feed_forward_norm": ("ffn/layer_norm", 0, 1),
    "output_norm": ("layer_norm", 0, 1),
    "input_norm": ("layernorm_embedding", 0, 1),
}


def recognises(files: SourceFiles) -> bool:
    """Whether there is a model.bin that begins like one of CTranslate2."""
    if MODEL not in files.names:
        return False
    with open(files.path(MODEL), "rb") as file:
        return begins_like_ctranslate2(file.read(64))


def load(files: SourceFiles) -> Checkpoint:
    """Read a model; see `ImportFormat`."""
    binary = read_binary(files.path(MODEL), MODEL)
    if binary.specification not in HEADS:
        raise CheckpointError(
            f"{MODEL} is a {binary.specification:.60} of CTranslate2, revision {binary.revision}: Headlight imports "
            f"{', '.join(HEADS)}, which have an encoder and a decoder"
        )
    weights = binary.weights()
    source = next((name for name in SOURCE_EMBEDDINGS if name in weights.shapes), SOURCE_EMBEDDINGS[0])
    shape = _shape(binary, weights, source)
    vocabulary = Vocabulary(files, binary, (weights.shapes[source][0], weights.shapes[DECODER_EMBEDDING][0]))
    config = _config(shape, vocabulary)
    model = meta_model(config)
    tensors, stored = _tensors(binary, weights, model, source)
    facts = huggingface.facts(NAME, files, config, Settings(MODEL, {}), stored, vocabulary.tokenizer)
    facts["options not applied"] = [name for name in ("vmap.txt",) if name in files.names]
    return Checkpoint(fill_model(MODEL, model, tensors), vocabulary.tokenizer, {"imported": facts})


def _shape(binary: BinaryModel, weights: Weights, source: str) -> dict[str, Any]:
    """Fields of the configuration about the architecture."""
    for name in (source, DECODER_EMBEDDING, OUTPUT):
        if len(weights.shapes.get(name, ())) != 2 and not (name == OUTPUT and name not in weights.shapes):
            raise CheckpointError(f"{MODEL} has no matrix {name}: expected the variables of a Transformer")
    stacks = [_stack(binary, weights, stack) for stack in ("encoder", "decoder")]
    for name in ("norm", "final_norm", "activation", "scale_embedding", "embedding_norm"):
        if stacks[0][name] != stacks[1][name]:
            raise CheckpointError(
                f"{MODEL}: {name} is {stacks[0][name]} in the encoder and {stacks[1][name]} in the decoder, expected "
                f"the same in both"
            )
    encoder, decoder = stacks
    output = OUTPUT if OUTPUT in weights.shapes else DECODER_EMBEDDING
    tied = tied_by_content(weights, source=source, target=DECODER_EMBEDDING, output=output)
    tables = [f"{stack}/position_encodings/encodings" for stack in ("encoder", "decoder")]
    positions = [_positions(weights, table) for table in tables]
    if positions[0] != positions[1]:
        raise CheckpointError(f"{MODEL}: the positions of its encoder and its decoder differ, expected the same kind")
    if positions[0]["positions"] == "learned" and not weights.equal(*tables):  # each embedding has one table
        tied = {"all": "target", "inputs": "none"}.get(tied, tied)
    return {
        "d_model": weights.shapes[source][1],
        "d_ff": encoder["d_ff"],
        "decoder_d_ff": decoder["d_ff"],
        "num_heads": encoder["heads"],
        "num_decoder_heads": decoder["heads"],
        "num_encoder_layers": encoder["layers"],
        "num_decoder_layers": decoder["layers"],
        **{name: encoder[name] for name in ("norm", "final_norm", "activation", "scale_embedding", "embedding_norm")},
        "attention_bias": "encoder/layer_0/self_attention/linear_0/bias" in weights.shapes,
        "feed_forward_bias": "encoder/layer_0/ffn/linear_0/bias" in weights.shapes,
        "output_bias": BIAS in weights.shapes,
        "tied": tied,
        **positions[0],
    }


def _stack(binary: BinaryModel, weights: Weights, stack: str) -> dict[str, Any]:
    """Options of the encoder or the decoder."""
    for name, known in KNOWN.items():
        if (value := binary.option(stack, name, known)) != known:
            raise CheckpointError(
                f"{MODEL}: {stack}/{name} is {value:g}, and Headlight imports only models with {known}"
            )
    activation = binary.option(stack, "activation", 0)
    if activation not in range(len(ACTIVATIONS)):
        raise CheckpointError(f"{MODEL}: activation is {activation:g}, expected the number of {', '.join(ACTIVATIONS)}")
    numbers = re.compile(rf"{stack}/layer_(\d{{1,4}})/ffn/linear_0/weight")
    heads = binary.option(stack, "num_heads", HEADS[binary.specification])
    width = weights.shapes[DECODER_EMBEDDING][1]
    scale_name = f"{stack}/scale_embeddings"
    scale = binary.number(scale_name, 1)
    is_switch = scale_name not in binary.variables or not binary.variables[scale_name].dtype.is_floating_point
    if not is_switch and scale != 1 and not math.isclose(scale, math.sqrt(width), rel_tol=1e-3):
        raise CheckpointError(f"{MODEL}: {scale_name} is {scale:g}, expected 1 or the root of {width}")
    inner = weights.shapes.get(f"{stack}/layer_0/ffn/linear_0/weight", ())
    return {
        "layers": 1 + max((int(match[1]) for name in weights.shapes if (match := numbers.fullmatch(name))), default=-1),
        "heads": int(heads),
        "d_ff": inner[0] if inner else 0,
        "norm": "pre" if binary.option(stack, "pre_norm", 1) else "post",
        "final_norm": f"{stack}/layer_norm/gamma" in weights.shapes,
        "activation": ACTIVATIONS[int(activation)],
        "scale_embedding": bool(scale) if is_switch else scale != 1,
        "embedding_norm": f"{stack}/layernorm_embedding/gamma" in weights.shapes,
    }


def _positions(weights: Weights, name: str) -> dict[str, Any]:
    """Fields of the configuration about positions.

    Without a table, CTranslate2 computes that of OpenNMT-tf. A table is compared with those of the formula.
    """
    if name not in weights.shapes:
        return _sinusoids("halves", "i/(n-1)", 1)
    shape = weights.shapes[name]
    if len(shape) != 2 or not all(shape) or shape[1] % 2:
        raise CheckpointError(f"{MODEL}: {name} has shape {list(shape)}, expected [positions, width], the width even")
    table = weights.get(name)[: huggingface.BLOCK_ROWS].float()
    differences: dict[tuple[Any, Any, int], float] = {}
    for order in ("halves", "interleaved"):
        for exponent in ("i/n", "i/(n-1)"):
            for offset in range(3):
                expected = sinusoidal_encoding(*table.shape, first=offset, order=order, exponent=exponent)
                differences[order, exponent, offset] = float((table - expected).abs().max())
    best = min(differences, key=lambda each: differences[each])
    if differences[best] <= huggingface.POSITION_TOLERANCE:
        return _sinusoids(*best)
    return {"positions": "learned", "max_positions": shape[0]}


def _sinusoids(order: str, exponent: str, offset: int) -> dict[str, Any]:
    return {
        "positions": "sinusoidal",
        "position_order": order,
        "position_exponent": exponent,
        "position_offset": offset,
    }


def _config(shape: dict[str, Any], vocabulary: Vocabulary) -> TransformerConfig:
    size, target_size = vocabulary.sizes
    ends = vocabulary.tokenizer.eos_id, vocabulary.tokenizer.target.eos_id
    if ends[0] != ends[1]:
        raise CheckpointError(f"{MODEL}: the ends of its sources and targets have the ids {ends}, expected the same id")
    if vocabulary.has_added_rows:
        shape = {**shape, "output_bias": True}
    return huggingface.build_config(
        MODEL,
        **shape,
        norm_eps=vocabulary.epsilon,
        vocab_size=size,
        target_vocab_size=target_size,
        pad_id=vocabulary.tokenizer.pad_id,
        bos_id=vocabulary.start,
        eos_id=vocabulary.tokenizer.eos_id,
        source_prefix=vocabulary.source_start,
        source_end=vocabulary.add_end,
        penalty_formula="length",
    )


def _tensors(
    binary: BinaryModel, weights: Weights, model: Transformer, source: str
) -> tuple[dict[str, Tensor], list[str]]:
    """Parameters of the model, and the types that they are stored in."""
    output = OUTPUT if OUTPUT in weights.shapes else DECODER_EMBEDDING
    matrices = {
        "embedding.tokens.weight": source,
        "target_embedding.tokens.weight": DECODER_EMBEDDING,
        "output_projection.weight": output,
        "output_bias": BIAS,
        "embedding.positions.table.weight": "encoder/position_encodings/encodings",
        "target_embedding.positions.table.weight": "decoder/position_encodings/encodings",
    }
    rows = {source: weights.shapes[source][0], BIAS: weights.shapes[DECODER_EMBEDDING][0]}
    places: dict[str, tuple[str, int, int]] = {}
    expected: dict[str, tuple[int, ...]] = {}
    for ours, parameter in model.named_parameters():
        name, part, count = places[ours] = (matrices[ours], 0, 1) if ours in matrices else _place(ours)
        shape = (count * parameter.shape[0], *parameter.shape[1:])
        if ours in matrices and "positions" not in ours:  # without the rows that are added
            shape = (rows.get(name, rows[BIAS]), *shape[1:])
        if name != BIAS or BIAS in weights.shapes:
            expected[name] = shape
    for copy in (DECODER_EMBEDDING, output):
        expected.setdefault(copy, (rows[BIAS], model.config.d_model))
    ignored = [name for name in weights.shapes if weights.shapes[name] == (1,)]
    check_names(weights, expected, [*ignored, *(name for name in matrices.values() if "position" in name)])
    large, total = is_large(model), sum(math.prod(shape) for shape in weights.shapes.values())
    tensors: dict[str, Tensor] = {}
    for ours, (name, part, count) in places.items():
        wanted = model.get_parameter(ours).shape
        if name in weights.shapes:
            advance(math.prod(wanted), total)
            tensor = as_parameter(weights.get(name).tensor_split(count)[part], large)
        else:
            tensor = torch.zeros(rows[BIAS])
        if missing := wanted[0] - len(tensor):
            padding = (0, missing) if tensor.dim() == 1 else (0, 0, 0, missing)
            tensor = F.pad(tensor, padding, value=EXCLUDED_LOGIT if tensor.dim() == 1 else 0.0)
        tensors[ours] = tensor
    types = [NAMES[binary.variables[name].dtype] for name, _, _ in places.values() if name in binary.variables]
    return tensors, types


def _place(name: str) -> tuple[str, int, int]:
    """Variable that has a parameter of a stack, which of its parts it is, and their number."""
    stack, _, rest = name.partition(".")
    layer, place = "", re.fullmatch(r"layers\.(\d+)\.(.*)", rest)
    if place:
        layer, rest = f"layer_{place[1]}/", place[2]
    part, _, kind = rest.rpartition(".")
    theirs, number, count = _PARTS[part]
    if "norm" in part:
        kind = {"weight": "gamma", "bias": "beta"}[kind]
    return f"{stack}/{layer}{theirs}/{kind}", number, count
