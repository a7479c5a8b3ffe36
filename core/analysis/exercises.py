"""Six exercises about an explained sentence; the model's own numbers, and no key, decide which answers are right."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import torch

from core.analysis.alignment.first_head import consensus
from core.analysis.alignment.sentence_alignment import shown_words
from core.analysis.heads.ablation import gate_effect
from core.analysis.heads.head import all_heads
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.heads.scorer import score_cards
from core.analysis.heads.word_pair import rank_heads, word_pair
from core.analysis.interventions.control_pairs import NEGATION, PAIRS, control
from core.analysis.tokens.words import readable_all, text_word_groups
from core.results import Explanation
from core.text.phrases import Number, Phrase, marked
from core.trace import Kind, edit
from core.translator import Translator

MARGIN = 0.1  # a head with so much less weight on the token before than the best one is right, too
SAME = 1e-3  # states that change by less of their length are the same, but for rounding
MUCH = 1.0  # nats by which one translation is much more probable than another
BEAM_SIZE = 4  # of the paper (6.1)
EVERY_TOKEN = {"view": "map", "words": "false", "hide_special": "false"}  # settings of Heads: a row for each token
PARTS = {  # of all layers
    "encoder_self": Phrase("self-attention of the encoder"),
    "decoder_self": Phrase("masked self-attention of the decoder"),
    "cross": Phrase("attention of the decoder to the source"),
}
ORDERS = {
    "same": Phrase("Each word keeps its state, as attention does not know the order"),
    "other": Phrase("Each word has another state, as its neighbours are others"),
}
BEAMS = {
    "same": Phrase("the same translation"),
    "little": Phrase("another one, more probable by less than 1 nat"),
    "much": Phrase("another one, more probable by 1 nat or more"),
    "less": Phrase("another one, less probable"),
}


def _share(value: float) -> Number:
    return Number(value, ".0%")


def _count(value: int) -> Number:
    return Number(value, "d")


class Opened(NamedTuple):
    """What is asked about: an explained sentence, the model unless its attention came alone, and the target's ids."""

    explanation: Explanation
    translator: Translator | None = None
    target: Sequence[int] = ()

    @property
    def model(self) -> Translator:
        """The translator, where `Exercise.refusal` has let it pass."""
        assert self.translator is not None
        return self.translator


class Measured(NamedTuple):
    """The right answers, by their identifiers, the numbers that decide, and what each answer would mean if wrong."""

    right: Collection[str]
    says: Phrase
    means: Callable[[str], Phrase]


@dataclass(frozen=True)
class Exercise:
    """A question of a sentence, its answers by their identifiers, and what measures which of them are right."""

    title: str
    question: Callable[[Opened], Phrase]
    options: Callable[[Opened], Mapping[str, str]]
    measure: Callable[[Opened], Measured]
    view: str  # address of the app's view that shows it
    hint: str  # what to look for there
    settings: Mapping[str, str] = field(default_factory=dict[str, str])  # of that view, as in its address
    kind: Kind | Literal[""] = ""  # of attention that it needs; "" if it runs the model
    refused: Callable[[Opened], Phrase | None] = lambda _: None  # why it cannot be asked of this sentence, if so

    def refusal(self, opened: Opened) -> Phrase | None:
        """Why it cannot be asked here; None if it can."""
        if not self.kind and opened.translator is None:
            return Phrase("This exercise runs the model, and only its attention is open: open a checkpoint.")
        if self.kind and not opened.explanation.maps.get(self.kind):
            return Phrase("This exercise is about a kind of attention that is not in this file: open a checkpoint.")
        return self.refused(opened)


def _encoder_cards(opened: Opened) -> dict[str, ScoreCard]:
    maps = opened.explanation.maps["encoder_self"]
    return {str(card.head): card for card in score_cards([{"encoder_self": maps}])}


def _measure_previous(opened: Opened) -> Measured:
    """The heads with as much weight on the token before as the best head, up to `MARGIN`."""
    cards = _encoder_cards(opened)
    best = max(cards.values(), key=lambda card: card.previous)
    right = [name for name, card in cards.items() if card.previous >= best.previous - MARGIN]
    words = marked("{head} has the most weight on the token before: {share}. Heads within {margin} of it: {count}.")
    says = Phrase(
        words, head=best.head.short, share=_share(best.previous), margin=_share(MARGIN), count=_count(len(right))
    )

    def means(answer: str) -> Phrase:
        card = cards[answer]
        words = marked(
            "{head} has {share} of its weight on the token before. In {most} of its rows it looks most at distance "
            "{offset} (0: itself)."
        )
        offset = Number(card.offset, "+d" if card.offset else "d")
        values = {"share": _share(card.previous), "most": _share(card.offset_share), "offset": offset}
        return Phrase(words, head=card.head.short, **values)

    return Measured(right, says, means)


def _row(opened: Opened) -> int:
    return len(opened.explanation.fed_tokens) // 2


def _ask_mask(opened: Opened) -> Phrase:
    row, tokens = _row(opened), readable_all(opened.explanation.fed_tokens)
    words = marked(
        "The decoder is fed {count} tokens at once in training. \u201c{token}\u201d is number {row} of them. At how "
        "many of the {count} can masked self-attention look there?"
    )
    return Phrase(words, count=_count(len(tokens)), token=tokens[row], row=_count(row + 1))


def _measure_mask(opened: Opened) -> Measured:
    """The number of tokens on which any head of the decoder has weight in the row in the middle."""
    row, layers = _row(opened), opened.explanation.maps["decoder_self"]
    weights = torch.stack([layer.weights[:, row].amax(0) for layer in layers]).amax(0)  # [K]
    seen, later = int((weights > 0).sum()), int((weights[row + 1 :] > 0).sum())
    words = marked("In this row the heads of all layers have weight on {seen} tokens, {later} of them later ones.")
    more = marked(
        "With {count} it would see words that it is to predict: in training it would learn to copy them, and there is "
        "nothing to copy when it translates."
    )
    less = marked("With {count} it would not see all that it has written so far.")
    says = Phrase(words, seen=_count(seen), later=_count(later))
    return Measured(
        [str(seen)], says, lambda answer: Phrase(more if int(answer) > seen else less, count=_count(int(answer)))
    )


@torch.inference_mode()
def order_changes(translator: Translator, source: Sequence[int]) -> tuple[float, float]:
    """Mean change of the encoder's states of words in reverse order, `</s>` last, as a share of their length.

    With positions, and with the encodings of all positions set to 0.
    """
    batch = translator.batch([source, [*source[-2::-1], source[-1]]])
    shares = list[float]()
    with translator.inspect() as model:
        encodings = model.embedding.positions(0, len(source))
        for sign in (0, 1):
            with edit(model, {"encoder.input": lambda value, sign=sign: value - sign * encodings}):
                states, turned = model.encode(batch)[:, :-1].float()
            shares.append(float(((turned.flip(0) - states).norm(dim=-1) / states.norm(dim=-1)).mean()))
    return shares[0], shares[1]


def _measure_positions(opened: Opened) -> Measured:
    """Whether the states are the same without positions, computed with the words in reverse order."""
    source = opened.model.token_ids(opened.explanation.source, opened.target).source
    with_them, without = order_changes(opened.model, source)
    words = marked(
        "In reverse order, the states of the words change by {changed} of their length with positions, and by "
        "{without} without."
    )
    means = {
        "same": Phrase("Then nothing but the encodings would tell this model the order; its attention knows it, too."),
        "other": Phrase("Then attention would know which word stands where; to it, the words are a set."),
    }
    says = Phrase(words, changed=Number(with_them, ".1%"), without=Number(without, ".1%"))
    return Measured(["same" if without < SAME else "other"], says, means.__getitem__)


def _words(opened: Opened) -> tuple[tuple[str, ...], tuple[str, ...]]:
    first = opened.explanation.maps["cross"][0]
    return shown_words(first.key_tokens), shown_words(first.row_tokens)


def _negation(opened: Opened) -> int | None:
    _, words = _words(opened)
    return next((place for place, word in enumerate(words) if NEGATION.fullmatch(word.casefold())), None)


def _no_negation(opened: Opened) -> Phrase | None:
    found = _negation(opened) is not None
    return None if found else Phrase("This translation has no word such as nicht: try another sentence.")


def _ask_negation(opened: Opened) -> Phrase:
    word = _words(opened)[1][_negation(opened) or 0]
    return Phrase(marked("Which word of the source does \u201c{word}\u201d come from?"), word=word)


def _measure_negation(opened: Opened) -> Measured:
    """The word to which the heads in the upper half of the layers link the negation together."""
    row = consensus(opened.explanation.maps["cross"])[_negation(opened) or 0]
    pairs = zip(_words(opened)[0], (row / row.sum()).tolist(), strict=True)
    shares = dict(sorted(pairs, key=lambda pair: pair[1]))  # of a word that is repeated, the largest
    linked = max(shares, key=shares.__getitem__)
    means = marked(
        "\u201c{word}\u201d has {share} of the weight of the heads of the upper layers, less what they give it in all "
        "rows."
    )
    says = Phrase(means, word=linked, share=_share(shares[linked]))
    if opened.translator:
        found, target = opened.explanation, text_word_groups(opened.explanation.predicted_tokens)
        key = text_word_groups(found.source_tokens)[int(row.argmax())]
        pair = word_pair(found, ("target", target[_negation(opened) or 0]), ("source", key))
        assert pair is not None
        head = rank_heads(found, pair).heads[0].head
        words = marked("{says} The head with the most weight there, in another sentence: {control}")
        says = Phrase(words, says=says, control=control(opened.translator, head, PAIRS["negation"][0]).answer())
    return Measured([linked], says, lambda answer: Phrase(means, word=answer, share=_share(shares[answer])))


def _measure_beam(opened: Opened) -> Measured:
    """What searches with one and with four hypotheses find."""
    source = opened.explanation.source
    greedy, best = (opened.model.translate(source, beam_size=size).hypotheses[0] for size in (1, BEAM_SIZE))
    is_same, more = best.token_ids == greedy.token_ids, best.log_prob - greedy.log_prob
    found = "same" if is_same else "less" if more <= 0 else "little" if more < MUCH else "much"
    words = marked("Greedy search finds a translation with log-probability {greedy}, the beam one with {best}.")
    means = {
        "same": Phrase("Then the most probable next word would never have been a mistake on the way."),
        "little": Phrase("Then a worse first choice would have paid off, by a little."),
        "much": Phrase("Then a worse first choice would have paid off, by a factor of e or more."),
        "less": Phrase("Then the length penalty would prefer a longer translation to a more probable one."),
    }
    says = Phrase(words, greedy=Number(greedy.log_prob, ".2f"), best=Number(best.log_prob, ".2f"))
    return Measured([found], says, means.__getitem__)


def _measure_part(opened: Opened) -> Measured:
    """The kind of attention with whose heads all off the log-probability of the translation falls most, in nats."""
    heads, source = all_heads(opened.model.model), opened.explanation.source
    off = {kind: {head: 0.0 for head in heads if head.kind == kind} for kind in PARTS}
    falls = {kind: -gate_effect(opened.model, source, opened.target, gates).change for kind, gates in off.items()}
    worst = max(falls, key=falls.__getitem__)
    words = marked("Without {part} the log-probability of the translation falls most, by {nats} nats.")
    means = marked(
        "Without {part} the log-probability of the translation falls by {nats} nats: without another it falls more."
    )

    def phrase(words: str, kind: str) -> Phrase:
        return Phrase(words, part=PARTS[kind], nats=Number(falls[kind], ".1f"))

    return Measured([worst], phrase(words, worst), lambda answer: phrase(means, answer))


EXERCISES = {
    "previous": Exercise(
        marked("The word before"),
        lambda _: Phrase("Which head of the encoder looks at the word before?"),
        lambda opened: {name: card.head.short for name, card in _encoder_cards(opened).items()},
        _measure_previous,
        "heads",
        marked("In All heads, choose Encoder: such a head has a line just below the diagonal."),
        {"kind": "encoder_self", **EVERY_TOKEN},
        "encoder_self",
    ),
    "mask": Exercise(
        marked("The mask"),
        _ask_mask,
        lambda opened: {str(1 + count): str(1 + count) for count in range(len(opened.explanation.fed_tokens))},
        _measure_mask,
        "heads",
        marked("In All heads, choose Decoder and count the cells of this row that are not hatched."),
        {"kind": "decoder_self", **EVERY_TOKEN},
        "decoder_self",
    ),
    "positions": Exercise(
        marked("Positions"),
        lambda _: Phrase("Without positions, what becomes of the encoder's states if the words are in reverse order?"),
        lambda _: ORDERS,
        _measure_positions,
        "positions",
        marked("In Positions, First layer, compare Content to content for the words in both orders."),
        {"positions_view": "first_layer"},
    ),
    "negation": Exercise(
        marked("Where nicht comes from"),
        _ask_negation,
        lambda opened: {word: word for word in _words(opened)[0]},
        _measure_negation,
        "alignment",
        marked("In Alignment, follow the thickest ribbon of the word, by several heads of the upper layers."),
        kind="cross",
        refused=_no_negation,
    ),
    "beam": Exercise(
        marked("A wider beam"),
        lambda _: Phrase(
            "Greedy search keeps one beginning of a translation, a beam four. What does the beam find for this "
            "sentence, compared with greedy search?"
        ),
        lambda _: BEAMS,
        _measure_beam,
        "beam",
        marked("In Beam, set the beam size to 1, then to 4, and compare the log-probabilities."),
    ),
    "part": Exercise(
        marked("The part you would miss"),
        lambda _: Phrase(
            "Which of the three kinds of attention, off in all layers, costs this translation most of its probability?"
        ),
        lambda _: PARTS,
        _measure_part,
        "switches",
        marked("In Switches, click \u201call\u201d of one kind in each layer and read the change; then the next kind."),
    ),
}
