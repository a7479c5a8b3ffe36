"""A sentence to draw, with the analyses computed of it."""

import random
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core import Explanation, ScoredText, Translation, Translator
from core.analysis.beam_tree import BeamTree, beam_tree
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.heads.scorer import score_cards
from core.analysis.pictures import Grid
from core.analysis.tokens.words import merge_words, without_special_tokens
from core.capture import AttentionMap, Kind
from core.images.line_reader import LineReader
from core.parsing.parser import Parser
from viz_app.drawing.theme import DARK, LIGHT, Theme

Drawn = dict[str, Any] | pd.DataFrame | go.Figure | Grid | str
KINDS: tuple[Kind, ...] = ("encoder_self", "decoder_self", "cross")
NO_DRAWING = ("equal", "differ", "common", "same", "column")  # why there is no drawing


@dataclass(frozen=True)
class Models:
    """The models that the drawings need: a translator with one for mask-predict, a parser and a reader of pictures."""

    translator: Translator
    mask_predict: Translator
    parser: Parser
    reader: LineReader


class Subject:
    """A sentence with a translation to draw, and what is computed of them when it is first needed.

    Attributes:
        target: strange text, too, or the token ids of the best hypothesis.
        position: of a predicted token.
    """

    def __init__(self, models: Models, text: str, target: str | None, choice: random.Random) -> None:
        self.models, self.translator, self.text, self.choice = models, models.translator, text, choice
        self.target = list(self.translation.hypotheses[0].token_ids) if target is None else target
        self.theme: Theme = choice.choice((LIGHT, DARK))
        self.position = choice.randrange(len(self.explanation.predicted_tokens))
        self.piece = self.translator.tokenizer.target.piece
        self.kind: Kind = choice.choice(KINDS)
        self.place = choice.randrange(2), choice.randrange(4)  # layer and head

    @cached_property
    def translation(self) -> Translation:
        return self.translator.translate(self.text, 2)

    @cached_property
    def explanation(self) -> Explanation:
        return self.translator.explain(self.text, self.target)

    @cached_property
    def maps(self) -> list[AttentionMap]:
        """The maps of the kind, of words or tokens, with or without special tokens."""
        words, hide_special = self.choice.random() < 0.5, self.choice.random() < 0.5
        maps = [merge_words(each) if words else each for each in self.explanation.maps[self.kind]]
        return [without_special_tokens(each) for each in maps] if hide_special else maps

    @cached_property
    def map(self) -> AttentionMap:
        return self.maps[self.place[0]]

    @cached_property
    def cards(self) -> list[ScoreCard]:
        return score_cards([{self.kind: self.explanation.maps[self.kind]}], {})

    @cached_property
    def tree(self) -> BeamTree:
        return beam_tree(self.translator, self.text, 2)

    @property
    def second(self) -> ScoredText:
        return self.translation.hypotheses[-1]
