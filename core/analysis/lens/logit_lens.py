"""Logit lens: the tokens that the decoder's states predict after each layer.

nostalgebraist 2020, "interpreting GPT: the logit lens": read the state x_l after layer l as if it were the last one,
with the output matrix and bias of the model, p_l = softmax(x_l W^T + b). A post-norm layer (the paper's) ends with its
own LayerNorm, and its state is read as it is; the states of a pre-norm decoder pass the final norm first. The matrix
was trained for the last layer alone, so a token that is not visible in a lower layer may still be there in another form
(the tuned lens of Belrose et al. 2023 learns that form; this one learns nothing).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from core.analysis.agreement import depth_of, require_agreement
from core.analysis.declaration import Analysis, Columns, PicturedResult, option
from core.analysis.lens.decoder_lens import EncoderLens, encoder_translations, level_places
from core.analysis.pictures import Cell, Grid
from core.analysis.tokens.words import readable, readable_all
from core.files.number_range import FROM_1
from core.files.tabular import as_columns
from core.results import Explanation
from core.text.phrases import Number, Phrase, listed, marked
from core.trace import Head, record
from core.translator import Translator


@dataclass(frozen=True)
class LogitLens(PicturedResult):
    """Most probable tokens of every decoder row after every layer.

    Level 0 is the input of the decoder, level l the state after layer l counted from 1; L + 1 levels.
    """

    explanation: Explanation  # tokens and log-probabilities of the same pass
    token_ids: Tensor  # [L + 1, T, k] most probable tokens, best first
    log_probs: Tensor  # [L + 1, T, k] their log-probabilities, in nats
    predicted_log_probs: Tensor  # [L + 1, T] log-probability of the predicted token of each row
    predicted_ranks: Tensor  # [L + 1, T] rank of the predicted token among all, from 1
    piece: Callable[[int], str]  # piece of the vocabulary by its id

    @property
    def num_layers(self) -> int:
        return len(self.token_ids) - 1

    @property
    def decided(self) -> tuple[int | None, ...]:
        """Level from which on each predicted token stays the most probable.

        None if it is not the most probable in the last layer either, as happens in a beam search or a given target.
        """
        levels: list[int | None] = []
        for ranks in self.predicted_ranks.T.tolist():
            later = [level for level, rank in enumerate(ranks) if rank != 1]
            level = later[-1] + 1 if later else 0
            levels.append(level if level < len(ranks) else None)
        return tuple(levels)

    def pictures(self, at: Head) -> tuple[Grid]:
        """The most probable token of each row after each level.

        Bold from the level on at which the predicted token stays most probable; grey where it copies the fed token.
        """
        levels, decided = range(self.num_layers + 1), self.decided
        rows = zip(*map(readable_all, (self.explanation.predicted_tokens, self.explanation.fed_tokens)), strict=True)
        grid = Grid(
            title=Phrase(marked("Most probable token after each layer of the decoder")),
            legend=Phrase(
                marked(
                    "probability of the most probable token; bold: the predicted token, from where on it stays on top; "
                    "grey: a copy of the input"
                )
            ),
            columns=[level_name(level) for level in levels],
            rows=[
                (predicted, [self._cell(row, level, predicted, fed, decided[row]) for level in levels])
                for row, (predicted, fed) in enumerate(rows)
            ],
            width=9,
        )
        return (grid,)

    def _cell(self, row: int, level: int, predicted: str, fed: str, decided: int | None) -> Cell:
        token = readable(self.piece(int(self.token_ids[level, row, 0])))
        probability, is_copy = math.exp(float(self.log_probs[level, row, 0])), token == fed != predicted
        says: str = Phrase("{token} {probability}", token=token, probability=Number(probability, ".3f"))
        if (rank := int(self.predicted_ranks[level, row])) > 1:
            own = Phrase(
                marked("{token} {probability}, rank {rank}"),
                token=predicted,
                probability=Number(math.exp(float(self.predicted_log_probs[level, row])), ".3f"),
                rank=Number(rank, ","),
            )
            says = Phrase("{first}; {rest}", first=says, rest=own)
        if is_copy:
            says = Phrase("{first}; {rest}", first=says, rest=Phrase(marked("a copy of the input")))
        is_strong = decided is not None and level >= decided
        return Cell(text=token, says=says, shade=probability, scale="greys" if is_copy else None, is_strong=is_strong)

    def answer(self, at: Head) -> str:
        """From which layers on the predicted tokens stay the most probable."""
        known = [level for level in self.decided if level is not None]
        layers = [
            Phrase("{layer}: {count}", layer=level_name(level), count=Number(known.count(level), ","))
            for level in sorted(set(known))
        ]
        found = Phrase(
            marked("Tokens decided in each layer: {layers}."),
            layers=listed(layers) if layers else Phrase(marked("none")),
        )
        if len(known) == len(self.decided):
            return found
        never = Number(len(self.decided) - len(known), ",")
        return Phrase(
            "{first} {rest}", first=found, rest=Phrase(marked("Never the most probable: {count}."), count=never)
        )

    def cell_table(self, row: int, level: int) -> Columns:
        """The most probable tokens of one cell, best first, with their probabilities."""
        return {
            "token": [readable(self.piece(token)) for token in self.token_ids[level, row].tolist()],
            "probability": self.log_probs[level, row].exp().tolist(),
        }

    def table(self) -> Columns:
        """All levels, positions and ranks, counted from 0, a row for each."""
        levels, positions, count = self.token_ids.shape
        tokens, rows = self.explanation.predicted_tokens, list[tuple[object, ...]]()
        for level, row, rank in product(range(levels), range(positions), range(count)):
            own = int(self.predicted_ranks[level, row]), float(self.predicted_log_probs[level, row])
            entry = self.piece(int(self.token_ids[level, row, rank])), float(self.log_probs[level, row, rank])
            rows.append((level, row, str(tokens[row]), *own, rank, *entry))
        names = "level", "position", "predicted", "predicted_rank", "predicted_log_prob", "rank", "piece", "log_prob"
        return as_columns(names, rows)


def level_name(level: int) -> str:
    """Name of a level: `Input`, then `L1`, `L2`, ..."""
    return f"L{level}" if level else Phrase(marked("Input"))


@torch.inference_mode()
def logit_lens(translator: Translator, source: str, target: str | Sequence[int], count: int = 10) -> LogitLens:
    """Replay a translation and read every decoder state.

    Args:
        source, target: as for `Translator.explain`.
        count: number of tokens for each state.

    Raises:
        ValueError: as `Translator.explain`.
        DisagreementError: the last level does not predict what the model does.
    """
    predicted = translator.token_ids(source, target).predicted
    with translator.inspect() as model:
        places = level_places(model, "decoder")
        with record(model, places) as states:
            explanation = translator.explain(source, target)
        levels = [
            model.project(model.decoder.output_norm(states[place][0])).float().log_softmax(-1) for place in places
        ]
    wanted = torch.tensor(predicted, device=levels[0].device)[:, None]
    best = [level.topk(min(count, level.size(-1))) for level in levels]
    own = [level.gather(1, wanted) for level in levels]  # [T, 1]
    forced = explanation.num_forced
    of_model, last = torch.tensor(explanation.log_probs)[forced:], own[-1][forced:, 0]
    require_agreement("log-probabilities from the last layer", last, of_model, depth_of(translator.config))
    ranks = [1 + (level > value).sum(-1) for level, value in zip(levels, own, strict=True)]
    return LogitLens(
        explanation,
        token_ids=torch.stack([of_level.indices for of_level in best]).cpu(),
        log_probs=torch.stack([of_level.values for of_level in best]).cpu(),
        predicted_log_probs=torch.stack(own).squeeze(-1).cpu(),
        predicted_ranks=torch.stack(ranks).cpu(),
        piece=translator.tokenizer.target.piece,
    )


@dataclass(frozen=True)
class LensOptions:
    """Options of `lens`."""

    top: int = option(3, "tokens for each state", metavar="K", type=FROM_1)
    encoder: bool = option(False, "print the translation from each encoder layer instead (DecoderLens)")
    beam_size: int = option(4)
    length_penalty: float = option(0.6)


def lens(
    translator: Translator, source: str, target: str | Sequence[int], options: LensOptions = LensOptions()
) -> LogitLens | EncoderLens:
    """Predictions of every decoder layer, or the translation from every encoder layer.

    Raises:
        ValueError: as `Translator.explain`.
    """
    if options.encoder:
        return EncoderLens(encoder_translations(translator, source, options.beam_size, options.length_penalty))
    return logit_lens(translator, source, target, options.top)


LENS = Analysis("lens", "print the tokens that every layer predicts", lens, LensOptions)
