"""M2M100, SMaLL-100 and NLLB in Hugging Face's layout: one model for many languages.

Files: config.json with model_type "m2m_100", model.safetensors or pytorch_model.bin, sentencepiece.bpe.model,
generation_config.json, tokenizer_config.json, special_tokens_map.json; M2M100 also has a vocab.json, and transformers 5
saves NLLB's pieces and merges in tokenizer.json alone. The references are `M2M100ForConditionalGeneration`,
`M2M100Tokenizer` and `NllbTokenizer` of transformers, and tokenization_small100.py (Mohammadshahi et al. 2022).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from core.files.budget import MAX_SMALL_FILE
from core.formats import huggingface
from core.formats.bart_tokenizers import filled_up, usual_language
from core.formats.checkpoint import Checkpoint, CheckpointError
from core.formats.parameter_names import check_copies, read_parameters, stack_names
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.tokenizer_json import TOKENIZER_JSON, added_tokens, bpe_pieces, sentencepiece_of_merges
from core.formats.untrusted_parameters import errors_of, fill_model, meta_model
from core.model.config import TransformerConfig
from core.text.dictionary_settings import LANGUAGE
from core.text.dictionary_tokenizer import SPECIAL, DictionaryTokenizer, dictionary_tokenizer
from core.text.piece_splitting import SENTENCEPIECE
from core.text.tokenizer import load_sentencepiece

NAME = "M2M100 or NLLB in Hugging Face's layout"
SENTENCEPIECE_FILE, VOCABULARY = "sentencepiece.bpe.model", "vocab.json"
SMALL100_CODE = "tokenization_small100.py"  # is beside the models, and never run
MATRICES = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)

MASK = "<mask>"  # after the languages of NLLB
# Default languages, the first that a model has; in a text, codes select others.
SOURCES, TARGETS = ("en", "eng_Latn", "en_XX"), ("de", "deu_Latn", "de_DE")
# Languages of M2M100 and of the models of WMT 2021, in the order of their ids, which follow those of vocab.json.
LANGUAGES = {
    "m2m100": (
        "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu "
        "hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt "
        "ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"
    ),
    "wmt21": "en ha is ja cs ru zh de",
}


recognises = huggingface.of_types("m2m_100")


def load(files: SourceFiles) -> Checkpoint:
    """Read a model; see `ImportFormat`."""
    settings, search = huggingface.read_settings(files)
    config = _config(settings, search)
    tokenizer, first = _tokenizer(files, config)
    if first is not None:
        config = replace(config, forced_first_id=None)  # a language, which the tokenizer knows
    model = meta_model(config)
    with huggingface.open_model_weights(files) as weights:
        copies = [name for name in MATRICES if name in weights.shapes] or [MATRICES[0]]
        sources = stack_names(model, "model.") | {"embedding.tokens.weight": copies[0]}
        tensors = read_parameters(weights, model, sources, copies, huggingface.POSITIONS)
        check_copies(weights, copies, "tie_word_embeddings")
        huggingface.check_positions(weights, config, "M2M100")
        facts = huggingface.facts(NAME, files, config, search, weights.types(sources.values()), tokenizer)
    return Checkpoint(fill_model(weights.file_name, model, tensors), tokenizer, {"imported": facts})


def _config(settings: Settings, search: Settings) -> TransformerConfig:
    settings.refuse({"is_encoder_decoder": True, "tie_word_embeddings": True})
    search.refuse({"renormalize_logits": False})
    pad_id = settings.integer("pad_token_id", 1)
    return huggingface.build_config(
        vocab_size=settings.integer("vocab_size", 128112),
        norm="pre",
        final_norm=True,
        scale_embedding=settings.switch("scale_embedding", True),
        position_exponent="i/(n-1)",
        position_offset=pad_id + 1,
        **huggingface.shape_fields(settings, "relu"),
        **huggingface.search_fields(settings, search, pad_id, start_id=2, eos_id=2),
    )


def _tokenizer(files: SourceFiles, config: TransformerConfig) -> tuple[DictionaryTokenizer, str | None]:
    """Return the tokenizer, and the language that the configuration forces a target to begin with."""
    options = Settings.read(files, "tokenizer_config.json")
    options.refuse({"legacy_behaviour": False})
    if SENTENCEPIECE_FILE not in files.names and (VOCABULARY in files.names or TOKENIZER_JSON not in files.names):
        raise CheckpointError(
            f"{files.label}: {SENTENCEPIECE_FILE} is missing, and there is no {TOKENIZER_JSON} of NLLB in its place: "
            f"give the tokenizer's files too"
        )
    if VOCABULARY in files.names:
        pieces, languages = _m2m100_pieces(files, options, config.vocab_size)
    elif SENTENCEPIECE_FILE in files.names and (codes := _listed_languages(files, options)):
        pieces, languages = _nllb_pieces(files, codes)
    else:
        pieces, languages = _pieces_of_json(files)
    pieces = filled_up(pieces, config.vocab_size, f"{files.label}: the vocabulary", "the languages")
    codes = {piece: code for code, piece in languages.items()}
    forced = codes.get(pieces[config.forced_first_id]) if config.forced_first_id is not None else None
    settings = language_settings(files, languages, forced)
    model = files.read(SENTENCEPIECE_FILE) if SENTENCEPIECE_FILE in files.names else sentencepiece_of_merges(files)
    with errors_of(files.label):
        tokenizer = dictionary_tokenizer(settings, pieces, config.bos_id, {SENTENCEPIECE: model})
    huggingface.check_tokenizer(files, tokenizer, config)
    return tokenizer, forced


def language_settings(files: SourceFiles, languages: Mapping[str, str], forced: str | None = None) -> dict[str, Any]:
    """Settings of a tokenizer about its languages, pieces by code; `forced` is the target of the configuration."""
    options = Settings.read(files, "tokenizer_config.json").values
    small100 = options.get("tokenizer_class") == "SMALL100Tokenizer" or SMALL100_CODE in files.names
    targets = SOURCES if small100 else TARGETS
    return {
        "source_language": usual_language(languages, options.get("src_lang"), *SOURCES),
        "target_language": usual_language(languages, forced or options.get("tgt_lang"), *targets),
        "languages": dict(languages),
        **({"target_before_source": True} if small100 else {}),  # and nothing is forced
    }


def _m2m100_pieces(files: SourceFiles, options: Settings, size: int) -> tuple[list[str], dict[str, str]]:
    """Pieces in the order of their ids, and those of languages by code."""
    ids = Settings.read(files, VOCABULARY, MAX_SMALL_FILE)
    pieces = ids.vocabulary(size)[: len(ids.values)]
    names = LANGUAGES[options.choice("language_codes", LANGUAGES, "m2m100")]
    languages = {code: f"__{code}__" for code in names.split()}
    return [*pieces, *languages.values()], languages


def _nllb_pieces(files: SourceFiles, codes: list[str]) -> tuple[list[str], dict[str, str]]:
    """Pieces in the order of their ids, and those of languages by code.

    The four special pieces of fairseq come first, then SentencePiece's without its own three, then the languages.
    """
    with errors_of(f"{files.label}: {SENTENCEPIECE_FILE}"):
        processor = load_sentencepiece(files.read(SENTENCEPIECE_FILE))
    pieces = processor.id_to_piece(list(range(3, processor.vocab_size())))
    return [*SPECIAL, *pieces, *codes, MASK], {code: code for code in codes}


def _listed_languages(files: SourceFiles, options: Settings) -> list[str]:
    """Codes of NLLB's languages as the settings of its tokenizer list them; none if they do not."""
    names = [options, Settings.read(files, "special_tokens_map.json")]
    lists = [each.values.get(name) for each in names for name in ("additional_special_tokens", "extra_special_tokens")]
    language_tokens = next((each for each in lists if isinstance(each, list) and each), [])
    codes = [_content(token) for token in cast("list[Any]", language_tokens)]
    return [code for code in codes if code not in (*SPECIAL, MASK)]


def _pieces_of_json(files: SourceFiles) -> tuple[list[str], dict[str, str]]:
    """Pieces in the order of their ids, and those of languages by code, from tokenizer.json."""
    if TOKENIZER_JSON not in files.names:
        raise CheckpointError(
            f"{files.label}: neither tokenizer_config.json nor special_tokens_map.json has the list "
            f"additional_special_tokens of the model's languages: give both files"
        )
    languages = {
        token: token
        for token in added_tokens(files)
        if LANGUAGE.fullmatch(token) and token not in SPECIAL  # MASK is none by its brackets
    }
    if not languages:
        raise CheckpointError(
            f"{files.label}: the tokenizer was saved without the languages of the model: {TOKENIZER_JSON} has none "
            f"among its added tokens, and no other file lists them. Give the tokenizer of the original model"
        )
    return bpe_pieces(files), languages


def _content(token: object) -> str:
    """Text of a special token, which may be described by an object."""
    text = cast("dict[str, Any]", token).get("content") if isinstance(token, dict) else token
    if not isinstance(text, str):
        raise CheckpointError(f"additional_special_tokens has {token!r:.60}, expected texts")
    return text
