"""Words of gold alignments in models of all formats: a perfect aligner has no error, whatever a tokenizer does."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import pytest
import torch

from core.analysis.alignment.aligners import AlignerRanking
from core.analysis.alignment.pharaoh import GoldPair, parse_links
from core.capture import AttentionMap
from core.text.tokenizer import SPACE_MARK
from core.translator import Translator
from tests.core.formats import fsmt_models, m2m100_models, marian_models, t5_models
from tests.core.formats.fairseq_models import fairseq_state, write_fairseq
from tests.core.formats.joeynmt_models import write_joey
from tests.core.formats.marian_cpp_models import write_marian
from tests.core.formats.marian_models import Pairs
from tests.core.formats.opennmt_models import write_opennmt
from tests.core.formats.small_models import imported
from tests.core.formats.torch_models import write_torch

CODE = ">>deu<< "
BEFORE = {"m2m100": (1, 1), "nllb": (1, 1), "marian-codes": (1, 0)}  # source and target tokens before the text
ESCAPING = ("fairseq", "fsmt")  # formats whose tokenizers spell some marks with letters
FORMATS = (*ESCAPING, "joey", "m2m100", "marian", "marian-codes", "nllb", "npz", "opennmt", "t5", "torch")
LETTERS, UNKNOWN = "abcdei.,?", "unknown"
# Each word has a letter or mark of its own, one word perhaps of marks that a tokenizer does not know.
SENTENCES = (
    "aa bb , cc dd .",
    "aa : bb , cc dd ee",
    "aa ; bb cc ? dd ,",
    "aa ( bb cc dd",
    "aa % bb cc",
    "aa \u2014 bb cc",
    "\u00a0aa\u3000bb  cc\u2009dd ",
)
MARKS = (
    "aa\u200b bb cc",
    "aa ' bb cc",
    "aa & bb cc",
    "aa [ bb cc",
    "aa \u00ab bb cc",
    "aa | bb cc",
    "\uff41a bb \uff43\uff43 dd",
)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory, parallel_text: Pairs) -> Callable[[str], Translator]:
    """A model by the name of its format."""
    root = tmp_path_factory.mktemp("models")

    @cache
    def translator(name: str) -> Translator:
        folder = root / name
        match name:
            case "fairseq":
                state = fairseq_state(fsmt_models.write_model(root / "of-fsmt", parallel_text, two=True))
                write_fairseq(folder, root / "of-fsmt", state, encoder_layers=1, decoder_layers=1)
            case "fsmt":
                fsmt_models.write_model(folder, parallel_text, two=True)
            case "m2m100" | "nllb":
                m2m100_models.write_model(folder, parallel_text, nllb=name == "nllb")
            case "marian" | "marian-codes":
                marian_models.write_model(folder, parallel_text, codes=(">>deu<<",) if "-" in name else ())
            case "t5":
                t5_models.write_model(folder, parallel_text, tasks=t5_models.TASKS)
            case _:
                write = {"joey": write_joey, "npz": write_marian, "opennmt": write_opennmt, "torch": write_torch}[name]
                write(folder, parallel_text)
        return imported(sorted(folder.iterdir()))

    return translator


def words_of_tokens(tokens: Sequence[str], text: str) -> list[int]:
    """The word of each token of a text, by its letters alone; a space belongs to the word after it."""
    numbers = {letter(word): number for number, word in enumerate(text.split())}
    found: list[int] = []
    for token in reversed(tokens):
        found.insert(0, found[0] if token == SPACE_MARK else numbers[letter(token)])
    return found


def letter(text: str) -> str:
    """The letter or mark that a word or a piece of it has for its own."""
    found = next((each for each in unicodedata.normalize("NFKC", text) if each in LETTERS), UNKNOWN)
    return UNKNOWN if text == "<unk>" else found


def perfect(translator: Translator, source: str, target: str, before: tuple[int, int]) -> AttentionMap:
    """A head whose row of a token has all its weight on the last token of the same word, counted from the end.

    The rows of tokens that are not of the text look at the first token.
    """
    cross = translator.explain(source, target).maps["cross"][0]
    stop = len(cross.key_tokens) - translator.config.source_end
    of_source = words_of_tokens(cross.key_tokens[before[0] : stop], source.removeprefix(CODE))
    of_target = words_of_tokens(cross.row_tokens[before[1] : -1], target)
    weights = torch.zeros_like(cross.weights[:1])
    for row, word in enumerate(of_target, start=before[1]):
        weights[0, row, before[0] + len(of_source) - 1 - of_source[::-1].index(max(of_source) - word)] = 1
    for row in (*range(before[1]), len(cross.row_tokens) - 1):
        weights[0, row, 0] = 1
    return replace(cross, weights=weights)


@pytest.mark.parametrize("name", FORMATS)
def test_a_perfect_aligner_has_no_error(name: str, opened: Callable[[str], Translator]):
    """The translation has the words of the source in reverse order. The code of a language counts if it is written."""
    translator, code = opened(name), CODE if name == "marian-codes" else ""
    before = BEFORE.get(name, (0, 0))
    if name == "t5":
        before = len(translator.codec.source_ids(f"{t5_models.PREFIX}b")) - len(["▁b", "</s>"]), 0
    for text in SENTENCES + (() if name in ESCAPING else MARKS):
        words = text.split()
        target, last = " ".join(reversed(words)), len(words) - 1 + bool(code)
        links = parse_links(" ".join(f"{last - number}-{number}" for number in range(len(words))))
        ranking = AlignerRanking()
        ranking.replay(
            translator,
            GoldPair(code + text, target, links),
            lambda translator, source, target: [perfect(translator, source, target, before)],
        )
        rates = {each.rows: each.score.error_rate for each in ranking.aligners() if each.layer is not None}
        assert rates["predicted"] == 0, (text, translator.codec.source_pieces(translator.codec.source_ids(code + text)))
