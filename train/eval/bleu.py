"""BLEU as papers report it, computed by sacreBLEU (Post 2018): its default, and two variants on tokenized text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

from sacrebleu.metrics.bleu import BLEU

from core.text.bleu_tokenizers import (
    DEFAULT,
    LANGUAGES,
    bleu_tokenizer,
    lacks_spaces,
    missing_packages,
    usual_tokenizer,
)


@dataclass(frozen=True)
class Bleu:
    """A score from 0 to 100 with the signature that makes it reproducible."""

    score: float
    signature: str


def sacre_bleu(hypotheses: Sequence[str], references: Sequence[str], language: str = "") -> Bleu:
    """Cased BLEU of untokenized text with sacreBLEU's defaults: the comparable one.

    See `bleu_tokenizer` for the languages that have another tokenizer than the default, which the signature names.
    """
    return _score(BLEU(tokenize=bleu_tokenizer(references, language)), hypotheses, references)


def paper_bleu(hypotheses: Sequence[str], references: Sequence[str], language: str) -> Bleu:
    """Cased BLEU of tokenized text with compounds split at hyphens, as in Vaswani et al. (2017).

    Follows tensor2tensor's `get_ende_bleu.sh`: Moses `tokenizer.perl`, with abbreviations of the language, then
    `rich-text` to `rich ##AT##-##AT## text`, then `multi-bleu.perl` without smoothing. The tokenizer is sacremoses, a
    port of Moses, or that of `sacre_bleu` where this is not the default. These scores are higher than sacreBLEU's: one
    correct hyphenated word counts as three.
    """
    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    return _tokenized_bleu(metric, hypotheses, references, language, compounds=True)


def lowercased_bleu(hypotheses: Sequence[str], references: Sequence[str], language: str) -> Bleu:
    """BLEU of lower-cased, tokenized text as by `multi-bleu.perl -lc`, the usual one on Multi30k; see `paper_bleu`."""
    metric = BLEU(tokenize="none", smooth_method="none", lowercase=True, force=True)
    return _tokenized_bleu(metric, hypotheses, references, language)


def bleu_notes(hypotheses: Sequence[str], references: Sequence[str], language: str = "") -> list[str]:
    """Return remarks on the tokenizer of BLEU: that it is not the default, or that it does not fit a text."""
    tokenizer, usual = bleu_tokenizer(references, language), usual_tokenizer(references, language)
    if tokenizer != DEFAULT:
        missing = missing_packages(usual)
        instead = f", for want of {usual} ({missing})" if missing else ""
        return [f"BLEU has the tokenizer {tokenizer}{instead}: {DEFAULT} would look for words between spaces"]
    return [
        f"the {name} have hardly any spaces, so that BLEU takes whole lines for words and says little: give their "
        f"--language, one of {', '.join(LANGUAGES)}, or go by chrF"
        for name, texts in (("references", references), ("translations", hypotheses))
        if lacks_spaces(texts)
    ]


def tokenized(lines: Sequence[str], language: str) -> list[str]:
    """Tokenize lines by the rules of Moses, with spaces between tokens."""
    from sacremoses import MosesTokenizer  # here, as the import takes a quarter of a second

    tokenizer = MosesTokenizer(lang=language)
    return [str(tokenizer.tokenize(line, return_str=True)) for line in lines]


def split_compounds(line: str) -> str:
    """Rewrite `rich-text format` as `rich ##AT##-##AT## text format`.

    As in the original script, of two hyphens around a single character only the first is split.
    """
    return re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", line)


def _score(metric: BLEU, hypotheses: Sequence[str], references: Sequence[str]) -> Bleu:
    return Bleu(metric.corpus_score(list(hypotheses), [list(references)]).score, str(metric.get_signature()))


def _tokenized_bleu(
    metric: BLEU, hypotheses: Sequence[str], references: Sequence[str], language: str, compounds: bool = False
) -> Bleu:
    """BLEU of text tokenized by Moses, or by sacreBLEU where the references need another tokenizer than the default."""
    name = bleu_tokenizer(references, language)
    if name == DEFAULT:
        sides = [tokenized(lines, language) for lines in (hypotheses, references)]
        name = f"sacremoses {version('sacremoses')} ({language})"
    else:
        tokenizer = BLEU(tokenize=name).tokenizer
        sides = [[str(tokenizer(line)) for line in lines] for lines in (hypotheses, references)]
        name = f"sacreBLEU's {name}"
    if compounds:
        sides, name = [[split_compounds(line) for line in lines] for lines in sides], f"{name} and compounds split"
    bleu = _score(metric, *sides)
    return Bleu(bleu.score, f"{bleu.signature}, tokenized by {name}")
