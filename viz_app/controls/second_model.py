"""The second model of a comparison."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import streamlit as st

from viz_app.controls.widgets import text_button
from viz_app.language import tr
from viz_app.session import address, model_task, models
from viz_app.session.open_models import OpenModels
from viz_app.session.state import Widget, lead_to, session_object

CHECKPOINT = Widget[str]("second_checkpoint")  # digest of the open model that Compare shows


def offer_second(model: models.Model) -> None:
    """Offer the shipped models that do the same as a model, each to be opened beside it by a click."""
    if fitting := second_models(model):
        st.caption(tr("Or compare it with one that is shipped:"))
        with st.container(horizontal=True, gap="small"):
            for name, opening in fitting.items():
                text_button(name, opening, key=f"second-{name}")


def second_models(model: models.Model) -> dict[str, Callable[[], models.Model]]:
    """Return what opens each model that does the same as a model, by its name: shipped and open ones."""
    task, shipped = model_task.open_offer(model, is_shipped=False).task, models.shipped_paths()
    offers = [model_task.file_offer(name, path) for name, path in shipped.items() if str(path) != model.path]
    fitting = [each.key for each in offers if task and each.task == task]
    found: dict[str, Callable[[], models.Model]] = {key: partial(_open, key) for key in fitting}
    for each in session_object(OpenModels).all():
        if each.digest != model.digest and model_task.open_offer(each, is_shipped=False).task == task:
            found[Path(each.name).stem] = lambda each=each: each
    return found


def _open(name: str) -> models.Model:
    opened = models.model_at(models.shipped_paths()[name])
    session_object(OpenModels).add(opened, show=False)
    return opened


def compare_with(model: models.Model) -> None:
    """Show the sentence on Compare beside another open model's own translation; call it in a callback."""
    address.AGAINST.set("Checkpoint")
    CHECKPOINT.set(model.digest)
    address.SAME_TARGET.set(False)
    lead_to("compare")
