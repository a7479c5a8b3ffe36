"""The signs of a bad translation: of the current reading, and the thresholds of its model."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from core.analysis.signs.text_signs import TEXT_SIGNS
from viz_app.drawing.display_text import plain
from viz_app.language import joined, marked, tr, tr_lower
from viz_app.session import model_paths, readings
from viz_app.session.jobs import Job, JobSlot
from viz_app.session.models import Model, ModelError
from viz_app.session.readings import Reading
from viz_app.session.source_doubts import source_language

if TYPE_CHECKING:  # torch takes a second to import: the sentence box is drawn before
    from core.analysis.signs.pair_signs import Sign, SignName
    from core.analysis.signs.thresholds import SignThresholds

NAMES: "Mapping[SignName, str]" = {
    "detached": marked("Detached"),
    "repetition": marked("Repetition"),
    "numbers": marked("Numbers"),
    "copied": marked("Copied words"),
    "lost": marked("Lost on the way"),
    "doubtful": marked("Doubtful words"),
    "left_out": marked("Left-out words"),
}
ABOUT: "Mapping[SignName, str]" = {
    "detached": marked(
        "**Detached**: how improbable the translation is, less what the source adds to its probability, in nats per "
        "token. Large if the translation fits any other source as well."
    ),
    "repetition": marked(
        "**Repetition**: pairs of neighbouring words that occur again, those of the translation minus those of the "
        "source."
    ),
    "numbers": marked(
        "**Numbers**: numbers in digits that the other side lacks, whatever their notation; words may stand for them "
        "in English, German and French."
    ),
    "copied": marked(
        "**Copied words**: share of the words that came over from the source untranslated; numbers, addresses and, "
        "unless the text is in capitals, what begins with a capital do not count."
    ),
    "lost": marked(
        "**Lost on the way**: addresses, placeholders, tags, paths, options, codes and emoji of the source that the "
        "translation does not have letter by letter."
    ),
    "doubtful": marked(
        "**Doubtful words**: how improbable a word is, and how much less probable the source makes it; the smaller of "
        "the two, in nats."
    ),
    "left_out": marked(
        "**Left-out words**: how much more probable the translation becomes if one to three words are left out of the "
        "source, in nats per token."
    ),
}
LIMITS = marked(
    "These signs know seven pathologies, not ordinary errors: sentences that people had to correct are told from "
    "others with an AUROC of 0.59 at best (0.5 is chance; `python -m benchmarks.signs` on MLQE-PE, English to German)."
)


def about_sign(sign: "Sign", thresholds: "SignThresholds") -> str:
    """Return what a sign looked at, its value, its threshold, and where this comes from, as Markdown."""
    threshold = thresholds[sign.name]
    assert threshold is not None
    values = tr("Here {value:.2f}; the threshold is {threshold:.2f}.", value=sign.value, threshold=threshold)
    origin = [] if sign.name in TEXT_SIGNS else [about_thresholds(thresholds)]
    return " ".join([about_name(sign.name, thresholds), values, *origin])


def about_name(name: "SignName", thresholds: "SignThresholds") -> str:
    """Return what a sign looks at and how often it fires, as Markdown."""
    own, right = thresholds.share(name, "own"), thresholds.share(name, "right")
    if own is None or right is None:
        return tr(ABOUT[name])
    rates = tr(
        "It fires on {own:.1%} of this model's own translations and on {right:.1%} of right ones by people ({sets}).",
        own=own,
        right=right,
        sets=joined(list(map(plain, thresholds.rates))),
    )
    return f"{tr(ABOUT[name])} {rates}"


def about_withheld(thresholds: "SignThresholds") -> str:
    """Return which signs are not offered for translations that are not the model's own, as Markdown; "" if all are."""
    if not (names := thresholds.withheld()):
        return ""
    return tr(
        "Not offered for given translations: {names}. Right ones by people would show them too.",
        names=joined([tr_lower(NAMES[name]) for name in names]),
    )


def limits(reading: Reading) -> "SignThresholds":
    """Return the thresholds of the signs that are offered for a reading; without a model's own, those of the texts."""
    from core.analysis.signs.thresholds import UNMEASURED

    return (thresholds(reading.model) or UNMEASURED).offered(is_given(reading))


def is_given(reading: Reading) -> bool:
    """Return whether a translation was given, and is not one that the model found."""
    found = {each.token_ids for each in reading.translation.hypotheses}
    forced = reading.forced
    return forced is not None and forced.target is not None and reading.hypothesis.token_ids not in found


def about_thresholds(thresholds: "SignThresholds") -> str:
    """Return where thresholds come from, as Markdown."""
    from core.analysis.signs.thresholds import SHIPPED_SAMPLE

    sample = tr("the shipped sample") if thresholds.sample == SHIPPED_SAMPLE else plain(thresholds.sample)
    return tr(
        "Thresholds of signs that need the model are those that nine of ten of its own translations of {count} "
        "sentences ({sample}) reach once they are damaged on purpose.",
        count=thresholds.sentences,
        sample=sample,
    )


def signs(reading: Reading) -> "Mapping[SignName, Sign]":
    """Return the signs that are known of a reading; `left_out` once it was computed."""
    found = readings.left_out_sign(reading)
    return {**_pair_signs(reading), **({} if found is None else {"left_out": found})}


@st.cache_resource(max_entries=256, show_spinner=False, hash_funcs=readings.READING_HASH)
def _pair_signs(reading: Reading) -> "Mapping[SignName, Sign]":
    from core.analysis.signs.pair_signs import pair_signs

    (found,) = pair_signs(reading.model.translator, [(reading.translation.source, reading.hypothesis.token_ids)])
    return found


def find_left_out(reading: Reading, thresholds: "SignThresholds") -> Iterator[None]:
    """Compute the sign `left_out` of a reading, batch by batch, for all visitors.

    Nothing is computed if it is known, or if the sentence is too long.
    """
    from core.analysis.signs.left_out import left_out_sign, span_values

    if readings.left_out_sign(reading) is not None:
        return
    found: list[tuple[range, float]] = []
    try:
        for each in span_values(reading.model.translator, reading.translation.source, reading.hypothesis.token_ids):
            found.append(each)
            yield
    except ValueError:  # too long
        return
    sign = left_out_sign(reading.explain().source_tokens, iter(found))
    readings.keep_left_out(reading, sign, thresholds["left_out"])


# --- thresholds -----------------------------------------------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def _measured() -> "dict[str, SignThresholds]":
    """Thresholds that were measured here, by the digest of the model; some hundred bytes each."""
    return {}


def thresholds(model: Model) -> "SignThresholds | None":
    """Return the thresholds of a model, from the file beside it or measured here; None before they are measured."""
    return _measured().get(model.digest) or _beside(model.digest, model.path)


@st.cache_resource(max_entries=64, show_spinner=False, ttl=60)
def _beside(digest: str, model_path: str) -> "SignThresholds | None":
    from core.analysis.signs.thresholds import load_thresholds, thresholds_beside

    try:
        path = model_paths.file_beside(thresholds_beside(Path(model_path)))
        return None if path is None else load_thresholds(path, digest)
    except (ModelError, ValueError, OSError):  # of another checkpoint, or damaged: measured again
        return None


def measure_steps(model: Model, sources: "tuple[str, ...]" = (), name: str = "") -> Iterator[int]:
    """Measure the thresholds of a model, on the shipped sample or, if its language is another, on given sentences.

    Raises:
        ValueError: as `threshold_steps`.
    """
    from core.analysis.sample_sentences import SAMPLE
    from core.analysis.signs.thresholds import LEAST_SENTENCES, SHIPPED_SAMPLE, threshold_steps

    language = source_language(model)
    samples = [(SAMPLE, SHIPPED_SAMPLE)]
    if len(sources) >= LEAST_SENTENCES:
        samples.append((sources[: len(SAMPLE)], name))
    for number, (sentences, sample) in enumerate(samples, start=1):
        try:
            for step in threshold_steps(model.translator, sentences, sample, language):
                if isinstance(step, int):
                    yield step if number == 1 else 0  # the progress counts the shipped sample
                else:
                    _measured()[model.digest] = step
            return
        except ValueError:
            if number == len(samples):
                raise


@dataclass
class Measurement:
    """Thresholds that are being measured."""

    job: Job


class ThresholdSlot(JobSlot[Measurement]):
    """The session's measurement of thresholds."""


def begin_measurement(model: Model) -> Measurement:
    """Begin to measure the thresholds of a model."""
    from core.analysis.sample_sentences import SAMPLE

    return Measurement(Job(measure_steps(model), len(SAMPLE), marked("sentences")))
