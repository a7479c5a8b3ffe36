"""The navigation: the pages in the sidebar, and the views of the current one in a row above it."""

from collections.abc import Mapping

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from viz_app.language import tr
from viz_app.page_list import PAGES, VIEWS, AppPage, View
from viz_app.session.state import session_dict

Scripts = Mapping[str, StreamlitPage]  # by the names of the views
LAST_VIEWS = "last_views"  # the view of each page that the visitor has seen last, by the title of the page


def current_view() -> tuple[Scripts, StreamlitPage, View]:
    """Declare all views to Streamlit; return all scripts, the script of the current view, and that view."""
    titles = {each.name: tr(each.title) for each in VIEWS}
    scripts = {
        each.name: st.Page(each.script, title=titles[each.name], url_path=each.name, default=each == VIEWS[0])
        for each in VIEWS
    }
    script = st.navigation(list(scripts.values()), position="hidden")
    view = next(each for each in VIEWS if scripts[each.name] == script)
    session_dict(LAST_VIEWS)[page_of(view).title] = view.name
    return scripts, script, view


def page_of(view: View) -> AppPage:
    """Return the page that a view belongs to."""
    return next(page for page in PAGES if view in page.views)


def menu(scripts: Scripts) -> None:
    """Draw a link to each page, which leads to the view of it that was seen last."""
    last = session_dict(LAST_VIEWS)
    with st.container(key="pages", gap=None):
        for page in PAGES:
            st.page_link(scripts[last.get(page.title, page.views[0].name)], label=tr(page.title))


def view_row(scripts: Scripts, view: View) -> None:
    """Draw links to the views of the current page or, if there is only one, the title of the page."""
    page = page_of(view)
    with st.container(horizontal=True, gap="small", key="views"):
        if len(page.views) == 1:
            st.markdown(f"**{tr(page.title)}**", width="content")
            return
        for each in page.views:
            st.page_link(scripts[each.name], label=tr(each.title), width="content")


def link_names(view: View) -> dict[str, str]:
    """Return the names of the two groups of links for screen readers, by the keys of their containers."""
    return {"pages": tr("Pages"), "views": tr("Views of the page {page}", page=tr(page_of(view).title))}
