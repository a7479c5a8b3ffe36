"""What pages export, as arguments of recorded calls: a model, a file, a pass over source and target.

The script beside an export is written from the call that made its numbers (`core.analysis.recorded_call`), so it is
shown whole: it opens the model or file, and repeats the call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import streamlit as st

from core.analysis.recorded_call import Call, Given
from core.analysis.sample_sentences import EVERYDAY
from core.files.shipped_files import shipped_checkpoint, shipped_folder
from viz_app.session import model_passes
from viz_app.session.model_paths import is_on_this_machine
from viz_app.session.models import ROOT, Model
from viz_app.session.readings import READING_HASH, Reading, Search, TokenView
from viz_app.session.uploads import TOGETHER

if TYPE_CHECKING:
    from core.analysis.attribution.methods import Method
    from core.capture import Kind
    from core.decoding import Constraints
    from viz_app.session.model_passes import Output

P = ParamSpec("P")
EMBEDDED = 2_000  # characters of a text that stands in the script itself
UPLOADED, SAVED = "the file that you uploaded", "the file that you saved or uploaded"


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
    opened = path.stem if path == shipped_checkpoint(path.stem) else shown_path(path)
    mode = model.translator.shared.precision
    precision = "" if mode == "exact" else f", precision={mode!r}"
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
{name} = Translator.from_checkpoint({opened!r}{precision}){comment}""".strip()


def translator(model: Model, name: str = "translator") -> Given:
    """Return the model's `translator` as an argument of recorded calls, or by another name."""
    return Given(name, model.translator, lambda name: model_part(model, name))


def given_path(name: str, path: Path, comment: str = UPLOADED) -> Given:
    """Return a path as an argument of recorded calls, as `shown_path` shows it, or from any folder if it is shipped; a
    relative one, of a file that is not on this machine, with a comment.
    """
    if path.parent == (shipped := shipped_folder("checkpoints")):
        imports = "from core.files.shipped_files import shipped_folder"
        code = f"shipped_folder({shipped.name!r}) / {path.name!r}"
    else:
        after = "" if path.is_absolute() else f"  # {comment}"
        imports, code = "from pathlib import Path", f"Path({shown_path(path)!r}){after}"
    return Given(name, path, lambda name: f"{imports}\n{name} = {code}")


def given_text(text: str, file: str) -> Given:
    """Return the text of a file as an argument of recorded calls; a script reads a long one from the file."""

    def code(variable: str) -> str:
        if len(text) <= EMBEDDED:
            return f"{variable} = {text!r}"
        imports = "from pathlib import Path\nfrom core.text.text_files import read_text"
        return f"{imports}\n{variable} = read_text(Path({file!r}))"

    return Given("text", text, code)


def given_sample(sentences: Sequence[str]) -> Given:
    """Return sentences that a sample was measured on as an argument of recorded calls; the shipped ones by name."""

    def code(name: str) -> str:
        if sentences != EVERYDAY:
            return f"{name} = {list(sentences)}"
        return f"from core.analysis.sample_sentences import EVERYDAY\n{name} = EVERYDAY"

    return Given("sentences", sentences, code)


@dataclass(frozen=True)
class RecordedPass:
    """A pass of a model over a source and a target, as arguments of recorded calls."""

    model: Model
    source: str
    target: str | tuple[int, ...]
    reading: Reading | None = None  # the reading that it is of, if it is of one

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
    def explanation(self) -> Call:
        """The pass, which the app has run already."""
        from core.export.attention_arrays import explanation_of_arrays, load_arrays

        about, model = self.reading, self.model
        explained = about.explain() if about else model_passes.explanation(model, self.source, self.target)
        if about is not None and about.hypothesis.fed_ids is not None:
            return _iteration(about).returning(explained)
        if model.explanation is not None:
            arrays = Call("arrays", load_arrays, (given_path("path", Path(model.path)),))
            return Call("explanation", explanation_of_arrays, (arrays,)).returning(explained)
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


def explanation(about: Reading) -> Call:
    """Return the pass over source and target of a reading as an argument of a recorded call."""
    return recorded_pass(about).explanation


def with_result(max_entries: int) -> Callable[[Callable[P, Call]], Callable[P, Call]]:
    """Run the calls that a function returns; all visitors share their results, of which the last `max_entries` are
    kept, by the arguments of the function.
    """

    def running(make: Callable[P, Call]) -> Callable[P, Call]:
        @st.cache_resource(max_entries=max_entries, show_spinner=False, hash_funcs=READING_HASH)
        @wraps(make)
        def result(*arguments: P.args, **keywords: P.kwargs) -> Any:
            return make(*arguments, **keywords).run()

        @wraps(make)
        def known(*arguments: P.args, **keywords: P.kwargs) -> Call:
            return make(*arguments, **keywords).returning(result(*arguments, **keywords))

        return known

    return running


@with_result(max_entries=12)
def beam_search(model: Model, search: Search, prefix: tuple[int, ...], constraints: "Constraints") -> Call:
    """Return the search with all its candidates as a recorded call."""
    from core.analysis.beam_tree import beam_tree
    from core.decoding import FREE

    options = search.text, search.beam_size, search.length_penalty, search.num_hypotheses, prefix
    keywords = {} if constraints == FREE else {"constraints": constraints}
    return Call("tree", beam_tree, (translator(model), *options), keywords)


def _iteration(about: Reading) -> Call:
    """Return the pass over the last iteration of mask-predict."""
    from core.mask_predict_translation import explain_iteration

    model, search, numbers = translator(about.model), about.search, {"num_hypotheses": about.search.num_hypotheses}
    translation = Call("translation", "translate", (model, search.text, search.beam_size), numbers)
    hypothesis = Call("hypothesis", "[]", (Call("hypotheses", ".hypotheses", (translation,)), about.index))
    return Call("explanation", explain_iteration, (model, about.translation.source, hypothesis))


def _text(model: Model, token_ids: Sequence[int]) -> str:
    """Return the text of a target on one line."""
    eos_id = model.translator.model.config.eos_id
    return repr(model.translator.tokenizer.target.decode([token_id for token_id in token_ids if token_id != eos_id]))
