"""T5, T5 v1.1 (Flan-T5 among them), mT5, UMT5, ByT5 and MADLAD-400 in Hugging Face's layout.

Files: config.json with model_type "t5", "mt5" or "umt5", model.safetensors or pytorch_model.bin, spiece.model or
tokenizer.json except of ByT5, generation_config.json, tokenizer_config.json. The references are
`T5ForConditionalGeneration` and `UMT5ForConditionalGeneration` of transformers.

T5 does not divide scores by sqrt(d_k), so the matrix of the queries is multiplied by it here. T5 multiplies the
decoder's last state by d_model^-0.5; here the gain of the norm before it is multiplied instead. Outputs stay equal.
"""

import math
import re
from typing import Any, cast

from torch import Tensor

from core.formats import huggingface
from core.formats.bart_tokenizers import filled_up
from core.formats.checkpoint import Checkpoint, CheckpointError
from core.formats.parameter_names import read_parameters, stack_names
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.unigram_json import TOKENIZER_JSON, sentencepiece_of
from core.formats.untrusted_parameters import errors_of, fill_model, meta_model
from core.model import Transformer
from core.model.config import TransformerConfig
from core.text.byte_level_encoding import piece_of_bytes
from core.text.byte_pieces import END, PAD, UNKNOWN
from core.text.dictionary_tokenizer import DictionaryTokenizer, dictionary_tokenizer
from core.text.piece_splitting import MERGES, SENTENCEPIECE
from core.text.tokenizer import load_sentencepiece

NAME = "T5, mT5, UMT5, ByT5 or MADLAD-400 in Hugging Face's layout"
SENTENCEPIECE_FILE = "spiece.model"
SHARED, OUTPUT = "shared.weight", "lm_head.weight"
COPIES = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
UNUSED = ("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",)  # of early versions
TASK = "translation_"  # prefix of the names of translation tasks
TAG = re.compile(r"<2([a-z]{2,3}(?:_[A-Z][A-Za-z]{1,3})?)>")  # pieces of MADLAD-400, which name the target's language
BYTES = "ByT5Tokenizer"  # class of tokenizers whose pieces are bytes, without a file
_COMMON = {
    "layers": "block",
    "self_attention_norm": "layer.0.layer_norm",
    "self_attention": "layer.0.SelfAttention",
    "cross_attention_norm": "layer.1.layer_norm",
    "cross_attention": "layer.1.EncDecAttention",
    **{f"{part}_proj": part for part in "qkv"},
    "out_proj": "o",
    "output_norm": "final_layer_norm",
}
_SCORES = "layer.0.SelfAttention.relative_attention_bias"


recognises = huggingface.of_types("t5", "mt5", "umt5")


def load(files: SourceFiles) -> Checkpoint:
    """Read a model; see `ImportFormat`."""
    settings, search = huggingface.read_settings(files)
    with huggingface.open_model_weights(files) as weights:
        has_output = OUTPUT in weights.shapes and not weights.equal(SHARED, OUTPUT)
        config = _config(settings, search, "inputs" if has_output else "all")
        tokenizer = _tokenizer(files, settings, config)
        model = meta_model(config)
        sources = {"embedding.tokens.weight": SHARED, **_stack_names(model)}
        copies = [name for name in COPIES if name in weights.shapes]
        if has_output:
            sources["output_projection.weight"] = OUTPUT
        elif OUTPUT in weights.shapes:
            copies.append(OUTPUT)
        tensors = read_parameters(weights, model, sources, copies, UNUSED)
        for name in copies:
            if not weights.equal(SHARED, name):
                raise CheckpointError(
                    f"{weights.file_name}: {SHARED} and {name} differ, but a T5 model has one embedding for both sides"
                )
        facts = huggingface.facts(NAME, files, config, search, weights.types(sources.values()), tokenizer)
        name = weights.file_name
    facts["source prefixes"] = list(_prefixes(settings)[0].values())
    _fold_scales(tensors, model, _scales_output(settings))
    return Checkpoint(fill_model(name, model, tensors), tokenizer, {"imported": facts})


def _config(settings: Settings, search: Settings, tied: str) -> TransformerConfig:
    settings.refuse({"is_encoder_decoder": True})
    search.refuse({"renormalize_logits": False})
    gate, _, activation = settings.text("feed_forward_proj", "relu").rpartition("-")
    if gate not in ("", "gated") or activation not in huggingface.ACTIVATIONS:
        raise CheckpointError(
            f"config.json: feed_forward_proj is {settings.text('feed_forward_proj'):.60}, expected one of "
            f"{', '.join(huggingface.ACTIVATIONS)}, also with 'gated-' before it"
        )
    pad_id, layers, width = settings.integer("pad_token_id", 0), settings.integer("num_layers", 6), settings.integer
    return huggingface.build_config(
        vocab_size=width("vocab_size", 32128),
        d_model=width("d_model", 512),
        d_ff=width("d_ff", 2048),
        d_k=width("d_kv", 64),
        d_v=width("d_kv", 64),
        num_heads=width("num_heads", 8),
        num_encoder_layers=layers,
        num_decoder_layers=width("num_decoder_layers", layers),
        positions="relative_per_layer" if settings.text("model_type") == "umt5" else "relative",
        relative_buckets=width("relative_attention_num_buckets", 32),
        relative_max_distance=width("relative_attention_max_distance", 128),
        norm="pre",
        norm_kind="rms",
        final_norm=True,
        norm_eps=settings.number("layer_norm_epsilon", 1e-6),
        # "gated-gelu" has always meant the approximation
        activation="gelu_tanh" if gate and activation == "gelu" else huggingface.ACTIVATIONS[activation],
        gated_feed_forward=bool(gate),
        attention_bias=False,
        feed_forward_bias=False,
        scale_embedding=False,
        tied=tied,
        **huggingface.search_fields(settings, search, pad_id, start_id=pad_id, eos_id=1),
    )


def _scales_output(settings: Settings) -> bool:
    """Whether the decoder's last state is multiplied by d_model^-0.5.

    `tie_word_embeddings` decides, tied or not; from version 5 of transformers on, `scale_decoder_outputs` does.
    """
    if settings.text("model_type") == "mt5":
        return False
    return settings.switch("scale_decoder_outputs", settings.switch("tie_word_embeddings", True))


def _fold_scales(tensors: dict[str, Tensor], model: Transformer, scales_output: bool) -> None:
    """Multiply parameters by the scales of scores and output; see the module docstring."""
    for name in tensors:
        if name.endswith("q_proj.weight"):
            tensors[name] = _scaled(tensors[name], math.sqrt(model.config.encoder_heads.d_k))
    if scales_output:
        name = "decoder.output_norm.weight"
        tensors[name] = _scaled(tensors[name], model.config.d_model**-0.5)


def _scaled(tensor: Tensor, factor: float) -> Tensor:
    """The product; in half precision only with a power of two, where it is exact."""
    return (tensor if math.frexp(factor)[0] == 0.5 else tensor.float()) * factor


def _stack_names(model: Transformer) -> dict[str, str]:
    inner = "wi_0" if model.config.gated_feed_forward else "wi"
    first = "block.0." if model.config.positions == "relative" else ""

    def of_stack(last: str) -> dict[str, str]:
        network = f"{last}.DenseReluDense"
        return {
            "feed_forward_norm": f"{last}.layer_norm",
            "feed_forward.inner": f"{network}.{inner}",
            "feed_forward.multiplier": f"{network}.wi_1",
            "feed_forward.outer": f"{network}.wo",
            "relative_positions.scores": first + _SCORES,
            **_COMMON,
        }

    return stack_names(model, "", of_stack("layer.1"), of_stack("layer.2"))


def _tokenizer(files: SourceFiles, settings: Settings, config: TransformerConfig) -> DictionaryTokenizer:
    classes = [each.values.get("tokenizer_class") for each in (Settings.read(files, "tokenizer_config.json"), settings)]
    prefixes, languages = _prefixes(settings)
    known: dict[str, Any] = {}
    with errors_of(files.label):
        if SENTENCEPIECE_FILE in files.names:
            subwords = {SENTENCEPIECE: files.read(SENTENCEPIECE_FILE)}
        elif TOKENIZER_JSON in files.names:
            subwords = {SENTENCEPIECE: sentencepiece_of(files)}
        elif BYTES in classes:
            subwords, known["byte_level"] = {MERGES: b"#version: 0.2\n"}, True  # without merges
        else:
            raise CheckpointError(
                f"{files.label}: {SENTENCEPIECE_FILE} and {TOKENIZER_JSON} are missing, and tokenizer_class is not "
                f"{BYTES}, which has none: give the tokenizer's files too"
            )
        pieces = _pieces(files, subwords.get(SENTENCEPIECE), settings, config.vocab_size)
        tags = {match[1]: f"{piece} " for piece in pieces if (match := TAG.fullmatch(piece))}
        if tags and not prefixes:
            prefixes, languages = tags, {"target_language": "de" if "de" in tags else next(iter(tags))}
        if PAD not in pieces:
            known["aliases"] = {PAD: pieces[config.pad_id]}
        tokenizer = dictionary_tokenizer({"prefixes": prefixes, **languages, **known}, pieces, config.bos_id, subwords)
    huggingface.check_tokenizer(files, tokenizer, config)
    return tokenizer


def _pieces(files: SourceFiles, sentencepiece: bytes | None, settings: Settings, size: int) -> list[str]:
    """Pieces by id: SentencePiece's, then the extra ids, the last of them first; or bytes, then the extra ids."""
    if sentencepiece is None:
        pieces = [PAD, END, UNKNOWN, *(piece_of_bytes(bytes([byte])) for byte in range(256))]
        pieces += [f"<extra_id_{number}>" for number in range(size - len(pieces))]
        return filled_up(pieces, size, f"{files.label}: the vocabulary of bytes", "the special ones")
    processor = load_sentencepiece(sentencepiece)
    pieces = processor.id_to_piece(list(range(processor.vocab_size())))
    if SENTENCEPIECE_FILE in files.names:
        default = 100 if settings.text("model_type") == "t5" else 0
        count = Settings.read(files, "tokenizer_config.json").integer("extra_ids", default)
        pieces += [f"<extra_id_{number}>" for number in reversed(range(min(count, size - len(pieces))))]
    name = SENTENCEPIECE_FILE if SENTENCEPIECE_FILE in files.names else TOKENIZER_JSON
    return filled_up(pieces, size, f"{files.label}: the vocabulary of {name}", "the extra ids")


def _prefixes(settings: Settings) -> tuple[dict[str, str], dict[str, str]]:
    """Texts put before a source, and source languages, both by the code of the target, from `task_specific_params`.

    A translation task is `"translation_en_to_de": {"prefix": "translate English to German: "}`.
    """
    prefixes: dict[str, str] = {}
    languages: dict[str, str] = {}
    for task, options in settings.section("task_specific_params").values.items():
        source, joint, target = task.removeprefix(TASK).partition("_to_")
        prefix = cast("dict[str, Any]", options).get("prefix") if isinstance(options, dict) else None
        if not task.startswith(TASK) or not joint or not isinstance(prefix, str) or not prefix:
            continue
        prefixes[f"{source}_to_{target}" if target in prefixes else target] = prefix
        languages = languages or {"source_language": source, "target_language": target}
    return prefixes, languages
