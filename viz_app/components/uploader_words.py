"""Names and messages of a file uploader in the language of the visitor."""

from viz_app.components.component import registered_component, texts_beside
from viz_app.language import texts_for_script

_component = registered_component(__file__)
_TEXTS = texts_beside(__file__)


def uploader_words(key: str, uploader: str) -> None:
    """Translate what an uploader says of the files that it is given.

    Draws nothing itself.

    Args:
        key: of the component.
        uploader: the class of the uploader's container.
    """
    _component(data=[uploader, texts_for_script(_TEXTS)], key=key)
