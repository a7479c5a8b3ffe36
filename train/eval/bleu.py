"""BLEU as papers report it, computed by sacreBLEU (Post 2018).

Its default, and two variants on tokenized text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

from sacrebleu.metrics.bleu import BLEU


@dataclass(frozen=True)
class Bleu:
    """A score from 0 to 100 with the signature that makes it reproducible."""

    score: float
    signature: str


def sacre_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> Bleu:
    """Cased BLEU of untokenized text with sacreBLEU's defaults: the comparable one."""
    return _score(BLEU(), hypotheses, references)


def paper_bleu(hypotheses: Sequence[str], references: Sequence[str], language: str) -> Bleu:
    """Cased BLEU of tokenized text, as in Vaswani et al. (2017).

    Compounds are split at hyphens. Follows tensor2tensor's `get_ende_bleu.sh`: Moses `tokenizer.perl`, then `rich-text`
    to `rich ##AT##-##AT## text`, then `multi-bleu.perl` without smoothing. The tokenizer is sacremoses, a port of
    Moses. These scores are higher than sacreBLEU's: one correct hyphenated word counts as three.

    Args:
        language: code of the target language, such as `de`, for the tokenizer's abbreviations.
    """
    texts = [[split_compounds(line) for line in tokenized(lines, language)] for lines in (hypotheses, references)]
    return _tokenized_score(
        BLEU(tokenize="none", smooth_method="none", force=True),
        *texts,
        tokenizer=f"{_moses(language)} and compounds split",
    )


def lowercased_bleu(hypotheses: Sequence[str], references: Sequence[str], language: str) -> Bleu:
    """BLEU of lower-cased, tokenized text as by `multi-bleu.perl -lc`.

    The usual one on Multi30k.

    Args:
        language: as for `paper_bleu`.
    """
    metric = BLEU(tokenize="none", smooth_method="none", lowercase=True, force=True)
    return _tokenized_score(
        metric, tokenized(hypotheses, language), tokenized(references, language), tokenizer=_moses(language)
    )


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


def _moses(language: str) -> str:
    return f"tokenized by sacremoses {version('sacremoses')} ({language})"


def _score(metric: BLEU, hypotheses: Sequence[str], references: Sequence[str]) -> Bleu:
    return Bleu(metric.corpus_score(list(hypotheses), [list(references)]).score, str(metric.get_signature()))


def _tokenized_score(metric: BLEU, hypotheses: Sequence[str], references: Sequence[str], tokenizer: str) -> Bleu:
    bleu = _score(metric, hypotheses, references)
    return Bleu(bleu.score, f"{bleu.signature}, {tokenizer}")
