"""A sentence, or the heads, at every snapshot of a training run: the command `over-training`."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.analysis.declaration import Analysis, Columns, PicturedResult, option
from core.analysis.over_training import snapshot_reading
from core.analysis.over_training.history.snapshots import History, open_history
from core.analysis.over_training.roles import SCORES, TOLERANCE, Developments, developments
from core.analysis.pictures import Picture
from core.analysis.subject import Subject
from core.decoding.states import BEAM_SIZES, LENGTH_PENALTIES
from core.files.number_range import NumberRange
from core.text.phrases import Number, Phrase, marked
from core.trace import Head, Kind

TOLERANCES = NumberRange(float, 0, 1)  # as the scores


@dataclass(frozen=True)
class OverTrainingOptions:
    """Options of `over-training`.

    Raises:
        ValueError: a value is out of range, or two tables are asked for.
    """

    beam_size: int = option(4, "beam size", type=BEAM_SIZES)
    length_penalty: float = option(0.6, "length penalty", metavar="ALPHA", type=LENGTH_PENALTIES)
    score: str | None = option(
        None, "print this score of every head, and its role, instead of the translations", choices=tuple(SCORES)
    )
    lens: bool = option(False, "print the token that each layer would predict, instead of the translations")
    tolerance: float = option(
        TOLERANCE, "distance from its last value within which a score counts as settled", type=TOLERANCES
    )

    def __post_init__(self) -> None:
        TOLERANCES.check("tolerance", self.tolerance)
        if self.lens and self.score is not None:
            raise ValueError(f"lens and score {self.score} are two tables: give one of them")


@dataclass(frozen=True)
class FollowedSentence(PicturedResult):
    """A sentence at all snapshots, in the order of the training.

    `log_prob`, lens and scores are of the translation of the last snapshot, which is fed to all snapshots.
    """

    readings: Sequence[snapshot_reading.SnapshotReading]
    options: OverTrainingOptions

    def table(self) -> Columns:
        """Translations, the scores of all heads, or the logit lens, at every snapshot."""
        if heads := self._heads(None):
            return heads.table()
        if self.options.lens:
            tables = [(each.step, each.lens.table()) for each in self.readings]
            columns = {name: [value for _, table in tables for value in table[name]] for name in tables[0][1]}
            return {"step": [step for step, table in tables for _ in table["level"]], **columns}
        return {
            "step": [each.step for each in self.readings],
            "translation": [each.translation.text for each in self.readings],
            "log_prob": [each.log_prob for each in self.readings],
        }

    def pictures(self, at: Head) -> tuple[Picture, ...]:
        """Roles and scores of the heads of a kind, or how probable each layer finds the last translation."""
        return heads.pictures(at) if (heads := self._heads(at.kind)) else (snapshot_reading.level_grid(self.readings),)

    def answer(self, at: Head) -> Phrase:
        """When the heads have their roles, or how many snapshots translate the sentence as the last one."""
        if heads := self._heads(at.kind):
            return heads.answer(at)
        texts = [each.translation.text for each in self.readings]
        return Phrase(
            marked("{count} of {all} snapshots have the last translation, the first of them at step {step}."),
            count=str(texts.count(texts[-1])),
            all=str(len(texts)),
            step=Number(self.readings[texts.index(texts[-1])].step, ","),
        )

    def _heads(self, kind: Kind | None) -> Developments | None:
        if self.options.score is None:
            return None
        steps, cards = [each.step for each in self.readings], snapshot_reading.sentence_cards(self.readings)
        return developments(steps, cards, self.options.score, self.options.tolerance, kind)


def follow_sentence(
    history: History, source: str, options: OverTrainingOptions = OverTrainingOptions()
) -> FollowedSentence:
    """Translate a sentence with every snapshot, and replay the translation of the last one.

    Raises:
        CheckpointError: a snapshot cannot be used.
        ValueError: as `read_snapshot`.
    """
    search = options.beam_size, options.length_penalty
    target = snapshot_reading.last_target(history, source, *search)
    return FollowedSentence(snapshot_reading.read_snapshots(history, source, target, *search), options)


def _add_training(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--history", type=Path, required=True, metavar="PATH", help="a run's folder, or a file of `train history`"
    )
    parser.add_argument("--text", required=True, help="the sentence to translate")


OVER_TRAINING = Analysis(
    "over-training",
    "print the translations of a sentence by all snapshots of a training run, or the scores of their heads",
    follow_sentence,
    OverTrainingOptions,
    Subject(_add_training, lambda arguments: (open_history(arguments.history), arguments.text)),
)
