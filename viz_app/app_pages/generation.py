"""Generation: one token after the other, several checked at once, or all at once and then again."""

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from core.capture import Kind
from core.decoding import MaskPredictState
from viz_app.components.attention_map import attention_map
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import show_table
from viz_app.controls.widgets import page_theme, segments
from viz_app.features.generation import code_parts, measured_runs
from viz_app.features.generation.compared_models import ComparedModels, compared_models
from viz_app.features.generation.measured_runs import Measured
from viz_app.figures import head_names
from viz_app.figures.display_text import plain, sentence_case
from viz_app.figures.export.head_pictures import export_map
from viz_app.figures.export.token_rows import export_rows
from viz_app.figures.generation import (
    TokenRow,
    mask_predict_rows,
    rows_html,
    rows_table,
    search_rows,
    speculative_rows,
)
from viz_app.figures.theme import head_name
from viz_app.figures.weight_tables import lines_table
from viz_app.session import readings
from viz_app.session.models import ModelError
from viz_app.session.python_code import script
from viz_app.session.readings import Search
from viz_app.session.state import Widget

HOW_TO_READ = """
The paper's model writes one token after the other; its last wish is "making generation less sequential" (section 7).
Here are two ways to it, beside its own search.

The stronger the colour of a token, the more probable the model found it; the number is its probability.

**Speculative decoding**: a small model drafts a few tokens, and one pass of the large one checks them all. A drafted
token that is the large model's own choice is accepted (\u2713); the first other one is rejected (\u2717), and the large
model's choice (+) takes its place. The translation is that of greedy search, token by token.

**Mask-predict**: a model without causal mask predicts the length, then all tokens at once. The least probable of them
are masked and predicted again (\u21bb) in the next iteration, given the others (= was not predicted in this one).

A probability here is the model's own, given what it saw at that step: it does not say that a token is right. Seconds
are of this sentence on this machine now, and say little about others.
"""
ABOUT_TIMES = f"""
The fastest of {measured_runs.RUNS} runs of this sentence on this machine, with this app's precision. Fewer passes are
not always faster: a pass over several tokens costs more than one over a single token, and the draft model has its own.
"""
KIND_TEXTS = {**head_names.KIND_TEXTS, "decoder_self": "each target token attends to all of them, later ones too"}
ABOUT_ATTENTION = """
The decoder's self-attention at one iteration. Without a causal mask, tokens attend to **later** ones too: both sides of
the diagonal may have weights, where the decoder of the other models has none above it. A `<mask>` stands for a token
that this iteration predicts. As everywhere, a large weight does not say that the token mattered.
"""


def picture(rows: list[TokenRow], name: str, title: str, code: str, selected: int | None = None) -> None:
    """Draw rows of tokens, and their export."""
    theme = page_theme()
    st.html(rows_html(rows, theme, selected))
    downloads(
        name,
        lambda file_format: export_rows(rows, file_format, theme, title=title),
        partial(rows_table, rows),
        title=title,
        python=lambda file: script(file, code),
    )


def number_box(label: str, key: str, most: int, default: int, about: str) -> int:
    """Select a number from 1 on."""
    return st.slider(label, 1, most, default, key=key, bind="query-params", help=about, width=220)


def speculative(found: ComparedModels, search: Search) -> list[dict[str, object]]:
    """Draw speculative decoding, and return its line of the comparison."""
    st.markdown(
        f"**Speculative decoding** with {plain(found.draft.name)}" if found.draft else "**Speculative decoding**"
    )
    if found.draft is None:
        st.info(
            f"There is no smaller model with the vocabulary of {plain(found.one_by_one.name)} to draft for it: open "
            f"one in the sidebar (docs/generation.md says how to train one)."
        )
        return []
    draft_tokens = number_box("Drafted tokens", "draft_tokens", 8, 4, "How many tokens are drafted for each check.")
    run = measured_runs.drafted(found.one_by_one, found.draft, search.text, draft_tokens)
    rows = speculative_rows(run.result, found.one_by_one.translator)
    drafted = sum(len(step.drafted) for step in run.result)
    accepted = sum(step.accepted for step in run.result)
    code = code_parts.speculative_part(found, found.draft, search.text, draft_tokens)
    picture(rows, "speculative", f"Speculative decoding, {accepted} of {drafted} drafted tokens accepted", code)
    last = run.result[-1].hypothesis.token_ids
    return [line("Speculative decoding", len(last), len(run.result), run, f"{drafted} of the draft model")]


def shown_iteration(count: int) -> int:
    """Select the iteration whose attention is shown, counted from 1; the last one at first."""
    box = Widget[int]("generation_step")
    box.keep_within(range(1, count + 1), count)
    if count == 1:
        return 1
    about = "The iteration that is marked, and whose attention is shown below. The arrow keys move it."
    return st.select_slider(
        "Iteration shown", range(1, count + 1), count, key=box.key, bind="query-params", help=about, width=220
    )


def line(name: str, tokens: int, passes: int, run: Measured[Any], besides: str = "") -> dict[str, object]:
    """A line of the comparison."""
    return {
        "search": name,
        "tokens": tokens,
        "passes of the decoder": passes,
        "tokens a pass": round(tokens / passes, 2),
        "besides": besides,
        "milliseconds": round(1000 * run.seconds, 1),
    }


def mask_predict(found: ComparedModels, search: Search) -> list[dict[str, object]]:
    """Draw mask-predict and its attention, and return its line of the comparison."""
    model = found.at_once
    st.markdown(f"**Mask-predict** by {plain(model.name)}" if model else "**Mask-predict**")
    if model is None:
        st.info("There is no model without causal mask: open one in the sidebar (see docs/generation.md).")
        return []
    with st.container(horizontal=True, gap="medium"):
        iterations = number_box("Iterations", "iterations", 10, 10, "After the last one, nothing is masked any more.")
        candidates = number_box("Length candidates", "length_candidates", 8, 5, "Lengths to try; the likeliest wins.")
        run = measured_runs.refined(model, search.text, iterations, candidates)
        states, at = run.result, shown_iteration(len(run.result))
    rows = mask_predict_rows(states, model.translator)
    code = code_parts.mask_predict_part(model, search.text, iterations, candidates)
    picture(rows, "mask-predict", f"Mask-predict, {len(states)} iterations", code, at - 1)
    try:
        attention(found, search, states[at - 1], (iterations, candidates), at)
    except ValueError as error:
        st.error(sentence_case(str(error)))
    besides = f"{candidates} lengths at once" if candidates > 1 else ""
    return [line("Mask-predict", len(states[-1].token_ids), len(states), run, besides)]


def attention(
    found: ComparedModels, search: Search, state: MaskPredictState, settings: tuple[int, int], at: int
) -> None:
    """Draw the attention of one iteration.

    Args:
        settings: iterations and length candidates.
        at: number of the iteration, counted from 1.
    """
    assert found.at_once is not None
    explanation = found.at_once.translator.explain_iteration(search.text, state)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        kind: Kind = segments("Attention", head_names.KIND_NAMES, "decoder_self", "generation_kind", hide_label=True)
        maps = explanation.maps[kind]
        names = {head_name(each.layer, head): (each.layer, head) for each in maps for head in range(each.num_heads)}
        head_box = Widget[str]("generation_head")
        head_box.keep_within(names, next(iter(names)))
        name = st.selectbox(
            "Head", list(names), key=head_box.key, bind="query-params", width=130, label_visibility="collapsed"
        )
    layer, head = names[name]
    st.markdown(f"{name}, iteration {at}: {KIND_TEXTS[kind]}", help=ABOUT_ATTENTION)
    theme = page_theme()
    attention_map(maps[layer], head, theme, key="generation_map")
    code = code_parts.mask_predict_part(found.at_once, search.text, *settings, at - 1)
    downloads(
        "mask-predict-attention",
        lambda file_format: export_map(maps[layer], head, file_format, theme),
        lambda: lines_table(maps[layer], [head]),
        title=f"{head_names.KIND_NAMES[kind]} attention {name}, iteration {at} of mask-predict",
        python=lambda file: script(
            file,
            code,
            "from viz_app.figures.weight_tables import lines_table",
            f"table = lines_table(explanation.maps[{kind!r}][{layer}], [{head}])",
        ),
    )


def one_by_one(found: ComparedModels, search: Search) -> list[dict[str, object]]:
    """Draw the searches for one token after the other, and return their lines of the comparison."""
    st.markdown(f"**One token after the other**: {plain(found.one_by_one.name)}, a token a pass of the decoder")
    settings = {
        "Greedy search": (1, 0.0),
        f"Beam search, {search.beam_size}": (search.beam_size, search.length_penalty),
    }
    runs = {name: measured_runs.searched(found.one_by_one, search.text, *each) for name, each in settings.items()}
    rows = search_rows([(name, run.result) for name, run in runs.items()])
    code = code_parts.searches_part(found, search.text, settings)
    picture(rows, "one-by-one", "One token after the other", code)
    return [line(name, len(run.result.token_ids), len(run.result.token_ids), run) for name, run in runs.items()]


@st.fragment
def page() -> None:
    """Draw everything below the sentence; a click in it runs only this part again."""
    reading = readings.reading()
    if reading is None:
        st.caption("Enter a sentence above to see how its translation is generated.")
        return
    try:
        found = compared_models(reading.model)
    except ModelError as error:
        st.info(plain(str(error)))
        return
    st.markdown("**Generation**: one token after the other, or less sequentially", help=HOW_TO_READ)
    try:
        parts = [part(found, reading.search) for part in (one_by_one, speculative, mask_predict)]
    except ValueError as error:
        st.error(sentence_case(str(error)))
        return
    table = pd.DataFrame([each for part in parts for each in part])
    st.markdown("**Side by side**", help=ABOUT_TIMES)
    show_table(table)
    downloads("generation", None, lambda: table, title="Ways to generate a translation")


page()
