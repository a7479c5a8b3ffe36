"""FSMT: fairseq's Transformers in Hugging Face's layout (WMT 2016 and 2019).

Files: config.json with model_type "fsmt", model.safetensors or pytorch_model.bin, vocab-src.json, vocab-tgt.json,
merges.txt, tokenizer_config.json, generation_config.json. The references are `FSMTForConditionalGeneration` and
`FSMTTokenizer` of transformers.
"""

from typing import Any, cast

from core.files.budget import MAX_SMALL_FILE
from core.formats import huggingface
from core.formats.checkpoint import Checkpoint, CheckpointError
from core.formats.parameter_names import check_copies, matrix_names, read_parameters, stack_names, tied_by_content
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.untrusted_parameters import errors_of, fill_model, meta_model
from core.formats.weights import Weights
from core.model.config import TransformerConfig
from core.text.byte_pair_encoding import CONTINUED, WORD_END
from core.text.dictionary_tokenizer import SPECIAL, DictionaryTokenizer, dictionary_tokenizer
from core.text.piece_splitting import MERGES

NAME = "FSMT (fairseq) in Hugging Face's layout"
VOCABULARIES = ("vocab-src.json", "vocab-tgt.json")
SOURCE, TARGET = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
OUTPUT = "model.decoder.output_projection.weight"


recognises = huggingface.of_types("fsmt")


def load(files: SourceFiles) -> Checkpoint:
    """Read a model; see `ImportFormat`."""
    settings, search = huggingface.read_settings(files)
    with huggingface.open_model_weights(files) as weights:
        config = _config(settings, search, weights)
        model = meta_model(config)
        source = SOURCE if SOURCE in weights.shapes or config.tied != "all" else TARGET
        sources = stack_names(model, "model.") | matrix_names(config.tied, source, TARGET, OUTPUT)
        copies = [name for name in (SOURCE, TARGET, OUTPUT) if name in weights.shapes]
        tensors = read_parameters(weights, model, sources, copies, huggingface.POSITIONS)
        if settings.switch("tie_word_embeddings", False):
            check_copies(weights, copies, "tie_word_embeddings")
        huggingface.check_positions(weights, config, "FSMT")
    tokenizer = _tokenizer(files, settings, config)
    facts = huggingface.facts(NAME, files, config, search, weights.types(sources.values()), tokenizer)
    return Checkpoint(fill_model(weights.file_name, model, tensors), tokenizer, {"imported": facts})


def _config(settings: Settings, search: Settings, weights: Weights) -> TransformerConfig:
    settings.refuse({"is_encoder_decoder": True})
    search.refuse({"renormalize_logits": False})
    tied = (
        "all"
        if settings.switch("tie_word_embeddings", False)
        else tied_by_content(weights, source=SOURCE, target=TARGET, output=OUTPUT)
    )
    source_size, pad_id = settings.integer("src_vocab_size", 42024), settings.integer("pad_token_id", 1)
    target_size = settings.integer("tgt_vocab_size", 42024)
    if tied in ("all", "inputs") and source_size != target_size:
        raise CheckpointError(
            f"config.json: src_vocab_size is {source_size} and tgt_vocab_size {target_size}, but both embeddings are "
            f"one matrix: they must be equal"
        )
    return huggingface.build_config(
        vocab_size=source_size,
        target_vocab_size=target_size,
        scale_embedding=settings.switch("scale_embedding", True),
        position_exponent="i/(n-1)",
        position_offset=pad_id + 1,
        tied=tied,
        **huggingface.shape_fields(settings, "relu"),
        **huggingface.search_fields(settings, search, pad_id, start_id=2, eos_id=2),
    )


def _tokenizer(files: SourceFiles, settings: Settings, config: TransformerConfig) -> DictionaryTokenizer:
    needed = (*VOCABULARIES, "merges.txt")
    if missing := [name for name in needed if name not in files.names]:
        raise CheckpointError(f"{files.label}: {', '.join(missing)} is missing: give the tokenizer's files too")
    options = Settings.read(files, "tokenizer_config.json")
    languages = options.values.get("langs", settings.values.get("langs"))
    if not isinstance(languages, list) or len(cast("list[Any]", languages)) != 2:
        raise CheckpointError(
            f"{files.label}: langs is {languages!r:.60} in tokenizer_config.json or config.json, expected the codes of "
            f"the source and target languages"
        )
    source, target = cast("list[Any]", languages)
    sizes = config.vocab_size, config.target_size
    pieces = [_pieces(files, name, size) for name, size in zip(VOCABULARIES, sizes, strict=True)]
    known = {
        "source_language": source,
        "target_language": target,
        "normalise": True,
        "lower_case": options.switch("do_lower_case", False),
    }
    with errors_of(files.label):
        tokenizer = dictionary_tokenizer(known, pieces[0], config.bos_id, {MERGES: files.read("merges.txt")}, pieces[1])
    huggingface.check_tokenizer(files, tokenizer, config)
    return tokenizer


def _pieces(files: SourceFiles, name: str, size: int) -> list[str]:
    """A vocabulary in the notation of subword-nmt, as FSMT marks the last piece of a word instead of the others."""

    def subword_nmt(piece: str) -> str:
        if piece in SPECIAL:
            return piece
        return piece.removesuffix(WORD_END) if piece.endswith(WORD_END) else piece + CONTINUED

    return Settings.read(files, name, MAX_SMALL_FILE).vocabulary(size, subword_nmt)
