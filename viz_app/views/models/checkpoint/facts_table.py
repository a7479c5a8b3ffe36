"""Facts about open models side by side, with what the paper states about its base model."""

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.export.attention_arrays import attention_facts
from core.formats.model_facts import PAPER_SECTIONS, model_facts, paper_facts
from viz_app.language import capital, marked, tr, translated
from viz_app.session.models import Model
from viz_app.session.open_models import distinct_names

if TYPE_CHECKING:  # pandas takes half a second to import
    import pandas as pd

PAPER = marked("Paper, base model")
MAX_SHOWN = 120  # characters of a cell


def facts_by_model(models: Sequence[Model]) -> dict[str, dict[str, str]]:
    """Return the facts about each model, and what the paper states about its base model, by name."""
    names = distinct_names(models)
    facts = {
        names[each.digest]: attention_facts(each.explanation)
        if each.explanation is not None
        else model_facts(each.translator.model, each.translator.tokenizer, each.translator.training)
        for each in models
    }
    return {**facts, PAPER: paper_facts()}


def fact_names(facts: dict[str, dict[str, str]]) -> list[str]:
    """Return the names of all facts, in the order of the model with the most."""
    return list(dict.fromkeys(name for each in sorted(facts.values(), key=len, reverse=True) for name in each))


def facts_html(facts: dict[str, dict[str, str]]) -> str:
    """Draw the facts as an HTML table, grey where they are as in the paper, with its sections in the last column.

    Names and values come from untrusted files: all text is escaped.
    """
    columns = "".join(f"<th>{html.escape(tr(name))}</th>" for name in facts)
    rows = "".join(
        f"<tr><th>{html.escape(capital(tr(name)))}</th>"
        + "".join(_cell(each.get(name, "\u2013"), facts[PAPER].get(name)) for each in facts.values())
        + f"<td>{html.escape(tr(PAPER_SECTIONS.get(name, '')))}</td></tr>"
        for name in fact_names(facts)
    )
    return (
        f'<div class="facts-table" role="group" aria-label="{html.escape(tr("Facts"))}" tabindex="0"><table>'
        f"<thead><tr><td></td>{columns}<th>{html.escape(tr('Section'))}</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _cell(value: str, of_paper: str | None) -> str:
    """A cell; of a long text, such as a list of a hundred languages, the rest is shown after a click."""
    text = translated(value)
    shown = html.escape(text)
    if len(text) > MAX_SHOWN:
        start = html.escape(text[:MAX_SHOWN].rpartition(" ")[0] or text[:MAX_SHOWN])
        shown = f"<details><summary>{start} \u2026</summary>{shown}</details>"
    return f"<td{' class=usual' if value == of_paper else ''}>{shown}</td>"


def facts_table(facts: dict[str, dict[str, str]]) -> "pd.DataFrame":
    """Make the table of the CSV file: a row a fact, a column a model."""
    import pandas as pd

    names = fact_names(facts)
    return pd.DataFrame(
        {"fact": names, **{name: [each.get(fact, "") for fact in names] for name, each in facts.items()}}
    )
