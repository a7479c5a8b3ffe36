"""Checkpoint: the open models side by side, and three sentences translated by the current model."""

from functools import partial
from pathlib import Path

import streamlit as st

from core import Checkpoint
from core.formats.marian_folder import check_marian, marian_archive
from core.formats.model_facts import outputs_answer
from viz_app.controls.downloads import downloads
from viz_app.controls.search_progress import stoppable_result
from viz_app.controls.widgets import show_answer, text_button, way_to
from viz_app.drawing.display_text import decimal, isolated, plain, sentence_case
from viz_app.frame import badges
from viz_app.language import marked, tr
from viz_app.session import readings
from viz_app.session.language_codes import code_of, codes_of, with_code
from viz_app.session.models import Model
from viz_app.session.open_models import OpenModels
from viz_app.session.readings import Reading, Search
from viz_app.session.state import session_object
from viz_app.views.models.checkpoint.facts_table import facts_by_model, facts_html, facts_table
from viz_app.views.models.checkpoint.trial_sentences import sentences_in

HOW_TO_READ = marked("""
Each column is an open model, the current one first; grey is what is as in the paper's base model. The paper's column
has what it states, with the section beside it; a dash is what it leaves open. **Parameters** counts tied matrices once.
**Length penalty** divides a log-probability; its alpha is next to the sentence. **Search of the source** are the
settings that the model came with; the app searches with those next to the sentence.
**Options not applied** change the source's translations and have no counterpart here.
""")
ABOUT_MARIAN = marked("""
The model in Hugging Face's layout of Marian: `MarianMTModel` and `MarianTokenizer` of transformers open the unpacked
folder, and its README says what differs. `python -m core convert` writes it too, and CTranslate2's format.
""")
ABOUT_TRIAL = marked("""
Translated now, with beam 4 and length penalty 0.6. The number is the log-probability per token, in nats: how sure the
model is, not how good its translation is.
""")


def page() -> None:
    """Draw the page."""
    model = readings.model()
    others = [each for each in session_object(OpenModels).all() if each.digest != model.digest]
    facts = facts_by_model([model, *others])
    above = st.container()  # of the answer, from the sentences below
    st.markdown(tr("**{model}**: what was read", model=plain(model.name)), help=tr(HOW_TO_READ))
    st.html(facts_html(facts))
    downloads("checkpoint", table=lambda: facts_table(facts))
    if model.explanation is not None:  # no sentences
        way_to("heads", tr("See its heads"))
        return
    as_marian(model)
    if model.line_reader is not None:
        way_to("picture", tr("Read a picture"))
        return
    st.divider()
    st.markdown(tr("**Three sentences**"), help=tr(ABOUT_TRIAL))
    if means := trial(model):
        with above:
            show_answer(outputs_answer(means, model.translator.config.target_size), tr(ABOUT_TRIAL))


def as_marian(model: Model) -> None:
    """Offer the model to transformers, or say why it cannot be written for it."""
    checkpoint = Checkpoint(model.translator.model, model.translator.tokenizer, model.translator.training)
    try:
        check_marian(checkpoint)
    except ValueError as error:
        st.caption(sentence_case(str(error)))
        return
    name = Path(model.name).stem
    st.download_button(
        tr("For transformers (zip)"),
        partial(marian_archive, checkpoint, f"{name}-marian"),
        f"{name}-marian.zip",
        "application/zip",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
        help=tr(ABOUT_MARIAN),
    )


def trial(model: Model) -> list[float]:
    """Translate three sentences, and run the checks on the last one; return the log-probability per token of each."""
    sentences, is_known = sentences_in(model.translator.tokenizer.languages[0])
    if model.is_imported and not is_known:
        st.caption(tr("The checkpoint does not say which language it translates from: these sentences are English."))
    codes, read = codes_of(model), list[Reading]()
    current = code_of(readings.TEXT.value or "", codes)
    for number, sentence in enumerate(sentences):
        read += filter(None, [translated(model, with_code(sentence, codes, last=current), number)])
    if read:
        badges.badges(read[-1])
    return [model.translator.codec.mean_log_prob(each.hypothesis, each.search.text) for each in read]


def translated(model: Model, sentence: str, number: int) -> Reading | None:
    """Draw a sentence and its translation; None, with the reason on the page, if there is none."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"trial-{number}"):
        about = tr("Show it on all pages")
        text_button(isolated(plain(sentence)), readings.new_sentence, sentence, key=f"trial_{number}", help=about)
        place = st.empty()
        search = Search(sentence, num_hypotheses=1)
        translation = stoppable_result(place, (model.digest, search), f"trial{number}", partial(search.run, model))
        if translation is None:
            return None
        best = translation.hypotheses[0]
        mean = decimal(model.translator.codec.mean_log_prob(best, sentence), 2)
        place.markdown(f"\u2192 {isolated(plain(best.text))} :gray[{mean}]")
    return Reading(model, search, translation, 0, best)


page()
