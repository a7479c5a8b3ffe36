"""Uploaded text files, which may be anything."""

from core.text.text_files import NotTextError, decode
from viz_app.language import marked, tr

NOT_TEXT = marked("{name} is not UTF-8 text: {error}")


def decoded(name: str, content: bytes, most_bytes: int, too_large: str, not_text: str = NOT_TEXT) -> str:
    """Return the text of an uploaded file.

    Args:
        too_large: message in English, of the file's `name` and the `most` megabytes.
        not_text: message in English, of the file's `name` and the `error`.

    Raises:
        ValueError: it is too large, or not UTF-8.
    """
    if len(content) > most_bytes:
        raise ValueError(tr(too_large, name=name, most=most_bytes // 2**20))
    try:
        return decode(content, name)
    except NotTextError as error:
        raise ValueError(tr(not_text, name=name, error=error.problem)) from error
