"""The pages and cards of the exhibits, after all that they say of the model has been compared with it."""

import hashlib
import html
import os
import re
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from urllib.parse import urlencode

from torch import Tensor

from core.analysis.heads.gated_translation import translate_gated
from core.analysis.heads.gating import gated
from core.analysis.interventions.control_pairs import PARTNERS, Control, control, pair_for
from core.analysis.tokens.words import mean_over_words, merge_words, readable_all, word_groups, word_labels
from core.capture import AttentionMap
from core.export.html_page import Note, page
from core.export.record import record_of
from core.files.shipped_files import shipped_checkpoint
from core.results import Explanation
from core.trace import Head, parse_head
from core.translator import Translator
from docs.gallery.exhibits import EXHIBITS, Exhibit
from viz_app.page_list import VIEWS

MARGIN = 0.05  # by which a link's weight exceeds the others of its row: other processors round otherwise
BACK = ("All sentences", "../index.html")
LINK = re.compile(r"\[([^\]]+)\]\((\w+)(: ([^)]+))?\)")
STATIC_PAGE = os.environ.get("STATIC_PAGE", "static_page.html")  # as in docs/generate/gallery_pages.py
_VIEWS = {view.name for view in VIEWS}
LINE, WIDTH = 17, 228  # of a card's picture


class FalseClaimError(ValueError):
    """An exhibit says something that is not so."""


def checked(exhibit: Exhibit) -> Explanation:
    """Return the explanation of an exhibit's translation.

    Raises:
        FalseClaimError: the model does something else than the exhibit says.
    """
    translator = _translator(exhibit.model)
    gates = {parse_head(exhibit.off): 0.0} if exhibit.off else {}
    if gates:
        found = translate_gated(translator, exhibit.source, gates)
        hypotheses = [found.text]
        ids = found.token_ids
    else:
        translation = translator.translate(exhibit.source)
        hypotheses = [hypothesis.text for hypothesis in translation.hypotheses]
        ids = translation.hypotheses[0].token_ids
    _require(exhibit, hypotheses[0] == exhibit.translation, f"the translation is {hypotheses[0]!r}")
    for text in exhibit.others:
        _require(exhibit, text in hypotheses, f"{text!r} is not among {hypotheses}")
    for source, expected in exhibit.variants:
        text = translator.translate(source).text
        _require(exhibit, text == expected, f"the translation of {source!r} is {text!r}")
    with ExitStack() as stack:
        if gates:
            stack.enter_context(gated(translator, gates))
        explanation = translator.explain(exhibit.source, ids)
    for piece, other in exhibit.rivals:
        places = _places(readable_all(explanation.predicted_tokens), piece)
        rivals = [readable_all([token])[0] for place in places[:1] for token, _ in explanation.alternatives[place]]
        _require(exhibit, other in rivals, f"{other!r} is not among the alternatives of {piece!r}: {rivals}")
    for link in exhibit.links:
        _check_link(exhibit, explanation, link)
    for question in exhibit.questions:
        _linked(question, exhibit, parsed(exhibit.links[0])[0])
    if exhibit.blind:
        found = [each.tells_apart for each in controls(exhibit) if each.head == parse_head(exhibit.blind)]
        _require(exhibit, found == [False], f"{exhibit.blind} tells its minimal pair apart, or follows none")
    return explanation


def parsed(link: str) -> tuple[Head, str, str]:
    """Return the head, the query and the key of a link such as `cross L5 H8: ab > departs`."""
    head, words = link.split(": ")
    query, key = words.split(" > ")
    return parse_head(head), query, key


@cache
def controls(exhibit: Exhibit) -> list[Control]:
    """Return what the sentence's minimal pair says of the heads of the links that follow the words of the pair."""
    words, found = [word.strip(".") for word in exhibit.source.split()], list[Control]()
    for head, query, key in map(parsed, exhibit.links if exhibit.source in PARTNERS and not exhibit.off else ()):
        query_at, key_at = (words.index(each) if each in words else -1 for each in (query, key))
        if head.kind != "decoder_self" and (pair := pair_for(head.kind, exhibit.source, (query_at, ""), (key_at, ""))):
            found.append(control(_translator(exhibit.model), head, pair))
    return found


def standalone_page(exhibit: Exhibit, explanation: Explanation) -> str:
    """Return the page of `core explain` with the exhibit's texts, the first link's head large and its word selected."""
    path = shipped_checkpoint(exhibit.model)
    settings = {"target": "search", "beam_size": 4, "length_penalty": 0.6}
    settings |= {"head turned off": exhibit.off} if exhibit.off else {}
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    record = record_of(explanation, _translator(exhibit.model), settings, path.name, digest)
    head, query, _ = parsed(exhibit.links[0])
    row_tokens = explanation.maps[head.kind][head.layer].row_tokens
    rows = _pieces(row_tokens, query)
    text = " ".join([exhibit.text, *(each.answer() for each in controls(exhibit))])
    note = Note(exhibit.title, text, tuple(_linked(each, exhibit, head) for each in exhibit.questions), BACK)
    return page(record, head, rows=rows, note=note)


def _linked(question: str, exhibit: Exhibit, head: Head) -> str:
    """Return a question with the addresses of its links."""

    def address(match: re.Match[str]) -> str:
        label, place, sentence = match[1], match[2], match[4] or exhibit.source
        if place in _VIEWS:
            return f"[In the app: {label}](../pages/{place}.html)"
        if place in {each.name for each in EXHIBITS}:
            return f"[{label}]({place}.html)"
        _require(exhibit, place == "page", f"the link of {question!r} leads nowhere")
        shown = {"text": sentence, "model": exhibit.model, "head": f"{head.kind}.{head.layer + 1}.{head.head + 1}"}
        return f"[{label}](../{STATIC_PAGE}#{urlencode(shown)})"

    return LINK.sub(address, question)


def card(exhibit: Exhibit, explanation: Explanation) -> str:
    """Return a link to the page with a picture of its first link's head, as HTML without scripts."""
    head, query, _ = parsed(exhibit.links[0])
    parts = (
        f"<b>{html.escape(exhibit.title)}</b>",
        _picture(_named(explanation.maps[head.kind][head.layer], query), head, query),
        f"<span>{html.escape(exhibit.source)}</span>",
        f"<i>{html.escape(exhibit.translation)}</i>",
        f"<small>{head}</small>",
    )
    return f'<a class="card" href="gallery/{exhibit.name}.html">{"".join(parts)}</a>'


def _picture(attention: AttentionMap, head: Head, query: str) -> str:
    """Lines from the source on the left to the words that attend on the right, those of one word dark."""
    rows, keys = readable_all(attention.row_tokens), readable_all(attention.key_tokens)
    chosen = _pieces(attention.row_tokens, query)
    height = LINE * max(len(rows), len(keys)) + 4
    parts: list[str] = []
    for row, weights in enumerate(attention.weights[head.head].tolist()):
        for key, weight in enumerate(weights):
            strength = weight * (1 if row in chosen else 0.25)
            if strength >= 0.03:
                ends = f'x1="{WIDTH * 0.38:.0f}" y1="{_middle(key)}" x2="{WIDTH * 0.62:.0f}" y2="{_middle(row)}"'
                parts.append(f'<line {ends} stroke-opacity="{strength:.2f}"/>')
    for column, words, anchor in ((0.36, keys, "end"), (0.64, rows, "start")):
        for place, word in enumerate(words):
            selected = ' class="on"' if column > 0.5 and place in chosen else ""
            at = f'x="{WIDTH * column:.0f}" y="{_middle(place) + 4}" text-anchor="{anchor}"'
            parts.append(f"<text {at}{selected}>{html.escape(_short(word))}</text>")
    label = html.escape(f"{head}: lines from the words attended to, left, to the words that attend, right")
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _named(pieces: AttentionMap, query: str) -> AttentionMap:
    """Return the map as it is drawn with whole words, or between pieces if the query is one."""
    words = merge_words(pieces)
    return words if query in word_labels(words.row_tokens) else pieces


def _middle(place: int) -> int:
    return LINE * place + LINE // 2 + 2


def _short(word: str, most: int = 11) -> str:
    return word if len(word) <= most else f"{word[: most - 1]}\u2026"


def _check_link(exhibit: Exhibit, explanation: Explanation, link: str) -> None:
    head, query, key = parsed(link)
    pieces = explanation.maps[head.kind][head.layer]
    words = mean_over_words(pieces)
    attention = words if query in words.row_tokens and key in words.key_tokens else pieces
    rows = _places(readable_all(attention.row_tokens), query)
    keys = _places(readable_all(attention.key_tokens), key)
    _require(exhibit, bool(rows and keys), f"there is no such row or key for {link!r}")
    weights: Tensor = attention.weights[head.head, rows[0]]
    rest = weights.clone()
    rest[keys] = 0
    margin = float(weights[keys].max() - rest.max())
    _require(exhibit, margin >= MARGIN, f"{link!r} is not the largest weight by {MARGIN}, but by {margin:.3f}")


def _pieces(tokens: Sequence[str], query: str) -> list[int]:
    """Return the positions of the pieces of a word, or of a piece of this name."""
    words = word_labels(tokens)
    return list(word_groups(tokens)[words.index(query)]) if query in words else _places(readable_all(tokens), query)[:1]


def _places(tokens: Sequence[str], name: str) -> list[int]:
    return [place for place, token in enumerate(tokens) if token.lstrip("\u00b7") == name]


def _require(exhibit: Exhibit, holds: bool, found: str) -> None:
    if not holds:
        raise FalseClaimError(f"docs/gallery/exhibits.py, {exhibit.name}: {found}; correct the exhibit, text and field")


@cache
def _translator(name: str) -> Translator:
    return Translator.from_checkpoint(shipped_checkpoint(name))
