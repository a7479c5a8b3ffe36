"""Writer of Hugging Face's layout of Marian, which `MarianMTModel` and `MarianTokenizer` of transformers open.

Their model has the paper's arithmetic but for the order of sines and cosines: all sines come first. As all other
operations treat the coordinates of a hidden state alike, the paper's order is turned into theirs by permuting the
coordinates in every parameter that reads or writes hidden states.
"""

import io
import zipfile
from pathlib import Path
from typing import Any, cast

import safetensors.torch
import torch
from torch import Tensor

from core.files.strict_json import readable_json
from core.formats import output_folder
from core.formats.checkpoint import Checkpoint
from core.formats.huggingface import ACTIVATIONS
from core.formats.marian_huggingface import BIAS, OUTPUT, SHARED, SOURCE, TARGET
from core.formats.parameter_names import stack_names
from core.model import Transformer
from core.model.config import TransformerConfig
from core.text.marian_tokenizer import SETTINGS, TARGET_VOCABULARY, VOCABULARY
from core.text.tokenizer import Tokenizer

LAYOUT = "Hugging Face's layout of Marian"
VALUES: dict[str, object] = {
    **output_folder.COMMON_VALUES,
    "positions": "sinusoidal",
    "position_exponent": "i/n",
    "position_offset": 0,
    "norm": "post",
    "final_norm": False,
    "norm_eps": 1e-5,
    "embedding_norm": False,
}
READS = ("tokens.weight", "output_projection.weight", *(f"{name}_proj.weight" for name in "qkv"), "inner.weight")
WRITES = ("out_proj.", "outer.", "norm.")  # parts of names of parameters whose rows are coordinates of hidden states
# Defaults of the search, where an import has not kept others; beam and alpha are the paper's (6.1).
BEAM_SIZE, ALPHA, MAX_LENGTH = 4, 0.6, 512
CODE = """
from transformers import MarianMTModel, MarianTokenizer

folder = "."  # this one
model, tokenizer = MarianMTModel.from_pretrained(folder), MarianTokenizer.from_pretrained(folder)
batch = tokenizer(["A dog runs."], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))
"""


def write_marian(checkpoint: Checkpoint, path: Path) -> None:
    """Write a model in Hugging Face's layout of Marian; see `marian_files` and `new_folder`."""
    files = marian_files(checkpoint)
    with output_folder.new_folder(path) as folder:
        for name, data in files.items():
            (folder / name).write_bytes(data)


def check_marian(checkpoint: Checkpoint) -> None:
    """Check that the layout supports a model and its tokenizer, or raise a `ValueError` that names the option."""
    output_folder.require_values(checkpoint.config, VALUES, LAYOUT)
    output_folder.sentencepiece_files(checkpoint, LAYOUT)


def marian_archive(checkpoint: Checkpoint, name: str) -> bytes:
    """Return `marian_files` as a zip archive of one folder of this name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:  # uncompressed: weights hardly get smaller
        for each, data in marian_files(checkpoint).items():
            archive.writestr(f"{name}/{each}", data)
    return file.getvalue()


def marian_files(checkpoint: Checkpoint) -> dict[str, bytes]:
    """Return the files of a model in Hugging Face's layout of Marian.

    Raises:
        ValueError: see `check_marian`.
    """
    model, config = checkpoint.model, checkpoint.config
    settings = marian_settings(config)
    texts = output_folder.sentencepiece_files(checkpoint, LAYOUT)
    if VOCABULARY not in texts:
        texts |= _tokenizer_files(checkpoint.tokenizer)
    dtype = output_folder.storage_type(model)
    tensors = {name: tensor.to(dtype).contiguous() for name, tensor in marian_tensors(model).items()}
    difference = "Length: Headlight stops 50 tokens after the length of the source; here at `max_length`."
    punctuation = "Headlight normalises it, as `tokenizer.normalize` does when you call it."
    return {
        "config.json": _json(settings),
        "generation_config.json": _json(generation_settings(checkpoint)),
        "model.safetensors": safetensors.torch.save(tensors, {"format": "pt"}),
        **texts,
        output_folder.README: output_folder.readme(
            checkpoint, "A translation model in Hugging Face's layout of Marian", CODE, difference, punctuation
        ),
    }


def marian_settings(config: TransformerConfig) -> dict[str, Any]:
    """Return `config.json`, or raise a `ValueError` if the layout does not support the architecture."""
    output_folder.require_values(config, VALUES, LAYOUT)
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "dtype": "float32",
        "vocab_size": config.vocab_size,
        "decoder_vocab_size": config.target_size,
        "d_model": config.d_model,
        "encoder_layers": config.num_encoder_layers,
        "decoder_layers": config.num_decoder_layers,
        "encoder_attention_heads": config.encoder_heads.num_heads,
        "decoder_attention_heads": config.decoder_heads.num_heads,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.decoder_d_ff or config.d_ff,
        "activation_function": next(theirs for theirs, ours in ACTIVATIONS.items() if ours == config.activation),
        "dropout": config.dropout,
        "scale_embedding": config.scale_embedding,
        "tie_word_embeddings": config.tied in ("all", "target"),
        "share_encoder_decoder_embeddings": config.tied == "all",
        "static_position_embeddings": True,
        "max_position_embeddings": output_folder.MAX_POSITIONS,
        "normalize_before": False,
        "add_final_layer_norm": False,
        "normalize_embedding": False,
        "is_encoder_decoder": True,
        "pad_token_id": config.pad_id,
        "eos_token_id": config.eos_id,
        "decoder_start_token_id": config.bos_id,
        "forced_eos_token_id": None,
    }


def generation_settings(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return `generation_config.json`."""
    config = checkpoint.config
    defaults: dict[str, Any] = {
        "num_beams": BEAM_SIZE,
        "length_penalty": ALPHA if config.penalty_formula == "paper" else 1.0,
        "max_length": MAX_LENGTH,
    }
    imported: Any = checkpoint.training.get("imported")
    kept = cast("dict[str, Any]", imported).get("search") if isinstance(imported, dict) else None
    search = cast("dict[str, Any]", kept) if isinstance(kept, dict) else {}
    never = dict.fromkeys((config.pad_id, config.bos_id, *config.never_ids))
    return {
        **{name: search.get(name, default) for name, default in defaults.items()},
        "early_stopping": config.early_stopping,
        "bad_words_ids": [[token_id] for token_id in never],
        "pad_token_id": config.pad_id,
        "eos_token_id": config.eos_id,
        "decoder_start_token_id": config.bos_id,
        "forced_bos_token_id": config.forced_first_id,
    }


def marian_tensors(model: Transformer) -> dict[str, Tensor]:
    """Return the parameters under their names in the layout, with zeros for biases that the model does not have."""
    config = model.config
    ours, names = halves_parameters(model), stack_names(model, "model.")
    tensors = {theirs: ours[name] for name, theirs in names.items()}
    for name in [name for name in names if name.endswith(("_proj.weight", "inner.weight", "outer.weight"))]:
        tensors.setdefault(f"{names[name].removesuffix('weight')}bias", torch.zeros(len(ours[name])))
    source = ours["embedding.tokens.weight"]
    if config.tied == "all":
        tensors[SHARED] = source
    else:  # transformers ties no two embeddings alone
        tensors[SOURCE], tensors[TARGET] = source, ours.get("target_embedding.tokens.weight", source).clone()
    if config.tied in ("inputs", "none"):
        tensors[OUTPUT] = ours["output_projection.weight"]
    bias = ours["output_bias"] if config.output_bias else torch.zeros(config.target_size)
    return {**tensors, BIAS: bias[None]}


def halves_parameters(model: Transformer) -> dict[str, Tensor]:
    """Return parameters of the same function with all sines before all cosines, by name; see the module docstring."""
    parameters = {name: parameter.detach().cpu() for name, parameter in model.named_parameters()}
    if model.config.position_order == "halves":
        return parameters
    order = torch.arange(model.config.d_model).view(-1, 2).T.flatten()  # 0 2 4 .. 1 3 5 ..
    for name, parameter in parameters.items():
        if name.endswith(READS):
            parameters[name] = parameter[:, order]
        elif any(part in name for part in WRITES):
            parameters[name] = parameter[order]
    return parameters


def _tokenizer_files(tokenizer: Tokenizer) -> dict[str, bytes]:
    """Vocabularies and settings of a tokenizer that is not a `MarianTokenizer`."""
    source, target = output_folder.pieces_of(tokenizer), output_folder.pieces_of(tokenizer.target)
    sides = {VOCABULARY: source} | ({} if source == target else {TARGET_VOCABULARY: target})
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": tokenizer.languages[0] or None,
        "target_lang": tokenizer.languages[1] or None,
        "bos_token": tokenizer.target.piece(tokenizer.bos_id),  # a special token, which `decode` leaves out
        "model_max_length": MAX_LENGTH,
        "separate_vocabs": len(sides) > 1,
        "clean_up_tokenization_spaces": False,
    }
    ids = {name: {piece: token_id for token_id, piece in enumerate(pieces)} for name, pieces in sides.items()}
    return {name: _json(values) for name, values in ({SETTINGS: settings} | ids).items()}


def _json(values: dict[str, Any]) -> bytes:
    return f"{readable_json(values)}\n".encode()
