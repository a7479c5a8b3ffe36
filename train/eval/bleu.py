"""BLEU in the kinds that papers report it in, all counted by sacreBLEU (Post 2018): its own, and two of text
tokenized beforehand.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import sacremoses
from sacrebleu.metrics.bleu import BLEU


@dataclass(frozen=True)
class Bleu:
    """A score from 0 to 100 and what it takes to compute it again."""

    score: float
    signature: str


def sacre_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> Bleu:
    """Of plain text, cased, with sacreBLEU's defaults: the one to compare with others."""
    return _score(BLEU(), hypotheses, references)


def paper_bleu(hypotheses: Sequence[str], references: Sequence[str], language: str) -> Bleu:
    """Of tokenized text whose compounds are split at hyphens, cased: the kind in the tables of Vaswani et al. 2017.

    As tensor2tensor's `get_ende_bleu.sh` has it: Moses `tokenizer.perl`, then `rich-text` to `rich ##AT##-##AT## text`,
    then `multi-bleu.perl`, which smooths nothing. The tokenizer here is sacremoses, a port of that of Moses.
    It flatters: one hyphenated word right counts as three.

    Args:
        language: code of the target language, such as `de`; what the tokenizer knows abbreviations of.
    """
    texts = [[split_compounds(line) for line in tokenized(lines, language)] for lines in (hypotheses, references)]
    return _tokenized_score(
        BLEU(tokenize="none", smooth_method="none", force=True),
        *texts,
        tokenizer=f"{_moses(language)} and compounds split",
    )


def lowercased_bleu(hypotheses: Sequence[str], references: Sequence[str], language: str) -> Bleu:
    """Of tokenized text in lower case, as `multi-bleu.perl -lc` counts it: the usual kind on Multi30k.

    Args:
        language: as for `paper_bleu`.
    """
    metric = BLEU(tokenize="none", smooth_method="none", lowercase=True, force=True)
    return _tokenized_score(
        metric, tokenized(hypotheses, language), tokenized(references, language), tokenizer=_moses(language)
    )


def tokenized(lines: Sequence[str], language: str) -> list[str]:
    """Lines with a space between tokens, after the rules of Moses."""
    tokenizer = sacremoses.MosesTokenizer(lang=language)
    return [str(tokenizer.tokenize(line, return_str=True)) for line in lines]


def split_compounds(line: str) -> str:
    """`rich-text format` as `rich ##AT##-##AT## text format`; of two hyphens around a single letter only the first
    splits, as in the script.
    """
    return re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", line)


def _moses(language: str) -> str:
    return f"tokenized by sacremoses {sacremoses.__version__} ({language})"


def _score(metric: BLEU, hypotheses: Sequence[str], references: Sequence[str]) -> Bleu:
    return Bleu(metric.corpus_score(list(hypotheses), [list(references)]).score, str(metric.get_signature()))


def _tokenized_score(metric: BLEU, hypotheses: Sequence[str], references: Sequence[str], tokenizer: str) -> Bleu:
    bleu = _score(metric, hypotheses, references)
    return Bleu(bleu.score, f"{bleu.signature}, {tokenizer}")
