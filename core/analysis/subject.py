"""Subjects of analyses: a sentence and its translation, a model, or nothing that is given beforehand."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from core.decoding.states import BEAM_SIZES, LENGTH_PENALTIES
from core.files.number_range import COUNTED_FROM_1
from core.results import Explanation
from core.translator import Translator


class Sentence(NamedTuple):
    """A sentence with its translation, the first three arguments of many analyses."""

    translator: Translator
    source: str
    target: str | Sequence[int]


@dataclass(frozen=True)
class Subject:
    """The subject of an analysis: the arguments of the command line that select it, and the function that opens it."""

    add_arguments: Callable[[argparse.ArgumentParser], None]
    open: Callable[[argparse.Namespace], tuple[Any, ...]]


def _add_sentence(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--checkpoint", type=Path, required=True, help="the model")
    parser.add_argument("--text", required=True, help="the sentence to translate")
    parser.add_argument("--target", help="a translation to explain instead of the model's own")
    parser.add_argument("--beam-size", type=BEAM_SIZES, default=4, help="beam size; 1 is greedy search")
    parser.add_argument(
        "--length-penalty",
        type=LENGTH_PENALTIES,
        default=0.6,
        metavar="ALPHA",
        help="exponent of the length penalty; 0 for none",
    )


def _open_sentence(options: argparse.Namespace) -> Sentence:
    translator = Translator.from_checkpoint(options.checkpoint)
    return Sentence(translator, options.text, sentence_target(translator, options))


def sentence_target(translator: Translator, options: argparse.Namespace) -> str | Sequence[int]:
    """The target of `--target`, or the best translation of a search.

    Raises:
        ValueError: as `Translator.translate`.
    """
    if options.target is not None:
        return options.target
    return translator.translate(options.text, options.beam_size, options.length_penalty).hypotheses[0].token_ids


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--checkpoint", type=Path, required=True, help="the model")


def _add_two_models(parser: argparse.ArgumentParser) -> None:
    _add_model(parser)
    parser.add_argument("--other", type=Path, required=True, help="the model that is compared with it")


def _open_two_models(options: argparse.Namespace) -> tuple[Translator, Translator]:
    return Translator.from_checkpoint(options.checkpoint), Translator.from_checkpoint(options.other)


def explained(translator: Translator, text: str, target: str | Sequence[int] | None = None) -> Explanation:
    """The explanation of a translation, by default the model's own.

    Raises:
        ValueError: as `Translator.translate`.
    """
    return translator.explain(text, translator.translate(text).hypotheses[0].token_ids if target is None else target)


SENTENCE = Subject(_add_sentence, _open_sentence)
EXPLAINED = Subject(_add_sentence, lambda options: (explained(*_open_sentence(options)),))
MODEL = Subject(_add_model, lambda options: (Translator.from_checkpoint(options.checkpoint),))
TWO_MODELS = Subject(_add_two_models, _open_two_models)
NOTHING = Subject(lambda parser: None, lambda options: ())


def predicted_position(sentence: Sentence, number: int, name: str = "--token") -> int:
    """Index of a predicted token that is counted from 1 on the command line.

    Raises:
        ValueError: there is no such token.
    """
    translator, source, target = sentence
    tokens = translator.codec.pieces(translator.token_ids(source, target).predicted)
    if not 1 <= number <= len(tokens):
        names = " ".join(f"{position}:{token}" for position, token in enumerate(tokens, start=1))
        raise ValueError(f"{name} ({number}) must be one of the {len(tokens)} predicted tokens: {names}")
    return number - 1


def piece_id(sentence: Sentence, piece: str) -> int:
    """Id of a piece of the target vocabulary.

    Raises:
        ValueError: there is no such piece.
    """
    return sentence.translator.tokenizer.target.token_id(piece)


# arguments of `option`
PIECE: dict[str, Any] = {"type": str, "read": piece_id}
PREDICTED_TOKEN: dict[str, Any] = {
    "help": "number of the predicted token, counted from 1",
    "type": COUNTED_FROM_1,
    "read": predicted_position,
}


def check_position(position: int, num_predicted: int) -> None:
    """Check that there is a predicted token at a position, counted from 0.

    Raises:
        ValueError: there is none.
    """
    if not 0 <= position < num_predicted:
        raise ValueError(
            f"position {position} is not one of the {num_predicted} predicted tokens: give 0 to {num_predicted - 1}"
        )
