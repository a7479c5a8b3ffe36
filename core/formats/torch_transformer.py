"""Parameters of a `torch.nn.Transformer`, with a config.json for the settings that the parameters do not show.

Files, see docs/formats.md: config.json with model_type "torch.nn.Transformer", a state dict in safetensors or PyTorch,
and either SentencePiece models or lists of pieces. The reference is `torch.nn.Transformer`.
"""

import json
import re
from typing import Any, cast

from torch import Tensor

from core.formats import huggingface
from core.formats.checkpoint import Checkpoint, CheckpointError
from core.formats.parameter_names import matrix_names, read_parameters, stack_names, tied_by_content, unpacked
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.subword_files import subword_files
from core.formats.untrusted_parameters import fill_model, meta_model
from core.formats.weights import Weights, in_memory, open_weights
from core.model.config import TransformerConfig
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
from core.text.piece_splitting import CHARACTERS, SENTENCEPIECE, WORDS
from core.text.text_files import split_lines
from core.text.tokenizer import load_sentencepiece

NAME = "torch.nn.Transformer"
SUFFIXES = (".safetensors", ".pt", ".pth", ".bin")
FIRST = "encoder.layers.0.self_attn.in_proj_weight"  # ends with this, whatever the module around it is called
START = "<s>"
_SHARED = {"feed_forward.inner": "linear1", "feed_forward.outer": "linear2", "output_norm": "norm"}
ENCODER = {
    "self_attention_norm": "norm1",
    "feed_forward_norm": "norm2",
    "self_attention": "self_attn",
    **_SHARED,
}
DECODER = {
    "self_attention_norm": "norm1",
    "cross_attention_norm": "norm2",
    "feed_forward_norm": "norm3",
    "self_attention": "self_attn",
    "cross_attention": "multihead_attn",
    **_SHARED,
}
POSITIONS = ("interleaved", "halves", "learned")
OPTIONS = {
    *("model_type", "nhead", "norm_first", "activation", "layer_norm_eps", "scale_embedding", "source_embedding"),
    *("target_embedding", "output", "positions", "position_exponent", "position_offset", "position_table", "ignored"),
    *("pad", "start", "end", "unknown", "source_start", "source_end", "split", "lower_case"),
    *("source_language", "target_language"),
}


def recognises(files: SourceFiles) -> bool:
    """Whether there is a config.json for such parameters."""
    return huggingface.is_of_type(files, NAME)


def load(files: SourceFiles) -> Checkpoint:
    """Read a model.

    Raises:
        CheckpointError: a file is missing, damaged or does not fit the others, or an option is unknown.
    """
    options = Settings.read(files, "config.json")
    if unknown := sorted(options.values.keys() - OPTIONS):
        raise CheckpointError(
            f"config.json: there is no option {unknown[0]!r:.60}, expected some of {', '.join(sorted(OPTIONS))}"
        )
    tokenizer, start = _tokenizer(files, options)
    name = _weights_file(files)
    with open_weights(files.path(name), name) as stored:
        weights, prefix = _split_projections(stored)
        source = options.text("source_embedding", "src_tok_emb.embedding.weight")
        target = options.text("target_embedding", "tgt_tok_emb.embedding.weight")
        output = options.text("output", "generator")
        target = target if target in weights.shapes else source
        matrix = f"{output}.weight" if f"{output}.weight" in weights.shapes else target
        for each in (source, target):
            if len(weights.shapes.get(each, ())) != 2:
                raise CheckpointError(
                    f"{name} has no matrix {each!r:.80}: name the embeddings in config.json, as source_embedding and "
                    f"target_embedding"
                )
        tied = tied_by_content(weights, source=source, target=target, output=matrix)
        bias = f"{output}.bias" if f"{output}.bias" in weights.shapes else None
        table = options.text("position_table", "")
        shape = _shape(options, weights, prefix, table) | {"tied": tied, "output_bias": bias is not None}
        config = _config(options, shape, tokenizer, start)
        model = meta_model(config)
        sources = stack_names(model, prefix, ENCODER, DECODER) | matrix_names(tied, source, target, matrix)
        if bias:
            sources["output_bias"] = bias
        sources |= {ours: table for ours, _ in model.named_parameters() if ours.endswith("positions.table.weight")}
        ignored = _texts(options, "ignored")
        if config.positions == "sinusoidal":
            huggingface.check_positions(weights, config, "this config.json's", (table,))
            ignored.append(table)
        tensors = read_parameters(weights, model, sources, (source, target, matrix), ignored)
        types = weights.types(sources.values())
    facts = huggingface.facts(NAME, files, config, Settings(name, {}), types, tokenizer)
    return Checkpoint(fill_model(name, model, tensors), tokenizer, {"imported": facts})


def _weights_file(files: SourceFiles) -> str:
    names = sorted(name for name in files.names if name.endswith(SUFFIXES))
    if len(names) != 1:
        raise CheckpointError(
            f"{files.label} has {len(names)} files of parameters ({', '.join(SUFFIXES)}): expected one state dict"
        )
    return names[0]


def _split_projections(stored: Weights) -> tuple[Weights, str]:
    """Parameters with queries, keys and values apart, and the prefix of the Transformer's names."""
    first = next((name for name in stored.shapes if name.endswith(FIRST)), None)
    if first is None:
        raise CheckpointError(f"{stored.file_name} has no {FIRST}: expected the state dict of a torch.nn.Transformer")
    tensors: dict[str, Tensor] = {}
    for name in stored.shapes:
        tensors.update(unpacked(stored.file_name, name, stored.get(name)))
    return in_memory(stored.file_name, tensors), first.removesuffix(FIRST)


def _shape(options: Settings, weights: Weights, prefix: str, table: str) -> dict[str, Any]:
    """Fields of the configuration about the architecture, most of them from the shapes of the parameters."""
    positions = options.text("positions", "interleaved")
    if positions not in POSITIONS:
        raise CheckpointError(f"config.json: positions is {positions!r:.60}, expected one of {', '.join(POSITIONS)}")
    rows = weights.shapes.get(table, ())
    if positions == "learned" and len(rows) != 2:
        raise CheckpointError(
            f"config.json: positions is 'learned', and position_table {table!r:.60} is not a matrix of "
            f"{weights.file_name}: expected the name of the table of [positions, d_model]"
        )

    def layers(stack: str) -> int:
        numbers = re.compile(rf"{re.escape(prefix)}{stack}\.layers\.(\d{{1,4}})\.linear1\.weight")
        return 1 + max((int(match[1]) for name in weights.shapes if (match := numbers.fullmatch(name))), default=-1)

    def inner(stack: str) -> int:
        shape = weights.shapes.get(f"{prefix}{stack}.layers.0.linear1.weight", ())
        return shape[0] if shape else 0

    width = weights.shapes[f"{prefix}encoder.layers.0.self_attn.q_proj.weight"]
    return {
        "d_model": width[-1],
        "d_ff": inner("encoder"),
        "decoder_d_ff": None if inner("decoder") == inner("encoder") else inner("decoder"),
        "num_heads": options.integer("nhead"),
        "num_encoder_layers": layers("encoder"),
        "num_decoder_layers": layers("decoder"),
        "norm": "pre" if options.switch("norm_first", False) else "post",
        "final_norm": True,
        "norm_eps": options.number("layer_norm_eps", 1e-5),
        "activation": options.text("activation", "relu"),
        "scale_embedding": options.switch("scale_embedding", True),
        "positions": "learned" if positions == "learned" else "sinusoidal",
        "position_order": "interleaved" if positions == "learned" else positions,
        "position_exponent": options.text("position_exponent", "i/n"),
        "position_offset": options.integer("position_offset", 0),
        **({"max_positions": rows[0]} if positions == "learned" else {}),
    }


def _config(options: Settings, shape: dict[str, Any], tokenizer: DictionaryTokenizer, start: int) -> TransformerConfig:
    untied = shape["tied"] in ("target", "none")
    if tokenizer.pad_id != tokenizer.target.pad_id:
        raise CheckpointError(
            f"the piece of padding has the ids {tokenizer.pad_id} and {tokenizer.target.pad_id} in the two "
            f"vocabularies, expected the same id in both"
        )
    try:
        prefix = (tokenizer.token_id(START),) if options.switch("source_start", False) else ()
        return TransformerConfig(
            **shape,
            vocab_size=tokenizer.vocab_size,
            target_vocab_size=tokenizer.target.vocab_size if untied else None,
            pad_id=tokenizer.pad_id,
            bos_id=start,
            eos_id=tokenizer.eos_id,
            source_prefix=prefix,
            source_end=options.switch("source_end", True),
        )
    except ValueError as error:
        raise error if isinstance(error, CheckpointError) else CheckpointError(f"config.json: {error}") from error


def _tokenizer(files: SourceFiles, options: Settings) -> tuple[DictionaryTokenizer, int]:
    """Return the tokenizer and the id of the decoder's start."""
    special = {PAD: "pad", START: "start", END: "end", UNKNOWN: "unknown"}
    names = {usual: options.text(option, usual) for usual, option in special.items()}
    split = options.values.get("split")
    if split not in (None, WORDS, CHARACTERS):
        raise CheckpointError(f"config.json: split is {split!r:.60}, expected {WORDS!r} or {CHARACTERS!r}, or none")
    settings = {
        "moses": False,
        "lower_case": options.switch("lower_case", False),
        **{
            key: options.values[key] for key in ("split", "source_language", "target_language") if key in options.values
        },
    }
    try:
        subwords = {} if split else subword_files(files, ("sentencepiece",))
        models = [subwords.get(name) for name in (SENTENCEPIECE, f"target-{SENTENCEPIECE}")]
        pieces = [
            _pieces(files, side, model or models[0]) for side, model in zip(("source", "target"), models, strict=True)
        ]
        needed = dict(names)
        if not options.switch("source_start", False):
            del needed[START]
        source, target = with_usual_names(pieces[0], needed), with_usual_names(pieces[1], names)
        start = target.index(START)
        dictionaries = {SOURCE_DICTIONARY: dictionary_file(source)}
        if source != target:
            dictionaries[TARGET_DICTIONARY] = dictionary_file(target)
        tokenizer = DictionaryTokenizer({SETTINGS: json.dumps(settings).encode(), **subwords, **dictionaries}, start)
    except ValueError as error:
        raise error if isinstance(error, CheckpointError) else CheckpointError(f"{files.label}: {error}") from error
    return tokenizer, start


def _pieces(files: SourceFiles, side: str, model: bytes | None) -> list[str]:
    """Pieces of a side in the order of their ids, from a list, one a line, or else from its SentencePiece model."""
    name = next((name for name in (f"{side}_vocab.txt", "vocab.txt") if name in files.names), None)
    if name is not None:
        return split_lines(files.text(name))
    if model is None:
        raise CheckpointError(f"{files.label} has no {side}_vocab.txt or vocab.txt: expected the pieces, one per line")
    processor = load_sentencepiece(model)
    return processor.id_to_piece(list(range(processor.vocab_size())))


def _texts(options: Settings, name: str) -> list[str]:
    value = options.values.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in cast("list[Any]", value)):
        raise CheckpointError(f"config.json: {name} is {value!r:.60}, expected a list of names")
    return list(cast("list[str]", value))
