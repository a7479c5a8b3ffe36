"""Uploaded text files, which may be anything."""

from core.text.text_files import NotTextError, decode
from viz_app.language import RefusedError, marked, tr

NOT_TEXT = marked("{name} is not UTF-8 text: {error}")
TOO_LARGE = marked("{name} is larger than {most} MB: upload fewer lines")
TOO_LARGE_HERE = marked("{name} is larger than {most} MB: upload fewer lines, or use `python -m core {command}`")
TOO_MANY = marked("{name} has {count} sentences, at most {most} are read here: use `python -m core {command}`")


def decoded(name: str, content: bytes, most_bytes: int, command: str = "", not_text: str = NOT_TEXT) -> str:
    """Return the text of an uploaded file.

    Args:
        command: of `python -m core` that reads larger files, if there is one.
        not_text: message in English, of the file's `name` and the `error`.

    Raises:
        ValueError: it is too large, or not UTF-8.
    """
    if len(content) > most_bytes:
        raise RefusedError(
            TOO_LARGE_HERE if command else TOO_LARGE, name=name, most=most_bytes // 2**20, command=command
        )
    try:
        return decode(content, name)
    except NotTextError as error:
        raise RefusedError(not_text, name=name, error=error.problem) from error


def check_number(name: str, count: int, most: int, command: str) -> None:
    """Check the number of sentences of a file; a command of `python -m core` reads more.

    Raises:
        ValueError: there are too many.
    """
    if count > most:
        raise RefusedError(TOO_MANY, name=tr(name), count=count, most=most, command=command)
