"""Small widgets, and the theme, in the one form that all pages use."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

from viz_app.drawing.theme import Theme, theme_named
from viz_app.language import tr
from viz_app.session.address import Field

T = TypeVar("T")


def page_theme() -> Theme:
    """Return the theme of the page."""
    return theme_named(st.context.theme.type)


def segments(label: str, options: Mapping[T, str] | Sequence[T], default: T, key: str, help: str = "") -> T:
    """Draw a choice as `setting_segments`, but one that is not in the address."""
    names = _names(options)
    return st.segmented_control(
        label, tuple(names), default=default, required=True, format_func=names.__getitem__, key=key, help=help
    )


def setting_segments(
    setting: Field[T],
    label: str,
    options: Mapping[T, str] | Sequence[T] = (),
    default: T | None = None,
    *,
    hide_label: bool = False,
    **widget_options: Any,
) -> T:
    """Draw a setting of the view as a choice of one of a few options side by side.

    Args:
        options: values with their names in the visitor's language, or values whose names are their translations; by
            default all that the setting can have.
        default: if it depends on the options.
        widget_options: as for `st.segmented_control`.
    """
    names = _names(options or setting.codec.values)
    return setting.draw(
        st.segmented_control,
        label,
        tuple(names),
        default=default,
        required=True,
        format_func=names.__getitem__,
        label_visibility="collapsed" if hide_label else "visible",
        **widget_options,
    )


def _names(options: Mapping[T, str] | Sequence[T]) -> Mapping[T, str]:
    return options if isinstance(options, Mapping) else {option: tr(str(option)) for option in options}
