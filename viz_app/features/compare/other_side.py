"""What the current reading is compared with: another hypothesis, another sentence, or another checkpoint."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO, Literal

import streamlit as st

from core.analysis.attribution.methods import Method
from core.analysis.heads.head import Maps
from viz_app.controls import search_progress
from viz_app.figures.display_text import sentence_case, shortened
from viz_app.session import models, permalink, readings
from viz_app.session.attributions import maps_of

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

Against = Literal["Hypothesis", "Sentence", "Checkpoint"]
AGAINST: tuple[Against, ...] = ("Hypothesis", "Sentence", "Checkpoint")

HYPOTHESIS = "second"  # what the address calls the second one, the first is 1
# where the session keeps a second checkpoint: its file's id, and the model or why there is none
UPLOADED = "second_model"


@dataclass(frozen=True)
class ComparedSide:
    """One of the two: what it is called, and what is looked at."""

    name: str
    model: models.Model
    source: str
    target: tuple[int, ...] | str

    def maps(self, method: Method) -> Maps:
        """Raises: as `maps_of`."""
        return maps_of(self.model, self.source, self.target, method)


def chosen(reading: readings.Reading, against: Against, place: "DeltaGenerator") -> ComparedSide | None:
    """What to compare with; None, with the reason, when there is nothing yet.

    Args:
        place: where it is chosen.
    """
    waiting = st.empty()
    try:
        with place:
            return {"Hypothesis": other_hypothesis, "Sentence": other_sentence, "Checkpoint": other_checkpoint}[
                against
            ](reading, waiting)
    except (ValueError, models.ModelError) as error:
        waiting.error(sentence_case(str(error)))
        return None


def other_hypothesis(reading: readings.Reading, _waiting: "DeltaGenerator") -> ComparedSide | None:
    """Another one of the same search."""
    hypotheses = reading.translation.hypotheses
    others = [index for index in range(len(hypotheses)) if index != reading.index]
    if not others:
        st.info("The search found one hypothesis only: ask for more in the settings beside the sentence.")
        return None
    if st.session_state.get("second_hypothesis") not in others:
        asked = st.query_params.get(HYPOTHESIS, "")
        st.session_state["second_hypothesis"] = next((index for index in others if str(index + 1) == asked), others[0])
    index = st.selectbox(
        "Second hypothesis",
        others,
        format_func=lambda index: f"{index + 1}: {shortened(hypotheses[index].text)}",
        key="second_hypothesis",
        width=520,
    )
    permalink.put(HYPOTHESIS, str(index + 1))
    return side_of(replace(reading, index=index))


def other_sentence(reading: readings.Reading, waiting: "DeltaGenerator") -> ComparedSide | None:
    """Another one, translated with the same settings."""
    if "second_text" not in st.session_state and "second_text" not in st.query_params:
        permalink.preset("second_text", reading.translation.source)
    text = st.text_input("Second sentence", key="second_text", bind="query-params", width=520)
    if not text.strip():
        st.info("Type a second sentence.")
        return None
    if text == reading.translation.source:
        st.caption("Both are the same sentence now: change a word of the second.")
    return translated(reading, reading.model, replace(reading.search, text=text), waiting)


def other_checkpoint(reading: readings.Reading, waiting: "DeltaGenerator") -> ComparedSide | None:
    """Another model on the same sentence."""
    file = st.file_uploader(
        "Second checkpoint",
        type="safetensors",
        key="second_upload",
        help="As in the sidebar; it stays on this machine.",
    )
    same_target = st.toggle(
        "Same translation",
        True,
        key="same_target",
        bind="query-params",
        help="The second reads the first's translation. Off: it makes its own.",
    )
    model = second_model(file and file.file_id, file.name if file else "", file)
    if model is None:
        st.info("Upload a second checkpoint, and it reads the same sentence.")
        return None
    if not same_target:
        return translated(reading, model, reading.search, waiting, model.name)
    same_tokens = reading.model.translator.tokenizer.to_bytes() == model.translator.tokenizer.to_bytes()
    target = reading.hypothesis.token_ids if same_tokens else reading.hypothesis.text
    return ComparedSide(model.name, model, reading.translation.source, target)


def translated(
    reading: readings.Reading, model: models.Model, search: readings.Search, waiting: "DeltaGenerator", name: str = ""
) -> ComparedSide | None:
    """A translation of the second's own; None where it was stopped.

    Raises:
        ValueError: it cannot be made.
    """
    progress = search_progress.stoppable(waiting, (model.digest, search), "second")
    if progress is None:
        return None
    translation = search.run(model, progress)
    waiting.empty()
    return side_of(replace(reading, model=model, search=search, translation=translation, index=0), name)


def side_of(reading: readings.Reading, name: str = "") -> ComparedSide:
    """What is read, called by its target unless it has another name."""
    return ComparedSide(
        name or reading.hypothesis.text, reading.model, reading.translation.source, reading.hypothesis.token_ids
    )


def second_model(file_id: str | None, name: str, file: BinaryIO | None) -> models.Model | None:
    """The checkpoint in an uploaded file, read once; without a file the shipped one, when another is current.

    Raises:
        ModelError: it is not a usable checkpoint.
    """
    if file is None or file_id is None:
        shipped = models.shipped_model()
        return shipped if shipped.digest != readings.model().digest else None
    kept_id, kept = st.session_state.get(UPLOADED, (None, None))
    if kept_id != file_id:
        try:
            kept = models.uploaded_model(name, file)
        except models.ModelError as error:
            kept = error
        st.session_state[UPLOADED] = (file_id, kept)
    if isinstance(kept, models.ModelError):
        raise kept
    return kept
