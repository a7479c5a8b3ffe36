"""Name, shape and training of a model, and the names of those to select from, as the sidebar shows them."""

import html
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from viz_app.language import compact, tr
from viz_app.session import model_task
from viz_app.session.models import Model


def names(opened: Sequence[Model], shipped: Mapping[str, str]) -> dict[str, str]:
    """Return names of the open models, by digest, and of the shipped ones that are not open, by path."""
    offers = [model_task.open_offer(each, is_shipped=each.path in shipped) for each in opened]
    closed = {path: name for path, name in shipped.items() if path not in {each.path for each in opened}}
    return model_task.labels([*offers, *(model_task.file_offer(name, Path(path)) for path, name in closed.items())])


def facts_html(model: Model) -> str:
    """Describe a model's name and shape in HTML, with all its text escaped, as the file is untrusted."""
    from core.export.attention_arrays import attention_facts
    from core.formats.model_facts import OWN_FORMAT, origin_of
    from viz_app.language import translated

    if model.explanation is not None:
        given = attention_facts(model.explanation)
        return _facts_list(model, [translated(given[name]) for name in ("format", "layers", "tokens")])
    config = model.translator.model.config
    parameters = sum(parameter.numel() for parameter in model.translator.model.parameters())
    facts = [
        tr(
            "{encoder} + {decoder} layers, {heads} heads",
            encoder=config.num_encoder_layers,
            decoder=config.num_decoder_layers,
            heads=config.head_counts,
        ),
        f"d_model {config.d_model}, d_ff {config.d_ff}",
        tr("{count} parameters", count=compact(parameters)),
        tr("{count:,} tokens", count=config.vocab_size),
    ]
    if (origin := origin_of(model.translator.training)) != OWN_FORMAT:
        facts.append(origin)
    if training := training_text(model.translator.training):
        facts.append(training)
    if model.translator.shared.precision == "fast":
        facts.append(tr("translates in reduced precision; maps are exact"))
    return _facts_list(model, facts)


def _facts_list(model: Model, facts: Iterable[str]) -> str:
    lines = "".join(f"<li>{html.escape(fact)}</li>" for fact in facts)
    return (
        f'<div class="facts"><b title="SHA-256 {model.digest[:16]}">{html.escape(model.name)}</b><ul>{lines}</ul></div>'
    )


def training_text(training: object) -> str:
    """Say for how many steps a checkpoint was trained, in all runs that its record continues; "" if it is not known."""
    from core.files.training_runs import steps_of_runs  # imports torch, which the sentence box does not wait for

    runs = steps_of_runs(training)
    known = [steps for steps in runs if steps is not None]
    if not known:
        return ""
    steps, is_whole = sum(known), len(known) == len(runs)
    if len(runs) == 1:
        return tr("trained for {steps:,} steps", steps=steps)
    if is_whole:
        return tr("trained for {steps:,} steps (in {runs} runs)", steps=steps, runs=len(runs))
    return tr("trained for at least {steps:,} steps (in {runs} runs)", steps=steps, runs=len(runs))
