"""Memory and time that one file may take: every limit, declared once.

Files come from strangers, and a small file must not take much: not when it is unpacked, nor by the model that its
configuration describes, nor by what a sentence then computes. So each reader asks here before it takes memory, and time
follows from memory: nothing is unpacked, parsed or computed beyond the limits. docs/serving.md has the table.

Weights have no limit of their own: they take a few times the bytes of their file, never more.
"""

import math
import reprlib
from collections.abc import Mapping
from typing import Any, cast

MIB, GIB = 2**20, 2**30

# --- Bytes of files, packed and unpacked -----------------------------------------------------------------------------

MAX_RATIO, FREE_BYTES = 2, 16 * MIB  # an archive may unpack to this multiple of its size, and some more in any case
MAX_TEXT_RATIO = 20  # of vocabularies, settings, attention and small differences, which compress to a fifth
MAX_UNPACKED = GIB  # of the arrays of a file, which are in memory together
MAX_INDEX_BYTES = 256 * MIB  # of a corpus index, unpacked; that of 5,000 sentences has 2 MB
MAX_INDEX_TOKENS = 2**24  # of all translations of a corpus index; 65,536 sentences of 128 tokens have half of that
MAX_PACKED = 256 * MIB  # of a snapshot in 8 bits, which is in memory as a whole while it is read
MAX_SNAPSHOTS = 200  # of a history
MAX_ENTRIES = 1000  # files of a folder or an archive
MAX_ARRAYS = 100_000  # of a file of Marian
MAX_HEADER_BYTES = 4 * MIB  # of a safetensors file: names and shapes; ours have about 30 KB
MAX_PICKLE_BYTES = 16 * MIB  # names and shapes of a PyTorch file; the weights are beside them
MAX_PICKLE_STEPS = 2**21  # of reading all pickles of a file, 2 microseconds each: values, copies, keys that are hashed
MAX_COPIES = 8  # tensors of a PyTorch file may share their elements, as tied matrices do, with so many copies at most
MAX_SMALL_FILE = 64 * MIB  # read as a whole, such as a vocabulary: tokenizer.json of NLLB has 32 MB
MAX_TOKENIZER_BYTES = 64 * MIB  # all files of a tokenizer in a checkpoint
MAX_SENTENCEPIECE_BYTES = 16 * MIB  # the largest published models have 5 MB; in memory they take ten times as much
MAX_REPLACEMENT = 64  # bytes that a SentencePiece model puts for a character; the longest of NFKC has 33
MAX_SETTINGS_BYTES = 4 * MIB  # of options in JSON
MAX_JSON_VALUES = 2**21  # lists, objects and their elements; tokenizer.json of mT5 has 750,000
MAX_YAML_BYTES = 64 * 2**10  # PyYAML reads a few hundred kilobytes a second
MAX_LOG_BYTES = 16 * MIB  # of a history's log; thinned logs have 50 KB

# --- Integers of a configuration -------------------------------------------------------------------------------------

# Largest value of each size: the least power of two that is above the largest published encoder-decoder, with room.
MAX_SIZES: dict[str, int] = {
    "vocab_size": 2**20,  # MADLAD-400: 256,512
    "target_vocab_size": 2**20,
    "d_model": 2**13,  # ByT5-XXL: 4,672
    "d_ff": 2**17,  # T5-11B: 65,536
    "decoder_d_ff": 2**17,
    "num_heads": 2**8,  # T5-11B: 128
    "num_decoder_heads": 2**8,
    "d_k": 2**13,  # one head as wide as the model
    "d_v": 2**13,
    "num_encoder_layers": 2**6,  # ByT5: 36
    "num_decoder_layers": 2**6,
    "neighbourhood": 2**12,
    "max_positions": 2**14,  # LED: 16,384
    "relative_buckets": 2**8,  # T5: 32
    "relative_max_distance": 2**14,  # T5: 128
    "patch_size": 2**6,  # vision transformers: 32
    "patch_rows": 2**6,
}
MAX_POSITION_OFFSET = 2**10  # fairseq: 2
MAX_IDS = 1024  # length of a list of token ids
MAX_HEADS = 2**12  # of the layers of a stack together; T5-11B: 3,072
MAX_PICTURE_HEIGHT = 2**10  # pixels that a model reads: patch_size * patch_rows; TrOCR: 384

# --- Computation for a sentence or a picture -------------------------------------------------------------------------

COMPUTATION = 512 * MIB  # of numbers that a pass keeps, besides twice the bytes of the weights
SEARCH_PASSES = 32  # a search computes as many attention weights as so many of the longest passes
NUMBER = 4  # bytes, float32
UNKNOWN_MEMORY = 4096 * MIB  # taken for that of a machine that does not tell it
PROCESS_SHARE = 0.75  # of the machine's memory, for all models, results and passes of an app (`process_memory`)
MAX_PICTURE_BYTES = 4 * MIB  # of a PNG file
MAX_PIXELS = 4_000_000  # of a picture, as decoded and as scaled to the height of a model
MAX_ASPECT = 64  # width of a line by its height
MAX_PATCHES = 512  # of a picture, as many as tokens of a sentence


def most_unpacked(packed: int, texts: int = 0) -> int:
    """Bytes that an archive of `packed` bytes may unpack to, all its files together; `texts` of them compress well."""
    return MAX_RATIO * packed + (MAX_TEXT_RATIO - MAX_RATIO) * min(texts, packed) + FREE_BYTES


def check_unpacked(packed: int, unpacked: int, texts: int = 0) -> None:
    """Check an archive's declared unpacked size before unpacking anything; numbers are bytes, as in `most_unpacked`.

    Raises:
        ValueError: it is more than the size of the archive admits.
    """
    most = most_unpacked(packed, texts)
    if unpacked > most:
        raise ValueError(
            f"has {packed} bytes and would unpack to {unpacked}, at most {most} are read: weights do not compress as "
            f"well as that. Where you trust it, unpack it and open its files"
        )


def computation_bytes(weights: int) -> int:
    """Bytes of the numbers that one pass of a model may keep, from the bytes of its parameters."""
    return COMPUTATION + 2 * weights


def pass_bytes(pairs: int, numbers: int, rows: int, layers: int) -> int:
    """Bytes that a pass of a batch takes, roughly.

    Args:
        pairs, numbers: attention weights of a row, and other numbers.
        rows: of the batch. The numbers of the first are counted as kept, as where they are recorded.
        layers: over whose computation the memory of the other rows is used again; 1 where gradients need all of it.
    """
    return int(NUMBER * (pairs + numbers) * (1 + (rows - 1) / layers))


def longest_pass(per_pair: int, per_token: int, weights: int) -> int:
    """Largest number of tokens on each side of a pass that `computation_bytes` admits, for bytes of weights.

    Numbers are counted for each pair of tokens, the attention weights of all heads, and for each token.
    """
    numbers = computation_bytes(weights) // NUMBER
    return (math.isqrt(per_token**2 + 4 * per_pair * numbers) - per_token) // (2 * per_pair)


def most_hypotheses(per_pair: int, per_hypothesis: int, positions: int, weights: int) -> int:
    """Largest number of hypotheses at a position of a search, those of all its sentences together.

    Args:
        per_pair, weights: as for `longest_pass`.
        per_hypothesis, positions: numbers that a hypothesis keeps at the last position of the longest translation.
    """
    numbers = computation_bytes(weights) // NUMBER
    return min(numbers // per_hypothesis, SEARCH_PASSES * numbers // (per_pair * positions**2))


# --- Messages --------------------------------------------------------------------------------------------------------

_SHOWN = 60  # characters of a value
_PRINTED_BITS = 4096  # of an integer; Python refuses to print far longer ones


class _Shortened(reprlib.Repr):
    def repr1(self, x: Any, level: int) -> str:
        if isinstance(x, int) and x.bit_length() > _PRINTED_BITS:
            return f"an integer of {x.bit_length()} bits"
        if isinstance(x, Mapping):
            return self.repr_dict(cast("dict[Any, Any]", x), level)
        if isinstance(x, list):
            return self.repr_list(cast("list[Any]", x), level)
        if isinstance(x, tuple):
            return self.repr_tuple(cast("tuple[Any, ...]", x), level)
        if isinstance(x, set):
            return self.repr_set(cast("set[Any]", x), level)
        if x is None or isinstance(x, str | bytes | int | float):
            return super().repr1(x, level)
        return f"a {type(x).__name__}"


_shortened = _Shortened()
_shortened.maxlevel = 3
_shortened.maxstring = _shortened.maxother = _shortened.maxlong = 4 * _SHOWN  # cut in the middle, beyond the shown part


def shown(value: object) -> str:
    """A value of an untrusted file as Python writes it, of 60 characters at most.

    Unlike `repr`, in bounded time: a pickle of a few bytes may hold a list with a trillion elements, lists in lists.
    """
    written = _shortened.repr(value)
    return written if len(written) <= _SHOWN else f"{written[: _SHOWN - 4]} ..."
