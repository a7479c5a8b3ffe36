"""Sections of the paper, each with a sentence to try and a page that shows it."""

from dataclasses import dataclass, field
from urllib.parse import urlencode

from viz_app.language import ENGLISH, language, marked


@dataclass(frozen=True)
class PaperSection:
    """A section of "Attention Is All You Need".

    Attributes:
        about: summary of the section, in one sentence.
        sentence: to try.
        see: what to look for on the page.
        page: name of the page in the address.
        settings: of the page, as in its address.
        link: label of the link.
    """

    number: str
    title: str
    about: str
    sentence: str
    see: str
    page: str
    link: str
    settings: dict[str, str | list[str]] = field(default_factory=dict[str, "str | list[str]"])

    @property
    def address(self) -> str:
        """Address of the page in this state and language, relative to the app's."""
        own = {} if language() == ENGLISH else {"language": language()}
        settings = {"tour": "off", "text": self.sentence, **self.settings, **own}
        return f"{self.page}?{urlencode(settings, doseq=True)}"


SECTIONS = (
    PaperSection(
        number="3.1",
        title=marked("Encoder and decoder stacks"),
        about=marked("Each sub-layer is surrounded by a residual connection, followed by layer normalization."),
        sentence="A brown dog runs across the grass.",
        see=marked(
            "The numbers of one token as they bypass a sub-layer, are added to its result, and are brought to mean 0 "
            "and variance 1. Go on with the arrow keys."
        ),
        page="step_through",
        link=marked("Residual and LayerNorm, step by step"),
        settings={"stack": "encoder", "at": "encoder_self-residual"},
    ),
    PaperSection(
        number="3.2.1",
        title=marked("Scaled dot-product attention"),
        about=marked(
            "A query is compared with all keys; the softmax of the scaled scores gives weights that sum to 1."
        ),
        sentence="A brown dog runs across the grass.",
        see=marked(
            "One head as a map. Each row is one query: hover over its cells to see that its weights sum to 1. The "
            "badge \u201crows sum to 1\u201d below has checked it for every row of every head."
        ),
        page="heads",
        link=marked("One head as a map"),
        settings={"kind": "encoder_self", "view": "map", "heads_encoder_self": "L1 H1", "hide_special": "false"},
    ),
    PaperSection(
        number="3.2.2",
        title=marked("Multi-head attention"),
        about=marked(
            "Several heads attend in parallel, each with its own projections, so that each can look for something else."
        ),
        sentence="The animal didn't cross the street because it was too tired.",
        see=marked(
            "All heads of all layers as small pictures, first those that link \u201cit\u201d to \u201canimal\u201d. "
            "Some are a diagonal, that is one position before or after; some a column, that is one token that most "
            "words attend to. Click a few."
        ),
        page="heads",
        link=marked("Which head links it to animal?"),
        settings={"kind": "encoder_self", "word": ["source.8", "source.2"]},
    ),
    PaperSection(
        number="3.2.3",
        title=marked("Applications of attention in our model"),
        about=marked(
            "Attention is used in three ways: within the source, within the translation written so far, and between "
            "both."
        ),
        sentence="A little girl in a pink dress is climbing up a set of stairs.",
        see=marked(
            "All three in one matrix. At the lower right, the triangle above the diagonal is empty: a word of the "
            "translation cannot attend to later ones."
        ),
        page="heads",
        link=marked("The three kinds in one matrix"),
        settings={"kind": "joint"},
    ),
    PaperSection(
        number="3.3",
        title=marked("Position-wise feed-forward networks"),
        about=marked("Two linear transformations with a ReLU in between, the same at every position."),
        sentence="A brown dog runs across the grass.",
        see=marked("The hidden layer of one token. Most of its numbers are 0, as the ReLU cuts off what is negative."),
        page="step_through",
        link=marked("The hidden layer of a token"),
        settings={"stack": "encoder", "at": "feed_forward-hidden"},
    ),
    PaperSection(
        number="3.4",
        title=marked("Embeddings and softmax"),
        about=marked("One matrix is the embedding of both languages and the output projection."),
        sentence="A brown dog runs across the grass.",
        see=marked(
            "The logit of a token is the product of the last state with its embedding. Select a row to see its 256 "
            "products, then go on to the softmax."
        ),
        page="step_through",
        link=marked("From the last state to the next token"),
        settings={"stack": "decoder", "at": "output-logits"},
    ),
    PaperSection(
        number="3.5",
        title=marked("Positional encoding"),
        about=marked("Sines and cosines of different wavelengths tell the model where a word is."),
        sentence="A brown dog runs across the grass.",
        see=marked(
            "Each pair of dimensions is the hand of a clock. Move the slider k: the position k further on is the same "
            "picture, rotated. The line below checks it for all dimensions."
        ),
        page="positions",
        link=marked("Positions as rotations"),
        settings={"positions_view": "rotation"},
    ),
    PaperSection(
        number="5.4",
        title=marked("Regularization"),
        about=marked(
            "Label smoothing of 0.1 keeps some probability for other words; dropout switches off units in training "
            "only."
        ),
        sentence="A man in a blue shirt is standing on a ladder.",
        see=marked(
            "The probability of each token. Even where no other word fits it stays below 1, near 0.9, as the model was "
            "trained with label smoothing. The badge \u201cdropout off\u201d is below."
        ),
        page="",
        link=marked("Probabilities, token by token"),
    ),
    PaperSection(
        number="6.1",
        title=marked("Machine translation"),
        about=marked("Translations are found by beam search with a beam size of 4 and a length penalty of 0.6."),
        sentence="I don't know where he lives.",
        see=marked(
            "The whole search as a tree: four hypotheses stay alive at each step. Move the slider \u201cStep\u201d to "
            "follow it, and click a candidate to see the translation that it leads to."
        ),
        page="beam",
        link=marked("The search as a tree"),
        settings={"beam_size": "4", "length_penalty": "0.6"},
    ),
    PaperSection(
        number="6.3",
        title=marked("English constituency parsing"),
        about=marked("The same architecture, trained on trees instead of translations, parses English."),
        sentence="The old man sleeps in the garden.",
        see=marked(
            "The tree of the sentence. Click a bracket to see which words the heads attended to when it was written."
        ),
        page="parsing",
        link=marked("The tree of a sentence"),
    ),
)
