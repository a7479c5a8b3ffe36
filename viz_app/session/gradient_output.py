"""The output that gradient x attention is computed for: all tokens, or some."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.analysis.tokens.words import readable, word, word_groups
from viz_app.drawing.display_text import isolated
from viz_app.language import joined, marked, quoted, tr, tr_count

if TYPE_CHECKING:
    from core import Explanation

Output = tuple[int, ...]  # the positions of its tokens in `predicted_tokens`, in order
MAX_NAMED = 4  # words; more are counted
WHOLE = marked("the whole translation")
ABOUT = marked("""
The gradient of the log-probability of all predicted tokens, or only of those selected: words of the translation, or the
token of a decoding step. It shows which inputs made that output more probable.
""")


def output_text(explanation: "Explanation", output: Output | None) -> str:
    """Name an output as plain text, such as `the whole translation`, `“Hund” (token 3)`; tokens are counted from 1."""
    if output is None:
        return tr(WHOLE)
    names = _names(explanation.predicted_tokens, output)
    if len(names) > MAX_NAMED:
        return tr(
            "{words} and {more} more words ({tokens} tokens)",
            words=joined(names[: MAX_NAMED - 1]),
            more=len(names) - MAX_NAMED + 1,
            tokens=len(output),
        )
    numbers = joined(str(position + 1) for position in output)
    return tr_count(
        "{words} (token {numbers})", "{words} (tokens {numbers})", len(output), words=joined(names), numbers=numbers
    )


def file_part(output: Output | None) -> str:
    """Return the part of a file name for an output; tokens are counted from 0."""
    if output is None:
        return ""
    numbers = (
        "-".join(map(str, output))
        if len(output) <= 2 * MAX_NAMED
        else f"{output[0]}-to-{output[-1]}-{len(output)}-tokens"
    )
    return f"-output{numbers}"


def _names(tokens: Sequence[str], output: Output) -> list[str]:
    """Name the words that the tokens belong to or, of a word that is only partly in the output, the pieces."""
    names: list[str] = []
    for group in word_groups(tokens):
        if pieces := [tokens[position] for position in group if position in output]:
            text = readable(word(pieces)) if len(pieces) == len(group) else " ".join(map(readable, pieces))
            names.append(quoted(isolated(text)))
    return names
