"""The second side of the page Compare: another hypothesis, sentence or checkpoint."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.analysis.attribution.methods import Method
from core.analysis.heads.head import Maps
from viz_app.controls.search_progress import stoppable_result
from viz_app.controls.second_model import CHECKPOINT, offer_second
from viz_app.controls.widgets import menu
from viz_app.drawing.display_text import shortened
from viz_app.language import marked, tr
from viz_app.session import address, model_passes, models, readings
from viz_app.session.language_codes import codes_of, with_code
from viz_app.session.open_models import OpenModels, distinct_names
from viz_app.session.state import Widget, session_object

Against = Literal["Hypothesis", "Sentence", "Checkpoint"]
AGAINST: dict[Against, str] = {
    "Hypothesis": marked("Translation"),
    "Sentence": marked("Sentence"),
    "Checkpoint": marked("Checkpoint"),
}

HYPOTHESIS = Widget[int]("second_hypothesis")  # index, 0 the best
HYPOTHESIS_NUMBER = address.SECOND_HYPOTHESIS  # the same counted from 1
TEXT = address.SECOND_TEXT


@dataclass(frozen=True)
class ComparedSide:
    """One of the two sides: the text of its target, a model, a source and a target; and whether the model differs."""

    text: str
    model: models.Model
    source: str
    target: tuple[int, ...] | str
    is_by_model: bool = False

    @property
    def title(self) -> str:
        """Name of the side in a difference: its model, or else its text."""
        return self.model.name if self.is_by_model else self.text

    @property
    def heading(self) -> str:
        """The text, after the model if that differs from the other side's."""
        return f"{self.model.name}: {self.text}" if self.is_by_model else self.text

    def maps(self, method: Method) -> Maps:
        """Return the maps of a method, see `model_passes.method_maps`."""
        return model_passes.method_maps(self.model, self.source, self.target, method)


def select_other(reading: readings.Reading, against: Against, place: DeltaGenerator) -> ComparedSide | None:
    """Select the second side by widgets in a place; None, with the reason on the page, while there is none."""
    waiting = st.empty()
    with place:
        if against == "Hypothesis":
            return other_hypothesis(reading)
        return (other_sentence if against == "Sentence" else other_checkpoint)(reading, waiting)


def other_hypothesis(reading: readings.Reading) -> ComparedSide | None:
    """Select another hypothesis of the same search."""
    hypotheses = reading.translation.hypotheses
    others = [index for index in range(len(hypotheses)) if index != reading.index]
    if not others:
        st.info(tr("The search found only one translation: ask for more in the settings next to the sentence."))
        return None
    named = HYPOTHESIS_NUMBER.take()
    if named is not None or HYPOTHESIS.value not in others:
        number = named.value if named is not None else ""
        HYPOTHESIS.set(next((index for index in others if str(index + 1) == number), others[0]))
    names = {index: f"{index + 1}: {shortened(hypotheses[index].text)}" for index in others}
    index = menu(HYPOTHESIS, tr("Second translation"), names, width=520)
    HYPOTHESIS_NUMBER.put(str(index + 1))
    other = hypotheses[index]
    return ComparedSide(other.text, reading.model, reading.translation.source, other.token_ids)


def other_sentence(reading: readings.Reading, waiting: DeltaGenerator) -> ComparedSide | None:
    """Select another sentence, translated with the same settings."""
    if TEXT.requested is None:
        TEXT.set(reading.translation.source)
    text = TEXT.draw(st.text_input, tr("Second sentence"), width=520)
    if not text.strip():
        st.info(tr("Type a second sentence."))
        return None
    if text == reading.translation.source:
        st.caption(tr("Both sentences are the same: change a word of the second one."))
    return translated(reading.model, replace(reading.search, text=text), waiting)


def other_checkpoint(reading: readings.Reading, waiting: DeltaGenerator) -> ComparedSide | None:
    """Select another open model for the same sentence."""
    others = [each for each in session_object(OpenModels).all() if each.digest != reading.model.digest]
    fitting = {each.digest: each for each in others if each.kind == "translation"}
    if not fitting:
        text = tr("Open a second checkpoint in the sidebar to compare it on the same sentence.")
        st.info(f"{text} {tr('Those that are open do not translate.')}" if others else text)
        offer_second(reading.model)
        return None
    model = fitting[second_model_box(CHECKPOINT, others, fitting)]
    source = with_code(reading.translation.source, codes_of(model), codes_of(reading.model))
    if address.SAME_TARGET.requested is False:
        return translated(model, replace(reading.search, text=source), waiting, is_by_model=True)
    same_tokens = reading.model.translator.tokenizer.to_bytes() == model.translator.tokenizer.to_bytes()
    target = reading.hypothesis.token_ids if same_tokens else reading.hypothesis.text
    return ComparedSide(reading.hypothesis.text, model, source, target, is_by_model=True)


def same_target_box() -> None:
    """Select whether a second model has the translation of the first."""
    about = tr("Both models explain the first one's translation. Off: the second makes its own.")
    address.SAME_TARGET.draw(st.toggle, tr("Same translation"), help=about)


def translated(
    model: models.Model, search: readings.Search, waiting: DeltaGenerator, is_by_model: bool = False
) -> ComparedSide | None:
    """Translate for the second side; None, with the reason on the page, if it has no translation."""
    translation = stoppable_result(waiting, (model.digest, search), "second", partial(search.run, model))
    if translation is None:
        return None
    best = translation.hypotheses[0]
    return ComparedSide(best.text, model, translation.source, best.token_ids, is_by_model)


def second_model_box(widget: Widget[str], opened: Sequence[models.Model], fitting: Collection[str]) -> str:
    """Select an open model, by its digest, among those that fit."""
    names = distinct_names(opened)
    widget.keep_within(fitting, next(iter(fitting)))
    return menu(widget, tr("Second checkpoint"), {digest: names[digest] for digest in fitting}, width=520)


def first_side(reading: readings.Reading, is_by_model: bool = False) -> ComparedSide:
    """Return the current reading as a side."""
    hypothesis = reading.hypothesis
    return ComparedSide(hypothesis.text, reading.model, reading.translation.source, hypothesis.token_ids, is_by_model)
