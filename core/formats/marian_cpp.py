"""Models of Marian itself, such as the archives of OPUS-MT.

Files: one `.npz` with the parameters and the options of the training in `special:model.yml`; `*.vocab.yml` with
`source.spm` and `target.spm`, or a SentencePiece model, `*.spm`, that is also the vocabulary. The decoder begins with a
vector of zeros, for which a piece `<pad>` is added, as in the same models in Hugging Face's layout.
"""

import re
import sys
from dataclasses import replace
from typing import Any

from torch import Tensor
from torch.nn import functional as F

from core.files.budget import shown
from core.files.strict_json import json_text
from core.formats import huggingface
from core.formats.checkpoint import Checkpoint, CheckpointError
from core.formats.huggingface import EXCLUDED_LOGIT
from core.formats.npz import open_npz
from core.formats.parameter_names import check_names
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.untrusted_parameters import errors_of, fill_model, meta_model
from core.formats.weights import Weights
from core.model import Transformer
from core.model.config import TransformerConfig
from core.text.byte_pieces import END, PAD, UNKNOWN
from core.text.dictionary_tokenizer import DictionaryTokenizer, dictionary_tokenizer, with_usual_names
from core.text.marian_tokenizer import (
    NORMALISES,
    SETTINGS,
    SOURCE_MODEL,
    TARGET_MODEL,
    TARGET_VOCABULARY,
    VOCABULARY,
    MarianTokenizer,
)
from core.text.piece_splitting import SENTENCEPIECE
from core.text.text_files import split_lines
from core.text.tokenizer import load_sentencepiece

NAME = "Marian"
OPTIONS = "special:model.yml"
YAML_VOCABULARY = ".vocab.yml"
NORM_EPS = 1e-9
ACTIVATIONS = ("relu", "swish")  # Marian's gelu is another function than the one of that name here
BIAS, SHARED, SOURCE, TARGET = "decoder_ff_logit_out_b", "Wemb", "encoder_Wemb", "decoder_Wemb"
OUTPUTS = ("decoder_ff_logit_out_Wt", "decoder_ff_logit_out_W")  # rows or columns are pieces
SUBLAYERS = {"self_attention": "self", "cross_attention": "context"}
PROJECTION = re.compile(r"(self_attention|cross_attention)\.(.)\w*_proj\.(weight|bias)")
FEED_FORWARD = re.compile(r"feed_forward\.(inner|outer)\.(weight|bias)")
NORM = re.compile(r"(self_attention|cross_attention|feed_forward)_norm\.(weight|bias)")
# Options with the only value that Headlight knows.
KNOWN: dict[str, object] = {
    "type": "transformer",
    "transformer-decoder-autoreg": "self-attention",
    "transformer-train-position-embeddings": "false",
    "transformer-no-projection": "false",
    "transformer-no-bias": "false",
    "transformer-no-affine": "false",
    "layer-normalization": "false",
    "right-left": "false",
    "lemma-dim-emb": "0",
    "ulr": "false",
    "input-types": [],
}


def recognises(files: SourceFiles) -> bool:
    """Whether there is an `.npz` beside a vocabulary of Marian."""
    return any(name.endswith(".npz") for name in files.names) and any(
        name.endswith((YAML_VOCABULARY, ".spm")) for name in files.names
    )


def load(files: SourceFiles) -> Checkpoint:
    """Read a model; see `ImportFormat`."""
    names = sorted(name for name in files.names if name.endswith(".npz"))
    if len(names) > 1:
        raise CheckpointError(f"{files.label} has {len(names)} models: give one .npz with its vocabularies")
    with open_npz(files.path(names[0]), names[0], OPTIONS) as (weights, text):
        options = Settings(names[0], flat_yaml(text))
        config = _config(options, weights)
        tokenizer = _tokenizer(files, config)
        config = replace(config, eos_id=tokenizer.eos_id)
        model = meta_model(config)
        tensors = _tensors(weights, model, config)
    facts = huggingface.facts(NAME, files, config, Settings(names[0], {}), ["F32"], tokenizer)
    return Checkpoint(fill_model(names[0], model, tensors), tokenizer, {"imported": facts})


def flat_yaml(text: str) -> dict[str, Any]:
    """Options of a YAML text as Marian writes it: `name: value` and lists of values, all as texts."""
    options: dict[str, Any] = {}
    name = ""
    for line in split_lines(text):
        if line.lstrip().startswith("- ") and isinstance(options.get(name), list):
            options[name].append(_unquoted(line.strip()[2:]))
        elif ":" in line and not line.startswith((" ", "#")):
            name, _, value = line.partition(":")
            value = value.strip()
            options[name] = [] if value in ("", "[]") else _unquoted(value)
    return options


def _unquoted(text: str) -> str:
    """A scalar of YAML, plain or in quotes."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if not (len(text) > 1 and text[0] == text[-1] == '"'):
        return text

    def character(match: re.Match[str]) -> str:
        if match[4]:
            return {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}.get(match[4], match[4])
        return chr(min(int(match[1] or match[2] or match[3], 16), sys.maxunicode))

    return re.sub(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", character, text[1:-1])


def _config(options: Settings, weights: Weights) -> TransformerConfig:
    if options.values.get("dec-cell") == "ssru" and options.values.get("transformer-decoder-autoreg") == "rnn":
        raise CheckpointError(
            f"{options.file_name}: its decoder has recurrent cells (dec-cell: ssru) in place of self-attention, as "
            f"students for fast translation have: Headlight imports only models with self-attention"
        )
    options.refuse(KNOWN)
    if options.values.get("transformer-postprocess-emb") not in (None, "d", "", []):
        raise CheckpointError(
            f"{options.file_name}: transformer-postprocess-emb is "
            f"{options.values['transformer-postprocess-emb']!r:.60}, expected 'd' or ''"
        )
    activation = options.choice("transformer-ffn-activation", ACTIVATIONS, "swish")
    pre = _is_pre_norm(options)
    shape = weights.shapes.get(SHARED, weights.shapes.get(SOURCE, ()))
    target = weights.shapes.get(SHARED, weights.shapes.get(TARGET, ()))
    if len(shape) != 2 or len(target) != 2:
        raise CheckpointError(f"{options.file_name} has no embedding: expected {SHARED}, or {SOURCE} and {TARGET}")
    output = any(name in weights.shapes for name in OUTPUTS)
    tied = ("inputs" if output else "all") if SHARED in weights.shapes else "none" if output else "target"
    d_ff = _number(options, "transformer-dim-ffn", 2048)
    return huggingface.build_config(
        options.file_name,
        vocab_size=shape[0] + 1,  # one more piece for the start of the decoder, in both vocabularies
        target_vocab_size=target[0] + 1,
        d_model=_number(options, "dim-emb", 512),
        d_ff=d_ff,
        decoder_d_ff=_number(options, "transformer-decoder-dim-ffn", 0) or d_ff,
        num_heads=_number(options, "transformer-heads", 8),
        num_encoder_layers=_number(options, "enc-depth", 6),
        num_decoder_layers=_number(options, "dec-depth", 6),
        norm="pre" if pre else "post",
        final_norm=pre,
        norm_eps=NORM_EPS,
        activation=activation,
        position_order="halves",
        position_exponent="i/(n-1)",
        output_bias=True,
        tied=tied,
        pad_id=min(shape[0], target[0]),
        bos_id=min(shape[0], target[0]),
        eos_id=0,  # until the vocabulary is read
        penalty_formula="length",
    )


def _is_pre_norm(options: Settings) -> bool:
    """Whether the norms are before the sub-layers rather than after them, or raise an error."""
    norms = tuple(
        options.values.get(f"transformer-{name}", default) or ""
        for name, default in (("preprocess", ""), ("postprocess", "dan"), ("postprocess-top", ""))
    )
    if norms not in (("", "dan", ""), ("n", "da", "n")):
        raise CheckpointError(
            f"{options.file_name}: transformer-preprocess, -postprocess and -postprocess-top are {norms!r:.60}, "
            f"expected '', 'dan' and '', or 'n', 'da' and 'n'"
        )
    return norms[0] == "n"


def _number(options: Settings, name: str, default: int) -> int:
    value = options.values.get(name, default)
    if not isinstance(value, str | int) or not re.fullmatch(r"\d{1,18}", shown(value).strip("'")):
        raise CheckpointError(f"{options.file_name}: {name} is {shown(value)}, expected an integer")
    return int(value)


def _tensors(weights: Weights, model: Transformer, config: TransformerConfig) -> dict[str, Tensor]:
    """Parameters of the model, if names and shapes are those that the options call for."""
    if config.target_vocab_size not in (None, config.vocab_size):
        raise CheckpointError(
            f"{weights.file_name} has vocabularies of {config.vocab_size - 1} and {config.target_size - 1} pieces, "
            f"expected equal numbers, as of all published models"
        )
    output = next((name for name in OUTPUTS if name in weights.shapes), OUTPUTS[0])
    embeddings = {
        "embedding.tokens.weight": SHARED if config.tied in ("all", "inputs") else SOURCE,
        "target_embedding.tokens.weight": TARGET,
        "output_projection.weight": output,
        "output_bias": BIAS,
    }
    pre = "_pre" if config.norm == "pre" else ""
    sources = {name: embeddings.get(name) or _name(name, pre) for name, _ in model.named_parameters()}
    expected: dict[str, tuple[int, ...]] = {}
    for ours, theirs in sources.items():
        shape = tuple(model.get_parameter(ours).shape)
        if ours in embeddings:
            shape = (shape[0] - 1, *shape[1:])  # without the piece that is added
        expected[theirs] = (1, *shape) if len(shape) == 1 else shape if _in_rows(theirs) else shape[::-1]
    check_names(weights, expected, (OPTIONS, "decoder_c_tt", "decoder_cell1_tt"))
    tensors: dict[str, Tensor] = {}
    for ours, theirs in sources.items():
        tensor = weights.read(theirs)
        if len(model.get_parameter(ours).shape) == 1:
            tensor = tensor[0]
        elif not _in_rows(theirs):
            tensor = tensor.T
        if ours in embeddings:
            # Zeros for the added piece, which has no share in the probabilities
            tensor = F.pad(tensor, (0, 0, 0, 1)) if tensor.dim() > 1 else F.pad(tensor, (0, 1), value=EXCLUDED_LOGIT)
        tensors[ours] = tensor.contiguous()
    return tensors


def _in_rows(name: str) -> bool:
    """Whether the rows of a matrix are its outputs, as in PyTorch, or pieces."""
    return name.endswith(("Wemb", "_Wt"))


def _name(name: str, pre: str) -> str:
    """Marian's name of a parameter of a stack; `pre` ends the names of norms on the input of sub-layers."""
    stack, _, rest = name.partition(".")
    if rest.startswith("output_norm"):
        return f"{stack}_top_ln_{'scale' if rest.endswith('weight') else 'bias'}"
    _, index, part = rest.split(".", 2)
    layer = f"{stack}_l{int(index) + 1}"
    if match := PROJECTION.fullmatch(part):
        return f"{layer}_{SUBLAYERS[match[1]]}_{'W' if match[3] == 'weight' else 'b'}{match[2]}"
    if match := FEED_FORWARD.fullmatch(part):
        return f"{layer}_ffn_{'W' if match[2] == 'weight' else 'b'}{1 if match[1] == 'inner' else 2}"
    match = NORM.fullmatch(part)
    assert match, name  # there are no other parameters
    sublayer = f"{SUBLAYERS[match[1]]}_Wo" if match[1] in SUBLAYERS else "ffn_ffn"
    return f"{layer}_{sublayer}_ln_{'scale' if match[2] == 'weight' else 'bias'}{pre}"


def _tokenizer(files: SourceFiles, config: TransformerConfig) -> MarianTokenizer | DictionaryTokenizer:
    vocabularies = sorted(name for name in files.names if name.endswith(YAML_VOCABULARY))
    with errors_of(files.label):
        if vocabularies:
            source = next((name for name in vocabularies if ".src." in name), vocabularies[0])
            target = next((name for name in vocabularies if ".trg." in name), source)
            if len(vocabularies) != len({source, target}):
                raise CheckpointError(
                    f"{files.label} has {len(vocabularies)} vocabularies: expected one, or *.src{YAML_VOCABULARY} and "
                    f"*.trg{YAML_VOCABULARY}"
                )
            contents = {name: files.read(name) for name in (SOURCE_MODEL, TARGET_MODEL) if name in files.names}
            contents[VOCABULARY] = _vocabulary(files, source, config)
            contents[SETTINGS] = json_text({NORMALISES: True}).encode()  # as their scripts do before training
            if target != source:
                contents[TARGET_VOCABULARY] = _vocabulary(files, target, config)
            tokenizer = MarianTokenizer(contents, config.vocab_size, config.target_size, config.bos_id)
        else:
            tokenizer = _sentencepiece(files, config)
    for side in (tokenizer, tokenizer.target):
        if (side.vocab_size, side.pad_id) != (config.vocab_size, config.pad_id):
            raise CheckpointError(
                f"{files.label}: the vocabulary has {side.vocab_size - 1} pieces, expected {config.vocab_size - 1}: it "
                f"is of another model"
            )
    if tokenizer.eos_id != tokenizer.target.eos_id:
        raise CheckpointError(
            f"{files.label}: '</s>' is at {tokenizer.eos_id} in the vocabulary of the source and at "
            f"{tokenizer.target.eos_id} in that of the target: Headlight imports models with one number for both"
        )
    return tokenizer


def _sentencepiece(files: SourceFiles, config: TransformerConfig) -> DictionaryTokenizer:
    """Tokenizer of a SentencePiece model that is the vocabulary of both sides."""
    names = sorted(name for name in files.names if name.endswith(".spm"))
    if len(names) != 1:
        raise CheckpointError(f"{files.label} has {len(names)} SentencePiece models and no vocabulary: expected one")
    data = files.read(names[0])
    processor = load_sentencepiece(data)
    pieces = processor.id_to_piece(list(range(processor.vocab_size())))
    special = {END: processor.eos_id(), UNKNOWN: processor.unk_id()}
    if any(not 0 <= token_id < len(pieces) for token_id in special.values()):
        raise CheckpointError(f"{files.label}: {names[0]} has no {' or no '.join(special)}: it is of another program")
    pieces = [*with_usual_names(pieces, {usual: pieces[token_id] for usual, token_id in special.items()}), PAD]
    return dictionary_tokenizer({}, pieces, config.bos_id, {SENTENCEPIECE: data})


def _vocabulary(files: SourceFiles, name: str, config: TransformerConfig) -> bytes:
    """A vocabulary in JSON, with `<pad>`; each line of Marian's is a piece and its id."""
    ids: dict[str, int] = {}
    for number, line in enumerate(files.text(name).rstrip("\n").split("\n"), start=1):
        piece, _, token_id = line.rstrip("\r").rpartition(":")
        if not re.fullmatch(r" *\d{1,9}", token_id) or not piece:
            raise ValueError(f"line {number} of {name} is {line!r:.60}, expected a piece and its id")
        text = _unquoted(piece)
        if text in ids:
            raise ValueError(f"line {number} of {name} has {text!r:.60} a second time")
        ids[text] = int(token_id)
    return json_text({**ids, PAD: config.pad_id}).encode()
