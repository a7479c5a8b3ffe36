"""The current reading: a sentence, its translation, and the target to explain."""

import functools
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

import streamlit as st

from viz_app.language import RefusedError
from viz_app.session import address, model_passes
from viz_app.session.fields import part, part_runs_alone
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.state import Widget, session_object

if TYPE_CHECKING:  # torch takes a second to import: the sentence box is drawn before
    from core import Explanation, ScoredText, Translation
    from core.analysis.attribution.methods import Method
    from core.analysis.heads.head import Maps
    from core.analysis.signs.pair_signs import Sign
    from core.capture import AttentionMap, Kind
    from core.decoding import Constraints
    from viz_app.components.sentence_bar import WordSelection
    from viz_app.session.model_passes import Output

TEXT = address.SENTENCE
HYPOTHESIS = Widget[int]("hypothesis")  # index of the hypothesis, 0 the best, or `FORCED_INDEX`
FORCED_INDEX = -1
MOST_LEFT_OUT = 256  # readings whose left-out words are kept
SearchProgress = Callable[[int, int], None]  # called with the number of tokens found and the most there can be


@dataclass(frozen=True)
class Search:
    """A text to translate, and the settings of the search; the defaults of the first two are the paper's (6.1)."""

    text: str
    beam_size: int = 4
    length_penalty: float = 0.6
    num_hypotheses: int = 4
    min_length: int = 0

    @property
    def is_changed(self) -> bool:
        """Whether a setting that changes translations is not at its default."""
        return self != Search(self.text, num_hypotheses=self.num_hypotheses)

    def constraints(self, forbidden: Sequence[tuple[int, int]] = ()) -> "Constraints":
        """Return what the search may not write, with forbidden positions and token ids."""
        from core.decoding import Constraints, Forbidden

        tokens = (Forbidden(token_id, position) for position, token_id in forbidden)
        return Constraints(min_length=self.min_length, forbidden=tuple(tokens))

    def run(self, model: Model, progress: SearchProgress) -> "Translation":
        """Translate the text; the results of all sessions are shared.

        A model that writes trees searches as the page Parsing does: among trees only, with the paper's settings (6.3).

        Raises:
            ValueError: the text cannot be translated; the message says why.
        """
        return _translation(model, self, progress)


def search_settings(model: Model, search: Search) -> dict[str, float]:
    """Return the beam size and the length penalty that a model searches with."""
    if model.parser is None:
        return {"beam_size": search.beam_size, "length_penalty": search.length_penalty}
    from core.parsing.parser import BEAM_SIZE, LENGTH_PENALTY

    return {"beam_size": BEAM_SIZE, "length_penalty": LENGTH_PENALTY}


@dataclass(frozen=True)
class ForcedTarget:
    """A target, or the beginning of one, that was not chosen by the search."""

    prefix: tuple[int, ...] = ()  # tokens that the search has to begin with
    # all tokens of the target, a whole translation if they end with `</s>`; None: the best with `prefix`
    target: tuple[int, ...] | None = None
    # positions, from 0, and the ids of the tokens that the search may not write there
    forbidden: tuple[tuple[int, int], ...] = ()

    def run(self, model: Model, search: Search, progress: SearchProgress) -> "ScoredText":
        """Score the target, or search for the best one with the prefix; the results of all sessions are shared.

        Raises:
            ValueError: the model cannot translate the text so; the message says why.
        """
        return _forced_text(model, search, self, progress)


@dataclass(frozen=True)
class TokenView:
    """The tokens of a map to show: words or sub-words, with or without special tokens."""

    words: bool
    hide_special: bool

    def apply(self, attention: "AttentionMap") -> "AttentionMap":
        """Return the map with these tokens only."""
        from core.analysis.tokens.words import merge_words, without_special_tokens

        attention = merge_words(attention) if self.words else attention
        return without_special_tokens(attention) if self.hide_special else attention


@dataclass(frozen=True)
class Reading:
    """A sentence, its translation by one model, and the target that pages explain."""

    model: Model
    search: Search
    translation: "Translation"
    index: int  # of the hypothesis, 0 the best; `FORCED_INDEX` for a forced target
    hypothesis: "ScoredText"  # the target
    forced: ForcedTarget | None = None  # what was forced of it, if anything was

    @property
    def prefix(self) -> tuple[int, ...]:
        """The tokens that the search for the target was forced to begin with."""
        return self.forced.prefix if self.forced is not None else ()

    @property
    def constraints(self) -> "Constraints":
        """What the search for the target was not allowed to write."""
        return self.search.constraints(self.forced.forbidden if self.forced is not None else ())

    @property
    def identity(self) -> Hashable:
        """Equal for readings of the same tokens by the same model."""
        return self.model.digest, self.translation.source, self.hypothesis.token_ids

    def explain(self) -> "Explanation":
        """Return the model's pass over source and target; the results of all sessions are shared."""
        explanation = self._explained.get(0)
        if explanation is None:
            explanation = self._explained[0] = self._explain()
        return explanation

    @cached_property
    def _explained(self) -> "WeakValueDictionary[int, Explanation]":
        """The pass while its cache has it, as a page needs it a dozen times a run."""
        return WeakValueDictionary()

    def _explain(self) -> "Explanation":
        if self.hypothesis.fed_ids is not None:
            ids = self.hypothesis.token_ids, self.hypothesis.fed_ids
            return model_passes.iteration(self.model, self.translation.source, ids, self.hypothesis)
        return model_passes.explanation(self.model, self.translation.source, self.hypothesis.token_ids)

    @property
    def left_out(self) -> "tuple[range, ...]":
        """Positions of the source words that the translation has probably left out; () before they were looked for.

        The page Translate looks for them (`viz_app.session.signs.find_left_out`).
        """
        known = _left_out.get(self.identity)
        return () if known is None else known.words

    def method_maps(self, method: "Method", output: "Output | None" = None) -> "Maps":
        """Return the maps of one attribution method, with all tokens, see `method_maps`."""
        return model_passes.method_maps(self.model, self.translation.source, self.hypothesis.token_ids, method, output)

    @property
    def methods(self) -> "tuple[Method, ...]":
        """The attribution methods that can be applied; without a model, those that need weights only."""
        from core.analysis.attribution.methods import METHODS

        if self.model.explanation is None:
            return tuple(METHODS)
        maps = self.model.explanation.maps
        is_whole = "encoder_self" in maps and len(maps.get("decoder_self", ())) == len(maps.get("cross", ())) > 0
        return ("attention", "rollout") if is_whole else ("attention",)

    def maps(
        self, kind: "Kind", tokens: TokenView, method: "Method" = "attention", output: "Output | None" = None
    ) -> "Sequence[AttentionMap]":
        """Return the maps of all layers by a method (see `method_maps`), with the tokens to show.

        Raises:
            DisagreementError: the method cannot be applied to this model.
        """
        return _shown_maps(self, kind, tokens, method, output)


# For `st.cache_resource`, which would otherwise go through a reading's attention maps.
READING_HASH: dict[str | type[Any], Callable[[Any], Any]] = {**MODEL_HASH, Reading: lambda reading: reading.identity}


@st.cache_resource(max_entries=256, show_spinner=False, hash_funcs=MODEL_HASH)
def _translation(model: Model, search: Search, _progress: SearchProgress) -> "Translation":
    if (parser := model.parser) is not None:
        if search.min_length:
            raise RefusedError(
                "{model} writes trees, which have no minimum length (found {length}): set it to 0 in the settings",
                model=model.name,
                length=search.min_length,
            )
        return parser.as_translation(model_passes.parse(model, search.text, parser, _progress))
    return model.translator.translate(
        search.text,
        search.beam_size,
        search.length_penalty,
        search.num_hypotheses,
        _progress,
        constraints=search.constraints(),
    )


@st.cache_resource(max_entries=128, show_spinner=False, hash_funcs=MODEL_HASH)
def _forced_text(model: Model, search: Search, forced: ForcedTarget, _progress: SearchProgress) -> "ScoredText":
    if model.parser is not None:
        raise RefusedError(
            "{model} writes trees, of which no token can be forced: the tree that it finds is shown instead",
            model=model.name,
        )
    translator, penalty = model.translator, search.length_penalty
    if forced.target is not None:
        return translator.score(search.text, forced.target, penalty)
    constraints = search.constraints(forced.forbidden)
    translation = translator.translate(
        search.text, search.beam_size, penalty, 1, _progress, forced.prefix, constraints=constraints
    )
    return translation.hypotheses[0]


def given_reading(model: Model) -> Reading | None:
    """Return the reading of an array file; None for a model.

    Its target is the only hypothesis. Its token ids are numbers that distinguish its tokens.
    """
    from core import ScoredText, Translation

    if (explanation := model.explanation) is None:
        return None
    tokens = explanation.predicted_tokens
    target = ScoredText(explanation.target, tuple(range(len(tokens))), tokens, explanation.log_probs, math.nan)
    translation = Translation(explanation.source, explanation.source_tokens, (target,))
    return Reading(model, Search(explanation.source, 1, 0.0, 1), translation, 0, target)


@st.cache_resource(max_entries=6, show_spinner=False, hash_funcs=READING_HASH)  # one of 512 tokens takes 50 MB
def _shown_maps(
    reading: Reading, kind: "Kind", tokens: TokenView, method: "Method", output: "Output | None"
) -> "Sequence[AttentionMap]":
    return [tokens.apply(attention) for attention in reading.method_maps(method, output)[kind]]


class _LeftOut(NamedTuple):
    """The sign `left_out` of a reading, and the positions of its words if it fires."""

    sign: "Sign"
    words: "tuple[range, ...]"


_left_out: dict[Hashable, _LeftOut] = {}  # by the identity of readings of all visitors, the oldest first


def left_out_sign(about: Reading) -> "Sign | None":
    """Return the sign `left_out` of a reading; None before it was computed."""
    known = _left_out.get(about.identity)
    return None if known is None else known.sign


def keep_left_out(about: Reading, sign: "Sign", threshold: float | None) -> None:
    """Keep the sign `left_out` of a reading for all visitors."""
    _left_out[about.identity] = _LeftOut(sign, tuple(group for _, group in sign.marked(threshold)))
    for oldest in list(_left_out)[:-MOST_LEFT_OUT]:
        _left_out.pop(oldest, None)


@dataclass(frozen=True)
class ForcedText:
    """The forced target of a text, by the digest of its model."""

    digest: str
    source: str
    forced: ForcedTarget


@dataclass(frozen=True)
class SelectedWords:
    """Words of a reading that are selected, in the order of selection."""

    identity: Hashable = None
    words: "tuple[WordSelection, ...]" = ()


@dataclass
class Current:
    """The model, reading, selected words and forced target of a session."""

    model: Model | None = None
    reading: Reading | None = None  # none while there is no sentence that can be translated
    words: SelectedWords = SelectedWords()  # selected on all pages
    forced: ForcedText | None = None  # none if nothing is forced
    # makes what is typed the text to translate: begins it with a language code, if the model needs one
    complete: Callable[[str], str] = str

    def forced_for(self, model: Model, search: Search) -> ForcedTarget | None:
        """Return the forced target for this text and this model."""
        forced = self.forced  # read once: previews are drawn by another thread
        if forced is None or (forced.digest, forced.source) != (model.digest, search.text):
            return None
        return forced.forced


def model() -> Model:
    """Return the current model; pages run only if there is one."""
    current = session_object(Current).model
    assert current is not None
    return current


def reading() -> Reading | None:
    """Return the current reading; None while there is no sentence that can be translated."""
    return session_object(Current).reading


def reading_part(function: Callable[[Reading], None]) -> Callable[[], None]:
    """Make a function a `part` of a page that is about the current reading, and that is drawn if there is one.

    A click in it that sets another sentence draws the whole page.
    """

    @functools.wraps(function)
    def drawn() -> None:
        about = reading()
        if about is not None and about.search.text != TEXT.value and part_runs_alone():
            st.rerun()
        if about is not None:
            function(about)

    return part(drawn)


def selected_words(about: Reading) -> "tuple[WordSelection, ...]":
    """Return the selected words of a reading, in the order of selection."""
    selected = session_object(Current).words
    return selected.words if selected.identity == about.identity else ()


def select_words(about: Reading, words: "Iterable[WordSelection]") -> None:
    """Select these words on all pages, and no others."""
    session_object(Current).words = SelectedWords(about.identity, tuple(words))


def force(model: Model, search: Search, target: ForcedTarget) -> None:
    """Explain a given target, finished or not, on all pages; call it in a callback."""
    session_object(Current).forced = ForcedText(model.digest, search.text, target)
    HYPOTHESIS.set(FORCED_INDEX)


def show_target(model: Model, search: Search, target: tuple[int, ...], words: "Iterable[WordSelection]") -> None:
    """Show a text with a given target and its selected words on all pages; call it in a callback."""
    TEXT.set(search.text)
    force(model, search, ForcedTarget(target=target))
    session_object(Current).words = SelectedWords((model.digest, search.text, target), tuple(words))


def show_candidate(about: Reading, target: "ScoredText") -> None:
    """Explain a candidate of the search, which may be one of its hypotheses; call it in a callback."""
    hypotheses = [hypothesis.token_ids for hypothesis in about.translation.hypotheses]
    if target.token_ids in hypotheses and about.constraints == about.search.constraints() and not about.prefix:
        HYPOTHESIS.set(hypotheses.index(target.token_ids))
    else:
        forbidden = about.forced.forbidden if about.forced is not None else ()
        force(about.model, about.search, ForcedTarget(about.prefix, target.token_ids, forbidden))


def new_sentence(text: str | None = None) -> None:
    """Show the best hypothesis again; with `text`, as if it had been typed."""
    if text is not None:
        TEXT.set(text)
    HYPOTHESIS.set(0)
