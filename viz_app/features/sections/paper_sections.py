"""Sections of the paper, each with a sentence to try and the page that shows what it says."""

from dataclasses import dataclass, field
from urllib.parse import urlencode


@dataclass(frozen=True)
class PaperSection:
    """A section of "Attention Is All You Need".

    Attributes:
        about: what the section says, in one sentence.
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
    settings: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def address(self) -> str:
        """The page in this state, relative to the app's address."""
        return f"{self.page}?{urlencode({'tour': 'off', 'text': self.sentence, **self.settings})}"


SECTIONS = (
    PaperSection(
        "3.1",
        "Encoder and decoder stacks",
        "Each sub-layer is surrounded by a residual connection, followed by layer normalization.",
        "A brown dog runs across the grass.",
        "The numbers of one token as they pass a sub-layer by, are added to its result, and are brought to mean 0 and "
        "variance 1. Go on with the arrow keys.",
        "step_through",
        "Residual and LayerNorm, step by step",
        {"stack": "Encoder", "at": "encoder_self-residual"},
    ),
    PaperSection(
        "3.2.1",
        "Scaled dot-product attention",
        "A query is compared with all keys; the softmax of the scaled scores gives weights that sum to 1.",
        "A brown dog runs across the grass.",
        "One head as a map. Each row is one query: point at its cells, and its weights add up to 1. The badge "
        "\u201crows sum to 1\u201d below has checked it for every row of every head.",
        "heads",
        "One head as a map",
        {"kind": "Encoder", "view": "Map", "heads_encoder_self": "L1 H1", "hide_special": "false"},
    ),
    PaperSection(
        "3.2.2",
        "Multi-head attention",
        "Several heads attend in parallel, each with its own projections, so that each can look for something else.",
        "The animal didn't cross the street because it was too tired.",
        "All heads of all layers as small pictures. Some are a diagonal, that is one position before or after; some a "
        "column, that is one token that most words attend to. Click a few.",
        "heads",
        "All heads at a glance",
        {"kind": "Encoder"},
    ),
    PaperSection(
        "3.2.3",
        "Applications of attention in our model",
        "Attention is used in three ways: within the source, within the translation written so far, and between both.",
        "A little girl in a pink dress is climbing up a set of stairs.",
        "All three in one matrix. At the lower right, the triangle above the diagonal is empty: a word of the "
        "translation cannot attend to later ones.",
        "heads",
        "The three kinds in one matrix",
        {"kind": "Joint"},
    ),
    PaperSection(
        "3.3",
        "Position-wise feed-forward networks",
        "Two linear transformations with a ReLU in between, the same at every position.",
        "A brown dog runs across the grass.",
        "The hidden layer of one token. Most of its numbers are 0, as the ReLU cuts off what is negative.",
        "step_through",
        "The hidden layer of a token",
        {"stack": "Encoder", "at": "feed_forward-hidden"},
    ),
    PaperSection(
        "3.4",
        "Embeddings and softmax",
        "One matrix is the embedding of both languages and the output projection.",
        "A brown dog runs across the grass.",
        "The logit of a token is the product of the last state with its embedding. Select a row to see its 256 "
        "products, then go on to the softmax.",
        "step_through",
        "From the last state to the next token",
        {"stack": "Decoder", "at": "output-logits"},
    ),
    PaperSection(
        "3.5",
        "Positional encoding",
        "Sines and cosines of different wavelengths tell the model where a word is.",
        "A brown dog runs across the grass.",
        "Each pair of dimensions is the hand of a clock. Move the slider k: the position k further on is the same "
        "picture, rotated. The line below checks it for all dimensions.",
        "positions",
        "Positions as rotations",
        {"positions_view": "Rotation"},
    ),
    PaperSection(
        "5.4",
        "Regularization",
        "Label smoothing of 0.1 keeps some probability for other words; dropout switches off units in training only.",
        "A man in a blue shirt is standing on a ladder.",
        "The probability of each token. Even where no other word fits it stays below 1, near 0.9, as the model was "
        "trained with label smoothing. The badge \u201cdropout off\u201d is below.",
        "",
        "Probabilities, token by token",
    ),
    PaperSection(
        "6.1",
        "Machine translation",
        "Translations are found by beam search with a beam size of 4 and a length penalty of 0.6.",
        "I don't know where he lives.",
        "The whole search as a tree: four hypotheses stay alive at each step. Move the slider \u201cStep\u201d to "
        "follow it, and click a candidate to see the translation that it leads to.",
        "beam",
        "The search as a tree",
        {"beam_size": "4", "length_penalty": "0.6"},
    ),
    PaperSection(
        "6.3",
        "English constituency parsing",
        "The same architecture, trained on trees instead of translations, parses English.",
        "The old man sleeps in the garden.",
        "The tree of the sentence. Click a bracket to see which words the heads attended to when it was written.",
        "parsing",
        "The tree of a sentence",
    ),
)
