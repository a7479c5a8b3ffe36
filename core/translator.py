"""Translator: a sentence to its translation and explanation, for many threads."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from core.decoding import (
    FREE,
    BeamState,
    Beginning,
    Constraints,
    Hypothesis,
    Progress,
    Sampling,
    SearchOptions,
    beam_search,
    beam_steps,
    mask_predict,
    run_search,
    sample_search,
)
from core.decoding.limits import Limits
from core.decoding.sampling import PLAIN
from core.decoding.search_setup import SearchSetup
from core.decoding.text_codec import PassIds, TextCodec, require_text
from core.files.argument_types import items, require_type, wrong_type
from core.files.process_memory import PROCESS
from core.formats.checkpoint import lacks_causal_mask, load_checkpoint
from core.inference.device import Precision, best_device
from core.inference.model_check import ModelCheck
from core.inference.shared_model import SharedModel, Source
from core.model import Transformer
from core.model.half_precision import is_large, weight_bytes
from core.results import WIDGETS, Explanation, ScoredText, Target, TextTranslation, Translation
from core.text.sentences import naming_sentence, space_after, split_sentences, with_language_codes
from core.text.tokenizer import Tokenizer
from core.trace import edit, explicit_attention, later_tokens_visible

BATCH_TOKENS = 1024  # source tokens of a batch, padding included
PAIR = "a source and its target"


class Translator:
    """A model with its tokenizer, safe to share between threads.

    All results for one sentence, log-probabilities, alternatives and attention, are computed by the modules of
    `core.model`. A faster search (`core.inference`) finds the hypotheses; they are kept if its log-probabilities are
    those of the modules, up to `LOG_PROB_TOLERANCE`, otherwise the modules search (`Translation.by_modules`).

    Attributes:
        codec: texts to token ids and back.
        limits: of lengths and searches.
        setup: options and beginnings of searches.
        shared: the model behind a lock, packed for searches.
        check: the results of the faster search against the modules.

    Args:
        precision: of the faster search. `exact` is float32. `fast` uses 8-bit integers or bfloat16 where measured to be
            faster on this CPU (`core.inference.cpu_inference`): translations may differ, and may depend on the batch
            and on the measurement, and the search is not compared with the modules. Equivalent on a GPU.

    Raises:
        ValueError: from every method, for a text that is blank or longer than `MAX_SOURCE_TOKENS` tokens, and for a
            target that is longer than `MAX_TARGET_TOKENS` or has unknown token ids.
        TypeError: from every method, for an argument of a wrong type.
        NonFiniteError: a ValueError, if the model's outputs are not finite.
    """

    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        training: dict[str, Any] | None = None,
        precision: Precision = "exact",
    ) -> None:
        self.model, self.config, self.tokenizer, self.training = model, model.config, tokenizer, training or {}
        weights = weight_bytes(model)
        self.limits = Limits(model.config, weights, tokenizer.target_tokens)
        self.codec = TextCodec(model.config, tokenizer, self.limits)
        self.setup = SearchSetup(self.codec)
        self.shared = SharedModel(model, precision)
        self.check = ModelCheck(self.shared, self.codec)
        self._edits = ExitStack()
        if lacks_causal_mask(self.training):  # as in the module that it was read from
            self._edits.enter_context(edit(model, later_tokens_visible(model)))
        PROCESS.hold(self, weights * (1 if is_large(model) else 2))  # a small one is also packed

    def __repr__(self) -> str:
        config, count = self.config, sum(parameter.numel() for parameter in self.model.parameters())
        layers = f"{config.num_encoder_layers} + {config.num_decoder_layers} layers"
        return f"<Translator: {layers}, d_model {config.d_model}, {count:,} parameters>"

    @classmethod
    def from_checkpoint(
        cls, path: str | Path, device: str | torch.device | None = None, precision: Precision = "exact"
    ) -> "Translator":
        """Load a checkpoint, by its path or a shipped one's name, to `device`, or to the best available one.

        Raises:
            CheckpointError, FileNotFoundError: see `load_checkpoint`.
            ValueError: see `best_device`.
        """
        checkpoint = load_checkpoint(path)
        return cls(checkpoint.model.to(best_device(device)), checkpoint.tokenizer, checkpoint.training, precision)

    @classmethod
    def from_model(
        cls,
        model: nn.Module,
        tokenizer: object = None,
        description: Mapping[str, Any] | str | Path | None = None,
        device: str | torch.device | None = None,
        precision: Precision = "exact",
        forward: Callable[[Tensor, Tensor], Any] | None = None,
    ) -> "Translator":
        """Take a copy of a model that is in memory, in evaluation mode; training the original changes nothing in it.

        Args:
            model: a `core.Transformer`; an encoder-decoder of transformers whose files Headlight imports; or another
                module with an encoder and a decoder after the paper, such as one around `torch.nn.Transformer`.
            tokenizer: of `core.text`, or the model's own of transformers. Of another module: a list of pieces in the
                order of their ids, a mapping of pieces to ids, a vocabulary with `get_itos()`, a
                SentencePieceProcessor, or a folder or file with these as docs/formats.md names them; a pair of them for
                source and target; None if the vocabulary is "numbers".
            description: of another module what docs/formats.md calls its config.json, as its path or its contents. If
                it does not have `nhead`, only its options about the vocabulary are needed; the rest is found.
            device: the best available one by default.
            precision: see `Translator`.
            forward: logits [B, T, V] of another module for source and target ids [B, S] and [B, T], if its own forward
                takes something else.

        Raises:
            CheckpointError: Headlight does not import such models, or the model does not fit the description or the
                tokenizer; or a module computes something else than Headlight can show, or than its description, where
                the message names the first part that differs, and the options of a description that mend it.
            TypeError: the tokenizer is of another kind than the model needs.
            ValueError: see `best_device`.
        """
        from core.formats.model_in_memory import checkpoint_of_model  # the readers of all formats

        checkpoint = checkpoint_of_model(model, tokenizer, description, forward)
        return cls(checkpoint.model.to(best_device(device)), checkpoint.tokenizer, checkpoint.training, precision)

    def translate(
        self,
        text: str,
        beam_size: int = 4,
        length_penalty: float = 0.6,
        num_hypotheses: int | None = None,
        progress: Progress | None = None,
        prefix: str | Sequence[int] | Beginning = (),
        iterations: int = 10,
        constraints: Constraints = FREE,
    ) -> Translation:
        """Translate a text as one sentence.

        Args:
            beam_size: number of live hypotheses; 1 is greedy search. In mask-predict, number of length candidates.
            length_penalty: alpha of `core.decoding`; without effect in mask-predict.
            num_hypotheses: number of hypotheses to return, `beam_size` by default. The best does not depend on it.
            progress: called after each position with the position and the limit.
            prefix: forced beginning of the translation, as token ids or as text; scores include it. A text may end
                inside a word, which the translation completes with whatever pieces; white space at its end ends the
                word. The words before the last one keep the pieces that the tokenizer gives them.
            iterations: of mask-predict, for a model without causal mask.
            constraints: a minimum length and forbidden tokens; what they leave keeps its log-probabilities.

        Raises:
            ValueError: the text is blank or too long, a value is out of range, or no translation of this text can begin
                with the prefix or comply with the constraints.
        """
        options = self.setup.options(beam_size, length_penalty, num_hypotheses, constraints)
        source_ids, limit = self._within_limits(text, beam_size)

        def searched(packed: bool) -> Sequence[Hypothesis]:
            sizes = beam_size, length_penalty, num_hypotheses
            return run_search(self.search(text, *sizes, prefix, constraints, packed), options, progress)

        if self.config.autoregressive:
            return self.check.translation(text, source_ids, options, searched)
        if prefix:
            self.codec.require_autoregressive("a forced beginning")
        [hypotheses] = self._searched([source_ids], [limit], options, [()], iterations, packed=False)
        if progress:
            progress(1, 1)
        return self.codec.translation(text, source_ids, hypotheses)

    def sample(
        self,
        text: str,
        sampling: Sampling = PLAIN,
        length_penalty: float = 0.6,
        prefix: Sequence[int] = (),
        constraints: Constraints = FREE,
    ) -> tuple[ScoredText, ...]:
        """Draw translations of a text at random, see `core.decoding.sampling`.

        Args:
            length_penalty, constraints: as for `translate`.
            prefix: whole tokens that all samples begin with.

        Returns:
            The samples in the order in which they were drawn, with the model's own log-probabilities.

        Raises:
            ValueError: as `translate`, or the model is not autoregressive.
        """
        self.codec.require_autoregressive("sampling one token after the other")
        require_type("sampling", sampling, Sampling, "core.decoding.Sampling, such as of a temperature")
        if isinstance(prefix, str | Beginning):
            raise ValueError(
                "samples begin with whole tokens, and a text may end inside a word, which beam and greedy search alone "
                "complete: give token ids, such as those of setup.prefix_ids"
            )
        options = self.setup.options(1, length_penalty, constraints=constraints)
        source_ids, limit = self._within_limits(text, sampling.num_samples)
        forced = self.setup.beginning(text, prefix, limit, constraints).token_ids

        def searched(packed: bool) -> Sequence[Hypothesis]:
            next_logits, numbers = self.shared.next_logits([source_ids], packed), sampling.random_numbers(text)
            return sample_search(next_logits, limit, options, sampling, numbers, self.model.device, forced)

        return self.check.translation(text, source_ids, options, searched).hypotheses

    def search(
        self,
        text: str,
        beam_size: int = 4,
        length_penalty: float = 0.6,
        num_hypotheses: int | None = None,
        prefix: str | Sequence[int] | Beginning = (),
        constraints: Constraints = FREE,
        packed: bool = False,
    ) -> Iterator[BeamState]:
        """The search of `translate`, as one state per position.

        By the model's modules unless `packed`, see `SharedModel.next_logits`. Others may use it between positions.
        """
        self.codec.require_autoregressive("a search for one token after the other")
        options = self.setup.options(beam_size, length_penalty, num_hypotheses, constraints)
        source_ids, limit = self._within_limits(text, beam_size)
        begun = self.setup.beginning(text, prefix, limit, constraints)
        next_logits = self.shared.next_logits([source_ids], packed)
        return (state for (state,) in beam_steps(next_logits, [limit], options, self.model.device, [begun]))

    def _within_limits(self, text: str, hypotheses: int) -> tuple[list[int], int]:
        """Tokens of a source, and the largest number of those of a translation."""
        source_ids = self.codec.source_ids(text)
        limit = self.limits.of_translation(source_ids)
        self.limits.check_search(hypotheses, limit)
        return source_ids, limit

    def translate_batch(
        self,
        texts: Sequence[str],
        beam_size: int = 4,
        length_penalty: float = 0.6,
        num_hypotheses: int = 1,
        progress: Progress | None = None,
        prefixes: Sequence[str | Sequence[int] | Beginning] | None = None,
        iterations: int = 10,
        constraints: Constraints = FREE,
    ) -> list[Translation]:
        """Translate many texts, each as one sentence, batched by length.

        Scores are those of the search. They equal those of `translate` up to rounding, as matrix products of few and of
        many rows may sum in a different order (`core.inference.cpu_products`), so where candidates tie to rounding, the
        result may differ. In precision `exact`, a pass of the model's modules checks one sentence of each batch: if it
        differs by more than `LOG_PROB_TOLERANCE`, these modules search for the whole batch.

        Args:
            progress: called after each batch with the number of texts done and their total.
            prefixes: forced beginning of each translation, as for `translate`.
            iterations, constraints: as for `translate`.

        Returns:
            One translation per text, in order.

        Raises:
            ValueError: as `translate`, naming the text.
        """
        options = self.setup.options(beam_size, length_penalty, num_hypotheses, constraints)
        texts = items("texts", texts, "a list of texts; translate takes one")
        given = [()] * len(texts)
        if prefixes is not None:
            self.codec.require_autoregressive("a forced beginning")
            given = items("prefixes", prefixes, "a list with a beginning for each text")
        if len(given) != len(texts):
            raise ValueError(f"there are {len(given)} prefixes for {len(texts)} texts: give one for each")
        sources: list[list[int]] = []
        limits: list[int] = []
        begun: list[Beginning] = []
        for number, (text, prefix) in enumerate(zip(texts, given, strict=True), start=1):
            with naming_sentence(number):
                sources.append(self.codec.source_ids(text))
                limits.append(self.limits.of_translation(sources[-1]))
                begun.append(self.setup.beginning(text, prefix, limits[-1], constraints))
        translated: dict[int, Translation] = {}
        for batch in self.limits.batches(list(map(len, sources)), limits, options.beam_size, BATCH_TOKENS):
            source_ids, of_batch = [sources[index] for index in batch], [limits[index] for index in batch]
            forced = [begun[index] for index in batch]
            searched = partial(self._searched, source_ids, of_batch, options, forced, iterations)
            found = self.check.translations([texts[index] for index in batch], source_ids, options, searched)
            translated.update(zip(batch, found, strict=True))
            if progress:
                progress(len(translated), len(texts))
        return [translated[index] for index in range(len(texts))]

    def _searched(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: SearchOptions,
        begun: Sequence[Beginning | Sequence[int]],
        iterations: int,
        packed: bool,
    ) -> list[tuple[Hypothesis, ...]]:
        """The best hypotheses of each sentence or, in mask-predict, the best length candidates.

        Args:
            begun: forced beginning of each sentence.
            packed: as for `SharedModel.next_logits`.
        """
        if self.config.autoregressive:
            return beam_search(self.shared.next_logits(sources, packed), limits, options, self.model.device, begun)
        masked_logits, lengths = self.shared.masked_logits(sources, limits, options.beam_size, packed)
        refined = self.setup.mask_predict(iterations, options.beam_size)
        candidates = mask_predict(masked_logits, lengths, refined, self.model.device)
        return [hypotheses[: options.num_hypotheses] for hypotheses in candidates]

    def translate_text(
        self,
        text: str,
        beam_size: int = 4,
        length_penalty: float = 0.6,
        num_hypotheses: int = 1,
        progress: Progress | None = None,
        constraints: Constraints = FREE,
    ) -> TextTranslation:
        """Translate a text of any length sentence by sentence, see `core.text.sentences`.

        Line breaks and spaces between sentences are kept; inside a sentence they are single spaces. Where a source has
        none, a space is put between translations that need one. Codes of languages such as `>>fra<<` apply to all
        sentences up to the next codes, and constraints to each sentence.

        Raises:
            ValueError: as `translate_batch`, if a single sentence is too long.
        """
        require_text(text)
        sentences = split_sentences(text)
        before = sentences.pop(0)[1] if not sentences[0][0] else ""
        texts = [sentence for sentence, _ in sentences]
        translations = self.translate_batch(
            with_language_codes(texts) if self.tokenizer.language_codes else texts,
            beam_size,
            length_penalty,
            num_hypotheses,
            progress,
            constraints=constraints,
        )
        gaps = [
            separator or space_after(translation.text)
            for (_, separator), translation in zip(sentences[:-1], translations[:-1], strict=True)
        ]
        return TextTranslation(tuple(translations), (before, *gaps, sentences[-1][1]))

    def score(self, source: str, target: Target, length_penalty: float = 0.6) -> ScoredText:
        """Forced decoding: the log-probability of a given target.

        Args:
            source: the source text.
            target: text, which is a whole translation (may be empty), a result of a search, or token ids, which are
                whole if they end with `</s>`.

        Returns:
            The target with the log-probabilities and the score that a search would assign.
        """
        ids, options = self.codec.scored_ids(source, target), self.setup.options(1, length_penalty)
        [log_probs] = self.shared.log_probs([ids])
        return self.codec.scored_text(self.check.hypothesis(source, ids, log_probs, options))

    def score_batch(self, pairs: Sequence[tuple[str, Target]], length_penalty: float = 0.6) -> list[ScoredText]:
        """`score` of many pairs of a source and a target, batched by length; log-probabilities are equal to rounding.

        Returns:
            One scored target per pair, in order.

        Raises:
            ValueError: as `score`, naming the sentence.
        """
        options = self.setup.options(1, length_penalty)
        passes: list[PassIds] = []
        pairs = items("pairs", pairs, f"a list of pairs of {PAIR}")
        for number, pair in enumerate(pairs, start=1):
            with naming_sentence(number):
                if len(items("the pair", pair, PAIR)) != 2:
                    raise wrong_type("the pair", pair, PAIR)
                passes.append(self.codec.scored_ids(*pair))
        scored: dict[int, Hypothesis] = {}
        for index, log_probs in self.shared.pass_log_probs(passes):
            with naming_sentence(index + 1):
                scored[index] = self.check.hypothesis(pairs[index][0], passes[index], log_probs, options)
        return [self.codec.scored_text(scored[index]) for index in range(len(pairs))]

    def explain(self, source: str, target: Target, num_alternatives: int = 5) -> Explanation:
        """Log-probabilities, alternatives and all heads' attention for a translation, from one pass of the modules.

        The pass is teacher-forced, with attention captured (`SharedModel.decoder_pass`).

        Args:
            source: the source text.
            target: a translation, of which the best hypothesis is explained, one hypothesis, its token ids (a final
                `</s>` is optional), or a text, which may be tokenized otherwise than in the search.
            num_alternatives: number of most probable tokens to return at each position.
        """
        ids = self.token_ids(source, target)
        outputs = self.shared.decoder_pass(*ids, num_alternatives)
        return self.codec.explanation(outputs, ids, source, self.codec.source_pieces(ids.source))

    def show(self, text: str, beam_size: int = 4, length_penalty: float = 0.6) -> Any:
        """Translate a sentence and draw its hypotheses, and the heads of the selected one, in a notebook, as a
        `core.notebook.TranslatorView`.

        Args:
            beam_size, length_penalty: those of `translate`.

        Raises:
            MissingPackageError: the extra `notebook` is not installed.
        """
        return WIDGETS["TranslatorView"](self, self.translate(text, beam_size, length_penalty))

    @contextmanager
    def inspect(self) -> Generator[Transformer]:
        """Hold the model for this thread, to hook and run it, with all attention explicit (`core.trace`).

        Inside the block, this thread may also call the translator's methods.
        """
        with self.shared.held() as model, explicit_attention(model):
            yield model

    def token_ids(self, source: str, target: Target) -> PassIds:
        """Token ids of a source and a target, see `TextCodec.token_ids`."""
        return self.codec.token_ids(source, target)

    def batch(self, rows: Sequence[Source]) -> Tensor:
        """Pad sources or targets on the right, on the model's device: [B, longest] or [B, longest, P]."""
        return self.shared.batch(items("rows", rows, "the token ids of each sentence"))
