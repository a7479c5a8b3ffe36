"""Text of a picture of one line, written by a Transformer (7) whose encoder takes the picture's patches."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from core.decoding import Progress, beam_search
from core.decoding.text_codec import PassIds
from core.files.budget import MAX_PATCHES
from core.images.patches import Pixels, patch_name, to_patches
from core.results import Explanation, ScoredText
from core.text.phrases import Number, Phrase, marked
from core.text.tokenizer import SPACE_MARK
from core.translator import Translator

BEAM_SIZE = 4
LENGTH_PENALTY = 0.6
SPACE = "\u2423"  # stands for a space
BATCH_PATCHES = 4096  # of a batch, padding included


class NotALineReaderError(ValueError):
    """The model reads text, not pictures."""


class LineReader:
    """Reader of pictures on top of a translator whose model takes image patches.

    Images are ink as returned by `core.images.picture.line_image`: [height, width], 0 (paper) to 255.

    Raises:
        NotALineReaderError: its model takes token ids.
    """

    def __init__(self, translator: Translator) -> None:
        config = translator.model.config
        if config.patch_size is None:
            raise NotALineReaderError(
                "this model reads text, not pictures: choose a checkpoint that was trained on the output of `python -m "
                "train prepare-lines`"
            )
        self.translator = translator
        self.patch_size, self.rows = config.patch_size, config.patch_rows

    @property
    def height(self) -> int:
        """Height of the images in pixels."""
        return self.patch_size * self.rows

    def read(self, image: Pixels, beam_size: int = BEAM_SIZE, length_penalty: float = LENGTH_PENALTY) -> ScoredText:
        """Return the best hypothesis of a beam search for one image.

        Raises:
            ValueError: the image has another height or is too wide, or a value is out of range.
        """
        return self.read_batch([image], beam_size, length_penalty)[0]

    def read_batch(
        self,
        images: Sequence[Pixels],
        beam_size: int = BEAM_SIZE,
        length_penalty: float = LENGTH_PENALTY,
        progress: Progress | None = None,
    ) -> list[ScoredText]:
        """Read many images, batched by width, and report the number done and their total after each batch.

        Raises:
            ValueError: as `read`.
        """
        options = self.translator.setup.options(beam_size, length_penalty, 1)
        patches = list(map(self.patches, images))
        read: dict[int, ScoredText] = {}
        limit_of = list(map(self._limit, patches))
        for batch in self.translator.limits.batches(list(map(len, patches)), limit_of, beam_size, BATCH_PATCHES):
            sources, limits = [patches[index] for index in batch], [limit_of[index] for index in batch]
            next_logits = self.translator.shared.next_logits(sources, packed=False)  # no model of images can be packed
            best = beam_search(next_logits, limits, options, self.translator.model.device)
            texts = (self.translator.codec.scored_text(hypotheses[0]) for hypotheses in best)
            read.update(zip(batch, texts, strict=True))
            if progress:
                progress(len(read), len(images))
        return [read[index] for index in range(len(images))]

    def explain(self, image: Pixels, token_ids: Sequence[int], num_alternatives: int = 5) -> Explanation:
        """Log-probabilities, alternatives and all heads' attention for given characters, from one teacher-forced pass.

        The source tokens are the patches, by `patch_name`; a final `</s>` of the characters is optional.

        Raises:
            ValueError: as `read`, or a token id is unknown.
            NonFiniteError: a log-probability is not finite.
        """
        translator, config = self.translator, self.translator.model.config
        patches = self.patches(image)
        written = [token_id for token_id in token_ids if token_id != config.eos_id]
        strange = next((token_id for token_id in written if not 0 <= token_id < config.vocab_size), None)
        if strange is not None or len(written) > self._limit(patches):
            given = f"the token id {strange}" if strange is not None else f"{len(written)} characters"
            raise ValueError(
                f"the text has {given}, this model has ids from 0 to {config.vocab_size - 1} and writes at most "
                f"{self._limit(patches)} characters for this picture"
            )
        fed, predicted = [config.bos_id, *written], [*written, config.eos_id]
        outputs = translator.shared.decoder_pass(patches, fed, predicted, num_alternatives)
        names = tuple(patch_name(index, self.rows) for index in range(len(patches)))
        return translator.codec.explanation(outputs, PassIds([], fed, predicted), "", names)

    def answer(self, explanation: Explanation) -> Phrase:
        """What was read, and its least certain character with the column of patches that all heads attend to most."""
        least = min(range(len(explanation.log_probs)), key=explanation.log_probs.__getitem__)
        weights = torch.stack([each.weights[:, least].mean(0) for each in explanation.maps["cross"]])  # [L, S]
        columns = weights.mean(0).reshape(-1, self.rows).sum(-1)
        words = marked(
            "It reads \u201c{text}\u201d; least certain is character {number}, \u201c{character}\u201d, {probability}, "
            "where the heads attend most to column {column} of {columns}: {share} (evenly {even})."
        )
        character, probability = explanation.predicted_tokens[least], math.exp(explanation.log_probs[least])
        values = {"text": explanation.target, "number": str(least + 1), "character": shown_character(character)}
        values |= {"probability": Number(probability, ".2f"), "share": Number(float(columns.max()), ".0%")}
        values |= {"column": str(int(columns.argmax()) + 1), "columns": str(len(columns))}
        return Phrase(words, even=Number(1 / len(columns), ".0%"), **values)

    def patches(self, image: Pixels) -> Tensor:
        """Patches of an image as the encoder takes them: [S, P] from 0 to 1.

        Raises:
            ValueError: the image has another height or is too wide.
        """
        height, width = image.shape
        if height != self.height:
            raise ValueError(
                f"the image is {height} pixels high, this model reads {self.height}: scale it with line_image"
            )
        patches = to_patches(image, self.patch_size)
        limit = self.translator.limits.fit(MAX_PATCHES)
        if len(patches) > limit:
            raise ValueError(
                f"the image is {width} pixels wide, at most {limit // self.rows * self.patch_size} can be read at "
                f"once: shorten the line"
            )
        return torch.from_numpy(patches).float() / 255

    def _limit(self, patches: Tensor) -> int:
        """Largest number of tokens of a text, `</s>` included: one for every patch, and some more."""
        return self.translator.limits.fit(len(patches) + 3) - 1


def shown_character(token: str) -> str:
    """Return a character for display, with a visible mark for a space."""
    return SPACE if token == SPACE_MARK else token


def attention_table(explanation: Explanation) -> dict[str, list[Any]]:
    """Return a row for each character, layer, head and patch; all are counted from 0."""
    places = [tuple(int(part) - 1 for part in name.split(".")) for name in explanation.source_tokens]
    predicted = zip(explanation.predicted_tokens, explanation.log_probs, strict=True)
    rows = [
        (position, shown_character(character), math.exp(log_prob), each.layer, head, row, column, weight)
        for position, (character, log_prob) in enumerate(predicted)
        for each in explanation.maps["cross"]
        for head in range(each.num_heads)
        for (column, row), weight in zip(places, each.weights[head, position].tolist(), strict=True)
    ]
    names = ("position", "character", "probability", "layer", "head", "patch_row", "patch_column", "weight")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}
