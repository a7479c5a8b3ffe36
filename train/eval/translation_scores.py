"""How good a checkpoint is: sacreBLEU and chrF of its translations (6.1), perplexity of its likelihood (6.2)."""

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from sacrebleu.metrics.chrf import CHRF

from core.translator import Translator
from train.data.batches import cut
from train.data.parallel_text import read_parallel
from train.data.token_shards import DataError, make_batch
from train.eval.bleu import lowercased_bleu, paper_bleu, sacre_bleu
from train.eval.progress_bar import sentence_bar
from train.loss import TranslationLoss
from train.runs.run_folder import now

LIKELIHOOD_TOKENS = 4_096  # padded ids a side whose likelihood is computed at once


@dataclass(frozen=True)
class TestSet:
    """Sentence pairs with a name; none of the sides is empty."""

    name: str
    pairs: tuple[tuple[str, str], ...]

    __test__ = False  # for pytest: this is no test

    @classmethod
    def read(cls, source: Path, target: Path, name: str | None = None) -> "TestSet":
        """Raises: DataError, if the files cannot be read, are not parallel or hold an empty line."""
        pairs = list(read_parallel([source], [target]))
        empty = [number for number, pair in enumerate(pairs, 1) if not (pair[0].strip() and pair[1].strip())]
        if empty:
            raise DataError(
                f"{source} and {target} have an empty side in line {empty[0]}: a test set has a translation for every "
                f"sentence"
            )
        return cls(name or source.name.split(".")[0], tuple(pairs))


@dataclass(frozen=True)
class Score:
    """What one search setting reaches on one test set.

    Attributes:
        bleu, chrf: sacreBLEU and chrF of the whole set, cased, with the signatures that say how they were computed.
        paper_bleu, lowercased_bleu: BLEU of other kinds, for figures that are given so elsewhere; see
            `train.eval.bleu`.
        perplexity: per piece of the target, `</s>` included, of the plain likelihood.
        seconds, tokens_per_second: of the search alone; the tokens are pieces of the translations, `</s>` included.
    """

    test_set: str
    sentences: int
    bleu: float
    bleu_signature: str
    chrf: float
    chrf_signature: str
    paper_bleu: float
    paper_bleu_signature: str
    lowercased_bleu: float
    lowercased_bleu_signature: str
    perplexity: float
    beam_size: int
    length_penalty: float
    seconds: float
    tokens_per_second: float
    date: str

    def __str__(self) -> str:
        search = f"beam {self.beam_size}, length penalty {self.length_penalty}"
        speed = f"{self.seconds:.1f} s, {self.tokens_per_second:.0f} target tokens/s"
        return (
            f"{self.test_set}: {self.sentences} sentences, {search}, {speed}\n"
            f"  BLEU {self.bleu:.2f}  {self.bleu_signature}\n"
            f"  chrF {self.chrf:.2f}  {self.chrf_signature}\n"
            f"  BLEU as in the paper, tokenized and compound-split {self.paper_bleu:.2f}  {self.paper_bleu_signature}\n"
            f"  BLEU, tokenized and lower-cased {self.lowercased_bleu:.2f}  {self.lowercased_bleu_signature}\n"
            f"  perplexity {self.perplexity:.3f} a piece"
        )

    def facts(self) -> dict[str, object]:
        """As it stands in a checkpoint: numbers rounded to what they mean."""
        digits = {
            "bleu": 2,
            "chrf": 2,
            "paper_bleu": 2,
            "lowercased_bleu": 2,
            "perplexity": 3,
            "seconds": 1,
            "tokens_per_second": 0,
        }
        return {name: round(value, digits[name]) if name in digits else value for name, value in asdict(self).items()}


def evaluate(
    translator: Translator, test_set: TestSet, beam_size: int = 4, length_penalty: float = 0.6, language: str = "de"
) -> tuple[Score, list[str]]:
    """Translate a test set and score it.

    Args:
        language: of the targets, for the kinds of BLEU that need a tokenizer.

    Returns:
        The score, and the translations in the order of the test set.
    """
    began = time.perf_counter()
    hypotheses, num_tokens = _translate(translator, test_set, beam_size, length_penalty)
    seconds = time.perf_counter() - began
    references = [target for _, target in test_set.pairs]
    bleu, chrf = sacre_bleu(hypotheses, references), CHRF()
    paper, lowercased = paper_bleu(hypotheses, references, language), lowercased_bleu(hypotheses, references, language)
    score = Score(
        test_set=test_set.name,
        sentences=len(test_set.pairs),
        bleu=bleu.score,
        bleu_signature=bleu.signature,
        chrf=chrf.corpus_score(hypotheses, [references]).score,
        chrf_signature=str(chrf.get_signature()),
        paper_bleu=paper.score,
        paper_bleu_signature=paper.signature,
        lowercased_bleu=lowercased.score,
        lowercased_bleu_signature=lowercased.signature,
        perplexity=perplexity(translator, test_set.pairs),
        beam_size=beam_size,
        length_penalty=length_penalty,
        seconds=seconds,
        tokens_per_second=num_tokens / seconds,
        date=now(),
    )
    return score, hypotheses


def _translate(
    translator: Translator, test_set: TestSet, beam_size: int, length_penalty: float
) -> tuple[list[str], int]:
    sources = [source for source, _ in test_set.pairs]
    with sentence_bar(test_set.name, len(sources)) as show:
        translations = translator.translate_batch(
            sources, beam_size=beam_size, length_penalty=length_penalty, progress=show
        )
    return [translation.text for translation in translations], sum(
        len(translation.hypotheses[0].token_ids) for translation in translations
    )


@torch.no_grad()
def perplexity(translator: Translator, pairs: Sequence[tuple[str, str]]) -> float:
    """The exponential of the negative log-likelihood per target piece, `</s>` included (6.2)."""
    loss_of = TranslationLoss(translator.model, label_smoothing=0.0).eval()
    encoded = [(translator.tokenizer.encode(source), translator.tokenizer.encode(target)) for source, target in pairs]
    lengths = np.array([max(len(source), len(target)) + 1 for source, target in encoded])
    order = lengths.argsort(kind="stable")
    nll, num_tokens = 0.0, 0
    for indices in cut(order, lengths[order], LIKELIHOOD_TOKENS):
        batch = make_batch([encoded[index] for index in indices]).to(translator.model.device)
        nll += float(loss_of(batch).nll)
        num_tokens += batch.num_tokens
    return math.exp(nll / num_tokens)
