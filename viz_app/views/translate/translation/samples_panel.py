"""The part of the page Translate with samples: their settings, the fan, and the tokens that they are drawn from."""

from dataclasses import replace
from typing import Any

import streamlit as st

from core.analysis.recorded_call import Call
from core.analysis.sample_fan import KeptTokens, SampleFan, kept_tokens, sample_fan
from core.decoding import Constraints, Sampling
from viz_app.controls.downloads import downloads
from viz_app.language import marked, tr, tr_count
from viz_app.session import address, python_code
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.readings import Reading, Search, show_candidate
from viz_app.views.translate.fan import FanRow, fan, fan_rows

ABOUT = marked("""
Translations **drawn at random**, a token at a time, each as often as the model finds it probable, beside the hypotheses
of the beam. A row begins where it leaves the row that it hangs from; its branch is the thicker, the more samples it is,
and of dots below 5% of them. Click one to explain it on all pages.

A search shows one corner of what the model finds probable. Over many samples most of the probability lies on
translations that no beam returns, each of which is improbable by itself; they tell whether the model as a whole has
learned to translate (Eikema & Aziz 2020).

The **filters** apply in this order: the temperature, then top-k (equally probable tokens stay), top-p (the fewest
tokens with this probability together) and min-p (those with this share of the most probable one's probability). Above,
bars of tokens that are not drawn are hatched. All probabilities that are shown are the model's own, before any filter.

The same seed draws the same samples, of which the first do not depend on their number.
""")


MOST, WIDTH = 16, 150  # samples; pixels of a slider
Kept = tuple[KeptTokens, ...]


def requested_sampling() -> Sampling | None:
    """Return how samples are drawn, as far as it is known before the settings are drawn; None if there are none."""
    if not address.SAMPLES.requested:
        return None
    fields = {
        "num_samples": address.NUM_SAMPLES,
        "temperature": address.TEMPERATURE,
        "top_k": address.TOP_K,
        "top_p": address.TOP_P,
        "min_p": address.MIN_P,
        "seed": address.SAMPLE_SEED,
    }
    requested: dict[str, Any] = {
        name: field.default if field.requested is None else field.requested for name, field in fields.items()
    }
    try:
        return Sampling(**requested)
    except ValueError:  # of an address; the settings take their defaults
        return None


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def _kept(model: Model, source: str, target: tuple[int, ...], sampling: Sampling, constraints: Constraints) -> Kept:
    return kept_tokens(model.translator, source, target, sampling, constraints)


def kept(reading: Reading) -> Kept | None:
    """Return the tokens that samples are drawn from at each position of the target; None if there are no samples."""
    sampling = requested_sampling()
    if sampling is None:
        return None
    sampling = replace(sampling, num_samples=1, seed=0)  # on which they do not depend
    target = reading.hypothesis.token_ids
    return _kept(reading.model, reading.translation.source, target, sampling, reading.search.constraints())


@python_code.with_result(max_entries=64)
def fan_call(model: Model, search: Search, sampling: Sampling) -> Call:
    """Return the call that searches, and draws samples."""
    sizes = search.beam_size, search.length_penalty, search.num_hypotheses
    keywords = {"constraints": search.constraints()} if search.min_length else {}
    return Call("fan", sample_fan, (python_code.translator(model), search.text, sampling, *sizes), keywords)


def _settings() -> Sampling:
    everything, nothing = tr("1 keeps all tokens."), tr("0 keeps all tokens.")
    with st.container(horizontal=True, gap="medium", key="sampling"):
        return Sampling(
            num_samples=address.NUM_SAMPLES.draw(st.slider, tr("Number of samples"), 1, MOST, width=WIDTH),
            temperature=address.TEMPERATURE.draw(
                st.slider,
                tr("Temperature"),
                0.1,
                2.0,
                step=0.1,
                format="localized",
                width=WIDTH,
                help=tr("1 is the model as it is."),
            ),
            top_k=address.TOP_K.draw(st.slider, tr("Top-k"), 0, 50, width=WIDTH, help=nothing),
            top_p=address.TOP_P.draw(
                st.slider, tr("Top-p"), 0.05, 1.0, step=0.05, format="localized", width=WIDTH, help=everything
            ),
            min_p=address.MIN_P.draw(
                st.slider, tr("Min-p"), 0.0, 0.5, step=0.05, format="localized", width=WIDTH, help=nothing
            ),
            seed=address.SAMPLE_SEED.draw(st.slider, tr("Seed"), 0, 99, width=WIDTH),
        )


def sample_rows(found: SampleFan) -> list[FanRow]:
    """Return each translation once: hypotheses before samples, and samples that were drawn often before others."""
    samples: dict[tuple[int, ...], list[int]] = {}
    for number, each in enumerate(found.samples):
        samples.setdefault(each.token_ids, []).append(number)
    ranks = {each.token_ids: rank for rank, each in enumerate(found.hypotheses)}
    ends = [
        FanRow(text, ranks.get(ids), round(text.log_prob, 3), drawn, len(drawn) / max(1, len(found.samples)))
        for ids, text in {each.token_ids: each for each in (*found.samples, *found.hypotheses)}.items()
        for drawn in [tuple(samples.get(ids, ()))]
    ]
    ends.sort(key=lambda row: (len(ranks) if row.rank is None else row.rank, -len(row.samples), row.samples))
    return fan_rows(ends)


def samples(reading: Reading) -> None:
    """Draw samples beside the beam, if the visitor wants them."""
    if not address.SAMPLES.draw(st.toggle, tr("Samples beside the beam"), help=tr(ABOUT)):
        return
    sampling = _settings()
    with st.spinner(tr("Drawing samples")):
        recorded = fan_call(reading.model, reading.search, sampling)
    found: SampleFan = recorded.known
    rows = sample_rows(found)
    st.caption(
        tr_count(
            "{count} of {samples} samples is a hypothesis of the beam; {different} different translations.",
            "{count} of {samples} samples are hypotheses of the beam; {different} different translations.",
            found.in_beam,
            samples=len(found.samples),
            different=len(rows),
        )
    )
    free = replace(reading, forced=None)
    target, title = reading.hypothesis.token_ids, tr("log-prob")
    fan("sample_fan", rows, target, title, lambda row: show_candidate(free, row.translation))
    downloads("samples", "sample_fan", recorded.then("table"), title=tr("Samples beside the beam"))
