"""Small widgets, and the theme, in the one form that all pages use."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from viz_app.drawing.display_text import isolated, plain
from viz_app.language import tr, translated
from viz_app.page_list import script_of
from viz_app.session.address import Field
from viz_app.session.fields import is_history_navigation
from viz_app.session.state import Widget, session_dict

if TYPE_CHECKING:
    from viz_app.drawing.theme import Theme


def are_values_old(key: str, is_open: bool | None) -> bool:
    """Return whether the browser's values of the widgets in a menu are outdated. Call it once in a run.

    The menu is a popover that is drawn with `on_change="rerun"`; `is_open` is its attribute `open`.
    """
    state = session_dict("old_menus")
    are_old = state.get(key, False) or is_history_navigation()
    state[key] = are_old and not is_open  # from the next run on: this one comes before the browser shows them
    return are_old


T = TypeVar("T")


def page_theme() -> "Theme":
    """Return the theme of the page."""
    from viz_app.drawing.theme import theme_named  # imports numpy: the sentence box is drawn before

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


def setting_menu(
    setting: Field[T],
    label: str,
    options: Mapping[T, str] | Iterable[T],
    default: T | None = None,
    *,
    hide_label: bool = False,
    **widget_options: Any,
) -> T:
    """Draw a setting as a menu; arguments as of `setting_segments`. The browser is told of other names."""
    names = _names(options)
    setting.show_labels(names.values())
    options_of_menu: dict[str, Any] = {"format_func": names.__getitem__, **widget_options}
    if hide_label:
        options_of_menu["label_visibility"] = "collapsed"
    return setting.draw(st.selectbox, label, list(names), default=default, **options_of_menu)


def menu(widget: Widget[T], label: str, names: Mapping[T, str], **options: Any) -> T:
    """Draw a menu, as `setting_menu`, of a choice that is not in the address; its value is one of the options."""
    widget.show_labels(names.values())
    return st.selectbox(label, list(names), format_func=names.__getitem__, key=widget.key, **options)


def show_answer(answer: str, help: str = "", *then: str | None) -> None:
    """Draw the answer of a view, a sentence of its analysis, and quietly below it others, such as what methods say."""
    st.markdown(f"**{plain(translated(answer, isolated))}**", help=help or None)
    for each in filter(None, then):
        st.caption(plain(translated(each, isolated)))


def text_button(label: str, on_click: Callable[..., Any], *arguments: Any, **options: Any) -> bool:
    """Draw a button that looks like text; a click calls the function with the arguments."""
    return st.button(label, on_click=on_click, args=arguments, type="tertiary", **options)


def way_to(view: str, label: str) -> None:
    """Draw a link to another view, by its address."""
    st.page_link(script_of(view), label=label, icon=":material/arrow_forward:", width="content")


def _names(options: Mapping[T, str] | Iterable[T]) -> Mapping[T, str]:
    return options if isinstance(options, Mapping) else {option: tr(str(option)) for option in options}
