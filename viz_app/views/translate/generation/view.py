"""Generation: one token after the other, several checked at once, or all at once and then predicted again."""

from typing import Any

import pandas as pd
import streamlit as st

from core.analysis.generation_rows import mask_predict_rows, passes_answer, rows_table, search_rows, speculative_rows
from core.analysis.recorded_call import Call
from core.analysis.weight_tables import lines_table
from core.capture import Kind
from core.mask_predict_translation import explain_iteration
from core.results import Explanation
from viz_app.components.attention_map import attention_map
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import show_table
from viz_app.controls.widgets import page_theme, setting_menu, setting_segments, show_answer
from viz_app.drawing import head_names
from viz_app.drawing.display_text import plain, sentence_case
from viz_app.drawing.theme import head_name
from viz_app.language import marked, tr, tr_values
from viz_app.session import address
from viz_app.session.fields import Field
from viz_app.session.models import Model, ModelError, not_installed
from viz_app.session.python_code import translator
from viz_app.session.readings import Reading, Search, reading_part
from viz_app.session.state import refusals_shown
from viz_app.views.translate.generation import compared_models as shipped
from viz_app.views.translate.generation.compared_models import (
    RUNS,
    ComparedModels,
    TimedResult,
    compared_models,
    drafted,
    drafted_call,
    refined,
    refined_call,
    search_call,
    searched,
)
from viz_app.views.translate.generation.figures import rows_html

HOW_TO_READ = marked("""
The paper's model writes one token after the other; section 7 names "making generation less sequential" as a goal.
Here are two ways to it, beside its own search.

The stronger the colour of a token, the more probable the model found it; the number is its probability.

**Speculative decoding**: a small model drafts a few tokens, and one pass of the large one checks them all. A drafted
token that is the large model's own choice is accepted (\u2713); the first other one is rejected (\u2717), and the large
model's choice (+) takes its place. The translation is that of greedy search, token by token.

**Mask-predict**: a model without causal mask predicts the length, then all tokens at once. The least probable of them
are masked and predicted again (\u21bb) in the next iteration, given the others (= was not predicted in this one).

A probability here is the model's own, given what it saw at that step: it does not say that a token is right. Seconds
are of this sentence on this machine now, and say little about others.
""")
ABOUT_TIMES = marked("""
The fastest of up to {runs} runs of this sentence on this machine, fewer where they take long, by the model itself in
PyTorch: the app's other pages search faster. Fewer passes are not always faster: a pass over several tokens costs more
than one over a single token, and the draft model has its own.
""")
PASSES = marked("passes of the decoder")
KIND_TEXTS = {
    **head_names.KIND_TEXTS,
    "decoder_self": marked("each target token attends to all of them, later ones too"),
}
ABOUT_ATTENTION = marked("""
The decoder's self-attention at one iteration. Without a causal mask, tokens attend to **later** ones too: both sides of
the diagonal may have weights, where the decoder of the other models has none above it. A `<mask>` stands for a token
that this iteration predicts. As everywhere, a large weight does not say that the token mattered.
""")


def picture(recorded: Call, name: str, title: str, selected: int | None = None) -> None:
    """Draw rows of tokens, which are the result of a call, and their export."""
    theme, rows = page_theme(), recorded.run()
    with st.container(key=f"rows-{name}"):
        st.html(rows_html(rows, theme, selected))
    downloads(name, f"rows-{name}", lambda: Call("table", rows_table, (recorded.returning(rows),)), title=title)


def number_box(label: str, setting: Field[int], most: int, about: str) -> int:
    """Select a number from 1 on."""
    return setting.draw(st.slider, label, 1, most, help=about, width=220)


def speculative(compared: ComparedModels, search: Search) -> list[dict[str, object]]:
    """Draw speculative decoding, and return its line of the comparison."""
    st.markdown(
        tr("**Speculative decoding** with {model}", model=plain(compared.draft.name))
        if compared.draft
        else tr("**Speculative decoding**")
    )
    if compared.draft is None:
        reason = tr(
            "There is no smaller model with the vocabulary of {model} to draft for it: open one in the sidebar "
            "(docs/pages/generation.md says how to train one).",
            model=plain(compared.one_by_one.name),
        )
        st.info(not_installed(shipped.DRAFT, reason))
        return []
    if compared.one_by_one.translator.setup.options(1).first_is_certain:
        st.info(
            tr(
                "Every translation of {model} begins with a forced token, which drafts do not take into account.",
                model=plain(compared.one_by_one.name),
            )
        )
        return []
    draft_tokens = number_box(
        tr("Drafted tokens"), address.DRAFT_TOKENS, 8, tr("How many tokens are drafted for each check.")
    )
    run = drafted(compared.one_by_one, compared.draft, search.text, draft_tokens)
    num_drafted = sum(len(step.drafted) for step in run.result)
    accepted = sum(step.accepted for step in run.result)
    checks = drafted_call(compared.one_by_one, compared.draft, search.text, draft_tokens, run.result)
    rows = Call("rows", speculative_rows, (checks, translator(compared.one_by_one)))
    title = tr(
        "Speculative decoding, {accepted} of {drafted} drafted tokens accepted", accepted=accepted, drafted=num_drafted
    )
    picture(rows, "speculative", title)
    last = run.result[-1].hypothesis.token_ids
    return [
        line(
            tr("Speculative decoding"),
            len(last),
            len(run.result),
            run,
            tr("{passes} of the draft model", passes=num_drafted),
        )
    ]


def shown_iteration(count: int) -> int:
    """Select the iteration whose attention is shown, counted from 1.

    At first it is the last one.
    """
    box = address.GENERATION_STEP
    if count == 1:
        return 1
    about = tr("The iteration that is marked, and whose attention is shown below. The arrow keys move it.")
    return box.draw(st.select_slider, tr("Iteration shown"), range(1, count + 1), default=count, help=about, width=220)


def line(name: str, tokens: int, passes: int, run: TimedResult[Any], besides: str = "") -> dict[str, object]:
    """A line of the comparison."""
    return {
        marked("search"): name,
        marked("tokens"): tokens,
        PASSES: passes,
        marked("tokens per pass"): round(tokens / passes, 2),
        marked("besides"): besides,
        marked("milliseconds"): round(1000 * run.seconds, 1),
    }


def mask_predict(compared: ComparedModels, search: Search) -> list[dict[str, object]]:
    """Draw mask-predict and its attention, and return its line of the comparison."""
    model = compared.at_once
    st.markdown(tr("**Mask-predict** by {model}", model=plain(model.name)) if model else tr("**Mask-predict**"))
    if model is None:
        reason = tr("There is no model without causal mask: open one in the sidebar (see docs/pages/generation.md).")
        st.info(not_installed(shipped.MASK_PREDICT, reason))
        return []
    with st.container(horizontal=True, gap="medium"):
        iterations = number_box(
            tr("Iterations"), address.ITERATIONS, 10, tr("After the last one, nothing is masked any more.")
        )
        candidates = number_box(
            tr("Length candidates"), address.LENGTH_CANDIDATES, 8, tr("Lengths to try; the likeliest wins.")
        )
        run = refined(model, search.text, iterations, candidates)
        states, at = run.result, shown_iteration(len(run.result))
    recorded = refined_call(model, search.text, iterations, candidates, states)
    rows = Call("rows", mask_predict_rows, (recorded, translator(model)))
    picture(rows, "mask-predict", tr("Mask-predict, {count} iterations", count=len(states)), at - 1)
    try:
        attention(model, search, recorded, at)
    except ValueError as error:
        st.error(sentence_case(str(error)))
    besides = tr("{count} lengths at once", count=candidates) if candidates > 1 else ""
    return [line(tr("Mask-predict"), len(states[-1].token_ids), len(states), run, besides)]


def attention(model: Model, search: Search, states: Call, at: int) -> None:
    """Draw the attention of one iteration, counted from 1."""
    arguments = translator(model), search.text, Call("state", "[]", (states, at - 1))
    recorded = Call("explanation", explain_iteration, arguments)
    explanation: Explanation = recorded.run()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        kind: Kind = setting_segments(
            address.GENERATION_KIND, tr("Attention"), tr_values(head_names.KIND_NAMES), hide_label=True
        )
        maps = explanation.maps[kind]
        names = {head_name(each.layer, head): (each.layer, head) for each in maps for head in range(each.num_heads)}
        name = setting_menu(address.GENERATION_HEAD, tr("Head"), list(names), hide_label=True, width=130)
    layer, head = names[name]
    st.markdown(
        tr("{head}, iteration {number}: {text}", head=name, number=at, text=tr(KIND_TEXTS[kind])),
        help=tr(ABOUT_ATTENTION),
    )
    theme = page_theme()
    attention_map(maps[layer], head, theme, key="generation_map")
    of_kind = Call("maps", "[]", (Call("all_maps", ".maps", (recorded.returning(explanation),)), kind))
    title = tr(
        "{kind} attention {head}, iteration {number} of mask-predict",
        kind=tr(head_names.KIND_NAMES[kind]),
        head=name,
        number=at,
    )
    table = Call("table", lines_table, (Call("map", "[]", (of_kind, layer)), [head]))
    downloads("mask-predict-attention", "generation_map", table, title=title)


def one_by_one(compared: ComparedModels, search: Search) -> list[dict[str, object]]:
    """Draw the searches for one token after the other, and return their lines of the comparison."""
    st.markdown(
        tr("**One token after the other**: {model}, one token per decoder pass", model=plain(compared.one_by_one.name))
    )
    settings = {
        tr("Greedy search"): (1, 0.0),
        tr("Beam search, {size}", size=search.beam_size): (search.beam_size, search.length_penalty),
    }
    runs = {name: searched(compared.one_by_one, search.text, *each) for name, each in settings.items()}
    best = [
        (name, search_call(compared.one_by_one, search.text, *settings[name], run.result)) for name, run in runs.items()
    ]
    picture(Call("rows", search_rows, (best,)), "one-by-one", tr("One token after the other"))
    return [line(name, len(run.result.token_ids), len(run.result.token_ids), run) for name, run in runs.items()]


@reading_part
def page(reading: Reading) -> None:
    """Draw everything below the sentence; a click in it runs only this part again."""
    try:
        compared = compared_models(reading.model)
    except ModelError as error:
        st.info(plain(str(error)))
        return
    above = st.container()
    with refusals_shown():
        parts = [part(compared, reading.search) for part in (one_by_one, speculative, mask_predict)]
    table = pd.DataFrame([each for part in parts for each in part])
    with above:
        passes = dict(zip(table["search"], table[PASSES].tolist(), strict=True))
        show_answer(passes_answer(passes), tr(HOW_TO_READ))
    st.markdown(tr("**Side by side**"), help=tr(ABOUT_TIMES, runs=RUNS))
    show_table(table)
    downloads("generation", table=lambda: table)


page()
