"""Python that computes the numbers that a page exports.

Whole scripts are shown beside the export. A script ends by writing the `table` of the export as a CSV file, with the
same numbers to rounding. It is put together from parts, each of which is a few lines of Python with the imports they
need.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from core.analysis.heads.head import Head
from core.analysis.recorded_call import Call, Given, joined
from viz_app.drawing.head_names import LayerHead
from viz_app.session.model_paths import is_on_this_machine
from viz_app.session.models import ROOT, Model
from viz_app.session.readings import Reading, TokenView
from viz_app.session.uploads import TOGETHER

if TYPE_CHECKING:
    from core.analysis.attribution.methods import Method
    from core.capture import Kind
    from core.results import Explanation
    from viz_app.session.attributions import MethodChoice
    from viz_app.session.gradient_output import Output


def script(file: str, *parts: str) -> str:
    """Join parts to a script that writes its `table` to a CSV file."""
    return joined(*parts, f"from core.analysis.csv_output import save_csv\nsave_csv(table, {file!r})")


def shown_path(path: Path) -> str:
    """Return a path, from Headlight's folder if it is in it.

    Only a visitor on the machine of the app sees the folders of other files.
    """
    if path.is_relative_to(ROOT):
        return str(path.relative_to(ROOT))
    return str(path) if not path.is_absolute() or is_on_this_machine() else path.name


def model_part(model: Model) -> str:
    """Load the model as `translator`."""
    path = Path(model.path)
    precision = "" if model.translator.precision == "exact" else f", precision={model.translator.precision!r}"
    uploaded = "the folder of the files" if model.path == TOGETHER else "the file"
    comment = "" if path.is_absolute() else f"  # {uploaded} that you uploaded"
    if model.is_imported:
        return f"""
from core import Translator
from core.formats.importing import import_checkpoint
checkpoint = import_checkpoint({shown_path(path)!r}){comment}
translator = Translator(checkpoint.model, checkpoint.tokenizer, checkpoint.training{precision})""".strip()
    return f"""
from core import Translator
translator = Translator.from_checkpoint({shown_path(path)!r}{precision}){comment}""".strip()


def translator(model: Model) -> Given:
    """Return the model's `translator` as an argument of a recorded call."""
    return Given("translator", model.translator, lambda: model_part(model))


def sentence(about: Reading) -> tuple[Given, Given, Given]:
    """Return `translator`, `source` and `target` of a reading as arguments of a recorded call."""
    source, target = about.translation.source, about.hypothesis.token_ids
    return (
        translator(about.model),
        Given("source", source, lambda: f"source = {source!r}"),
        Given("target", target, lambda: f"target = {list(target)}  # {_text(about.model, target)}"),
    )


def explanation(about: Reading) -> Call | Given:
    """Return the pass over source and target as an argument of a recorded call."""
    if about.model.explanation is not None or about.hypothesis.fed_ids is not None:
        return Given("explanation", about.explain(), lambda: reading_part(about))
    return Call("explanation", "explain", sentence(about)).returning(about.explain())


def explanation_part(model: Model, source: str, target: str | Sequence[int]) -> str:
    """Explain a translation as `explanation`, or read it from the array file."""
    if model.explanation is not None:
        path = Path(model.path)
        comment = "" if path.is_absolute() else "  # the file that you uploaded"
        return f"""
from core.export.attention_arrays import explanation_of_arrays, load_arrays
explanation = explanation_of_arrays(load_arrays({shown_path(path)!r})){comment}""".strip()
    given = repr(target) if isinstance(target, str) else f"{list(target)}  # {_text(model, target)}"
    return f"""
{model_part(model)}
source = {source!r}
target = {given}
explanation = translator.explain(source, target)""".strip()


def reading_part(reading: Reading) -> str:
    """Explain the current target as `explanation`."""
    if reading.hypothesis.fed_ids is not None:
        search = reading.search
        return f"""
{model_part(reading.model)}
translation = translator.translate({search.text!r}, {search.beam_size}, num_hypotheses={search.num_hypotheses})
explanation = translator.explain_iteration(translation.source, translation.hypotheses[{reading.index}])""".strip()
    return explanation_part(reading.model, reading.translation.source, reading.hypothesis.token_ids)


def maps_part(kind: "Kind", method: "Method", output: "Output | None", tokens: TokenView) -> str:
    """Compute the maps of all layers by a method as `maps`, after `explanation_part`."""
    return f"{all_maps_part(method, output)}\n{shown_maps(kind, tokens)}"


def all_maps_part(method: "Method", output: "Output | None") -> str:
    """Compute all kinds' maps by a method as `all_maps`, after `explanation_part`."""
    if method == "attention":
        return "all_maps = explanation.maps"
    if method == "rollout":
        return """
from core.analysis.attribution.rollout import attention_rollout
all_maps = attention_rollout(explanation.maps)""".strip()
    if output is None:
        return f"""
from core.analysis.attribution.methods import METHODS
all_maps = METHODS[{method!r}](translator, source, target)""".strip()
    return f"""
from core.analysis.attribution.gradients import attention_gradients, gradient_maps
all_maps = gradient_maps(attention_gradients(translator, source, target, {output}))""".strip()


def shown_maps(kind: "Kind", tokens: TokenView) -> str:
    """Select the maps of a kind as `maps`, with the tokens to show, after `all_maps_part`."""
    names = [
        name
        for name, is_wanted in (("merge_words", tokens.words), ("without_special_tokens", tokens.hide_special))
        if is_wanted
    ]
    each = "each"
    for name in names:
        each = f"{name}({each})"
    imports = f"from core.analysis.tokens.words import {', '.join(names)}\n" if names else ""
    return f"{imports}maps = [{each} for each in all_maps[{kind!r}]]"


def heads_part(layer: int, heads: Sequence[int]) -> str:
    """Make the `table` of some heads of a layer, both counted from 0, after `maps_part`."""
    return f"""
from viz_app.drawing.weight_tables import lines_table
table = lines_table(maps[{layer}], {list(heads)})""".strip()


def combined_part(heads: Sequence[LayerHead]) -> str:
    """Add combinations of heads to `maps`, as `with_combined` does, if any of these heads is one."""
    chosen = {head for head in heads if head[0] >= 0}
    if len(chosen) == len(heads):
        return ""
    return f"""
from viz_app.session.chosen_heads import with_combined
maps = {{each.layer: each for each in with_combined(maps, {chosen or "()"})}}""".strip()


def grid_part(heads: Sequence[LayerHead]) -> str:
    """Make the `table` of many heads, after `maps_part`."""
    return f"""
from viz_app.drawing.weight_tables import grid_table
table = grid_table(maps, {list(heads)})""".strip()


def method_part(weights: "MethodChoice", explanation: "Explanation", column: int) -> str:
    """Insert the columns into `table` that `MethodChoice.annotated` inserts."""
    import pandas as pd  # slow: the first page is drawn before

    lines = [
        f"table.insert({column}, {name!r}, {values.iloc[0]!r})"
        for name, values in weights.annotated(pd.DataFrame(index=[0]), explanation, 0).items()
    ]
    return "\n".join(reversed(lines))


def gates_part(gates: Mapping[Head, float]) -> str:
    """Name the switched heads and the factors of their outputs as `gates`."""
    written = ", ".join(f"Head{tuple(head)}: {gate}" for head, gate in gates.items())
    return f"from core.analysis.heads.head import Head\ngates = {{{written}}}"


def _text(model: Model, token_ids: Sequence[int]) -> str:
    """Return the text of a target on one line."""
    eos_id = model.translator.model.config.eos_id
    return repr(model.translator.tokenizer.target.decode([token_id for token_id in token_ids if token_id != eos_id]))
