"""The panel of a declared analysis: its switch, a widget for each option, its answer, its pictures and its files."""

import dataclasses
from typing import Any, Literal, get_args, get_origin, get_type_hints

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.analysis.declaration import Analysis, PicturedResult
from core.analysis.recorded_call import Call
from core.files.number_range import NumberRange
from core.trace import Head
from viz_app.components.picture import picture
from viz_app.controls.downloads import downloads
from viz_app.controls.widgets import setting_segments
from viz_app.language import tr, translated
from viz_app.session.analysis_fields import panel_fields
from viz_app.session.chosen_heads import select_head


def panel(analysis: Analysis, about: Call, at: Head, menu: DeltaGenerator, are_old: bool) -> None:
    """Draw the panel's switch in a menu, and the rest if the visitor has opened it; a click on a head selects it.

    Args:
        are_old: as of `are_values_old`.
    """
    fields = panel_fields(analysis)
    with menu:
        is_open = fields.is_open.draw(st.toggle, tr(analysis.title), is_old=are_old, help=tr(analysis.how_to_read))
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if not is_open:
            return
        options = {each.name: _widget(analysis, each) for each in dataclasses.fields(analysis.options)}
    recorded = analysis.call(about, **{name: value for name, value in options.items() if value is not None})
    result: PicturedResult = recorded.run()
    st.markdown(translated(result.answer(at)))
    for number, shown in enumerate(result.pictures(at)):
        name = f"{analysis.name}-{number}" if number else analysis.name
        key = f"picture-{name}"
        picture(shown, key, at, on_head=select_head)
        downloads(name, key, recorded.returning(result).then("table"), title=translated(shown.title))


def _widget(analysis: Analysis, option: "dataclasses.Field[Any]") -> Any:
    """Draw the widget of an option; None if it has none, or if it is at its default, which a script leaves out."""
    field = panel_fields(analysis).options.get(option.name)
    if field is None:
        return None
    label, kind = tr(option.metadata["label"]), get_type_hints(analysis.options)[option.name]
    if kind is bool:
        value = field.draw(st.toggle, label)
    elif get_origin(kind) is Literal:
        value = setting_segments(field, label, {each: tr(str(each)) for each in get_args(kind)})
    elif isinstance(found := option.metadata["type"], NumberRange):
        value = field.draw(st.number_input, label, kind(found.least), kind(found.most))
    else:
        value = field.draw(st.text_input, label)
    return None if value == option.default else value
