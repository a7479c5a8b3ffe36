"""Transformers of OpenNMT-py, versions 0.9 to 3.

Files: one `.pt` with the parameters (`model`, `generator`), the vocabularies (`vocab`) and the options of the training
(`opt`); in version 3 the parameters may be in a `.safetensors` beside it. The codes of byte-pair encoding or the
SentencePiece model, which split the text, are separate files.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import PurePath
from typing import Any, cast

from torch import Tensor

from core.files.budget import shown
from core.formats import huggingface
from core.formats.checkpoint import Checkpoint, CheckpointError
from core.formats.parameter_names import matrix_names, read_parameters, stack_names, tied_by_content
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.subword_files import KINDS, subword_files
from core.formats.untrusted_parameters import errors_of, fill_model, meta_model
from core.formats.weight_files import Inert, load_pytorch, open_weights, weights_of
from core.formats.weights import Weights, in_memory
from core.model.config import TransformerConfig
from core.text.byte_pieces import PAD, START
from core.text.dictionary_tokenizer import DictionaryTokenizer, dictionary_tokenizer, with_usual_names
from core.text.piece_splitting import WORDS

NAME = "OpenNMT-py"
BLANK = "<blank>"
# Kinds of files that split words by the names of transforms; see `_split`.
SUBWORDS = {"sentencepiece": "sentencepiece", "bpe": "merges", "onmt_tokenize": "sentencepiece"}
# Classes and functions in its files: the options, and until version 2 the fields of torchtext with the vocabularies.
INERT = (
    "argparse.Namespace",
    "collections.defaultdict",
    "functools.partial",
    *(
        f"torchtext.{module}.{name}"
        for legacy in ("", "legacy.")
        for module, name in (
            (f"{legacy}vocab", "Vocab"),
            (f"{legacy}vocab", "_default_unk_index"),
            (f"{legacy}data.utils", "_split_tokenizer"),
            *((f"{legacy}data.field", name) for name in ("Field", "RawField", "LabelField")),
        )
    ),
    *(f"onmt.inputters.text_dataset.{name}" for name in ("TextMultiField", "_feature_tokenize")),
    *(
        f"onmt.inputters.inputter.{name}"
        for name in ("AlignField", "_feature_tokenize", "make_src", "make_tgt", "parse_align_idx")
    ),
)

SOURCE, TARGET = (f"{stack}.embeddings.make_embedding.emb_luts.0.weight" for stack in ("encoder", "decoder"))
OUTPUT, BIAS = "generator.weight", "generator.bias"
POSITIONS = tuple(f"{stack}.embeddings.make_embedding.pe.pe" for stack in ("encoder", "decoder"))
NORM_EPS = 1e-6
_SHARED = {
    "q_proj": "linear_query",
    "k_proj": "linear_keys",
    "v_proj": "linear_values",
    "out_proj": "final_linear",
    "feed_forward_norm": "feed_forward.layer_norm",
    "feed_forward.inner": "feed_forward.w_1",
    "feed_forward.outer": "feed_forward.w_2",
    "self_attention": "self_attn",
    "output_norm": "layer_norm",
}
ENCODER = {"layers": "transformer", "self_attention_norm": "layer_norm", **_SHARED}
DECODER = {
    "layers": "transformer_layers",
    "self_attention_norm": "layer_norm_1",
    "cross_attention_norm": "layer_norm_2",
    "cross_attention": "context_attn",
    **_SHARED,
}
OLD_NORM = re.compile(r"(.*layer_norm(?:_\d)?)\.([ab])_2")
# Options with the only value that Headlight knows.
KNOWN: dict[str, object] = {
    "model_type": "text",
    "model_task": "seq2seq",
    "encoder_type": "transformer",
    "decoder_type": "transformer",
    "position_encoding": True,
    "max_relative_positions": 0,
    "relative_positions_buckets": 0,
    "layer_norm": "standard",
    "parallel_residual": False,
    "num_experts": 0,
    "num_kv": 0,
    "multiquery": False,
    "sliding_window": 0,
    "copy_attn": False,
    "generator_function": "softmax",
    "n_src_feats": 0,
    "lora_layers": [],
    "lora_embedding": False,
    "quant_layers": [],
    "src_vocab_threshold": 0,
    "tgt_vocab_threshold": 0,
}
CHOICES = {
    "self_attn_type": ("scaled-dot", "scaled-dot-flash"),
    "pos_ffn_activation_fn": ("relu", "gelu"),  # those with `silu` and `gated-gelu` are gated
    "position_encoding_type": ("SinusoidalInterleaved", "SinusoidalConcat"),
}
# Other transforms that change a source when a text is translated.
NOT_APPLIED = ("normalize", "prefix", "suffix", "uppercase", "inlinetags", "terminology", "docify", "fuzzymatch")


def recognises(files: SourceFiles) -> bool:
    """Whether there is a PyTorch file `.pt` with options and vocabularies."""
    return any(_is_model(files, name) for name in files.names if name.endswith(".pt"))


def load(files: SourceFiles) -> Checkpoint:
    """Read a model; see `ImportFormat`."""
    names = sorted(name for name in files.names if name.endswith(".pt") and _is_model(files, name))
    if len(names) > 1:
        raise CheckpointError(f"{files.label} has {len(names)} models: give one .pt with the files of its subwords")
    content = load_pytorch(files.path(names[0]), names[0], INERT)
    options, vocabulary = _parts(names[0], content)
    with ExitStack() as stack:
        weights = _weights(files, names[0], content, stack)
        config_values = _shape(options, weights)
        tokenizer, start = _tokenizer(files, options, vocabulary)
        config = _config(options.file_name, config_values, tokenizer, start)
        huggingface.check_positions(weights, config, "OpenNMT-py's", POSITIONS)
        model = meta_model(config)
        sources = stack_names(model, "", ENCODER, DECODER) | matrix_names(config.tied, SOURCE, TARGET, OUTPUT)
        if config.output_bias:
            sources["output_bias"] = BIAS
        tensors = read_parameters(weights, model, sources, (SOURCE, TARGET, OUTPUT), POSITIONS)
        stored = weights.types(sources.values())
    facts = huggingface.facts(NAME, files, config, Settings(names[0], {}), stored, tokenizer)
    facts["options not applied"] = [name for name in _transforms(options) if name in NOT_APPLIED]
    return Checkpoint(fill_model(names[0], model, tensors), tokenizer, {"imported": facts})


def _is_model(files: SourceFiles, name: str) -> bool:
    """Whether one of several files is a model, rather than a vocabulary or the state of an optimiser."""
    try:
        content = load_pytorch(files.path(name), name, INERT)
    except CheckpointError:
        return False
    return isinstance(content, Mapping) and {"opt", "vocab"} <= cast("Mapping[Any, Any]", content).keys()


def _parts(name: str, content: Mapping[Any, Any]) -> tuple[Settings, Mapping[Any, Any] | list[Any]]:
    """Options and vocabularies of a file."""
    options, vocabulary = content["opt"], content["vocab"]
    if not isinstance(options, Inert) or not isinstance(vocabulary, Mapping | list):
        raise CheckpointError(f"{name}: opt and vocab are not as in files of OpenNMT-py")
    return Settings(name, {key: value for key, value in options.state.items() if isinstance(key, str)}), vocabulary


def _weights(files: SourceFiles, name: str, content: Mapping[Any, Any], stack: ExitStack) -> Weights:
    """Parameters under the names of version 3, where the generator is a layer and norms are those of PyTorch."""
    if "model" in content:
        stored = weights_of(files.path(name), name, content["model"])
        generator = content.get("generator")
        tensors = {each: stored.get(each) for each in stored.shapes}
        if generator is not None:
            stored = weights_of(files.path(name), name, generator)
            tensors |= {f"generator.{each}": stored.get(each) for each in stored.shapes}
    else:
        beside = f"{name.removesuffix('.pt')}.safetensors"
        if beside not in files.names:
            raise CheckpointError(f"{name} has no 'model': expected its parameters, or {beside:.80} beside it")
        stored = stack.enter_context(open_weights(files.path(beside), beside))
        tensors = {each: stored.get(each) for each in stored.shapes}
    renamed: dict[str, Tensor] = {}
    for each, tensor in tensors.items():
        if match := OLD_NORM.fullmatch(each):
            each = f"{match[1]}.{'weight' if match[2] == 'a' else 'bias'}"
        renamed[re.sub(r"^generator\.0\.", "generator.", each)] = tensor
    return in_memory(name, renamed)


def _shape(options: Settings, weights: Weights) -> dict[str, Any]:
    """Fields of the configuration about the architecture."""
    options.refuse(KNOWN)
    chosen = {name: options.choice(name, known, known[0]) for name, known in CHOICES.items()}
    if len(weights.shapes.get(SOURCE, ())) != 2 or len(weights.shapes.get(TARGET, ())) != 2:
        raise CheckpointError(f"{options.file_name} has no embeddings: expected {SOURCE} and {TARGET}")
    concatenated = chosen["position_encoding_type"] == "SinusoidalConcat"
    tied = tied_by_content(weights, source=SOURCE, target=TARGET, output=OUTPUT)
    return {
        "vocab_size": weights.shapes[SOURCE][0],
        "target_vocab_size": weights.shapes[TARGET][0] if tied in ("target", "none") else None,
        "d_model": weights.shapes[SOURCE][1],
        "d_ff": options.integer("transformer_ff", 2048),
        "num_heads": options.integer("heads", 8),
        "num_encoder_layers": options.integer("enc_layers"),
        "num_decoder_layers": options.integer("dec_layers"),
        "norm": "pre",
        "final_norm": True,
        "norm_eps": options.number("norm_eps", NORM_EPS),
        "activation": chosen["pos_ffn_activation_fn"],
        "attention_bias": "encoder.transformer.0.self_attn.linear_query.bias" in weights.shapes,
        "feed_forward_bias": "encoder.transformer.0.feed_forward.w_1.bias" in weights.shapes,
        "output_bias": BIAS in weights.shapes,
        "position_order": "halves" if concatenated else "interleaved",
        "position_exponent": "i/(n-1)" if concatenated else "i/n",
        "tied": tied,
    }


def _config(name: str, values: Mapping[str, Any], tokenizer: DictionaryTokenizer, start: int) -> TransformerConfig:
    sizes = tokenizer.vocab_size, tokenizer.target.vocab_size
    expected = values["vocab_size"], values["target_vocab_size"] or values["vocab_size"]
    if sizes != expected:
        raise CheckpointError(
            f"{name}: its vocabularies have {sizes[0]} and {sizes[1]} pieces, its embeddings {expected[0]} and "
            f"{expected[1]} rows: they must be equal"
        )
    if tokenizer.pad_id != tokenizer.target.pad_id:
        raise CheckpointError(
            f"{name}: {BLANK} has the ids {tokenizer.pad_id} and {tokenizer.target.pad_id} in its vocabularies, "
            f"expected the same id in both"
        )
    return huggingface.build_config(
        name,
        **values,
        source_end=False,
        pad_id=tokenizer.pad_id,
        bos_id=start,
        eos_id=tokenizer.eos_id,
        penalty_formula="length",
    )


def _tokenizer(
    files: SourceFiles, options: Settings, vocabulary: Mapping[Any, Any] | list[Any]
) -> tuple[DictionaryTokenizer, int]:
    """Return the tokenizer and the id of the decoder's start."""
    name = options.file_name
    vocabularies = vocabulary if isinstance(vocabulary, Mapping) else _by_name(name, vocabulary)
    sides = [_pieces(name, side, vocabularies.get(side)) for side in ("src", "tgt")]
    start = vocabularies.get("decoder_start_token") or START
    with errors_of(name):
        source, target = (with_usual_names(pieces, {PAD: BLANK}) for pieces in sides)
        if not isinstance(start, str) or start not in target:
            raise CheckpointError(f"{name}: the decoder starts with {shown(start)}, which its vocabulary does not have")
        settings = {"source_end": False, "moses": False, **_split(files, options)}
        split = {} if "split" in settings else _subwords(files, options)
        return dictionary_tokenizer(settings, source, target.index(start), split, target), target.index(start)


def _by_name(name: str, fields: Sequence[object]) -> dict[str, object]:
    """Vocabularies of old files: pairs of a name and a vocabulary."""
    vocabularies: dict[str, object] = {}
    for each in fields:
        match each:
            case (str(side), vocabulary):
                vocabularies[side] = vocabulary
            case _:
                raise CheckpointError(f"{name}: its vocab is {shown(fields)}, expected vocabularies by name")
    return vocabularies


def _pieces(name: str, side: str, vocabulary: object) -> list[str]:
    """Pieces of a vocabulary: a list, or the field of torchtext that contains one."""
    for _ in range(5):  # a field of fields, a field, its vocabulary, the list
        if isinstance(vocabulary, Inert):
            state = vocabulary.state
            vocabulary = state.get("fields") or state.get("vocab") or state.get("itos")
        elif isinstance(vocabulary, list) and vocabulary and isinstance(vocabulary[0], tuple):
            fields = cast("list[tuple[Any, ...]]", vocabulary)
            if len(fields) > 1:
                raise CheckpointError(f"{name}: {side} has features beside its words, which Headlight does not know")
            vocabulary = fields[0][-1] if fields[0] else None
    pieces = cast("list[Any]", vocabulary if isinstance(vocabulary, list) else [])
    if not pieces or not all(isinstance(piece, str) for piece in pieces):
        raise CheckpointError(f"{name}: its vocab has no list of pieces for {side!r}")
    return pieces


def _transforms(options: Settings) -> list[str]:
    """Names of the transforms used in training, from all corpora."""
    corpora = options.values.get("data")
    sections = [options.values, *(corpora.values() if isinstance(corpora, Mapping) else ())]
    lists = [section.get("transforms") for section in sections if isinstance(section, Mapping)]
    names = [name for listed in lists if isinstance(listed, list) for name in cast("list[Any]", listed)]
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def _split(files: SourceFiles, options: Settings) -> dict[str, str]:
    """Settings of the tokenizer about how a text is split, empty with files of subwords."""
    if files.tokenized:
        return {"split": WORDS}
    if "onmt_tokenize" not in _transforms(options):
        return {}
    for side in ("src", "tgt"):
        rules = options.values.get(f"{side}_onmttok_kwargs", {"mode": "none"})
        kind = options.values.get(f"{side}_subword_type", "none")
        mode = cast("Mapping[Any, Any]", rules).get("mode", "conservative") if isinstance(rules, Mapping) else rules
        if (kind, mode) != ("sentencepiece", "none"):
            raise CheckpointError(
                f"{options.file_name}: transforms has 'onmt_tokenize', with {side}_subword_type {shown(kind):.20} and "
                f"mode {shown(mode):.40}, and Headlight knows only 'sentencepiece' with 'none': convert with "
                f"--tokenized, and give it texts that the tokenizer of OpenNMT has split"
            )
    return {}


def _subwords(files: SourceFiles, options: Settings) -> dict[str, bytes]:
    """Files of the tokenizer that split words into pieces."""
    kinds = [SUBWORDS[name] for name in _transforms(options) if name in SUBWORDS]
    models = [options.values.get(f"{side}_subword_model") for side in ("src", "tgt")]
    wanted = [PurePath(model).name if isinstance(model, str) else "" for model in models]
    return subword_files(files, kinds or KINDS, (wanted[0], wanted[1] or wanted[0]))
