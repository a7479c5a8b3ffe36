"""The analysis `sign-thresholds`: from which value on each sign of a bad translation fires, for one model.

Nobody annotates anything: the model translates a sample of sentences, and each translation is damaged in the way that
the sign is for. A sign fires from the value on that `CAUGHT` of the damaged translations reach.

    detached    the translation of the next sentence
    repetition  a word in the middle of the translation follows three more times
    doubtful    the translation of the next sentence
    left_out    the translation of the source without one of the spans of `core.analysis.signs.left_out`

A model for which a sign also fires on more than `MOST_OWN` of its undamaged translations has no threshold for it. The
signs of the two texts alone have the same thresholds for all models (`core.analysis.signs.text_signs`).

On sentences with right translations, `core.analysis.signs.rates` measures how often each sign fires. Of translations
that are not the model's own, a sign is not offered that fires on more than `MOST_RIGHT` of the right ones; nor is
`doubtful` before this was measured, as right words that the model would not have chosen are doubtful to it.

The thresholds of a checkpoint and its rates are in a file beside it, which names it by its digest.
"""

import dataclasses
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tqdm import tqdm

from core.analysis.corpus.index_file import index_beside
from core.analysis.declaration import FIRST, Analysis, Columns, PicturedResult, option, print_table
from core.analysis.sample_sentences import SAMPLE
from core.analysis.signs.left_out import left_out, spans
from core.analysis.signs.pair_signs import SIGNS, Pair, SignName, pair_signs
from core.analysis.signs.rates import SAMPLED, Rates, rate_steps, read_pairs, read_rates
from core.analysis.signs.text_signs import TEXT_SIGNS, THRESHOLDS
from core.analysis.subject import MODEL
from core.analysis.unfamiliar_source import SourceLanguage, language_by_index, source_problem
from core.files.file_writing import check_folder_of, file_digest, write_text
from core.files.number_range import FROM_1
from core.files.strict_json import json_text, read_json
from core.text.phrases import Number, Phrase, marked
from core.text.text_files import read_text, split_lines
from core.trace import Head
from core.translator import Translator

SUFFIX = ".signs.json"
FORMAT, VERSION = "headlight-sign-thresholds", 2
CAUGHT = 0.9  # of the damaged translations
MOST_OWN = 0.1  # of the undamaged ones
MOST_RIGHT = 0.05  # of the right translations of people
LEAST_SENTENCES = 8
MOST_SENTENCES = 500
SHIPPED_SAMPLE = "the shipped sample"


@dataclass(frozen=True)
class Threshold:
    """Threshold of one sign."""

    # from which the sign fires; None: it does not tell this model's damaged translations from others
    value: float | None
    damaged: int  # number of damaged translations; 0 of a sign of the texts alone
    own: float  # share of the undamaged ones that reach the value


@dataclass(frozen=True)
class SignThresholds(PicturedResult):
    """Thresholds of a model."""

    signs: Mapping[SignName, Threshold]
    sample: str  # name of the sample
    sentences: int  # their number
    digest: str = ""  # SHA-256 of the checkpoint in hexadecimal; "" if unknown
    # of each set of right translations, by its name; none if none was given
    rates: Mapping[str, Rates] = field(default_factory=dict[str, Rates])

    def __getitem__(self, name: SignName) -> float | None:
        return self.signs[name].value

    def values(self) -> dict[SignName, float | None]:
        """The threshold of each sign."""
        return {name: self[name] for name in SIGNS}

    def share(self, name: SignName, of: Literal["own", "right"]) -> float | None:
        """Share of all measured translations on which a sign fires; None if there are none."""
        rates = [rates[name].own if of == "own" else rates[name].right for rates in self.rates.values()]
        count = sum(each.translations for each in rates)
        return sum(each.fired for each in rates) / count if count else None

    def is_offered(self, name: SignName, given: bool) -> bool:
        """Whether a sign says something of a translation, which may be given and not be the model's own."""
        share = self.share(name, "right")
        return self[name] is not None and not (given and (name == "doubtful" if share is None else share > MOST_RIGHT))

    def withheld(self) -> list[SignName]:
        """Signs that are offered for the model's own translations alone."""
        return [name for name in SIGNS if self.is_offered(name, given=False) > self.is_offered(name, given=True)]

    def offered(self, given: bool) -> "SignThresholds":
        """Without the thresholds of signs that are not offered, see `is_offered`."""
        return dataclasses.replace(
            self,
            signs={
                name: each if self.is_offered(name, given) else dataclasses.replace(each, value=None)
                for name, each in self.signs.items()
            },
        )

    def table(self) -> Columns:
        """A row for each sign."""
        found = [self.signs[name] for name in SIGNS]
        return {
            "sign": list(SIGNS),
            "threshold": ["" if each.value is None else f"{each.value:.4f}" for each in found],
            "damaged": [each.damaged for each in found],
            "own_share": [f"{each.own:.3f}" for each in found],
            **{f"fires_on_{of}": [_shown(self.share(name, of)) for name in SIGNS] for of in ("own", "right")},
            "for_given": ["yes" if self.is_offered(name, given=True) else "no" for name in SIGNS],
        }

    def answer(self, at: Head = FIRST) -> str:
        """What they were measured on."""
        return Phrase(
            marked("Thresholds from the model's own translations of {sentences} sentences."),
            sentences=Number(self.sentences, ","),
        )


def _shown(share: float | None) -> str:
    return "" if share is None else f"{share:.4f}"


# Of a model that nothing was measured of: the signs of the texts alone.
_NONE: dict[SignName, Threshold] = dict.fromkeys(SIGNS, Threshold(None, 0, 0.0))
_FIXED: dict[SignName, Threshold] = {name: Threshold(THRESHOLDS[name], 0, 0.0) for name in TEXT_SIGNS}
UNMEASURED = SignThresholds(_NONE | _FIXED, "", 0)


def measure_thresholds(
    translator: Translator,
    sentences: Sequence[str] = SAMPLE,
    sample: str = SHIPPED_SAMPLE,
    language: SourceLanguage | None = None,
) -> SignThresholds:
    """Measure the thresholds of a model, in whose language the sentences must be if that is known.

    Raises:
        ValueError: as `threshold_steps`.
    """
    *_, last = threshold_steps(translator, sentences, sample, language)
    assert isinstance(last, SignThresholds)
    return last


def threshold_steps(
    translator: Translator, sentences: Sequence[str], sample: str, language: SourceLanguage | None
) -> Iterator[int | SignThresholds]:
    """As `measure_thresholds`, sentence by sentence: yields 1 for each, and the thresholds last.

    Raises:
        ValueError: the model does not predict one token after the other, there are too few sentences or too many, or
            most are not in the language that the model translates from.
    """
    translator.codec.require_autoregressive("the signs of a bad translation")
    if not LEAST_SENTENCES <= len(sentences) <= MOST_SENTENCES:
        raise ValueError(
            f"the sample has {len(sentences)} sentences, expected {LEAST_SENTENCES} to {MOST_SENTENCES}: give others"
        )
    texts, own, foreign = list[str](), list[Pair](), 0
    values: dict[SignName, list[float]] = {name: [] for name in SIGNS}
    wrong: dict[SignName, list[float]] = {name: [] for name in SIGNS}
    for number, source in enumerate(sentences):
        best = translator.translate(source, num_hypotheses=1)
        foreign += source_problem(best, language) in ("unknown", "other_language")
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
        "doubtful": swapped,
    }
    for name, pairs in damage.items():
        wrong[name] = [signs[name].value for signs in pair_signs(translator, pairs)]
    found: dict[SignName, Threshold] = {name: threshold(values[name], wrong[name]) for name in SIGNS}
    for name in TEXT_SIGNS:
        fired = sum(value >= THRESHOLDS[name] for value in values[name])
        found[name] = Threshold(THRESHOLDS[name], 0, fired / len(sentences))
    yield SignThresholds(found, sample, len(sentences))


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


def _without_span(translator: Translator, source: str, number: int) -> str | None:
    """A source without one of the spans that can be left out, a different one by the number; None if there is none."""
    places = translator.codec.source_spans(source)
    found = spans(translator.codec.source_pieces(translator.codec.source_ids(source)))
    if not found:
        return None
    known = [place for token in found[number * 7 % len(found)] if (place := places[token]) is not None]
    shorter = source[: known[0][0]] + source[known[-1][1] :] if known else ""
    return shorter if shorter.strip() else None


# --- files ----------------------------------------------------------------------------------------------------------


def thresholds_beside(checkpoint: Path) -> Path:
    """Path where the thresholds of a checkpoint are looked for."""
    return checkpoint.parent / (checkpoint.name.removesuffix(".safetensors") + SUFFIX)  # "." has no name


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
        rates = {str(of): read_rates(each) for of, each in content["rates"].items()}
        thresholds = SignThresholds(
            signs, str(content["sample"]), int(content["sentences"]), str(content["digest"]), rates
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is damaged ({type(error).__name__}: {error}): write it again with python -m core sign-thresholds"
        ) from error
    if thresholds.digest != digest:
        raise ValueError(
            f"{path} has the thresholds of another checkpoint ({thresholds.digest[:8]}), this one is {digest[:8]}: "
            f"write it again with python -m core sign-thresholds"
        )
    return thresholds


def known_thresholds(checkpoint: Path | None) -> SignThresholds | None:
    """The thresholds beside a checkpoint, if there are any; errors as of `load_thresholds`."""
    if checkpoint is None or not (path := thresholds_beside(checkpoint)).exists():
        return None
    return load_thresholds(path, file_digest(checkpoint))


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
        None, "sentences, one per line; what follows a tab is skipped (default: the shipped sample, which is English)"
    )
    right: tuple[Path, ...] = option(
        (),
        "sentences with right translations, a tab between, to measure on how many of them and of the model's own "
        "translations each sign fires",
    )
    sampled: int = option(SAMPLED, "pairs of each of these files for what needs the model", type=FROM_1)
    output: Path | None = option(None, f"the thresholds (default: beside the model, its name with {SUFFIX})", flag="-o")


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
    digest = file_digest(options.checkpoint)
    language = language_by_index(index_beside(options.checkpoint), digest, translator)
    sets = {path.name.removesuffix(".tsv"): read_pairs(path) for path in options.right}
    total = len(sentences) + sum(min(options.sampled, len(pairs)) for pairs in sets.values())
    found, rates = UNMEASURED, dict[str, Rates]()
    with tqdm(total=total, unit=" sentences", file=sys.stderr) as bar:
        for step in threshold_steps(translator, sentences, name, language):
            if isinstance(step, SignThresholds):
                found = step
            else:
                bar.update(step)
        for of, pairs in sets.items():
            for step in rate_steps(translator, found.values(), pairs, options.sampled):
                if isinstance(step, int):
                    bar.update(step)
                else:
                    rates[of] = step
    return dataclasses.replace(found, digest=digest, rates=rates)


def _write(thresholds: SignThresholds, options: ThresholdOptions) -> None:
    """Write the file, and print the thresholds as CSV."""
    save_thresholds(options.output or thresholds_beside(options.checkpoint), thresholds)
    print_table(thresholds, options)


SIGN_THRESHOLDS = Analysis(
    "sign-thresholds",
    "measure, on a model's own translations, from which value on four of the signs of a bad translation fire, and how "
    "often all seven do",
    sign_thresholds,
    ThresholdOptions,
    MODEL,
    write=_write,
)
