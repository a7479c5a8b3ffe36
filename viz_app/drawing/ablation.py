"""Effects of turning heads off, on words, tokens and log-probabilities."""

import html
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

import plotly.graph_objects as go

from core.analysis.heads.head import Head
from core.analysis.pictures import effect_limit, effect_share
from core.analysis.tokens.words import JOINT, readable, text_word_groups, word
from core.capture import Kind
from core.text.byte_pieces import grapheme_groups, is_special
from core.text.tokenizer import SPACE_MARK
from viz_app.drawing.display_text import decimal, direction, in_line
from viz_app.drawing.head_grid import readable_on
from viz_app.drawing.head_names import KIND_NAMES
from viz_app.drawing.head_names import head_title as head_title
from viz_app.drawing.plotly_chart import empty_figure, legend_above, number_axis, with_layout
from viz_app.drawing.theme import Theme
from viz_app.language import tr

MARKERS: dict[Kind, str] = {"encoder_self": "circle", "decoder_self": "square", "cross": "diamond"}


def effect_color(effect: float, limit: float, theme: Theme) -> str:
    """Return the colour of a change from -limit to limit, by `effect_share`: blue for a loss, orange for a gain."""
    return theme.diverging[round((effect_share(effect, limit) + 1) / 2 * (len(theme.diverging) - 1))]


def words_of(tokens: Sequence[str]) -> list[str]:
    """Return the words of a translation with their spaces, without special tokens."""
    groups = text_word_groups(tokens)
    return [
        " " * (group != groups[0] and tokens[group.start].startswith(SPACE_MARK))
        + word(tokens[group.start : group.stop])
        for group in groups
    ]


def difference(old: Sequence[str], new: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Mark the words, of the old text and of the new one, that are not in their longest common runs."""
    marks = [True] * len(old), [True] * len(new)
    for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        marks[0][block.a : block.a + block.size] = [False] * block.size
        marks[1][block.b : block.b + block.size] = [False] * block.size
    return marks


_TURNED = {"rtl": ' dir="rtl"', "ltr": "", "": ""}  # attribute of a paragraph, by the reading direction of its words


def marked_text(words: Sequence[str], marks: Sequence[bool], tag: str) -> str:
    """Return words as HTML, the marked ones in `tag`: `del` or `ins`."""

    line, texts = direction("".join(words)), marked_runs(words, marks, tag)
    empty = f"<i>{tr('empty')}</i>"
    return f'<p class="switched"{_TURNED[line]}>{texts or empty}</p>'


def marked_runs(words: Sequence[str], marks: Sequence[bool], tag: str) -> str:
    """Return words as HTML without a paragraph, the marked ones in `tag`."""
    line = direction("".join(words))

    def written(text: str, mark: bool) -> str:
        safe = html.escape(in_line(text.strip(), line))
        return " " * text.startswith(" ") + (f"<{tag}>{safe}</{tag}>" if mark else safe)

    return "".join(written(text, mark) for text, mark in zip(words, marks, strict=True))


def changed_tokens(tokens: Sequence[str], before: Sequence[float], changes: Sequence[float], theme: Theme) -> str:
    """Return HTML tokens coloured by the change of their log-probability."""
    groups = list(grapheme_groups(tokens))
    of_group = [sum(changes[group.start : group.stop]) for group in groups]
    limit, line = effect_limit(of_group), direction("".join(tokens))
    spans: list[str] = []
    for group, change in zip(groups, of_group, strict=True):
        name = readable(tokens[group.start]) if len(group) == 1 else word(tokens[group.start : group.stop])
        old = sum(before[group.start : group.stop])
        title = html.escape(
            tr(
                "{token}: log-probability {before} before, {now} now, change {change}",
                token=name,
                before=decimal(old, 3),
                now=decimal(old + change, 3),
                change=decimal(change, 3, sign=True),
            )
        )
        special = is_special(tokens[group.start])
        space = " " if group.start and (special or tokens[group.start].startswith(SPACE_MARK)) else ""
        color = effect_color(change, limit, theme)
        style = f"background: {color}; color: {readable_on(color)}"
        spans.append(
            f'{space}<span class="token{" special" if special else ""}" title="{title}" '
            f'style="{style}">{html.escape(in_line(name.removeprefix(JOINT), line))}</span>'
        )
    return f'<p class="token-text"{_TURNED[line]}>{"".join(spans)}</p>'


def effects_figure(effects: Mapping[Head, float], importance: Mapping[Head, float], theme: Theme) -> go.Figure:
    """Plot the effect of turning each head off over its gradient importance."""
    figure = empty_figure(theme, 420, (64, 36, 12, 48))
    limit = effect_limit(list(effects.values()))
    for kind, symbol in MARKERS.items():
        heads = [head for head in effects if head.kind == kind]
        if not heads:
            continue
        figure.add_scatter(
            x=[importance[head] for head in heads],
            y=[effects[head] for head in heads],
            mode="markers",
            name=tr(KIND_NAMES[kind]),
            marker={
                "symbol": symbol,
                "size": 9,
                "color": [effect_color(effects[head], limit, theme) for head in heads],
                "line": {"width": 0.7, "color": theme.text},
            },
            text=[head_title(head) for head in heads],
            hovertemplate=f"%{{text}}<br>{tr('off: {change}', change='%{y:+.3f}')}<br>"
            f"{tr('gradient: {importance}', importance='%{x:.3f}')}<extra></extra>",
        )
    x_axis = number_axis(theme, tr("importance by gradient, nats per token"))
    with_layout(figure, **legend_above(), xaxis=x_axis, yaxis=number_axis(theme, tr("change when off, nats")))
    figure.add_hline(y=0, line={"color": theme.hairline, "width": 1})
    return figure
