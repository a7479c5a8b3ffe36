"""Scores of a checkpoint on test sets: BLEU and chrF (6.1), perplexity (6.2)."""

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sacrebleu.metrics.chrf import CHRF

from core.translator import Translator
from train.data.parallel_text import read_parallel
from train.data.token_shards import DataError
from train.eval.bleu import lowercased_bleu, paper_bleu, sacre_bleu
from train.eval.progress_bar import sentence_bar
from train.runs.provenance import now

COUNTED = "the </s> of each reference included, first pieces that are forced left out"


@dataclass(frozen=True)
class TestSet:
    """A name and sentence pairs without empty sides."""

    name: str
    pairs: tuple[tuple[str, str], ...]

    __test__ = False  # not a test class for pytest

    @classmethod
    def read(cls, source: Path, target: Path, name: str | None = None) -> "TestSet":
        """Read a test set from two files; its name is by default that of the source file.

        Raises:
            DataError: the files cannot be read, differ in their numbers of lines, or have an empty line.
        """
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
    """The scores of a model with one search setting on a test set."""

    test_set: str
    sentences: int
    bleu: float  # cased sacreBLEU of the whole set, as chrF, with their signatures
    bleu_signature: str
    chrf: float
    chrf_signature: str
    paper_bleu: float  # a variant, as the next, to compare with papers; see `train.eval.bleu`
    paper_bleu_signature: str
    lowercased_bleu: float
    lowercased_bleu_signature: str
    perplexity: float | None  # per predicted piece, see `perplexity`; None for a model without causal mask
    beam_size: int  # of the search; with `iterations`, the number of length candidates
    length_penalty: float
    seconds: float  # of the search, as the next
    tokens_per_second: float  # pieces of the translations, `</s>` included
    date: str
    iterations: int | None = None  # of mask-predict; None for a search for next tokens

    def __str__(self) -> str:
        if self.iterations is None:
            search = f"beam {self.beam_size}, length penalty {self.length_penalty}"
        else:
            search = f"mask-predict with {self.iterations} iterations, {self.beam_size} length candidates"
        speed = f"{self.seconds:.1f} s, {self.tokens_per_second:.0f} target tokens/s"
        return (
            f"{self.test_set}: {self.sentences} sentences, {search}, {speed}\n"
            f"  BLEU {self.bleu:.2f}  {self.bleu_signature}\n"
            f"  chrF {self.chrf:.2f}  {self.chrf_signature}\n"
            f"  BLEU as in the paper, tokenized and compound-split {self.paper_bleu:.2f}  {self.paper_bleu_signature}\n"
            f"  BLEU, tokenized and lower-cased {self.lowercased_bleu:.2f}  {self.lowercased_bleu_signature}"
            + ("" if self.perplexity is None else f"\n  perplexity {self.perplexity:.3f} per piece, {COUNTED}")
        )

    def facts(self) -> dict[str, object]:
        """Return the scores as checkpoints record them, with rounded numbers."""
        digits = dict.fromkeys(("bleu", "chrf", "paper_bleu", "lowercased_bleu"), 2)
        digits |= {"perplexity": 3, "seconds": 1, "tokens_per_second": 0}
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return {name: round(value, digits[name]) if name in digits else value for name, value in known.items()}


def evaluate(
    translator: Translator,
    test_set: TestSet,
    beam_size: int = 4,
    length_penalty: float = 0.6,
    language: str = "de",
    iterations: int = 10,
) -> tuple[Score, list[str]]:
    """Translate a test set, and return its score, with BLEU of a language's tokenizers, and the translations in order.

    Raises:
        ValueError: as `Translator.translate_batch` and `Translator.score_batch`, before the search.
    """
    likelihood = perplexity(translator, test_set.pairs) if translator.config.autoregressive else None
    sources, references = ([pair[side] for pair in test_set.pairs] for side in range(2))
    began = time.perf_counter()
    with sentence_bar(test_set.name, len(sources)) as show:
        translations = translator.translate_batch(
            sources, beam_size=beam_size, length_penalty=length_penalty, progress=show, iterations=iterations
        )
    hypotheses = [translation.text for translation in translations]
    num_tokens = sum(len(translation.hypotheses[0].token_ids) for translation in translations)
    seconds = time.perf_counter() - began
    bleu, chrf = sacre_bleu(hypotheses, references, language), CHRF()
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
        perplexity=likelihood,
        beam_size=beam_size,
        length_penalty=length_penalty,
        seconds=seconds,
        tokens_per_second=num_tokens / seconds,
        date=now(),
        iterations=None if translator.config.autoregressive else iterations,
    )
    return score, hypotheses


def perplexity(translator: Translator, pairs: Sequence[tuple[str, str]]) -> float:
    """Return exp(negative log-likelihood per predicted piece) (6.2).

    The pieces of the targets and each `</s>` count; first tokens that the model or the text forces do not.
    """
    log_probs = [
        log_prob
        for (source, _), target in zip(pairs, translator.score_batch(pairs), strict=True)
        for log_prob in target.token_log_probs[translator.codec.num_forced(target.token_ids, source) :]
    ]
    return math.exp(-math.fsum(log_probs) / len(log_probs))
