"""Transformers of JoeyNMT, versions 1 and 2.

Files: a `.ckpt` with the parameters (`model_state`), `config.yaml`, `src_vocab.txt`, `trg_vocab.txt`, and the codes of
subword-nmt or the SentencePiece model that the configuration names.
"""

from pathlib import PurePath
from typing import Any, cast

import yaml

from core.files.budget import MAX_YAML_BYTES
from core.formats import huggingface
from core.formats.checkpoint import Checkpoint, CheckpointError
from core.formats.parameter_names import matrix_names, read_parameters, stack_names, tied_by_content
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.subword_files import subword_files
from core.formats.untrusted_parameters import errors_of, fill_model, meta_model
from core.formats.weight_files import load_pytorch, weights_of
from core.formats.weights import Weights
from core.model.config import TransformerConfig
from core.text.byte_pieces import END, PAD, START, UNKNOWN
from core.text.dictionary_tokenizer import DictionaryTokenizer, dictionary_tokenizer, with_usual_names
from core.text.piece_splitting import CHARACTERS, OF_TARGET, SENTENCEPIECE, WORDS
from core.text.tokenizer import SPACE_MARK, load_sentencepiece
from core.text.tokenizer_files import files_of

NAME = "JoeyNMT"
PREFERRED = ("best.ckpt", "latest.ckpt", "avg_best.ckpt")  # among several
INERT = ("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar", "numpy.dtype")  # the best score
SOURCE, TARGET, OUTPUT = "src_embed.lut.weight", "trg_embed.lut.weight", "decoder.output_layer.weight"
FINAL_NORMS = ("encoder.layer_norm.weight", "decoder.layer_norm.weight")
POSITIONS = ("encoder.pe.pe", "decoder.pe.pe")
NORM_EPS = 1e-6
ACTIVATIONS = ("relu", "gelu", "swish")
_SHARED = {
    "q_proj": "q_layer",
    "k_proj": "k_layer",
    "v_proj": "v_layer",
    "out_proj": "output_layer",
    "feed_forward_norm": "feed_forward.layer_norm",
    "feed_forward.inner": "feed_forward.pwff_layer.0",
    "feed_forward.outer": "feed_forward.pwff_layer.3",
    "output_norm": "layer_norm",
}
ENCODER = {"self_attention_norm": "layer_norm", "self_attention": "src_src_att", **_SHARED}
DECODER = {
    "self_attention_norm": "x_layer_norm",
    "self_attention": "trg_trg_att",
    "cross_attention_norm": "dec_layer_norm",
    "cross_attention": "src_trg_att",
    **_SHARED,
}
SPECIAL = {"unk": UNKNOWN, "pad": PAD, "bos": START, "eos": END}  # in the order of their default ids
# Options of the search that Headlight does not have, with the value that turns them off.
SEARCH_OPTIONS: dict[str, Any] = {"generate_unk": True, "repetition_penalty": -1, "no_repeat_ngram_size": -1}


def recognises(files: SourceFiles) -> bool:
    """Whether there is a `.ckpt` beside a configuration in YAML."""
    return all(any(name.endswith(suffix) for name in files.names) for suffix in (".ckpt", ".yaml"))


def load(files: SourceFiles) -> Checkpoint:
    """Read a model; see `ImportFormat`."""
    name = _one_of(files, ".ckpt", PREFERRED)
    content = load_pytorch(files.path(name), name, INERT)
    if not isinstance(content, dict) or "model_state" not in content:
        raise CheckpointError(f"{name} is not a file of JoeyNMT: it has no 'model_state'")
    weights = weights_of(files.path(name), name, cast("dict[Any, Any]", content)["model_state"])
    options = _options(files)
    tokenizer, start = _tokenizer(files, options.section("data"))
    config = _config(options, weights, tokenizer, start)
    huggingface.check_positions(weights, config, "JoeyNMT's", POSITIONS)
    model = meta_model(config)
    sources = stack_names(model, "", ENCODER, DECODER) | matrix_names(config.tied, SOURCE, TARGET, OUTPUT)
    tensors = read_parameters(weights, model, sources, (SOURCE, TARGET, OUTPUT), POSITIONS)
    search = options.section("testing")
    facts = huggingface.facts(NAME, files, config, Settings(name, {}), weights.types(sources.values()), tokenizer)
    wanted = {"num_beams": search.values.get("beam_size"), "length_penalty": search.values.get("beam_alpha")}
    facts["search"] = {key: value for key, value in wanted.items() if isinstance(value, int | float)}
    facts["options not applied"] = [
        key for key, off in SEARCH_OPTIONS.items() if search.values.get(key, off) not in (off, None)
    ]
    facts["options not applied"] += _restriction(tokenizer)
    return Checkpoint(fill_model(name, model, tensors), tokenizer, {"imported": facts})


def _restriction(tokenizer: DictionaryTokenizer) -> list[str]:
    """JoeyNMT's restriction of SentencePiece models to the vocabularies, empty if it excludes no piece."""
    files = files_of(tokenizer.to_bytes())
    if SENTENCEPIECE not in files:
        return []
    models = files[SENTENCEPIECE], files.get(OF_TARGET + SENTENCEPIECE, files[SENTENCEPIECE])
    excluded = 0
    for side, model in zip((tokenizer, tokenizer.target), models, strict=True):
        processor, known = load_sentencepiece(model), {side.piece(token_id) for token_id in range(side.vocab_size)}
        excluded += sum(
            processor.id_to_piece(number) not in known
            for number in range(processor.vocab_size())
            if not processor.is_control(number) and not processor.is_unknown(number)
        )
    return [f"restriction of SentencePiece to the vocabularies ({excluded:,} pieces are <unk>)"] if excluded else []


def _one_of(files: SourceFiles, suffix: str, preferred: tuple[str, ...]) -> str:
    names = sorted(name for name in files.names if name.endswith(suffix))
    chosen = next((name for name in preferred if name in names), names[0])
    if chosen not in preferred and len(names) > 1:
        raise CheckpointError(
            f"{files.label} has {len(names)} files *{suffix}: give one of them, with its vocabularies"
        )
    return chosen


def _options(files: SourceFiles) -> Settings:
    name = _one_of(files, ".yaml", ("config.yaml",))
    with errors_of(name):
        return Settings(name, yaml_object(files.read(name, MAX_YAML_BYTES)))


def _config(options: Settings, weights: Weights, tokenizer: DictionaryTokenizer, start: int) -> TransformerConfig:
    model = options.section("model")
    sides = encoder, decoder = model.section("encoder"), model.section("decoder")
    for side in sides:
        side.refuse({"type": "transformer", "alpha": 1.0})
        if side.text("type", "recurrent") != "transformer":
            raise CheckpointError(f"{side.file_name}: type is 'recurrent', and Headlight imports only 'transformer'")
    d_model = encoder.integer("hidden_size", 512)
    tied = tied_by_content(weights, source=SOURCE, target=TARGET, output=OUTPUT)
    scales = [side.section("embeddings").switch("scale", False) for side in sides]
    if tied in ("all", "inputs"):
        scales[1] = scales[0]  # the decoder has the embedding of the encoder
    places = [_norm_place(side, weights, options) for side in sides]
    activations = [side.choice("activation", ACTIVATIONS, "relu") for side in sides]
    for name, values in (
        ("hidden_size", (d_model, decoder.integer("hidden_size", 512))),
        ("activation", activations),
        ("scale of the embeddings", scales),
        ("layer_norm", places),
    ):
        if values[0] != values[1]:
            raise CheckpointError(
                f"{model.file_name}: {name} is {values[0]!r} in the encoder and {values[1]!r} in the decoder, expected "
                f"the same"
            )
    return huggingface.build_config(
        options.file_name,
        vocab_size=tokenizer.vocab_size,
        target_vocab_size=tokenizer.target.vocab_size,
        d_model=d_model,
        d_ff=encoder.integer("ff_size", 2048),
        decoder_d_ff=decoder.integer("ff_size", 2048),
        num_heads=encoder.integer("num_heads", 4),
        num_decoder_heads=decoder.integer("num_heads", 8),
        num_encoder_layers=encoder.integer("num_layers", 8),
        num_decoder_layers=decoder.integer("num_layers", 4),
        norm=places[0],
        final_norm=places[0] == "pre",
        norm_eps=NORM_EPS,
        activation=activations[0],
        scale_embedding=scales[0],
        tied=tied,
        pad_id=tokenizer.pad_id,
        bos_id=start,
        eos_id=tokenizer.eos_id,
    )


def _norm_place(side: Settings, weights: Weights, options: Settings) -> str:
    """Return `pre` or `post`, the place of the norms.

    Version 1 has no option for it: its norms are before the sub-layers, with final norms.
    """
    usual = "pre" if all(name in weights.shapes for name in FINAL_NORMS) else "post"
    place = side.choice("layer_norm", ("pre", "post"), usual)
    if "layer_norm" not in side.values and place == "post" and options.text("joeynmt_version", "").startswith("2.3"):
        raise CheckpointError(
            f"{side.file_name} has no layer_norm: version 2.3 then has norms before the sub-layers of the encoder, "
            f"without a final norm, and after those of the decoder, and Headlight imports only models with the same in "
            f"both"
        )
    return place


def _tokenizer(files: SourceFiles, data: Settings) -> tuple[DictionaryTokenizer, int]:
    """Return the tokenizer and the id of the decoder's start."""
    symbols = data.section("special_symbols")
    symbols.refuse({"lang_tags": []})
    names = {usual: symbols.text(f"{kind}_token", usual) for kind, usual in SPECIAL.items()}
    is_old = isinstance(data.values.get("src"), str)  # version 1 has the options of both sides in one section
    sides = [
        Settings(data.file_name, {**data.values, "lang": data.values.get(side)}) if is_old else data.section(side)
        for side in ("src", "trg")
    ]
    languages = [side.text("lang", "") for side in sides]
    settings = {"source_language": languages[0], "target_language": languages[1]}
    settings = {key: code for key, code in settings.items() if code}
    split = [_split(side, is_old or files.tokenized) for side in sides]
    if split[0] != split[1]:
        raise CheckpointError(
            f"{data.file_name}: the texts of both sides are split in different ways ({split[0]} and {split[1]}): "
            f"Headlight imports only models with the same in both"
        )
    kind = sides[0].text("tokenizer_type", sides[0].text("bpe_type", "sentencepiece"))
    with errors_of(files.label):
        pieces = [_pieces(files, side, name, names) for side, name in zip(sides, ("src", "trg"), strict=True)]
        level = sides[0].text("level", "bpe")
        if files.tokenized or level in ("word", "char"):
            settings["split"] = CHARACTERS if level == "char" and not files.tokenized else WORDS
            subwords: dict[str, bytes] = {}
        else:
            kinds = (
                ("merges", "sentencepiece") if is_old else ("merges",) if kind == "subword-nmt" else ("sentencepiece",)
            )
            wanted = [
                PurePath(side.section("tokenizer_cfg").text(key, "")).name
                for side in sides
                for key in ("codes" if kind == "subword-nmt" else "model_file",)
            ]
            subwords = subword_files(files, kinds, (wanted[0], wanted[1]))
        start = pieces[1].index(START)
        return dictionary_tokenizer(settings | split[0], pieces[0], start, subwords, pieces[1]), start


def _split(side: Settings, is_split: bool) -> dict[str, bool]:
    """Settings of a `DictionaryTokenizer` about the preparation of a text, which may be in pieces already."""
    level, rules = side.choice("level", ("word", "bpe", "char"), "bpe"), side.section("tokenizer_cfg")
    if not is_split and level == "bpe":
        side.choice("tokenizer_type", ("sentencepiece", "subword-nmt"), side.text("bpe_type", "sentencepiece"))
        rules.refuse({"separator": "@@"})
    before = rules.text("pretokenizer", "none").lower()
    if before not in ("none", "moses"):
        raise CheckpointError(f"{rules.file_name}: pretokenizer is {before!r:.60}, expected none or moses")
    moses, normalise = before == "moses" and not is_split, side.switch("normalize", False) and not is_split
    return {
        "moses": moses,
        "split_dashes": False,
        "unicode_normalise": normalise,
        "lower_case_words": side.switch("lowercase", False),
        "only_known": not is_split,
    }


def _pieces(files: SourceFiles, side: Settings, name: str, names: dict[str, str]) -> list[str]:
    """Pieces of a side: the special ones first, as JoeyNMT reads its file; `names` has them by their usual names."""
    given = side.values.get("voc_file", side.values.get(f"{name}_vocab"))
    candidates = [f"{name}_vocab.txt", PurePath(given).name if isinstance(given, str) else ""]
    file = next((each for each in candidates if each in files.names), None)
    if file is None:
        raise CheckpointError(f"{files.label} has no {candidates[0]}: give the vocabularies of the model")
    lines = files.text(file).splitlines()  # as JoeyNMT numbers them, at other line ends too
    pieces = with_usual_names(list(dict.fromkeys([*names.values(), *lines])), names)
    return [SPACE_MARK if piece == " " else piece for piece in pieces]


# --- YAML -----------------------------------------------------------------------------------------------------------


class _Loader(yaml.SafeLoader):
    """Reads plain values, without repeated keys, and without references, which could repeat a value without end."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise ValueError("it refers to a part of itself (*), expected every value in full")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            raise ValueError("one of its sections has a key twice")
        return mapping


def yaml_object(data: bytes) -> dict[str, Any]:
    """Parse a mapping with texts as keys.

    Raises:
        ValueError: it is not UTF-8, not YAML, too long or deep, no mapping, or has references or a key twice.
    """
    if len(data) > MAX_YAML_BYTES:
        raise ValueError(f"it has {len(data)} bytes, at most {MAX_YAML_BYTES} are read")
    try:
        value = yaml.load(data.decode("utf-8-sig"), _Loader)
    except ValueError:
        raise
    except Exception as error:  # PyYAML does not list them
        raise ValueError(f"it is nested too deeply or no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in cast("dict[Any, Any]", value)):
        raise ValueError(f"it is a {type(value).__name__}, expected options by name")
    return cast("dict[str, Any]", value)
