"""Python that computes the numbers that a page exports.

Whole scripts are shown beside the export. A script ends by writing the `table` of the export as a CSV file, with the
same numbers to rounding. It is put together from parts, each of which is a few lines of Python with the imports they
need.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.analysis.recorded_call import Call, Given, joined
from viz_app.session import model_passes
from viz_app.session.model_paths import is_on_this_machine
from viz_app.session.models import ROOT, Model
from viz_app.session.readings import Reading, TokenView
from viz_app.session.uploads import TOGETHER

if TYPE_CHECKING:
    from core.analysis.attribution.methods import Method
    from core.capture import Kind
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


def model_part(model: Model, name: str = "translator") -> str:
    """Load the model as `translator`, or by another name."""
    path = Path(model.path)
    precision = "" if model.translator.precision == "exact" else f", precision={model.translator.precision!r}"
    uploaded = "the folder of the files" if model.path == TOGETHER else "the file"
    comment = "" if path.is_absolute() else f"  # {uploaded} that you uploaded"
    if model.is_imported:
        return f"""
from core import Translator
from core.formats.importing import import_checkpoint
checkpoint = import_checkpoint({shown_path(path)!r}){comment}
{name} = Translator(checkpoint.model, checkpoint.tokenizer, checkpoint.training{precision})""".strip()
    return f"""
from core import Translator
{name} = Translator.from_checkpoint({shown_path(path)!r}{precision}){comment}""".strip()


def translator(model: Model) -> Given:
    """Return the model's `translator` as an argument of a recorded call."""
    return Given("translator", model.translator, lambda name: model_part(model, name))


@dataclass(frozen=True)
class RecordedPass:
    """A pass of a model over a source and a target, as arguments of recorded calls.

    Attributes:
        reading: the reading that it is of, if it is of one.
    """

    model: Model
    source: str
    target: str | tuple[int, ...]
    reading: Reading | None = None

    @property
    def arguments(self) -> tuple[Given, Given, Given]:
        """`translator`, `source` and `target`."""
        source, target = self.source, self.target

        def target_code(name: str) -> str:
            written = repr(target) if isinstance(target, str) else f"{list(target)}  # {_text(self.model, target)}"
            return f"{name} = {written}"

        return (
            translator(self.model),
            Given("source", source, lambda name: f"{name} = {source!r}"),
            Given("target", target, target_code),
        )

    @property
    def explanation(self) -> Call | Given:
        """The pass, which the app has run already."""
        about = self.reading
        explained = about.explain() if about else model_passes.explanation(self.model, self.source, self.target)
        if about is not None and about.hypothesis.fed_ids is not None:
            return Given("explanation", explained, lambda _: reading_part(about))
        if self.model.explanation is not None:
            return Given("explanation", explained, lambda _: explanation_part(self.model, self.source, self.target))
        return Call("explanation", "explain", self.arguments).returning(explained)

    def all_maps(self, method: "Method" = "attention", output: "Output | None" = None) -> Call:
        """The maps of all kinds by a method."""
        from core.analysis.attribution.methods import attributed_maps
        from core.analysis.attribution.rollout import attention_rollout

        if method == "attention":
            return Call("all_maps", ".maps", (self.explanation,))
        if method == "rollout":
            return Call("all_maps", attention_rollout, (Call("weights", ".maps", (self.explanation,)),))
        given = {} if output is None else {"output": output}
        known = model_passes.method_maps(self.model, self.source, self.target, method, output)
        return Call("all_maps", attributed_maps, (*self.arguments, method), given).returning(known)

    def maps(
        self, kind: "Kind", tokens: TokenView, method: "Method" = "attention", output: "Output | None" = None
    ) -> Call:
        """The maps of all layers of a kind, with the tokens to show."""
        from core.analysis.tokens.words import shown_tokens

        of_kind = Call("maps", "[]", (self.all_maps(method, output), kind))
        if not tokens.words and not tokens.hide_special:
            return of_kind
        return Call("shown", shown_tokens, (of_kind, tokens.words, tokens.hide_special))


def recorded_pass(about: Reading) -> RecordedPass:
    """Return the pass over source and target of a reading."""
    return RecordedPass(about.model, about.translation.source, about.hypothesis.token_ids, about)


def sentence(about: Reading) -> tuple[Given, Given, Given]:
    """Return `translator`, `source` and `target` of a reading as arguments of a recorded call."""
    return recorded_pass(about).arguments


def explanation(about: Reading) -> Call | Given:
    """Return the pass over source and target of a reading as an argument of a recorded call."""
    return recorded_pass(about).explanation


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


def _text(model: Model, token_ids: Sequence[int]) -> str:
    """Return the text of a target on one line."""
    eos_id = model.translator.model.config.eos_id
    return repr(model.translator.tokenizer.target.decode([token_id for token_id in token_ids if token_id != eos_id]))
