"""Parameters of a `torch.nn.Transformer` or a hand-written one, with a config.json for what they do not show.

Files, see docs/formats.md: config.json with model_type "torch.nn.Transformer", a state dict in safetensors or PyTorch,
alone or in what a training saves, and either SentencePiece models or lists of pieces. The reference is
`torch.nn.Transformer`. A hand-written model has a map of names, see `core.formats.module_names`.
"""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from core.files.budget import shown
from core.files.console import command_line
from core.formats import huggingface
from core.formats.checkpoint import Checkpoint, CheckpointError
from core.formats.module_names import (
    MAX_NAME,
    SAMPLE_STD,
    STANDARD,
    has_bias,
    read_map,
    renamed_parameters,
    standard_eps,
    with_standard_norms,
    with_zero_biases,
)
from core.formats.parameter_names import matrix_names, read_parameters, stack_names, tied_by_content
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.state_dicts import StateDict, open_only_state_dict
from core.formats.subword_files import subword_files
from core.formats.untrusted_parameters import errors_of, fill_model, meta_model
from core.formats.weights import Weights, in_memory
from core.model.config import TransformerConfig
from core.text.byte_pieces import END, PAD, START, UNKNOWN
from core.text.dictionary_tokenizer import DictionaryTokenizer, dictionary_tokenizer, with_usual_names
from core.text.piece_splitting import CHARACTERS, SENTENCEPIECE, WORDS
from core.text.text_files import split_lines
from core.text.tokenizer import SPACE_MARK, load_sentencepiece

NAME = "torch.nn.Transformer"
FIRST = "encoder.layers.0.self_attn.q_proj.weight"  # ends with this, whatever the module around it is called
OF_TARGET = re.compile(r"dec|tgt|trg|target", re.IGNORECASE)
NUMBERS = "numbers"  # the vocabulary of a model without one: pieces are the numbers of its tokens
SIDES = ("source", "target")
_SHARED = {"feed_forward.inner": "linear1", "feed_forward.outer": "linear2", "output_norm": "norm"}
TABLE = re.compile(r"(.*[._])?(pe|pos|pos_?(emb|enc|table|encoding|embedding)\w*|position\w*)(\.\w+)?", re.IGNORECASE)
ENCODER = {"self_attention_norm": "norm1", "feed_forward_norm": "norm2", "self_attention": "self_attn", **_SHARED}
DECODER = {
    "self_attention_norm": "norm1",
    "cross_attention_norm": "norm2",
    "feed_forward_norm": "norm3",
    "self_attention": "self_attn",
    "cross_attention": "multihead_attn",
    **_SHARED,
}
POSITIONS = ("interleaved", "halves", "learned")
OF_TOKENIZER = ("split", "source_language", "target_language", "target_tokens")
OF_VOCABULARY = {
    *("pad", "start", "end", "unknown", "source_start", "source_end", "lower_case", "vocabulary", *OF_TOKENIZER)
}
OPTIONS = OF_VOCABULARY | {
    *("model_type", "nhead", "norm_first", "activation", "layer_norm_eps", "scale_embedding", "source_embedding"),
    *("target_embedding", "output", "positions", "position_exponent", "position_offset", "position_table", "ignored"),
    *("names", "layer_norm", "target_position_table", "notes"),
}


recognises = huggingface.of_types(NAME)


def load(files: SourceFiles) -> Checkpoint:
    """Read a model; see `ImportFormat`."""
    options = Settings.read(files, "config.json")
    if unknown := sorted(options.values.keys() - OPTIONS):
        raise CheckpointError(
            f"config.json: there is no option {unknown[0]!r:.60}, expected some of {', '.join(sorted(OPTIONS))}"
        )
    return _read(files, options)


def _read(files: SourceFiles, options: Settings) -> Checkpoint:
    with open_only_state_dict(files) as state:
        name = state.weights.file_name
        weights, prefix = _torch_names(state, options)
        source, target, matrix = _matrices(state, options, weights)
        sizes = [weights.shapes[each][0] for each in (source, target)]
        tokenizer, start = _tokenizer(files, options, sizes, state.settings)
        tied = tied_by_content(weights, source=source, target=target, output=matrix)
        bias = f"{matrix.removesuffix('.weight')}.bias"
        bias = bias if matrix != target and bias in weights.shapes else None
        weights, tables = _tables(state, options, weights, {source, target, matrix})
        if tables and not weights.equal(tables[0], tables[-1]):  # each side needs an embedding of its own
            tied = {"all": "target", "inputs": "none"}.get(tied, tied)
        shape = _shape(options, weights, prefix, tables) | {"tied": tied, "output_bias": bias is not None}
        config = _config(options, shape, tokenizer, start)
        model = meta_model(config)
        sources = stack_names(model, prefix, ENCODER, DECODER) | matrix_names(tied, source, target, matrix)
        if bias:
            sources["output_bias"] = bias
        ignored = [state.bare(each) for each in _texts(options, "ignored")] + list(tables)
        if config.positions == "learned":
            sources["embedding.positions.table.weight"] = tables[0]
            if tied in ("target", "none"):
                sources["target_embedding.positions.table.weight"] = tables[-1]
        else:
            try:
                huggingface.check_positions(weights, config, "this config.json's", tables)
            except CheckpointError:
                if options.values.get("positions") is not None:
                    raise
                chosen = {"positions": "learned", "position_table": tables[0], "target_position_table": tables[-1]}
                return _read(files, Settings(options.file_name, options.values | chosen))
        tensors = read_parameters(weights, model, sources, (source, target, matrix), ignored)
        types = weights.types(sources.values())
    facts = huggingface.facts(NAME, files, config, Settings(name, {}), types, tokenizer)
    return Checkpoint(fill_model(name, model, tensors), tokenizer, {"imported": facts})


def _torch_names(state: StateDict, options: Settings) -> tuple[Weights, str]:
    """Parameters under torch's names with queries, keys and values apart, and the prefix of both stacks' names."""
    names = {state.bare(theirs): ours for theirs, ours in read_map(options).items()}
    weights = renamed_parameters(state.weights, names)
    first = next((name for name in weights.shapes if name.endswith(FIRST)), None)
    if first is None or len(weights.shapes[first]) != 2 or 0 in weights.shapes[first]:
        inspect = command_line("python", "-m", "core", "inspect", Path(weights.file_name), "--draft", "config.json")
        raise CheckpointError(
            f"{weights.file_name} has no encoder.layers.0.self_attn.in_proj_weight: expected the state dict of a "
            f"torch.nn.Transformer. For a model with other names, `{inspect}` "
            f"writes the map of names"
        )
    prefix = first.removesuffix(FIRST)
    kind = options.text("layer_norm", STANDARD)
    if kind not in (STANDARD, SAMPLE_STD):
        raise CheckpointError(
            f"config.json: layer_norm is {kind!r:.60}, expected {STANDARD!r}, or {SAMPLE_STD!r} as in the Annotated "
            f"Transformer"
        )
    weights = with_standard_norms(weights, prefix, weights.shapes[first][1], kind == SAMPLE_STD)
    return with_zero_biases(weights, prefix), prefix


def _matrices(state: StateDict, options: Settings, weights: Weights) -> tuple[str, str, str]:
    """Names of the embeddings of both sides and of the matrix of the logits."""
    source = state.bare(options.text("source_embedding", "src_tok_emb.embedding.weight"))
    target = state.bare(options.text("target_embedding", "tgt_tok_emb.embedding.weight"))
    output = state.bare(options.text("output", "generator"))
    target = target if target in weights.shapes else source
    for each in (source, target):
        if len(weights.shapes.get(each, ())) != 2:
            raise CheckpointError(
                f"{weights.file_name} has no matrix {each!r:.80}: name the embeddings in config.json, as "
                f"source_embedding and target_embedding"
            )
    return source, target, f"{output}.weight" if f"{output}.weight" in weights.shapes else target


def _tables(state: StateDict, options: Settings, weights: Weights, matrices: set[str]) -> tuple[Weights, list[str]]:
    """Tables of positions as [positions, D], learned ones of as many positions; and their names, the source's first.

    Without the option, they are tensors with a name of such a table: the formula's, or else learned.
    """
    named = [state.bare(options.text(option, "")) for option in ("position_table", "target_position_table")]
    is_learned = options.values.get("positions") == "learned"
    width = weights.shapes[next(iter(sorted(matrices)))][1]
    tables = [name for name in named if name in weights.shapes]
    if not any(named) and not is_learned:
        tables = [
            name
            for name, shape in weights.shapes.items()
            if len(name) < MAX_NAME and name not in matrices and len(shape) > 1 and TABLE.fullmatch(name)
        ]
        tables.sort(key=lambda name: bool(OF_TARGET.search(name)))
        if len(tables) > len(SIDES):
            raise CheckpointError(
                f"{weights.file_name} has {len(tables)} tables of positions ({', '.join(tables)[:200]}): name those of "
                f"the embeddings in config.json, as position_table and target_position_table"
            )
    elif len(tables) < sum(map(bool, named)) or not named[0]:
        missing = next((name for name in named if name not in weights.shapes), "")
        raise CheckpointError(
            f"config.json: position_table {missing!r:.60} is not a matrix of {weights.file_name}: expected the name of "
            f"the table of [positions, d_model]"
        )
    if not is_learned:
        return weights, tables
    tensors = {name: weights.get(name) for name in weights.shapes}
    rows = min(math.prod(weights.shapes[name]) // max(width, 1) for name in tables)
    for name in tables:
        if weights.shapes[name][-1:] != (width,) or math.prod(weights.shapes[name][:-1]) not in weights.shapes[name]:
            raise CheckpointError(
                f"config.json: positions is 'learned', and the table {name!r:.60} has shape "
                f"{list(weights.shapes[name])} in {weights.file_name}: expected [positions, {width}]"
            )
        tensors[name] = tensors[name].reshape(-1, width)[options.integer("position_offset", 0) : rows]
    return in_memory(weights.file_name, tensors), tables


def _shape(options: Settings, weights: Weights, prefix: str, tables: list[str]) -> dict[str, Any]:
    """Fields of the configuration about the architecture, most of them from the shapes of the parameters."""
    positions = options.choice("positions", POSITIONS, "interleaved")

    def layers(stack: str) -> int:
        numbers = re.compile(rf"{re.escape(prefix)}{stack}\.layers\.(\d{{1,4}})\.linear1\.weight")
        return 1 + max((int(match[1]) for name in weights.shapes if (match := numbers.fullmatch(name))), default=-1)

    def inner(stack: str) -> int:
        shape = weights.shapes.get(f"{prefix}{stack}.layers.0.linear1.weight", ())
        return shape[0] if shape else 0

    projected, width = weights.shapes[f"{prefix}{FIRST}"]
    heads = options.integer("nhead")
    head_width = None if projected == width else projected // max(heads, 1)
    eps = options.number("layer_norm_eps", 1e-6 if options.values.get("layer_norm") == SAMPLE_STD else 1e-5)
    return {
        "d_model": width,
        "d_k": head_width,
        "d_v": head_width,
        "d_ff": inner("encoder"),
        "decoder_d_ff": inner("decoder"),
        "num_heads": heads,
        "num_encoder_layers": layers("encoder"),
        "num_decoder_layers": layers("decoder"),
        "norm": "pre" if options.switch("norm_first", False) else "post",
        "final_norm": any(f"{prefix}{stack}.norm.weight" in weights.shapes for stack in ("encoder", "decoder")),
        "embedding_norm": f"{prefix}encoder.input_norm.weight" in weights.shapes,
        "attention_bias": has_bias(weights, prefix, "attention"),
        "feed_forward_bias": has_bias(weights, prefix, "feed forward"),
        "norm_eps": standard_eps(eps, width) if options.values.get("layer_norm") == SAMPLE_STD else eps,
        "activation": options.text("activation", "relu"),
        "scale_embedding": options.switch("scale_embedding", True),
        "positions": "learned" if positions == "learned" else "sinusoidal",
        "position_order": "interleaved" if positions == "learned" else positions,
        "position_exponent": options.text("position_exponent", "i/n"),
        "position_offset": 0 if positions == "learned" else options.integer("position_offset", 0),
        **({"max_positions": weights.shapes[tables[0]][0]} if positions == "learned" else {}),
    }


def vocabulary_config(files: SourceFiles, described: Mapping[str, Any], sizes: list[int]) -> TransformerConfig:
    """A configuration with the vocabularies that a description has, for so many rows of embeddings."""
    options = Settings("config.json", dict(described))
    return _config(options, {"d_ff": 2048, "num_heads": 8, "tied": "none"}, *_tokenizer(files, options, sizes, {}))


def _config(options: Settings, shape: dict[str, Any], tokenizer: DictionaryTokenizer, start: int) -> TransformerConfig:
    if tokenizer.pad_id != tokenizer.target.pad_id:
        raise CheckpointError(
            f"the piece of padding has the ids {tokenizer.pad_id} and {tokenizer.target.pad_id} in the two "
            f"vocabularies, expected the same id in both"
        )
    with errors_of("config.json"):
        prefix = (tokenizer.token_id(START),) if options.switch("source_start", False) else ()
    return huggingface.build_config(
        **shape,
        vocab_size=tokenizer.vocab_size,
        target_vocab_size=tokenizer.target.vocab_size,
        pad_id=tokenizer.pad_id,
        bos_id=start,
        eos_id=tokenizer.eos_id,
        source_prefix=prefix,
        source_end=options.switch("source_end", True),
    )


def _tokenizer(
    files: SourceFiles, options: Settings, sizes: list[int], inside: Mapping[str, Any]
) -> tuple[DictionaryTokenizer, int]:
    """Return the tokenizer and the id of the decoder's start, for `sizes` rows of both embeddings."""
    split = options.values.get("split")
    if split not in (None, WORDS, CHARACTERS):
        raise CheckpointError(f"config.json: split is {split!r:.60}, expected {WORDS!r} or {CHARACTERS!r}, or none")
    numbered = options.values.get("vocabulary") == NUMBERS
    if options.text("vocabulary", NUMBERS) != NUMBERS:
        raise CheckpointError(
            f"config.json: vocabulary is {options.text('vocabulary')!r:.60}, expected {NUMBERS!r}, or none"
        )
    settings = {
        "moses": False,
        "lower_case": options.switch("lower_case", False),
        "source_end": options.switch("source_end", True),
        **{key: options.values[key] for key in OF_TOKENIZER if options.values.get(key) is not None},
        **({"split": WORDS} if numbered else {}),
    }
    with errors_of(files.label):
        subwords = {} if split or numbered else subword_files(files, ("sentencepiece",))
        models = [subwords.get(name) for name in (SENTENCEPIECE, f"target-{SENTENCEPIECE}")]
        if numbered:
            pieces = [[str(number) for number in range(size)] for size in sizes]
        else:
            pieces = [
                _pieces(files, side, model or models[0], inside) for side, model in zip(SIDES, models, strict=True)
            ]
        if split == CHARACTERS:  # a line with a space alone is the space
            pieces = [[SPACE_MARK if piece == " " else piece for piece in side] for side in pieces]
        names = [_special(options, side) for side in pieces]
        first = {name: usual for usual, name in reversed(names[1].items())}
        aliases = {usual: first[name] for usual, name in names[1].items() if first[name] != usual}
        settings |= {"aliases": aliases, "no_unknown": UNKNOWN not in names[1]}
        if not options.switch("source_start", False) and START not in aliases.values():
            del names[0][START]
        source, target = map(with_usual_names, pieces, names)
        start = target.index(START)
        return dictionary_tokenizer(settings, source, start, subwords, target), start


def _special(options: Settings, pieces: list[str]) -> dict[str, str]:
    """Special pieces of a side by their usual names; an option may give the number of a piece in place of its name."""
    names: dict[str, str] = {}
    for usual, option in ((START, "start"), (PAD, "pad"), (END, "end"), (UNKNOWN, "unknown")):
        value = options.values.get(option)
        if isinstance(value, int) and not isinstance(value, bool):
            if not 0 <= value < len(pieces):
                raise CheckpointError(
                    f"config.json: {option} is {shown(value)}, expected a piece, or its number from 0 to "
                    f"{len(pieces) - 1}"
                )
            names[usual] = pieces[value]
        elif value is not None or (option not in options.values and (usual in pieces or usual in (PAD, START))):
            names[usual] = options.text(option, usual)
    if END not in names:
        if options.values.get("end", "") is not None or not options.values.get("target_tokens"):
            raise CheckpointError(
                f"config.json: the vocabulary has no {END!r}: name the end, or give null and the number of tokens of "
                f"every target, as target_tokens"
            )
        names[END] = names[START]  # which is not generated
    if names[END] == names[PAD]:
        names[PAD] = names[START]
    return names


def _pieces(files: SourceFiles, side: str, model: bytes | None, inside: Mapping[str, Any]) -> list[str]:
    """Pieces of a side by id, from a list, one a line, or else its SentencePiece model, or beside the parameters."""
    name = next((name for name in (f"{side}_vocab.txt", "vocab.txt") if name in files.names), None)
    if name is not None:
        return split_lines(files.text(name))
    if model is not None:
        processor = load_sentencepiece(model)
        return processor.id_to_piece(list(range(processor.vocab_size())))
    lists = {bool(OF_TARGET.search(name)): each for name, each in inside.items() if isinstance(each, list)}
    if not lists:
        raise CheckpointError(f"{files.label} has no {side}_vocab.txt or vocab.txt: expected the pieces, one per line")
    return lists.get(side == "target") or next(iter(lists.values()))


def _texts(options: Settings, name: str) -> list[str]:
    value = options.values.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in cast("list[Any]", value)):
        raise CheckpointError(f"config.json: {name} is {value!r:.60}, expected a list of names")
    return list(cast("list[str]", value))
