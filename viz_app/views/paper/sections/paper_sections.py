"""Sections of the paper, each with a sentence to try and a page that shows it."""

from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from core.drawing.paper_parts import parts_of_section
from viz_app.language import ENGLISH, language, marked


@dataclass(frozen=True)
class PaperSection:
    """A section of "Attention Is All You Need"."""

    number: str
    title: str
    about: str  # summary of the section, in one sentence
    code: tuple[str, ...]  # the functions and classes that do what it says, by their full names
    see: str  # what to look for in the view
    page: str  # address of the view
    link: str  # label of the link
    sentence: str = ""  # to try; "" for a view without a sentence
    # of the view, as in its address
    settings: dict[str, str | list[str]] = field(default_factory=dict[str, "str | list[str]"])

    @property
    def address(self) -> str:
        """Address of the view in this state and language, relative to the app's."""
        text = {"text": self.sentence} if self.sentence else {}
        own = {} if language() == ENGLISH else {"language": language()}
        settings = {**text, **self.settings, **own}
        return f"{self.page}?{urlencode(settings, doseq=True)}"

    @property
    def parts(self) -> dict[str, str]:
        """Names in `core/paper.py` of what the section describes, with the addresses of these parts of Figure 1."""
        figure1 = replace(self, page="overview", sentence="")
        parts = parts_of_section(self.number).items()
        return {code: replace(figure1, settings={"part": part}).address for code, part in parts}


SECTIONS = (
    PaperSection(
        number="3.1",
        title=marked("Encoder and decoder stacks"),
        about=marked("Each sub-layer is surrounded by a residual connection, followed by layer normalization."),
        code=(
            "core.model.layers.Encoder",
            "core.model.layers.EncoderLayer",
            "core.model.layers.Decoder",
            "core.model.layers.DecoderLayer",
            "core.model.layers.post_norm",
            "core.model.layers.layer_norm",
        ),
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
            "A query is compared with all keys; the softmax of the scaled scores gives weights that sum to 1 (Figure "
            "2, left)."
        ),
        code=(
            "core.model.attention.scaled_dot_product_attention",
            "core.model.attention.masked_scores",
            "core.model.attention.AttentionWeights",
        ),
        sentence="A brown dog runs across the grass.",
        see=marked(
            "Each box of the figure is a step of one head, with its numbers. This one shows why scores are divided by "
            "the root of d_k: what the softmax, its entropy and its gradients would be without."
        ),
        page="step_through",
        link=marked("One head, step by step"),
        settings={"stack": "encoder", "at": "encoder_self-scaling"},
    ),
    PaperSection(
        number="3.2.2",
        title=marked("Multi-head attention"),
        about=marked(
            "Several heads attend in parallel, each with its own projections, so that each can look for something else "
            "(Figure 2, right)."
        ),
        code=("core.model.attention.MultiHeadAttention",),
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
        code=(
            "core.model.layers.EncoderLayer.forward",
            "core.model.layers.DecoderLayer.forward",
            "core.model.transformer.Transformer",
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
        code=("core.model.layers.FeedForward",),
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
        code=("core.model.embedding.Embedding", "core.model.transformer.Transformer"),
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
        code=(
            "core.model.embedding.SinusoidalPositions",
            "core.model.embedding.sinusoidal_encoding",
            "core.model.embedding.LearnedPositions",
        ),
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
        number="4",
        title=marked("Why self-attention"),
        about=marked(
            "Compared with recurrence and convolution, attention connects any two positions in one step, and all "
            "positions can be computed at once."
        ),
        code=(
            "core.analysis.layers.layer_types.LayerType",
            "core.analysis.layers.layer_cost.measure",
            "core.analysis.layers.path_length.measure_path_length",
            "core.model.restricted_attention.restricted_attention",
        ),
        see=marked(
            "Table 1 measured: the time of each type of layer over the length of a sequence, beside the cost that the "
            "paper gives. Other quantities are in the row above it."
        ),
        page="why",
        link=marked("Table 1, measured"),
        settings={"why_view": "time"},
    ),
    PaperSection(
        number="5.1",
        title=marked("Training data and batching"),
        about=marked("Sentence pairs in sub-words of one shared vocabulary, in batches of about the same length."),
        code=(
            "train.data.preparation.prepare",
            "train.data.batches.Batches",
            "core.text.tokenizer.SentencePieceTokenizer",
        ),
        see=marked("The pair as the model reads it in training: sub-words, and the target shifted by one position."),
        sentence="A brown dog runs across the grass.",
        page="training_step",
        link=marked("A training pair"),
        settings={"at": "shifted"},
    ),
    PaperSection(
        number="5.2",
        title=marked("Hardware and schedule"),
        about=marked("Eight P100 GPUs: 100,000 steps in 12 hours for the base model, 3.5 days for the big one."),
        code=(
            "core.analysis.training_cost.counted_flops",
            "train.loop.fit",
            "train.recipe.Recipe",
            "train.distributed.World",
        ),
        see=marked(
            "Hours, devices and operations of the paper\u2019s models and of the shipped ones, beside their scores."
        ),
        page="table_2",
        link=marked("Table 2, with the cost of training"),
    ),
    PaperSection(
        number="5.3",
        title=marked("Optimizer"),
        about=marked("Adam, with a learning rate that rises during the warm-up and then falls with the step."),
        code=("core.model.schedule.learning_rate", "train.runs.training_state.Training"),
        see=marked("The learning rate over the steps. Change the warm-up or the width, and the peak moves."),
        page="training",
        link=marked("The learning rate"),
        settings={"training_view": "rate"},
    ),
    PaperSection(
        number="5.4",
        title=marked("Regularization"),
        about=marked(
            "Label smoothing of 0.1 keeps some probability for other words; dropout switches off units in training "
            "only."
        ),
        code=("core.model.layers.Dropout", "train.loss.smoothed_cross_entropy", "core.model.training.smoothed_nll"),
        sentence="A man in a blue shirt is standing on a ladder.",
        see=marked(
            "The probability of each token. Even where no other word fits it stays below 1, near 0.9, as the model was "
            "trained with label smoothing. The badge \u201cdropout off\u201d is below."
        ),
        page="translate",
        link=marked("Probabilities, token by token"),
    ),
    PaperSection(
        number="6.1",
        title=marked("Machine translation"),
        about=marked("Translations are found by beam search with a beam size of 4 and a length penalty of 0.6."),
        code=(
            "core.decoding.beam.beam_search",
            "core.decoding.states.penalised_length",
            "train.average.average",
            "train.eval.bleu.paper_bleu",
        ),
        sentence="I don't know where he lives.",
        see=marked(
            "The whole search as a tree: four hypotheses stay alive at each step. Move the slider \u201cStep\u201d to "
            "follow it, and click a candidate to see the translation that it leads to."
        ),
        page="beam",
        link=marked("The search as a tree"),
        settings={"beam_view": "tree", "beam_size": "4", "length_penalty": "0.6"},
    ),
    PaperSection(
        number="6.2",
        title=marked("Model variations"),
        about=marked("Table 3 changes one thing at a time: heads, their width, layers, dropout, positions."),
        code=(
            "core.analysis.model_variations.Variation",
            "train.table3.experiment.Experiment",
            "train.table3.experiment.scaled",
        ),
        see=marked(
            "All rows of the table with the paper\u2019s numbers, and beside them what was trained here at a smaller "
            "scale."
        ),
        page="table_3",
        link=marked("Table 3, with what was trained here"),
    ),
    PaperSection(
        number="6.3",
        title=marked("English constituency parsing"),
        about=marked("The same architecture, trained on trees instead of translations, parses English."),
        code=(
            "core.parsing.parser.Parser",
            "core.parsing.trees.linearise",
            "train.data.treebank.prepare_trees",
            "train.eval.parseval.parseval",
        ),
        sentence="The old man walked to the bank.",
        see=marked(
            "The tree of the sentence. Click a bracket to see which words the heads attended to when it was written."
        ),
        page="parsing",
        link=marked("The tree of a sentence"),
    ),
    PaperSection(
        number="7",
        title=marked("Conclusion"),
        about=marked(
            "Left for later: inputs other than text, attention restricted to a neighbourhood, and generation that is "
            "less sequential."
        ),
        code=(
            "core.images.line_reader.LineReader",
            "core.model.restricted_attention.restricted_attention",
            "core.decoding.mask_predict.mask_predict",
            "core.decoding.speculative.speculative_steps",
        ),
        see=marked("The same architecture reads a line of text from its pixels."),
        page="picture",
        link=marked("Read a picture"),
        settings={"picture_text": "Attention"},
    ),
    PaperSection(
        number=marked("Appendix"),
        title=marked("Attention visualizations"),
        about=marked(
            "Figures 3 to 5: heads that follow a distant dependency, a pronoun, and the structure of a sentence."
        ),
        code=("core.capture.capture_attention", "core.capture.attention_maps"),
        see=marked("The three figures drawn with the shipped model, for the paper\u2019s sentences or for yours."),
        page="paper_figures",
        link=marked("Figures 3 to 5"),
        settings={"figure": "3"},
    ),
)
