"""Tokenizers of BART (byte-pair encoding of bytes), mBART, mBART-50 and Pegasus (SentencePiece).

Files: vocab.json and merges.txt of BART, sentencepiece.bpe.model of mBART, spiece.model of Pegasus, or tokenizer.json
of each; tokenizer_config.json, special_tokens_map.json. The references are `BartTokenizer`, `MBartTokenizer`,
`MBart50Tokenizer` and `PegasusTokenizer` of transformers.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, cast

from core.files.budget import MAX_SMALL_FILE, shown
from core.formats.checkpoint import CheckpointError
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.tokenizer_json import added_tokens, merges_file
from core.formats.unigram_json import TOKENIZER_JSON, sentencepiece_of, unigram_pieces
from core.formats.untrusted_parameters import errors_of
from core.text.byte_level_encoding import common_piece
from core.text.byte_pieces import MASK
from core.text.dictionary_tokenizer import SPECIAL, DictionaryTokenizer, dictionary_tokenizer
from core.text.piece_splitting import MERGES, SENTENCEPIECE
from core.text.tokenizer import load_sentencepiece

VOCABULARY, MERGES_FILE = "vocab.json", "merges.txt"
SENTENCEPIECE_FILES = {"mbart": "sentencepiece.bpe.model", "pegasus": "spiece.model"}
PEGASUS_OFFSET = 103  # of Pegasus' ids from those of its SentencePiece model, whose first two are others
PEGASUS_FIRST = ("<pad>", "</s>", "<mask_1>", "<mask_2>")
CODE = re.compile(r"[a-z]{2,3}_[A-Z]{2}")
# In the order of their ids, which follow those of SentencePiece's pieces.
_OF_MBART = (
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP "
    "nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN"
)
_OF_MBART50 = (
    "af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE sw_KE "
    "ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI"
)
MBART_LANGUAGES = _OF_MBART.split()
MBART50_LANGUAGES = [*MBART_LANGUAGES, *_OF_MBART50.split()]
CLASSES = {  # of tokenizers, in tokenizer_config.json, by the type of models
    "bart": ("Bart", "Roberta", "PreTrainedTokenizerFast", "TokenizersBackend"),
    "mbart": ("MBart", "PreTrainedTokenizerFast", "TokenizersBackend"),
    "pegasus": ("Pegasus", "PreTrainedTokenizerFast", "TokenizersBackend"),
}


class ModelTokenizer(NamedTuple):
    """A tokenizer with what its model puts around texts."""

    tokenizer: DictionaryTokenizer
    start_id: int  # the decoder's start, unless the configuration has another
    source_prefix: tuple[int, ...] = ()
    source_suffix: tuple[int, ...] = ()
    forces_language: bool = False  # whether the tokenizer knows the first token of a target


def read_tokenizer(files: SourceFiles, settings: Settings, search: Settings) -> ModelTokenizer:
    """Read the tokenizer of a model, with the settings of config.json and generation_config.json.

    Raises:
        CheckpointError: a file is missing, damaged or of another kind of tokenizer.
    """
    kind, options = settings.text("model_type"), Settings.read(files, "tokenizer_config.json")
    name = options.text("tokenizer_class", CLASSES[kind][0])
    if not name.startswith(CLASSES[kind]):
        raise CheckpointError(
            f"tokenizer_config.json: tokenizer_class is {name!r:.60}, and Headlight reads of {kind} models only those "
            f"of {CLASSES[kind][0]}"
        )
    options.refuse({"add_prefix_space": False})
    start = search.values.get("decoder_start_token_id", settings.values.get("decoder_start_token_id"))
    start = start if isinstance(start, int) else None
    with errors_of(files.label):
        if kind == "bart":
            return _bart(files, settings, 2 if start is None else start)
        pieces, model = _sentencepiece(files, kind, options, settings)
        if kind == "pegasus":
            made = _made({}, pieces, {SENTENCEPIECE: model}, settings, start or 0)
            return ModelTokenizer(made, 0)
        return _mbart(pieces, model, settings, search, options, start)


def _made(
    options: dict[str, Any], pieces: Sequence[str], files: dict[str, bytes], settings: Settings, start: int
) -> DictionaryTokenizer:
    """A tokenizer with a piece for every row of the embedding."""
    filled = filled_up(pieces, settings.integer("vocab_size"), "the vocabulary", "the special ones")
    return dictionary_tokenizer(options, filled, start, files)


def filled_up(pieces: Sequence[str], size: int, vocabulary: str, others: str) -> list[str]:
    """Pieces with unused ones for the rows of the embedding behind them.

    Args:
        size: number of rows.
        vocabulary, others: names of the vocabulary and of some of its pieces, for the message.

    Raises:
        CheckpointError: there are more pieces than rows.
    """
    if len(pieces) > size:
        raise CheckpointError(
            f"{vocabulary} has {len(pieces)} pieces with {others}, config.json a vocab_size of {size}: they are of "
            f"different models"
        )
    return [*pieces, *(f"<unused {number}>" for number in range(len(pieces), size))]


def _bart(files: SourceFiles, settings: Settings, start: int) -> ModelTokenizer:
    if VOCABULARY in files.names and MERGES_FILE in files.names:
        ids, merges = Settings.read(files, VOCABULARY, MAX_SMALL_FILE).values, files.read(MERGES_FILE)
    elif TOKENIZER_JSON in files.names:
        content = Settings.read(files, TOKENIZER_JSON, MAX_SMALL_FILE)
        if (found := content.section("pre_tokenizer").values.get("type")) != "ByteLevel":
            raise CheckpointError(
                f"{TOKENIZER_JSON}: pre_tokenizer: type is {shown(found)}, and Headlight reads only 'ByteLevel' for "
                f"BART"
            )
        if content.section("pre_tokenizer").values.get("add_prefix_space") is True:
            raise CheckpointError(f"{TOKENIZER_JSON}: add_prefix_space is True, and Headlight reads only False")
        ids = {**content.section("model").section("vocab").values, **added_tokens(files)}
        merges = merges_file(files)
    else:
        raise CheckpointError(
            f"{files.label}: {VOCABULARY} and {MERGES_FILE}, or {TOKENIZER_JSON}, are missing: give the tokenizer's "
            f"files too"
        )
    pieces = Settings(VOCABULARY, ids).vocabulary(
        settings.integer("vocab_size"), lambda each: each if each in (*SPECIAL, MASK) else common_piece(each)
    )
    options = {"byte_level": True, "target_start": True, "mask": MASK in pieces}
    made = _made(options, pieces, {MERGES: merges}, settings, start)
    return ModelTokenizer(made, 2, source_prefix=(made.token_id(SPECIAL[0]),))


def _sentencepiece(files: SourceFiles, kind: str, options: Settings, settings: Settings) -> tuple[list[str], bytes]:
    """Pieces in the order of their ids, and the SentencePiece model that splits texts."""
    name = SENTENCEPIECE_FILES[kind]
    if name not in files.names:
        if TOKENIZER_JSON not in files.names:
            raise CheckpointError(
                f"{files.label}: {name} and {TOKENIZER_JSON} are missing: give the tokenizer's files too"
            )
        return unigram_pieces(files), sentencepiece_of(files)
    model = files.read(name)
    processor = load_sentencepiece(model)
    if kind == "pegasus":
        offset = options.integer("offset", PEGASUS_OFFSET)
        if not len(PEGASUS_FIRST) <= offset + 2 <= settings.integer("vocab_size"):
            raise CheckpointError(f"tokenizer_config.json: offset is {offset}, expected a number below the vocab_size")
        unknown = (f"<unk_{number}>" for number in range(2, offset))
        learned = processor.id_to_piece(list(range(2, processor.vocab_size())))
        return [*PEGASUS_FIRST, *unknown, *learned], model
    learned = processor.id_to_piece(list(range(3, processor.vocab_size())))
    size = settings.integer("vocab_size")
    languages = MBART50_LANGUAGES if _is_50(files, options, size - len(learned)) else MBART_LANGUAGES
    return [*SPECIAL, *learned, *languages, MASK], model


def _is_50(files: SourceFiles, options: Settings, others: int) -> bool:
    """Whether a model with `others` beside SentencePiece's pieces is mBART-50, whose languages come first."""
    if "tokenizer_class" in options.values or "language_codes" in options.values:
        return "50" in str(options.values.get("tokenizer_class")) or options.values.get("language_codes") == "ML50"
    names = [options, Settings.read(files, "special_tokens_map.json")]
    lists = [each.values.get("additional_special_tokens") for each in names]
    listed = [token for each in lists if isinstance(each, list) for token in cast("list[object]", each)]
    return MBART50_LANGUAGES[-1] in listed or others >= len(SPECIAL) + len(MBART50_LANGUAGES) + 1


def _mbart(
    pieces: list[str], model: bytes, settings: Settings, search: Settings, options: Settings, start: int | None
) -> ModelTokenizer:
    languages = [piece for piece in pieces if CODE.fullmatch(piece) and piece in MBART50_LANGUAGES]
    if not languages:
        raise CheckpointError("the vocabulary has no codes of languages such as 'en_XX': expected those of mBART")
    ids = {piece: number for number, piece in enumerate(pieces)}
    forced = search.values.get("forced_bos_token_id")
    if MBART50_LANGUAGES[-1] in languages:
        first = pieces[forced] if isinstance(forced, int) and 0 <= forced < len(pieces) else None
        known = {
            "source_language": usual_language(languages, options.values.get("src_lang"), "en_XX"),
            "target_language": usual_language(languages, first or options.values.get("tgt_lang"), "de_DE"),
            "languages": {code: code for code in languages},
            "mask": True,
        }
        made = _made(known, pieces, {SENTENCEPIECE: model}, settings, 2 if start is None else start)
        return ModelTokenizer(made, 2, forces_language=True)
    source = usual_language(languages, options.values.get("src_lang"), "en_XX")
    target = pieces[start] if start is not None and 0 <= start < len(pieces) else None
    target = usual_language(languages, target or options.values.get("tgt_lang"), source)
    begin = ids[target] if start is None else start
    known = {"source_language": source, "target_language": target, "mask": True, "silent": languages}
    made = _made(known, pieces, {SENTENCEPIECE: model}, settings, begin)
    return ModelTokenizer(made, begin, source_suffix=(ids[source],))


def usual_language(languages: Collection[str], *wanted: object) -> str:
    """The first code, of those wanted, of a language that the model has; or else its first."""
    return next((code for code in wanted if isinstance(code, str) and code in languages), next(iter(languages)))
