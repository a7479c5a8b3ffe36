"""Translator: a sentence to its translation and explanation, for many threads."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from core.capture import attention_maps
from core.decoding import MaskPredictState
from core.decoding.text_codec import PassIds
from core.formats.checkpoint import load_checkpoint
from core.inference.device import Precision, best_device
from core.inference.sentence_translator import SentenceTranslator
from core.results import WIDGETS, Explanation, ScoredText
from core.text.byte_pieces import alternative_pieces
from core.text.tokenizer import SPACE_MARK


class Translator(SentenceTranslator):
    """A model with its tokenizer, safe to share between threads.

    All results for one sentence, log-probabilities, alternatives and attention, are computed by the modules of
    `core.model`; a faster search finds the hypotheses (`SentenceTranslator`).

    Args:
        precision: of the faster search. `exact` is float32. `fast` uses 8-bit integers or bfloat16 where measured to be
            faster on this CPU (`core.inference.cpu_inference`): translations may differ, and may depend on the batch
            and on the measurement, and the search is not compared with the modules. Equivalent on a GPU.

    Raises:
        ValueError: from every method, for a text that is blank or longer than `MAX_SOURCE_TOKENS` tokens, and for a
            target that is longer than `MAX_TARGET_TOKENS` or has unknown token ids.
        NonFiniteError: a ValueError, if the model's outputs are not finite.
    """

    @classmethod
    def from_checkpoint(
        cls, path: str | Path, device: str | torch.device | None = None, precision: Precision = "exact"
    ) -> "Translator":
        """Load a checkpoint to `device`, or to the best available one.

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
    ) -> "Translator":
        """Take a copy of a model that is in memory, in evaluation mode; training the original changes nothing in it.

        Args:
            model: a `core.Transformer`; an encoder-decoder of transformers whose files Headlight imports; or, with a
                description, another module with an encoder and a decoder, such as one around `torch.nn.Transformer`.
            tokenizer: of `core.text`, or the model's own of transformers. With a description: a list of pieces in the
                order of their ids, a mapping of pieces to ids, a vocabulary with `get_itos()`, a
                SentencePieceProcessor, or a folder or file with these as docs/formats.md names them; a pair of them for
                source and target; None if the vocabulary is "numbers".
            description: what docs/formats.md calls the config.json of such a model, as its path or its contents.
            device: the best available one by default.
            precision: see `Translator`.

        Raises:
            CheckpointError: Headlight does not import such models, or the model does not fit the description or the
                tokenizer.
            TypeError: the tokenizer is of another kind than the model needs.
            ValueError: see `best_device`.
        """
        from core.formats.model_in_memory import checkpoint_of_model  # the readers of all formats

        checkpoint = checkpoint_of_model(model, tokenizer, description)
        return cls(checkpoint.model.to(best_device(device)), checkpoint.tokenizer, checkpoint.training, precision)

    def score(self, source: str, target: str | Sequence[int], length_penalty: float = 0.6) -> ScoredText:
        """Forced decoding: the log-probability of a given target.

        Args:
            source: the source text.
            target: text, which is a whole translation (may be empty), or token ids, which are whole if they end with
                `</s>`.

        Returns:
            The target with the log-probabilities and the score that a search would assign.
        """
        ids, options = self.scored_ids(source, target), self.search_options(1, length_penalty)
        [log_probs] = self._shared.log_probs(*([each] for each in ids))
        return self._scored(source, ids.predicted, log_probs, options)

    @torch.inference_mode()
    def explain(self, source: str, target: str | Sequence[int], num_alternatives: int = 5) -> Explanation:
        """Log-probabilities, alternatives and all heads' attention for a translation, from one pass of the model's
        modules.

        The pass is teacher-forced, with attention captured (`SharedModel.decoder_pass`).

        Args:
            source: the source text.
            target: text, or the token ids of a hypothesis (a final `</s>` is optional): ids keep the exact pieces of a
                search, text may be tokenized otherwise.
            num_alternatives: number of most probable tokens to return at each position.
        """
        return self._explanation(source, self.token_ids(source, target), num_alternatives)

    @torch.inference_mode()
    def explain_iteration(
        self, source: str, iteration: MaskPredictState | ScoredText, num_alternatives: int = 5
    ) -> Explanation:
        """As `explain`, for one iteration of mask-predict.

        It replays the input of that iteration under the model's own mask: target tokens attend to all others.

        Args:
            source: the source text.
            iteration: a state of `mask_predict`, or a hypothesis of `translate`, whose last iteration it is.
            num_alternatives: as for `explain`; those of tokens that were not masked are predicted from themselves too.

        Returns:
            `fed_tokens` are the input, masks included, and `predicted_tokens` those after the iteration; the
            log-probability of each is that of when it was last predicted.

        Raises:
            ValueError: the hypothesis is not of mask-predict.
        """
        if iteration.fed_ids is None:
            raise ValueError("the hypothesis has no fed_ids: explain_iteration is for hypotheses of mask-predict")
        self.mask_predict_options()
        for token_ids in (iteration.fed_ids, iteration.token_ids):
            self._require_target(token_ids[:-1])
        ids = PassIds(self._source_ids(source), list(iteration.fed_ids), list(iteration.token_ids))
        return replace(self._explanation(source, ids, num_alternatives), log_probs=iteration.token_log_probs)

    def _explanation(self, source: str, ids: PassIds, num_alternatives: int) -> Explanation:
        """Explain one pass."""
        num_best = min(num_alternatives, self.config.target_size)
        outputs = self._shared.decoder_pass(*ids, num_best)
        source_tokens, fed_tokens = self.source_pieces(ids.source), self.fed_pieces(ids.fed)
        predicted_tokens = self.pieces(ids.predicted)
        end, target_pieces = self.piece(self.config.eos_id), self.tokenizer.target.pieces
        spelled = [
            [target_pieces([fed, token_id])[-1] for token_id in best]
            for fed, best in zip(ids.fed, outputs.top_ids, strict=True)
        ]

        def names(position: int) -> list[str]:
            """Pieces of the alternatives at a position."""
            predicted, best = predicted_tokens[position], outputs.top_ids[position]
            pieces = alternative_pieces(predicted_tokens, position, spelled[position])
            known = {ids.predicted[position]: predicted, self.config.eos_id: end}
            # A whole word may be spelled like the predicted beginning of a word.
            others = [piece + SPACE_MARK if piece == predicted else piece for piece in pieces]
            return [known.get(token_id, other) for token_id, other in zip(best, others, strict=True)]

        return Explanation(
            source=source,
            target=self.tokenizer.target.decode(ids.predicted[:-1]),
            source_tokens=source_tokens,
            fed_tokens=fed_tokens,
            predicted_tokens=predicted_tokens,
            log_probs=tuple(self.with_certain_first(outputs.log_probs, ids.predicted, source)),
            alternatives=tuple(
                tuple(zip(names(position), log_probs, strict=True))
                for position, log_probs in enumerate(outputs.top_log_probs)
            ),
            maps=attention_maps(outputs.weights, self.config, source_tokens, fed_tokens, predicted_tokens),
            num_forced=self.num_forced(ids.predicted, source),
        )

    def show(self, text: str, beam_size: int = 4, length_penalty: float = 0.6) -> Any:
        """Translate a sentence and draw its hypotheses, and the heads of the selected one, in a notebook, as a
        `core.notebook.TranslatorView`.

        Args:
            beam_size, length_penalty: those of `translate`.

        Raises:
            ImportError: the extra `notebook` is not installed.
        """
        return WIDGETS["TranslatorView"](self, self.translate(text, beam_size, length_penalty))
