"""Lexicon of cross-attention heads: the tokens that they promote for a source token.

The OV circuit of Elhage et al. 2021. At attention weight 1, a head h that attends to encoder position j writes

    f_h(m_j) = (m_j W_V + b_V) W_O

into the residual stream. Read through the norms that follow and through the embedding matrix, this vector has a score
for every token of the vocabulary. The norms divide by one number per decoder row, so the order of the scores is the
same in every row: it belongs to the head and to the source token in this sentence, not to the row. Scores are given as
standard deviations above the mean over the vocabulary, because a constant added to all logits changes nothing.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from core.analysis.attribution.logit_trace import AttentionWrite, LogitTrace, trace_logits
from core.analysis.declaration import FIRST, Analysis, Columns, PicturedResult, option
from core.analysis.linear_norm import FrozenNorm
from core.analysis.pictures import Cell, Dot, Dots, Grid
from core.analysis.tokens.words import readable, readable_all
from core.files.number_range import FROM_1
from core.files.tabular import as_columns
from core.text.byte_pieces import is_special
from core.text.phrases import Number, Phrase, marked, numbers
from core.trace import Head, parse_head
from core.translator import Translator


class Agreement(NamedTuple):
    """Agreement of the vectors that a cross-attention head writes with the translation."""

    head: Head
    # mean over the predicted tokens, special ones left out, of 1 / rank of the token among all that the head promotes
    # in its row: 1 if it is always the first
    reciprocal_rank: float
    first: float  # share of these tokens that are the first


@dataclass(frozen=True)
class Lexicon(PicturedResult):
    """Tokens that a cross-attention head promotes most for each source token."""

    head: Head
    entries: tuple[tuple[tuple[int, float], ...], ...]  # for each source token pairs of token id and score, best first
    source_tokens: Sequence[str]
    piece: Callable[[int], str]  # piece of the vocabulary by its id

    @property
    def pieces(self) -> list[list[str]]:
        """The pieces that are promoted for each source token, best first."""
        return [[self.piece(token_id) for token_id, _ in entries] for entries in self.entries]

    def table(self) -> Columns:
        """A row for each source token and each piece that the head promotes for it."""
        rows = (
            (key, str(self.source_tokens[key]), rank, self.piece(token_id), score)
            for key, of_key in enumerate(self.entries)
            for rank, (token_id, score) in enumerate(of_key)
        )
        return as_columns(("key", "key_token", "rank", "piece", "score"), rows)

    def pictures(self, at: Head = FIRST) -> tuple[Grid]:
        """A row for each source token, with its pieces coloured by their scores."""
        most = max(score for of_key in self.entries for _, score in of_key)

        def cells(pieces: Sequence[str], scores: Sequence[float]) -> list[Cell]:
            texts = zip(readable_all(pieces), numbers(scores, ".2f"), scores, strict=True)
            return [Cell(text=text, says=says, shade=score / most) for text, says, score in texts]

        grid = Grid(
            title=Phrase(marked("Lexicon of {head}"), head=self.head.title),
            legend=Phrase(marked("standard deviations above the mean of all pieces")),
            ends=("0", Number(most, ".1f")),
            columns=[str(rank + 1) for rank in range(len(self.entries[0]))],
            rows=[
                (token, cells(pieces, [score for _, score in entries]))
                for token, pieces, entries in zip(
                    readable_all(self.source_tokens), self.pieces, self.entries, strict=True
                )
            ],
            width=10,
        )
        return (grid,)

    def answer(self, at: Head = FIRST) -> str:
        """The piece that the head promotes most strongly."""
        key = max(range(len(self.entries)), key=lambda key: self.entries[key][0][1])
        return Phrase(
            marked("{head} promotes \u201c{piece}\u201d most strongly, where it attends to \u201c{token}\u201d."),
            head=self.head.title,
            piece=readable(self.pieces[key][0]),
            token=readable(self.source_tokens[key]),
        )


@dataclass(frozen=True)
class LexiconRanking(PicturedResult):
    """Cross-attention heads by the agreement of their lexicons with the translation, best first."""

    heads: Sequence[Agreement]

    def table(self) -> Columns:
        """A row for each head, best first."""
        rows = ((each.head.layer, each.head.head, each.reciprocal_rank, each.first) for each in self.heads)
        return as_columns(("layer", "head", "reciprocal_rank", "first"), rows)

    def pictures(self, at: Head = FIRST) -> tuple[Dots]:
        """The agreement of each head."""
        said = numbers([each.reciprocal_rank for each in self.heads], ".3f")
        dots = [
            Dot(head=each.head, value=each.reciprocal_rank, says=says)
            for each, says in zip(self.heads, said, strict=True)
        ]
        title, num_layers = Phrase(marked("Agreement")), 1 + max(each.head.layer for each in self.heads)
        return (Dots(title=title, axis=title, dots=dots, num_layers=num_layers),)

    def answer(self, at: Head = FIRST) -> str:
        """The head whose lexicon agrees best."""
        best = self.heads[0]
        return Phrase(
            marked("{head} agrees best with the translation: it ranks {first} of its tokens first."),
            head=best.head.title,
            first=Number(best.first, ".0%"),
        )


@torch.inference_mode()
def head_lexicon(trace: LogitTrace, head: Head, count: int = 5) -> Lexicon:
    """Lexicon of a cross-attention head, `count` tokens for each source token.

    Raises:
        ValueError: the decoder has no such cross-attention head.
    """
    place = _place(trace, head)
    write = trace.stream[place]
    assert isinstance(write, AttentionWrite)
    vectors = write.values[head.head] @ write.output_matrix[:, head.head].T  # [S, D]
    logits = _read(trace, place, vectors) @ trace.unembedding.T
    scores = (logits - logits.mean(-1, keepdim=True)) / logits.std(-1, keepdim=True)
    best = scores.topk(min(count, scores.size(-1)))
    entries = tuple(
        tuple(zip(ids, values, strict=True))
        for ids, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    )
    return Lexicon(head, entries, trace.explanation.source_tokens, trace.piece)


@torch.inference_mode()
def rank_lexicons(trace: LogitTrace) -> LexiconRanking:
    """Agreement of every cross-attention head with the translation, best first.

    In row t a head writes sum_j a_tj f_h(m_j); the agreement is in the rank of the predicted token there. It is low for
    a head that does not translate, which may do other work.
    """
    tokens = trace.explanation.predicted_tokens
    rows = [row for row, token in enumerate(tokens) if not is_special(token)] or list(range(len(tokens)))
    predicted = torch.tensor([trace.predicted_ids[row] for row in rows], device=trace.logits.device)[:, None]
    agreements: list[Agreement] = []
    for place, write in enumerate(trace.stream):
        if not isinstance(write, AttentionWrite) or write.kind != "cross":
            continue
        mixed = write.weights[:, rows] @ write.values  # [H, rows, d_v]
        read = _read(trace, place, mixed @ write.output_matrix.permute(1, 2, 0))  # [H, rows, D]
        for head, vectors in enumerate(read):
            logits = vectors @ trace.unembedding.T  # [rows, V], of one head: those of all may not fit into memory
            ranks = 1 + (logits > logits.gather(1, predicted)).sum(1)
            mean, first = (1 / ranks.double()).mean(), (ranks == 1).double().mean()
            agreements.append(Agreement(Head("cross", write.layer, head), float(mean), float(first)))
    return LexiconRanking(sorted(agreements, key=lambda agreement: -agreement.reciprocal_rank))


def _place(trace: LogitTrace, head: Head) -> int:
    """Index of the head's write in the stream."""
    for place, write in enumerate(trace.stream):
        if not isinstance(write, AttentionWrite) or (write.kind, write.layer) != ("cross", head.layer):
            continue
        if head.kind == "cross" and 0 <= head.head < write.weights.size(0):
            return place
    raise ValueError(
        f"there is no head {head}, counted from 1: a lexicon belongs to a head of cross-attention, in layers L1 to "
        f"L{trace.num_layers}"
    )


def _read(trace: LogitTrace, place: int, vectors: Tensor) -> Tensor:
    """What the unembedding reads of vectors written at one place, up to a positive factor: [..., D] float32."""
    for step in trace.stream[place + 1 :]:
        if isinstance(step, FrozenNorm):
            vectors = step.unscaled(vectors)
    return vectors.float()


def parsed_head(name: str) -> Head:
    """Parse a cross-attention head such as `L4 H3`, counted from 1.

    Raises:
        ValueError: the name is not that of a head.
    """
    with suppress(ValueError):
        head = parse_head(name, "cross")
        if head.kind == "cross":
            return head
    raise ValueError(f"--head ({name}) must be a head such as 'L4 H3', counted from 1")


@dataclass(frozen=True)
class LexiconOptions:
    """Options of `lexicon`."""

    head: Head | None = option(
        None,
        "a head such as 'L4 H3', counted from 1: print its lexicon instead of the ranking",
        metavar="NAME",
        type=str,
        parse=parsed_head,
    )
    top: int = option(5, "pieces for each source token", type=FROM_1)


def lexicon(
    translator: Translator, source: str, target: str | Sequence[int], options: LexiconOptions = LexiconOptions()
) -> Lexicon | LexiconRanking:
    """The lexicon of one head, or all heads by the agreement of theirs with the translation.

    Raises:
        ValueError: as `Translator.explain`, or there is no such head.
    """
    trace = trace_logits(translator, source, target)
    if options.head is None:
        return rank_lexicons(trace)
    return head_lexicon(trace, options.head, options.top)


LEXICON = Analysis(
    "lexicon",
    "print the target pieces that cross-attention heads promote for each source token",
    lexicon,
    LexiconOptions,
)
