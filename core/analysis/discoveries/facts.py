"""A discovery: what a head does, how often, and what changes without it."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from urllib.parse import urlencode

from core.analysis.corpus.behaviours import BEHAVIOURS
from core.analysis.declaration import FIRST, Columns, PicturedResult
from core.analysis.heads.corpus_maps import Pair
from core.analysis.pictures import Cell, Grid
from core.analysis.pictures_data import PicturePage
from core.analysis.tokens.words import readable_all
from core.analysis.word_scores.scored_lines import target_settings
from core.capture import AttentionMap
from core.text.phrases import Number, Phrase, marked
from core.trace import Head

WRITTEN = 0.05  # least weight that is written in its cell


@dataclass(frozen=True)
class Fact:
    """What a head does."""

    head: Head
    behaviour: str  # a key of `LABELS` of `head_description`
    share: float  # of the weight, the tokens or the words, as the behaviour is defined: the mean over the sentences
    low: float  # of a 95 % interval of the share
    high: float  # of it
    limit: float  # share that no head with random weights exceeds, but for one such model in a hundred
    sentences: int  # of the sample
    clearest: Pair  # sentence in which it does most of it, with its translation
    attention: AttentionMap  # of its layer there
    changed: int  # number of sentences whose greedy translation is another one without the head
    change: float  # of the log-probability of a translation without the head, in nats: the mean over the sentences
    source: str  # a sentence whose translation changes
    before: str  # its greedy translation
    after: str  # that without the head

    @property
    def title(self) -> Phrase:
        """Such as "Encoder L2 H3 attends to the previous token"."""
        return Phrase("{head} {does}", head=self.head.title, does=Phrase(BEHAVIOURS[self.behaviour].name))

    @property
    def measure(self) -> Phrase:
        """What the share is of."""
        return Phrase(BEHAVIOURS[self.behaviour].text)

    @property
    def texts(self) -> tuple[Phrase, Phrase, Phrase]:
        """How often, what changes without the head, and an example."""
        often = marked(
            "{share} on average, with a 95% interval from {low} to {high}; of models with random weights one in a "
            "hundred reaches {limit}."
        )
        effect = marked(
            "Without it, {changed} of {sentences} translations change, and the log-probability of a translation "
            "changes by {change} nats on average."
        )
        example = marked("\u201c{source}\u201d becomes \u201c{before}\u201d, without the head: \u201c{after}\u201d")
        shares = {name: Number(getattr(self, name), ".0%") for name in ("share", "low", "high", "limit")}
        numbers = {name: Number(getattr(self, name), ",") for name in ("changed", "sentences")}
        return (
            Phrase(often, **shares),
            Phrase(effect, change=Number(round(self.change, 2) + 0.0, "+.2f"), **numbers),
            Phrase(example, source=self.source, before=self.before, after=self.after),
        )

    @property
    def picture(self) -> Grid:
        """The head's map of the clearest sentence."""

        def cell(weight: float, is_visible: bool) -> Cell | None:
            text = Number(weight, ".2f") if weight >= WRITTEN else ""
            return Cell(text=text, says=Number(weight, ".3f"), shade=weight) if is_visible else None

        about = self.attention
        weights, visible = about.weights[self.head.head].tolist(), about.visible.tolist()
        rows = zip(readable_all(about.row_tokens), weights, visible, strict=True)
        return Grid(
            title=self.title,
            legend=Phrase(marked("attention weight")),
            columns=readable_all(about.key_tokens),
            rows=[(token, list(map(cell, values, seen))) for token, values, seen in rows],
            width=5,
        )

    def settings(self, digest: str) -> dict[str, str]:
        """Settings of the app's page `heads` that show the head in the clearest sentence, by a checkpoint's SHA-256."""
        head = {"kind": self.head.kind, f"heads_{self.head.kind}": self.head.short}
        return target_settings(*self.clearest, digest) | head


@dataclass(frozen=True)
class Discoveries(PicturedResult):
    """What is found so far, the best supported of each behaviour first."""

    facts: Sequence[Fact]
    done: int  # of `total` steps
    total: int
    by_lot: Sequence[int] = ()  # number of translations that change without each of some heads drawn by lot
    digest: str = ""  # SHA-256 of the checkpoint, in hexadecimal, for links to the app
    app: str = ""  # address of the app; "" for no links

    def table(self) -> Columns:
        """A row for each fact; layers and heads are counted from 0."""
        names = ("behaviour", "share", "low", "high", "limit", "changed", "sentences", "change", "source", "before")
        return {
            **{name: [getattr(fact.head, name) for fact in self.facts] for name in Head._fields},
            **{name: [getattr(fact, name) for fact in self.facts] for name in (*names, "after")},
        }

    def pictures(self, at: Head = FIRST) -> tuple[Grid, ...]:
        """A map for each fact."""
        return tuple(fact.picture for fact in self.facts)

    def answer(self, at: Head = FIRST) -> Phrase:
        """How many facts there are, and without which head most translations change, beside one drawn by lot."""
        if not self.facts:
            return Phrase(marked("No head does more of anything than random weights and changes a translation."))
        most = max(self.facts, key=lambda fact: fact.changed)
        words = marked(
            "{count} heads do more of something than random weights, and change translations: most without {head}, "
            "{changed} of {sentences}; without a head drawn by lot, {lot}, the median of {drawn}."
        )
        counts = {"changed": most.changed, "sentences": most.sentences, "drawn": len(self.by_lot)}
        numbers = {name: Number(value, ",") for name, value in {"count": len(self.facts), **counts}.items()}
        return Phrase(words, head=most.head.title, lot=Number(median(self.by_lot), "g"), **numbers)

    def show(self, at: Head = FIRST) -> PicturePage:
        """The facts as a page, each with its texts, its picture and a link."""
        links = [f"{self.app.rstrip('/')}/heads?{urlencode(fact.settings(self.digest))}" for fact in self.facts]
        texts = [(*fact.texts, fact.measure) for fact in self.facts]
        return PicturePage(self.answer(), self.pictures(), texts, links if self.app else ())
