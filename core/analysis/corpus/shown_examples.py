"""Examples of heads and neurons as sentences with marked tokens, and neurons with the tokens of theirs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from core.analysis.corpus.distributions import DECILES
from core.analysis.corpus.index import CorpusIndex, HeadExample, IndexedSentence, NeuronExample
from core.analysis.corpus.recording import Neuron, Stack
from core.analysis.heads.head import Head
from core.analysis.tokens.words import JOINT, readable, word_groups
from core.text.byte_pieces import is_special
from core.text.phrases import Phrase, listed, marked
from core.text.tokenizer import SPACE_MARK
from core.translator import Translator

TOP_TOKENS = 4  # of a neuron, in the table
NeuronSort = Literal["tokens", "highest", "rare"]
Tokens = Mapping[Stack, Sequence[Sequence[str]]]  # of each sentence of an index, by the stack that reads them
Mark = Literal["", "query", "key", "both"]


@dataclass(frozen=True, kw_only=True)
class MarkedText:
    """Tokens of one side of a sentence, with marks for the token that a head attends from and the one it attends to."""

    tokens: Sequence[str]
    marks: Sequence[Mark]
    axis: Mark = "both"  # of a head's map that has these tokens: rows, columns, or both in self-attention

    def written(self) -> list[tuple[str, bool, Mark, int]]:
        """Return the tokens to write: each with whether a space precedes it, its mark, and its position.

        Special tokens and spaces of their own are left out unless they have a mark.
        """
        written: list[tuple[str, bool, Mark, int]] = []
        space = False
        for position, (token, mark) in enumerate(zip(self.tokens, self.marks, strict=True)):
            space = space or token.startswith(SPACE_MARK) or is_special(token)
            if mark or not (is_special(token) or token == SPACE_MARK):
                written.append((token, space and bool(written), mark, position))
                space = is_special(token)
        return written


@dataclass(frozen=True, kw_only=True)
class ShownExample:
    """One example."""

    texts: Sequence[MarkedText]  # source, or translation, or both; the part that has a mark
    value: float  # strength or activation
    line: int
    # query and key: marked tokens; of a neuron `key` is its token and `query` is ""
    query: str
    key: str
    predicted: str = ""  # token that is predicted there; "" in the encoder

    @property
    def note(self) -> str:
        """The prediction in words; "" if it has a mark."""
        if self.predicted in ("", self.query):
            return ""
        return Phrase("predicts {token}", token=readable(self.predicted))

    @property
    def of_words(self) -> bool:
        """Whether its marks are on letters of two words."""
        own = self.texts[0]
        marks = [{own.marks[place] for place in group} for group in word_groups(own.tokens)]
        is_one = any("both" in each or {"query", "key"} <= each for each in marks)
        ends = (self.query, self.key)
        return not is_one and all(any(map(str.isalpha, readable(each))) and not is_special(each) for each in ends)


def sides(translator: Translator, sentence: IndexedSentence) -> tuple[tuple[str, ...], ...]:
    """Return the source tokens, the tokens fed to the decoder, and the predicted ones.

    Raises:
        ValueError: The sentence has other tokens with this model.
    """
    source, fed, predicted = translator.token_ids(sentence.source, sentence.target)
    if len(source) != sentence.source_length:
        raise ValueError(
            f"the sentence of line {sentence.line} has {len(source)} tokens, the index {sentence.source_length}: it "
            "belongs to another model"
        )
    return translator.codec.source_pieces(source), translator.codec.fed_pieces(fed), translator.codec.pieces(predicted)


def index_tokens(translator: Translator, index: CorpusIndex) -> dict[Stack, list[tuple[str, ...]]]:
    """Return the tokens of every sentence of an index: those of the source, and those fed to the decoder.

    Raises:
        ValueError: As `sides`.
    """
    tokens = [sides(translator, sentence) for sentence in index.sentences]
    return {"encoder": [each[0] for each in tokens], "decoder": [each[1] for each in tokens]}


def head_examples(translator: Translator, head: Head, examples: Sequence[HeadExample]) -> list[ShownExample]:
    """Return examples of a head as they are shown; a row of cross-attention is marked at the token that it predicts.

    Raises:
        ValueError: As `sides`.
    """

    def shown(example: HeadExample) -> ShownExample:
        source, fed, predicted = sides(translator, example.sentence)
        query, key = example.query, example.key
        axes = {"encoder_self": (source, source), "decoder_self": (fed, fed), "cross": (predicted, source)}
        queries, keys = axes[head.kind]
        return ShownExample(
            texts=[_marked(source, key=key, axis="key"), _marked(predicted, query=query, axis="query")]
            if head.kind == "cross"
            else [_marked(keys, query, key)],
            value=example.strength,
            line=example.sentence.line,
            query=queries[query],
            key=keys[key],
            predicted="" if head.kind == "encoder_self" else predicted[query],
        )

    return [shown(each) for each in examples]


def strongest_examples(translator: Translator, index: CorpusIndex, head: Head, place: str = "any") -> list[HeadExample]:
    """The strongest examples of a head at one of `PLACES`, those from a word to another one first.

    Digits of a number, or a comma, prove little of what a head does with words. The sample of sentences adds pairs that
    are at least half as strong as the strongest, if they are at the place: any, or the distance that all examples have.

    Raises:
        ValueError: As `sides`.
    """
    own = index.head_examples(head, place)
    distances = None if place == "any" else {each.key - each.query for each in own}
    pool = {each[1:]: each for each in own}  # by sentence and place
    for decile in range(1, DECILES + 1) if own and index.distributions else ():
        for each in index.decile_examples(head, decile):
            if each.strength >= own[0].strength / 2 and distances in (None, {each.key - each.query}):
                pool.setdefault(each[1:], each)
    shown = zip(pool.values(), head_examples(translator, head, [*pool.values()]), strict=True)
    ordered = sorted(shown, key=lambda pair: (not pair[1].of_words, -pair[0].strength))
    return [example for example, _ in ordered[: len(own)]]


def neuron_examples(translator: Translator, neuron: Neuron, examples: Sequence[NeuronExample]) -> list[ShownExample]:
    """Return examples of a neuron as they are shown; in the decoder its token is the one that was fed.

    Raises:
        ValueError: As `sides`.
    """

    def shown(example: NeuronExample) -> ShownExample:
        source, fed, predicted = sides(translator, example.sentence)
        tokens, at = source if neuron.stack == "encoder" else fed, example.position
        return ShownExample(
            texts=[_marked(tokens, key=at)],
            value=example.activation,
            line=example.sentence.line,
            query="",
            key=tokens[at],
            predicted=predicted[at] if neuron.stack == "decoder" else "",
        )

    return [shown(each) for each in examples]


def examples_table(shown: Sequence[ShownExample], value: str) -> dict[str, list[Any]]:
    """Return a row for each example; `value` is the name of the column of values."""
    return {
        value: [each.value for each in shown],
        "line": [each.line for each in shown],
        "from": [each.query for each in shown],
        "token": [each.key for each in shown],
        "predicted": [each.predicted for each in shown],
        "text": [" / ".join("".join(text.tokens) for text in each.texts) for each in shown],
    }


def _marked(tokens: Sequence[str], query: int = -1, key: int = -1, axis: Mark = "both") -> MarkedText:
    marks: list[Mark] = ["" for _ in tokens]
    if query >= 0:
        marks[query] = "query"
    if key >= 0:
        marks[key] = "both" if key == query else "key"
    return MarkedText(tokens=tokens, marks=marks, axis=axis)


def neuron_tokens(index: CorpusIndex, neuron: Neuron, tokens: Tokens) -> Counter[str]:
    """Return the tokens of a neuron's examples, as they are read, with their number."""
    table, at = index.neurons[neuron.stack], (neuron.layer, neuron.neuron)
    columns = table.activations[at].tolist(), table.sentences[at].tolist(), table.positions[at].tolist()
    counts: Counter[str] = Counter()
    for activation, sentence, position in zip(*columns, strict=True):
        if activation:
            counts[readable(tokens[neuron.stack][int(sentence)][int(position)]).removeprefix(JOINT)] += 1
    return counts


def neurons_table(
    index: CorpusIndex, stack: Stack, layer: int, tokens: Tokens, sort: NeuronSort = "tokens", containing: str = ""
) -> dict[str, list[Any]]:
    """Return a row for each neuron of a layer, counted from 0, but for neurons that are never active.

    With `containing`, only neurons with examples whose token has this in it, whatever its case, the most first.
    """
    table, found = index.neurons[stack], list[tuple[tuple[float, ...], dict[str, Any]]]()
    wanted = containing.strip().casefold()
    numbers = zip(table.activations[layer, :, 0].tolist(), table.active[layer].tolist(), strict=True)
    for neuron, (highest, active) in enumerate(numbers):
        counts = neuron_tokens(index, Neuron(stack, layer, neuron), tokens) if highest > 0 else Counter[str]()
        hits = sum(count for token, count in counts.items() if wanted in token.casefold())
        if not hits:
            continue
        most = counts.most_common(TOP_TOKENS)
        same = max((count for token, count in most if not is_special(token)), default=0)
        counted = [f"{token} \u00d7{count}" if count > 1 else token for token, count in most]
        place = {"tokens": (-same, -highest), "highest": (-highest,), "rare": (active, -highest)}[sort]
        row = {"same": same, "highest": highest, "active": active, "tokens": listed(counted, marked("{first}; {rest}"))}
        found.append(((-hits if wanted else 0, *place), row | Neuron(stack, layer, neuron)._asdict()))
    rows = [row for _, row in sorted(found, key=lambda each: each[0])]
    return {name: [row[name] for row in rows] for name in ("same", "highest", "active", "tokens", *Neuron._fields)}
