"""Names and messages of file uploaders in the language of the visitor."""

from viz_app.components.component import registered_component, texts_beside
from viz_app.language import texts_for_script

_component = registered_component(__file__)
_TEXTS = texts_beside(__file__)


def uploader_words() -> None:
    """Translate the messages of a page's uploaders about their files, without drawing anything."""
    _component(data=[texts_for_script(_TEXTS)], key="uploader_words")
