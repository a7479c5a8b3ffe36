"""Models of CTranslate2, such as those of Argos Translate.

Files: model.bin with the parameters, a vocabulary for both sides or one for each, in newer models a config.json with
the special tokens; SentencePiece models or merges of byte-pair encoding, which split the text. An Argos package has a
metadata.json with the languages. The reference is `ctranslate2.Translator`.
"""

import json
import math
import re
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from core.files.strict_json import json_object
from core.formats import huggingface
from core.formats.checkpoint import Checkpoint, CheckpointError
from core.formats.ctranslate2_binary import NAMES, BinaryModel, begins_like_ctranslate2, read_binary
from core.formats.huggingface import EXCLUDED_LOGIT
from core.formats.parameter_names import check_names, tied_by_content
from core.formats.progress import advance
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.subword_files import subword_files
from core.formats.untrusted_parameters import as_parameter, fill_model, meta_model
from core.formats.weights import Weights
from core.model import Transformer, sinusoidal_encoding
from core.model.config import TransformerConfig
from core.model.half_precision import is_large
from core.text.dictionary_settings import LANGUAGE
from core.text.dictionary_tokenizer import (
    END,
    PAD,
    SETTINGS,
    SOURCE_DICTIONARY,
    TARGET_DICTIONARY,
    UNKNOWN,
    DictionaryTokenizer,
    dictionary_file,
    with_usual_names,
)
from core.text.marian_tokenizer import SOURCE_MODEL, TARGET_MODEL
from core.text.piece_splitting import CHARACTERS, OF_TARGET, SENTENCEPIECE, WORDS
from core.text.text_files import split_lines

NAME = "CTranslate2"
MODEL = "model.bin"
HEADS = {"TransformerBase": 8, "TransformerBig": 16, "TransformerSpec": 8}  # where the file does not have their number
ACTIVATIONS = ("relu", "gelu_tanh", "swish", "gelu")  # by their number
DECODER_EMBEDDING, OUTPUT, BIAS = "decoder/embeddings/weight", "decoder/projection/weight", "decoder/projection/bias"
SOURCE_EMBEDDINGS = ("encoder/embeddings_0/weight", "encoder/embeddings/weight")
# Tokens that language codes look like, of which one belongs before a text of M2M100, NLLB or mBART
LANGUAGE_TOKEN = re.compile(r"__[a-z]{2,3}(_[A-Za-z]+)?__|[a-z]{3}_[A-Z][a-z]{3}|[a-z]{2}_[A-Z]{2}")
BLANK = "<blank>"  # padding of OpenNMT, whose sources have no `</s>`
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
    """Read a model.

    Raises:
        CheckpointError: a file is missing, damaged or does not fit the others, or an option is unknown.
    """
    binary = read_binary(files.path(MODEL), MODEL)
    if binary.specification not in HEADS or binary.revision < 2:
        raise CheckpointError(
            f"{MODEL} is a {binary.specification:.60} of CTranslate2, revision {binary.revision}: Headlight imports "
            f"{', '.join(HEADS)}, which have an encoder and a decoder, from revision 2 on"
        )
    weights = binary.weights()
    source = next((name for name in SOURCE_EMBEDDINGS if name in weights.shapes), SOURCE_EMBEDDINGS[0])
    shape = _shape(binary, weights, source)
    vocabulary = _Vocabulary(files, binary, (weights.shapes[source][0], weights.shapes[DECODER_EMBEDDING][0]))
    config = _config(shape, vocabulary)
    model = meta_model(config)
    tensors, stored = _tensors(binary, weights, model, source)
    facts = huggingface.facts(NAME, files, config, Settings(MODEL, {}), stored, vocabulary.tokenizer)
    facts["options not applied"] = [name for name in ("vmap.txt",) if name in files.names]
    return Checkpoint(fill_model(MODEL, model, tensors), vocabulary.tokenizer, {"imported": facts})


def _option(binary: BinaryModel, stack: str, name: str, default: float) -> float:
    """An option of a stack, which until revision 4 was one of both stacks."""
    return binary.number(f"{stack}/{name}", binary.number(name, default))


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
    positions = [_positions(weights, f"{stack}/position_encodings/encodings") for stack in ("encoder", "decoder")]
    tables = [f"{stack}/position_encodings/encodings" for stack in ("encoder", "decoder")]
    if positions[0] != positions[1]:
        raise CheckpointError(f"{MODEL}: the positions of its encoder and its decoder differ, expected the same kind")
    if positions[0]["positions"] == "learned" and not weights.equal(*tables):  # each embedding has one table
        tied = {"all": "target", "inputs": "none"}.get(tied, tied)
    return {
        "d_model": weights.shapes[source][1],
        "d_ff": encoder["d_ff"],
        "decoder_d_ff": None if encoder["d_ff"] == decoder["d_ff"] else decoder["d_ff"],
        "num_heads": encoder["heads"],
        "num_decoder_heads": None if encoder["heads"] == decoder["heads"] else decoder["heads"],
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
        if (value := _option(binary, stack, name, known)) != known:
            raise CheckpointError(
                f"{MODEL}: {stack}/{name} is {value:g}, and Headlight imports only models with {known}"
            )
    activation = _option(binary, stack, "activation", 0)
    if activation not in range(len(ACTIVATIONS)):
        raise CheckpointError(f"{MODEL}: activation is {activation:g}, expected the number of {', '.join(ACTIVATIONS)}")
    numbers = re.compile(rf"{stack}/layer_(\d{{1,4}})/ffn/linear_0/weight")
    heads = _option(binary, stack, "num_heads", HEADS[binary.specification])
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
        "norm": "pre" if _option(binary, stack, "pre_norm", 1) else "post",
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


class _Vocabulary:
    """Pieces of both sides with special tokens under Headlight's names, and rows that are added for them.

    A row of padding is added where a vocabulary has none, and where the decoder starts from zeros, as in OPUS-MT.

    Attributes:
        add_end: whether `</s>` ends every source.
        sizes: of both vocabularies with the added rows.
        start, source_start: id of the decoder's start, and ids before a source.
        epsilon: of the norms.
    """

    def __init__(self, files: SourceFiles, binary: BinaryModel, rows: tuple[int, int]) -> None:
        self.options = Settings.read(files, "config.json")
        self.options.refuse({"quantization_type": None, "multi_query_attention": False})
        argos = Settings.read(files, "metadata.json") if "metadata.json" in files.names else None
        from_zeros = bool(_option(binary, "decoder", "start_from_zero_embedding", 0))
        usual = {"unk_token": UNKNOWN, "eos_token": END, "bos_token": "<s>"}
        unknown, end, bos = (self.options.text(name, token) for name, token in usual.items())
        pieces = [_pieces(files, side, unknown, count) for side, count in zip(("source", "target"), rows, strict=True)]
        for side in pieces:
            if language := next(filter(LANGUAGE_TOKEN.fullmatch, side), None):
                raise CheckpointError(
                    f"{files.label} has tokens of languages such as {language!r:.40}, and its files do not say which "
                    f"belong before a text: give the model that it was converted from"
                )
        is_opennmt = BLANK in pieces[1]
        self.add_end = self._switch(binary, "add_source_eos", "with_source_eos") or not (is_opennmt or argos)
        self.source_start: tuple[int, ...] = ()
        padding = None
        if not from_zeros:
            padding = next((name for name in (PAD, BLANK) if all(name in side for side in pieces)), None)
            if padding and pieces[0].index(padding) != pieces[1].index(padding):
                padding = None
        self.has_added_rows = padding is None
        if padding is None:
            size = max(map(len, pieces))
            pieces = [[*side, *(f"<added {n}>" for n in range(size - len(side))), "<added>"] for side in pieces]
            padding = "<added>"
        start = padding if from_zeros else self._start(binary, bos, end)
        before = bos if self._switch(binary, "add_source_bos", "with_source_bos") else None
        try:
            for name, side in ((before, pieces[0]), (start, pieces[1])):
                if name is not None and name not in side:
                    raise ValueError(f"the vocabulary has no {name!r:.60}, which begins a text")
            self.start = pieces[1].index(start)
            self.source_start = () if before is None else (pieces[0].index(before),)
            names = {PAD: padding, UNKNOWN: unknown, END: end}
            needed = names if self.add_end else {PAD: padding, UNKNOWN: unknown}
            source, target = with_usual_names(pieces[0], needed), with_usual_names(pieces[1], names)
            self.tokenizer = _tokenizer(files, source, target, self.start, self.add_end, argos)
        except ValueError as error:
            raise error if isinstance(error, CheckpointError) else CheckpointError(f"{files.label}: {error}") from error
        self.sizes = len(source), len(target)
        self.epsilon = self.options.number("layer_norm_epsilon", 1e-5)

    def _switch(self, binary: BinaryModel, name: str, variable: str) -> bool:
        """An option of config.json, in older models a variable."""
        return self.options.switch(name, bool(binary.number(variable, 0)))

    def _start(self, binary: BinaryModel, bos: str, end: str) -> str:
        """The token that the decoder starts with."""
        if "decoder_start_token" in self.options.values:
            if self.options.values["decoder_start_token"] is None:
                raise CheckpointError(
                    "config.json: decoder_start_token is null, so each translation begins with tokens that the caller "
                    "gives: Headlight imports only models with a start of their own"
                )
            return self.options.text("decoder_start_token")
        return bos if binary.number("with_target_bos", 1) else end


def _pieces(files: SourceFiles, side: str, unknown: str, rows: int) -> list[str]:
    """Pieces of a side in the order of their ids, in JSON or one a line."""
    names = [f"{which}_vocabulary.{suffix}" for which in (side, "shared") for suffix in ("json", "txt")]
    name = next((name for name in names if name in files.names), None)
    if name is None:
        raise CheckpointError(f"{files.label} has no {' or '.join(names)}: expected the pieces of the {side}")
    if name.endswith(".json"):
        try:
            pieces = json_object(f'{{"pieces": {files.text(name)}}}')["pieces"]
        except ValueError as error:
            raise error if isinstance(error, CheckpointError) else CheckpointError(f"{name}: {error}") from error
        if not isinstance(pieces, list) or not all(isinstance(each, str) for each in cast("list[Any]", pieces)):
            raise CheckpointError(f"{name} is not a list of texts: expected the pieces of the {side}")
        pieces = cast("list[str]", pieces)
    else:
        pieces = split_lines(files.text(name))
    if unknown not in pieces:
        pieces = [*pieces, unknown]
    if len(pieces) != rows:
        raise CheckpointError(
            f"{name} has {len(pieces)} pieces with {unknown!r:.40}, the embedding of the {side} {rows} rows: they must "
            f"be equal"
        )
    return pieces


def _tokenizer(
    files: SourceFiles, source: list[str], target: list[str], start: int, source_end: bool, argos: Settings | None
) -> DictionaryTokenizer:
    settings: dict[str, Any] = {"moses": False, "source_end": source_end}
    if argos is not None:
        if argos.values.get("target_prefix"):
            raise CheckpointError("metadata.json: target_prefix is set, and Headlight imports only models without")
        for setting, key in (("source_language", "from_code"), ("target_language", "to_code")):
            if LANGUAGE.fullmatch(argos.text(key, "")):
                settings[setting] = argos.text(key)
    subwords: dict[str, bytes] = {}
    if files.tokenized:
        settings["split"] = WORDS
    elif {SOURCE_MODEL, TARGET_MODEL} <= files.names:
        subwords = {SENTENCEPIECE: files.read(SOURCE_MODEL), OF_TARGET + SENTENCEPIECE: files.read(TARGET_MODEL)}
    elif not any(name.endswith(".model") for name in files.names) and all(map(_is_character, source)):
        settings["split"] = CHARACTERS
    else:
        subwords = subword_files(files)
    dictionaries = {SOURCE_DICTIONARY: dictionary_file(source)}
    if source != target:
        dictionaries[TARGET_DICTIONARY] = dictionary_file(target)
    return DictionaryTokenizer({SETTINGS: json.dumps(settings).encode(), **subwords, **dictionaries}, start)


def _is_character(piece: str) -> bool:
    """Whether a piece is one character or a special token."""
    return len(piece) == 1 or (piece[:1], piece[-1:]) == ("<", ">")


def _config(shape: dict[str, Any], vocabulary: _Vocabulary) -> TransformerConfig:
    size, target_size = vocabulary.sizes
    ends = vocabulary.tokenizer.eos_id, vocabulary.tokenizer.target.eos_id
    if ends[0] != ends[1]:
        raise CheckpointError(f"{MODEL}: the ends of its sources and targets have the ids {ends}, expected the same id")
    if vocabulary.has_added_rows:
        shape = {**shape, "output_bias": True}
    try:
        return TransformerConfig(
            **shape,
            norm_eps=vocabulary.epsilon,
            vocab_size=size,
            target_vocab_size=target_size if shape["tied"] in ("target", "none") else None,
            pad_id=vocabulary.tokenizer.pad_id,
            bos_id=vocabulary.start,
            eos_id=vocabulary.tokenizer.eos_id,
            source_prefix=vocabulary.source_start,
            source_end=vocabulary.add_end,
            penalty_formula="length",
        )
    except ValueError as error:
        raise error if isinstance(error, CheckpointError) else CheckpointError(f"{MODEL}: {error}") from error


def _tensors(
    binary: BinaryModel, weights: Weights, model: Transformer, source: str
) -> tuple[dict[str, Tensor], list[str]]:
    """Parameters of the model, and the types that they are stored in.

    Raises:
        CheckpointError: names or shapes differ from those that the options call for.
    """
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
