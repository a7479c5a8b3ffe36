"""Index of a corpus: examples of heads and neurons, and score-cards of heads."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.analysis.corpus.distributions import DistributionTable
from core.analysis.corpus.recording import Neuron
from core.analysis.heads.scorecards import ScoreCard
from core.files.console import command_line
from core.trace import Head, Stack

CORPUS_COMMAND = ("python", "-m", "core", "corpus")
QUANTILES = (0.5, 0.9, 0.99, 0.999)
PLACES = (
    *("any", "elsewhere", "previous", "same_position", "following", "same_token"),
    *("sink_start", "sink_end", "sink_punctuation", "copies", "translates"),
)
"""Place of the key of an example, named after the measures of `ScoreCard`, see `corpus.strength`."""

Floats = NDArray[np.float32]
Numbers = NDArray[np.uint16]


@dataclass(frozen=True)
class CorpusFacts:
    """Origin of an index."""

    checkpoint: str  # name of the checkpoint's file
    digest: str  # its SHA-256 in hexadecimal
    corpus: str  # name of the sentences
    licence: str = ""  # of the sentences, as `attribution`; "" if not stated
    attribution: str = ""
    translations: str = "1"  # `given`, or the beam size of the search
    num_sentences: int = 0  # that were read
    num_tokens: int = 0  # predicted tokens of their translations


class IndexedSentence(NamedTuple):
    """A sentence of an index."""

    line: int  # its line in the corpus, from 1
    source: str
    source_length: int  # number of source tokens, S
    target: tuple[int, ...]  # token ids of the translation, without `</s>`


class HeadExample(NamedTuple):
    """A query and a key of a sentence, and the strength of a head there; see `corpus.strength`."""

    strength: float
    sentence: IndexedSentence
    query: int
    key: int


class NeuronExample(NamedTuple):
    """A position of a sentence (in the decoder, of the token that was fed), and the activation of a neuron there."""

    activation: float
    sentence: IndexedSentence
    position: int


@dataclass(frozen=True, eq=False)
class HeadTable:
    """Examples of all heads, in the order of the index's cards: N heads, P places, k examples."""

    strengths: Floats  # [N, P, k], strongest first; 0 where there are fewer
    sentences: Numbers  # [N, P, k] from 0, in the order of `CorpusIndex.sentences`
    queries: Numbers  # [N, P, k] positions from 0, as `keys`
    keys: Numbers
    quantiles: Floats  # [N, len(QUANTILES)] over all rows of their strongest key


@dataclass(frozen=True, eq=False)
class NeuronTable:
    """Examples of the neurons of one stack: L layers, F neurons each, k examples."""

    activations: Floats  # [L, F, k], highest first; 0 where there are fewer
    sentences: Numbers  # [L, F, k], as `positions`
    positions: Numbers
    quantiles: Floats  # [L, F, len(QUANTILES)] over all tokens
    active: Floats  # [L, F] share of tokens with a positive activation


@dataclass(frozen=True, eq=False)
class CorpusIndex:
    """Strongest examples of heads and neurons over a corpus, and scores of the heads."""

    facts: CorpusFacts
    sentences: tuple[IndexedSentence, ...]  # those that are an example
    cards: tuple[ScoreCard, ...]  # of every head, by kind, then by layer
    heads: HeadTable  # in the order of the cards
    neurons: dict[Stack, NeuronTable] = field(default_factory=dict[Stack, NeuronTable])
    distributions: DistributionTable | None = None  # None in an index of an earlier version

    @cached_property
    def rows(self) -> dict[Head, int]:
        """Row of each head in `heads` and `cards`."""
        return {card.head: row for row, card in enumerate(self.cards)}

    @property
    def command(self) -> str:
        """Command that makes the index anew, in the folder of the checkpoint, from the sentences that it has."""
        checkpoint = Path(self.facts.checkpoint)
        index = Path(f"{checkpoint.name.removesuffix('.safetensors')}.corpus.npz")
        return command_line(*CORPUS_COMMAND, "--checkpoint", checkpoint, "--input", index, "-o", index)

    def card(self, head: Head) -> ScoreCard:
        """Score-card of a head.

        Raises:
            KeyError: the model has no such head.
        """
        return self.cards[self.rows[head]]

    def head_examples(self, head: Head, place: str = "any") -> list[HeadExample]:
        """Examples of a head at one of `PLACES`, strongest first."""
        table, at = self.heads, (self.rows[head], PLACES.index(place))
        columns = (table.strengths[at], table.sentences[at], table.queries[at], table.keys[at])
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [HeadExample(value, self.sentences[number], *place) for value, number, *place in rows if value > 0]

    def known_distributions(self) -> DistributionTable:
        """The distributions of all heads.

        Raises:
            ValueError: an index of an earlier version has none; the message has the command to make it anew.
        """
        if self.distributions is None:
            raise ValueError(
                "this index was made by an earlier version: deciles, weights, distances and top tokens are missing; "
                f"make it anew with {self.command}"
            )
        return self.distributions

    def decile_examples(self, head: Head, decile: int) -> list[HeadExample]:
        """Examples of a head in a tenth of the sampled sentences by its strength, from 1, the weakest; strongest first.

        Raises:
            ValueError: as `known_distributions` and `DistributionTable.decile`.
        """
        table, row = self.known_distributions(), self.rows[head]
        return [
            HeadExample(
                float(table.strengths[row, at]),
                self.sentences[table.sentences[at]],
                int(table.queries[row, at]),
                int(table.keys[row, at]),
            )
            for at in table.decile(row, decile)
        ]

    def neuron_examples(self, neuron: Neuron) -> list[NeuronExample]:
        """Examples of a neuron, highest activation first."""
        table, at = self.neurons[neuron.stack], (neuron.layer, neuron.neuron)
        columns = (table.activations[at], table.sentences[at], table.positions[at])
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [NeuronExample(value, self.sentences[number], place) for value, number, place in rows if value > 0]

    def has_neuron(self, neuron: Neuron) -> bool:
        """Whether the model has this neuron."""
        layers, width, _ = self.neurons[neuron.stack].activations.shape
        return 0 <= neuron.layer < layers and 0 <= neuron.neuron < width
