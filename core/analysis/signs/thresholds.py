"""The analysis `sign-thresholds`: from which value on each sign of a bad translation fires, for one model.

Nobody annotates anything: the model translates a sample of sentences, and each translation is damaged in the way that
the sign is for. A sign fires from the value on that `CAUGHT` of the damaged translations reach.

    detached    the translation of the next sentence
    repetition  a word in the middle of the translation follows three more times
    numbers     the first number of the translation has another last digit
    doubtful    the translation of the next sentence
    left_out    the translation of the source without one of the spans of `core.analysis.signs.left_out`

A model for which a sign also fires on more than `MOST_OWN` of its undamaged translations has no threshold for it. The
thresholds of a checkpoint are in a file beside it, which names it by its digest.
"""

import dataclasses
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from core.analysis.declaration import Analysis, Columns, option, print_table
from core.analysis.sample_sentences import SAMPLE
from core.analysis.signs.left_out import left_out, spans
from core.analysis.signs.pair_signs import SIGNS, Pair, SignName, pair_signs
from core.analysis.subject import MODEL
from core.analysis.unfamiliar_source import source_familiarity
from core.files.file_writing import check_folder_of, file_digest, write_text
from core.files.strict_json import json_text, read_json
from core.text.text_files import read_text, split_lines
from core.translator import Translator

SUFFIX = ".signs.json"
FORMAT, VERSION = "headlight-sign-thresholds", 1
CAUGHT = 0.9  # of the damaged translations
MOST_OWN = 0.1  # of the undamaged ones
LEAST_SENTENCES = 8
MOST_SENTENCES = 500
SHIPPED_SAMPLE = "the shipped sample"
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Threshold:
    """Threshold of one sign.

    Attributes:
        value: from which the sign fires; None: it does not tell this model's damaged translations from others.
        damaged: number of damaged translations.
        own: share of the undamaged ones that reach the value.
    """

    value: float | None
    damaged: int
    own: float


@dataclass(frozen=True)
class SignThresholds:
    """Thresholds of a model.

    Attributes:
        sample: name of the sample.
        sentences: their number.
        digest: SHA-256 of the checkpoint in hexadecimal; "" if unknown.
    """

    signs: Mapping[SignName, Threshold]
    sample: str
    sentences: int
    digest: str = ""

    def __getitem__(self, name: SignName) -> float | None:
        return self.signs[name].value

    def table(self) -> Columns:
        """A row for each sign."""
        found = [self.signs[name] for name in SIGNS]
        return {
            "sign": list(SIGNS),
            "threshold": ["" if each.value is None else f"{each.value:.4f}" for each in found],
            "damaged": [each.damaged for each in found],
            "own_share": [f"{each.own:.3f}" for each in found],
        }


def measure_thresholds(
    translator: Translator, sentences: Sequence[str] = SAMPLE, sample: str = SHIPPED_SAMPLE
) -> SignThresholds:
    """Measure the thresholds of a model.

    Raises:
        ValueError: as `threshold_steps`.
    """
    *_, last = threshold_steps(translator, sentences, sample)
    assert isinstance(last, SignThresholds)
    return last


def threshold_steps(
    translator: Translator, sentences: Sequence[str] = SAMPLE, sample: str = SHIPPED_SAMPLE
) -> Iterator[int | SignThresholds]:
    """As `measure_thresholds`, sentence by sentence: yields 1 for each, and the thresholds last.

    Raises:
        ValueError: the model does not predict one token after the other, there are too few sentences or too many, or
            most are not in the language that the model translates from.
    """
    translator.require_autoregressive("the signs of a bad translation")
    if not LEAST_SENTENCES <= len(sentences) <= MOST_SENTENCES:
        raise ValueError(
            f"the sample has {len(sentences)} sentences, expected {LEAST_SENTENCES} to {MOST_SENTENCES}: give others"
        )
    texts, own, foreign = list[str](), list[Pair](), 0
    values: dict[SignName, list[float]] = {name: [] for name in SIGNS}
    wrong: dict[SignName, list[float]] = {name: [] for name in SIGNS}
    for number, source in enumerate(sentences):
        best = translator.translate(source, num_hypotheses=1)
        familiar = source_familiarity(translator, best)
        foreign += familiar.is_copied or familiar.is_unknown
        texts.append(best.text)
        own.append((source, best.hypotheses[0].token_ids))
        values["left_out"].append(left_out(translator, *own[-1]).value)
        if (shorter := _without_span(translator, source, number)) is not None:
            wrong["left_out"].append(left_out(translator, source, translator.translate(shorter).text).value)
        yield 1
    if foreign > len(sentences) / 2:
        raise ValueError(
            f"{foreign} of the {len(sentences)} sentences of {sample} are not in the language that this model "
            f"translates from: give it sentences in that language"
        )
    for signs in pair_signs(translator, own):
        for name, sign in signs.items():
            values[name].append(sign.value)
    swapped: list[Pair] = [(source, texts[(number + 1) % len(texts)]) for number, source in enumerate(sentences)]
    damage: dict[SignName, list[Pair]] = {
        "detached": swapped,
        "repetition": [(source, repeated(text)) for source, text in zip(sentences, texts, strict=True)],
        "numbers": [
            (source, other_number(text)) for source, text in zip(sentences, texts, strict=True) if _NUMBER.search(text)
        ],
        "doubtful": swapped,
    }
    for name, pairs in damage.items():
        wrong[name] = [signs[name].value for signs in pair_signs(translator, pairs)]
    yield SignThresholds({name: threshold(values[name], wrong[name]) for name in SIGNS}, sample, len(sentences))


def threshold(own: Sequence[float], damaged: Sequence[float]) -> Threshold:
    """The largest value that `CAUGHT` of the damaged translations reach, unless too many of the others reach it too."""
    if not damaged:
        return Threshold(None, 0, 0.0)
    value = sorted(damaged, reverse=True)[math.ceil(CAUGHT * len(damaged)) - 1]
    share = sum(each >= value for each in own) / len(own)
    return Threshold(value if share <= MOST_OWN and math.isfinite(value) else None, len(damaged), share)


def repeated(text: str) -> str:
    """A translation in which a word in the middle follows three more times."""
    words = text.split()
    middle = len(words) // 2
    return " ".join([*words[:middle], *words[middle : middle + 1] * 4, *words[middle + 1 :]])


def other_number(text: str) -> str:
    """A translation whose first number has another last digit."""
    return _NUMBER.sub(lambda found: f"{found[0][:-1]}{(int(found[0][-1]) + 3) % 10}", text, count=1)


def _without_span(translator: Translator, source: str, number: int) -> str | None:
    """A source without one of the spans that can be left out, a different one by the number; None if there is none."""
    places = translator.source_spans(source)
    found = spans(translator.source_pieces(translator.source_ids(source)))
    if not found:
        return None
    known = [place for token in found[number * 7 % len(found)] if (place := places[token]) is not None]
    shorter = source[: known[0][0]] + source[known[-1][1] :] if known else ""
    return shorter if shorter.strip() else None


# --- files ----------------------------------------------------------------------------------------------------------


def thresholds_beside(checkpoint: Path) -> Path:
    """Path where the thresholds of a checkpoint are looked for."""
    return checkpoint.with_name(checkpoint.name.removesuffix(".safetensors") + SUFFIX)


def save_thresholds(path: Path, thresholds: SignThresholds) -> None:
    """Write thresholds atomically.

    Raises:
        OSError: the file cannot be written.
    """
    content = {"format": FORMAT, "version": VERSION, **dataclasses.asdict(thresholds)}
    write_text(path, json_text(content, indent=1) + "\n")


def load_thresholds(path: Path, digest: str) -> SignThresholds:
    """Read thresholds of a checkpoint.

    Raises:
        ValueError: the file is damaged, of a later version, or of another checkpoint.
        OSError: it cannot be read.
    """
    content = read_json(path)
    if (content.get("format"), content.get("version")) != (FORMAT, VERSION):
        raise ValueError(
            f"{path} has the format {content.get('format')!r} {content.get('version')!r}, expected {FORMAT} {VERSION}: "
            f"write it again with python -m core sign-thresholds"
        )
    try:
        signs: dict[SignName, Threshold] = {name: _threshold(content["signs"][name]) for name in SIGNS}
        thresholds = SignThresholds(
            signs, str(content["sample"]), int(content["sentences"]), digest=str(content["digest"])
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is damaged ({type(error).__name__}: {error}): write it again with python -m core sign-thresholds"
        ) from error
    if thresholds.digest != digest:
        raise ValueError(
            f"{path} has the thresholds of another checkpoint ({thresholds.digest[:8]}), this one is {digest[:8]}: "
            f"write it again with python -m core sign-thresholds"
        )
    return thresholds


def _threshold(content: Any) -> Threshold:
    value = content["value"]
    value = None if value is None else float(value)
    if value is not None and not math.isfinite(value):
        raise ValueError(f"a threshold is {value}")
    return Threshold(value, int(content["damaged"]), float(content["own"]))


# --- the command ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ThresholdOptions:
    """Options of `sign-thresholds`."""

    checkpoint: Path = option(help="the model")
    input: Path | None = option(
        None,
        "sentences, one per line; what follows a tab is skipped (default: the shipped sample, which is English)",
        metavar="FILE",
    )
    output: Path | None = option(
        None, f"the thresholds (default: beside the model, its name with {SUFFIX})", metavar="FILE", flag="-o"
    )


def sign_thresholds(translator: Translator, options: ThresholdOptions) -> SignThresholds:
    """Measure the thresholds of a checkpoint; progress is shown on stderr.

    Raises:
        ValueError: as `threshold_steps`, or the input is invalid.
        OSError: a file cannot be read.
    """
    check_folder_of(options.output or options.checkpoint)
    sentences: Sequence[str] = SAMPLE
    if options.input is not None:
        sources = (line.split("\t")[0].strip() for line in split_lines(read_text(options.input)))
        sentences = [source for source in sources if source]
    name = options.input.name if options.input else SHIPPED_SAMPLE
    with tqdm(total=len(sentences), unit=" sentences", file=sys.stderr) as bar:
        for step in threshold_steps(translator, sentences, name):
            if isinstance(step, SignThresholds):
                return dataclasses.replace(step, digest=file_digest(options.checkpoint))
            bar.update(step)
    raise AssertionError("the steps end with the thresholds")


def _write(thresholds: SignThresholds, options: ThresholdOptions) -> None:
    """Write the file, and print the thresholds as CSV.

    Raises:
        OSError: the file cannot be written.
    """
    save_thresholds(options.output or thresholds_beside(options.checkpoint), thresholds)
    print_table(thresholds, options)


SIGN_THRESHOLDS = Analysis(
    "sign-thresholds",
    "measure from which value on the signs of a bad translation fire, on the model's own translations of a sample",
    sign_thresholds,
    ThresholdOptions,
    MODEL,
    write=_write,
)
