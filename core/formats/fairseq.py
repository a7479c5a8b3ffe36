"""Transformers of fairseq, such as those of WMT 2014, 2016 and 2019.

Files: one `*.pt` with the parameters and the training options (`args` or `cfg`), `dict.SOURCE.txt` and
`dict.TARGET.txt`, and, unless these are of whole words, the codes of byte-pair encoding (subword-nmt or fastBPE) or a
SentencePiece model. Their arithmetic is that of FSMT, see `core.formats.fsmt`, with more options.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from torch import Tensor

from core.files.budget import shown
from core.formats import huggingface
from core.formats.checkpoint import Checkpoint, CheckpointError
from core.formats.parameter_names import matrix_names, read_parameters, stack_names, tied_by_content, unpacked
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.subword_files import subword_files
from core.formats.untrusted_parameters import errors_of, fill_model, meta_model
from core.formats.weight_files import Inert, load_pytorch, weights_of
from core.formats.weights import Weights, in_memory
from core.model.config import TransformerConfig
from core.text.byte_pair_encoding import CONTINUED
from core.text.dictionary_tokenizer import SPECIAL, DictionaryTokenizer, dictionary_tokenizer
from core.text.piece_splitting import MERGES, WORDS
from core.text.tokenizer import SPACE_MARK

NAME = "fairseq"
DICTIONARY = re.compile(r"dict\.([A-Za-z_-]+)\.txt")
PREFERRED = ("model.pt", "checkpoint_best.pt")  # among several
ACTIVATIONS = ("relu", "gelu", "swish")
# Classes and functions in files of fairseq, with the options and the statistics of the training.
INERT = (
    "argparse.Namespace",
    "collections.defaultdict",
    "numpy.core.multiarray.scalar",
    "numpy._core.multiarray.scalar",
    "numpy.dtype",
    "omegaconf.dictconfig.DictConfig",
    "omegaconf.listconfig.ListConfig",
    "omegaconf.base.ContainerMetadata",
    "omegaconf.base.Metadata",
    "typing.Any",
    *(f"omegaconf.nodes.{kind}Node" for kind in ("Any", "Boolean", "Enum", "Float", "Integer", "String")),
    *(f"builtins.{name}" for name in ("bool", "dict", "float", "int", "list", "str", "tuple")),  # types of fields
    *(
        f"fairseq.{module}.{name}"
        for module in ("meters", "logging.meters")
        for name in ("AverageMeter", "StopwatchMeter", "TimeMeter")
    ),
)

SOURCE, TARGET, OUTPUT = (
    "encoder.embed_tokens.weight",
    "decoder.embed_tokens.weight",
    "decoder.output_projection.weight",
)
FINAL_NORMS = ("encoder.layer_norm.weight", "decoder.layer_norm.weight")
EMBEDDING_NORMS = ("encoder.layernorm_embedding.weight", "decoder.layernorm_embedding.weight")
IGNORED = re.compile(r"(encoder|decoder)\.(version|embed_positions\.(_float_tensor|weights))")  # no parameters
OLD_NORM = re.compile(r"((encoder|decoder)\.layers\.\d+\.)layer_norms\.([012])\.(weight|bias)")
OLD_NORMS = {
    "encoder": ("self_attn_layer_norm", "final_layer_norm", "layer_norms.2"),
    "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
}
# Options with the only value that Headlight knows.
KNOWN: dict[str, object] = {
    "task": "translation",
    "encoder_learned_pos": False,
    "decoder_learned_pos": False,
    "no_token_positional_embeddings": False,
    "adaptive_input": False,
    "adaptive_softmax_cutoff": None,
    "no_cross_attention": False,
    "cross_self_attention": False,
    "layer_wise_attention": False,
    "character_embeddings": False,
    "encoder_layers_to_keep": None,
    "decoder_layers_to_keep": None,
    "no_decoder_final_norm": False,
    "base_layers": 0,
    "moses_no_dash_splits": False,
    "moses_no_escape": False,
}


def recognises(files: SourceFiles) -> bool:
    """Whether there are dictionaries of fairseq and a PyTorch file."""
    return any(map(DICTIONARY.fullmatch, files.names)) and any(name.endswith(".pt") for name in files.names)


def load(files: SourceFiles) -> Checkpoint:
    """Read a model; see `ImportFormat`."""
    name = _model_file(files)
    content = load_pytorch(files.path(name), name, INERT)
    options = _options(name, content)
    weights = in_memory(name, _new_names(weights_of(files.path(name), name, content["model"])))
    tokenizer = _tokenizer(files, options, weights)
    config = _config(options, weights, tokenizer)
    model = meta_model(config)
    sources = stack_names(model, "") | matrix_names(config.tied, SOURCE, TARGET, OUTPUT)
    tensors = read_parameters(weights, model, sources, (SOURCE, TARGET, OUTPUT))
    facts = huggingface.facts(NAME, files, config, Settings(name, {}), weights.types(sources.values()), tokenizer)
    return Checkpoint(fill_model(name, model, tensors), tokenizer, {"imported": facts})


def _model_file(files: SourceFiles) -> str:
    names = sorted(name for name in files.names if name.endswith(".pt"))
    chosen = next((name for name in PREFERRED if name in names), names[0])
    if chosen not in PREFERRED and len(names) > 1:
        raise CheckpointError(
            f"{files.label} has {len(names)} models ({', '.join(f'{name!r:.60}' for name in names[:4])}): give the "
            f"dictionaries, the codes and one of them"
        )
    return chosen


def _options(name: str, content: object) -> Settings:
    """Merge the options of the model, the task, the tokenizer and the subwords."""
    values = cast("Mapping[Any, Any]", content if isinstance(content, Mapping) else {})
    if "model" not in values:
        raise CheckpointError(f"{name} is not a file of fairseq: it has no 'model', expected it with 'args' or 'cfg'")
    merged: dict[Any, Any] = dict(_fields(values.get("args")))
    settings = _fields(values.get("cfg"))
    for section in ("task", "model", "tokenizer", "bpe"):
        inner = _fields(settings.get(section))
        merged.update({key: value for key, value in inner.items() if key != "_name"})
        if isinstance(inner.get("_name"), str):
            merged["arch" if section == "model" else section] = inner["_name"]
    if not merged:
        raise CheckpointError(
            f"{name}: neither its 'args' nor its 'cfg' can be read: expected a Namespace, or containers of plain values"
        )
    return Settings(name, {key: value for key, value in merged.items() if isinstance(key, str)})


def _fields(options: object) -> Mapping[Any, Any]:
    """Fields of a Namespace or of a dictionary; of a DictConfig, those of its content."""
    if isinstance(options, Inert):
        options = options.state.get("_content", options.state)
    if not isinstance(options, Mapping):
        return {}
    return {
        key: value.state.get("_val", value) if isinstance(value, Inert) else value
        for key, value in cast("Mapping[Any, Any]", options).items()
    }


def _config(options: Settings, weights: Weights, tokenizer: DictionaryTokenizer) -> TransformerConfig:
    options.refuse(KNOWN)
    architecture = options.text("arch", "transformer")
    if not architecture.startswith("transformer"):
        raise CheckpointError(f"{options.file_name}: arch is {architecture!r:.60}, expected a transformer")
    activation = options.choice("activation_fn", ACTIVATIONS, "relu")
    d_model, d_ff = options.integer("encoder_embed_dim"), options.integer("encoder_ffn_embed_dim")
    heads = options.integer("encoder_attention_heads")
    pre = options.switch("encoder_normalize_before", False)
    for name, expected in (
        ("decoder_embed_dim", d_model),
        ("decoder_input_dim", d_model),
        ("decoder_output_dim", d_model),
        ("decoder_normalize_before", pre),
    ):
        if options.values.get(name, expected) not in (expected, None):
            raise CheckpointError(
                f"{options.file_name}: {name} is {shown(options.values[name])}, expected {expected} as of the encoder"
            )
    return huggingface.build_config(
        options.file_name,
        vocab_size=tokenizer.vocab_size,
        target_vocab_size=tokenizer.target.vocab_size,
        d_model=d_model,
        d_ff=d_ff,
        decoder_d_ff=options.integer("decoder_ffn_embed_dim", d_ff),
        num_heads=heads,
        num_decoder_heads=options.integer("decoder_attention_heads", heads),
        num_encoder_layers=options.integer("encoder_layers"),
        num_decoder_layers=options.integer("decoder_layers"),
        norm="pre" if pre else "post",
        final_norm=pre and all(name in weights.shapes for name in FINAL_NORMS),
        embedding_norm=all(name in weights.shapes for name in EMBEDDING_NORMS),
        activation=activation,
        scale_embedding=not options.switch("no_scale_embedding", False),
        position_order="halves",
        position_exponent="i/(n-1)",
        position_offset=tokenizer.pad_id + 1,
        tied=tied_by_content(weights, source=SOURCE, target=TARGET, output=OUTPUT),
        pad_id=tokenizer.pad_id,
        bos_id=tokenizer.eos_id,
        eos_id=tokenizer.eos_id,
        penalty_formula="length",
    )


def _new_names(weights: Weights) -> dict[str, Tensor]:
    """Parameters under the names of newer versions of fairseq.

    Older ones have one matrix of queries, keys and values, number a layer's norms, and name no output projection.
    """
    tensors: dict[str, Tensor] = {}

    def put(name: str, tensor: Tensor) -> None:
        if name in tensors:
            raise CheckpointError(f"{weights.file_name} has {name!r:.80} twice, under an older and a newer name")
        tensors[name] = tensor

    for name in weights.shapes:
        tensor = weights.get(name)
        if IGNORED.fullmatch(name):
            continue
        if match := OLD_NORM.fullmatch(name):
            put(f"{match[1]}{OLD_NORMS[match[2]][int(match[3])]}.{match[4]}", tensor)
        elif name == "decoder.embed_out":
            put(OUTPUT, tensor)
        else:
            for part, piece in unpacked(weights.file_name, name, tensor).items():
                put(part, piece)
    if OUTPUT not in tensors and TARGET in tensors:
        tensors[OUTPUT] = tensors[TARGET]
    return tensors


def _tokenizer(files: SourceFiles, options: Settings, weights: Weights) -> DictionaryTokenizer:
    languages = [options.text(f"{side}_lang") for side in ("source", "target")]
    pieces = [
        _pieces(files, f"dict.{language}.txt", weights.shapes.get(matrix, ()))
        for language, matrix in zip(languages, (SOURCE, TARGET), strict=True)
    ]
    for name, known in (("tokenizer", ("moses", "space")), ("bpe", ("subword_nmt", "fastbpe", "sentencepiece"))):
        if options.values.get(name) not in (None, *known):
            raise CheckpointError(
                f"{options.file_name}: {name} is {shown(options.values[name])}, expected {' or '.join(known)}"
            )
    tokenizer = options.values.get("tokenizer")
    # of byte-pair encoding or of SentencePiece, whatever the options of the training say
    has_subwords = any(piece.endswith(CONTINUED) or SPACE_MARK in piece for side in pieces for piece in side)
    of_words = options.values.get("bpe") is None and not has_subwords
    subwords = {} if files.tokenized or of_words else subword_files(files)
    moses = tokenizer == "moses" or (tokenizer is None and MERGES in subwords)
    settings = {
        "source_language": languages[0],
        "target_language": languages[1],
        "moses": moses and not files.tokenized,
        **({} if subwords else {"split": WORDS}),
    }
    with errors_of(files.label):
        return dictionary_tokenizer(settings, pieces[0], 2, subwords, pieces[1])


def _pieces(files: SourceFiles, name: str, shape: Sequence[int]) -> list[str]:
    """Pieces of a dictionary: four special ones, then one a line with its count, as many as rows of a matrix."""
    if name not in files.names:
        dictionaries = ", ".join(sorted(filter(DICTIONARY.fullmatch, files.names))[:4])
        raise CheckpointError(f"{files.label} has no {name:.60}: its dictionaries are {dictionaries or 'missing'}")
    lines = files.text(name).rstrip("\n").split("\n")
    if shape and len(SPECIAL) + len(lines) != shape[0]:
        raise CheckpointError(
            f"{files.label}: {name} has {len(lines)} lines and its matrix {shape[0]} rows, expected "
            f"{len(SPECIAL)} more rows than lines: they are of different models"
        )
    ids = {piece: token_id for token_id, piece in enumerate(SPECIAL)}
    pieces = list(SPECIAL)
    for number, line in enumerate(lines, start=1):
        text, overwrites = line.rstrip(), False
        if text.endswith(" #fairseq:overwrite"):
            text, overwrites = text.removesuffix(" #fairseq:overwrite"), True
        piece, _, count = text.rpartition(" ")
        if not piece or not count.isdecimal():
            raise CheckpointError(
                f"{files.label}: line {number} of {name} is {line!r:.60}, expected a piece and how often it occurs"
            )
        if piece in ids:
            if not overwrites:
                raise CheckpointError(f"{files.label}: line {number} of {name} has {piece!r:.60} a second time")
            pieces[ids[piece]] = f"<unused {ids[piece]}>"
        ids[piece] = len(pieces)
        pieces.append(piece)
    return pieces
