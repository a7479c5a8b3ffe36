"""The second model of a comparison, where none is open yet."""

from functools import partial

import streamlit as st

from viz_app.language import tr
from viz_app.session import model_task, models
from viz_app.session.open_models import OpenModels
from viz_app.session.state import session_object


def offer_second(model: models.Model) -> None:
    """Offer the shipped models that do the same as a model, each to be opened beside it by a click."""
    task, shipped = model_task.open_offer(model, is_shipped=False).task, models.shipped_paths()
    offers = [model_task.file_offer(name, path) for name, path in shipped.items() if str(path) != model.path]
    fitting = [each.key for each in offers if task and each.task == task]
    if not fitting:
        return
    st.caption(tr("Or compare it with one that is shipped:"))
    with st.container(horizontal=True, gap="small"):
        for name in fitting:
            st.button(name, on_click=partial(_open, name), key=f"second-{name}")


def _open(name: str) -> None:
    session_object(OpenModels).add(models.model_at(models.shipped_paths()[name]), show=False)
