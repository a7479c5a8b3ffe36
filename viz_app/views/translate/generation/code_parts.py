"""Python that computes the tables of the page Generation."""

from collections.abc import Mapping

from viz_app.session.models import Model
from viz_app.session.python_code import model_part
from viz_app.views.translate.generation.compared_models import ComparedModels


def searches_part(found: ComparedModels, text: str, settings: Mapping[str, tuple[int, float]]) -> str:
    """Make the `table` of searches, by name with beam size and length penalty."""
    return f"""
{model_part(found.one_by_one)}
from viz_app.views.translate.generation.figures import rows_table, search_rows
found = [
    (name, translator.translate({text!r}, beam_size, length_penalty, 1).hypotheses[0])
    for name, (beam_size, length_penalty) in {settings}.items()
]
table = rows_table(search_rows(found))""".strip()


def speculative_part(found: ComparedModels, draft: Model, text: str, draft_tokens: int) -> str:
    """Make the `table` of speculative decoding."""
    return f"""
{model_part(draft)}
draft = translator
{model_part(found.one_by_one)}
from viz_app.views.translate.generation.figures import rows_table, speculative_rows
steps = list(translator.translate_speculatively({text!r}, draft, {draft_tokens}))
table = rows_table(speculative_rows(steps, translator))""".strip()


def mask_predict_part(model: Model, text: str, iterations: int, candidates: int, at: int | None = None) -> str:
    """Make the `table` of mask-predict, or the `maps` of iteration `at`, from 0."""
    end = (
        """
from viz_app.views.translate.generation.figures import mask_predict_rows, rows_table
table = rows_table(mask_predict_rows(states, translator))"""
        if at is None
        else f"""
explanation = translator.explain_iteration({text!r}, states[{at}])"""
    )
    return f"""
{model_part(model)}
steps = list(translator.mask_predict({text!r}, {iterations}, {candidates}))
last = {{state.candidate: state for step in steps for state in step}}
best = max(last.values(), key=lambda state: state.hypothesis.score).candidate
states = [state for step in steps for state in step if state.candidate == best]{end}""".strip()
