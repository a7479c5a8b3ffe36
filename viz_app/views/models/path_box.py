"""Selection of a file or folder on the machine of the app."""

from collections.abc import Collection

import streamlit as st

from viz_app.language import marked, tr
from viz_app.session import model_paths
from viz_app.session.fields import Field
from viz_app.session.state import session_dict

WIDTH = 320
REFUSED = "refused_links"  # query parameters with paths, or other names that the app does not offer
TYPE_IT = marked("This link names a file or folder, and a link opens none: enter its path above to open it.")
NOT_OFFERED = marked(
    "This link names a file or folder that this app does not offer, so it is not opened: ask whoever sent the link for "
    "the files."
)


def path_box(label: str, setting: Field[str], offered: Collection[str], placeholder: str | None, about: str) -> str:
    """Select a file or folder: type its path, or take one that is offered.

    Draws nothing if neither is possible. The address holds the name of an offered one, but never a path, which a
    visitor who follows a link would open without knowing.

    Args:
        offered: names in `model_paths.listed_paths`.

    Returns:
        A text for `model_paths.openable_path`; "" if there is none.
    """
    refused, selected = session_dict(REFUSED), None
    may_type, named = model_paths.may_type_path(), setting.take()
    if named is not None and named.value and (may_type or named.value not in offered):
        refused[setting.key] = True
    if may_type:
        selected = st.text_input(
            label, key=setting.key, persist_state="session", placeholder=placeholder, help=about, width=WIDTH
        )
    elif offered:
        if named is not None:
            setting.set(named.value if named.value in offered else "")
        selected = st.selectbox(
            label, list(offered), None, key=setting.key, persist_state="session", help=about, width=WIDTH
        )
        setting.put(selected or "")
    if selected:
        refused.pop(setting.key, None)
    return (selected or "").strip()


def link_note(setting: Field[str]) -> None:
    """Say, below the box, that what the address named is not opened."""
    if setting.key in session_dict(REFUSED):
        st.info(tr(TYPE_IT if model_paths.may_type_path() else NOT_OFFERED))
