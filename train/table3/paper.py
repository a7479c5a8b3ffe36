"""Results of the paper (Vaswani et al. 2017), for comparison."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Variation:
    """A row of Table 3 (6.2): English to German, newstest2013, without checkpoint averaging.

    Attributes:
        change: difference to the base model.
        perplexity: per word-piece, of the plain likelihood.
        bleu: cased, tokenized.
        parameters: in millions; None where the paper leaves the field empty, as for the base model's count.
    """

    change: str
    perplexity: float
    bleu: float
    parameters: float | None = None


# By the name of the preset with this shape.
TABLE_3: dict[str, Variation] = {
    "base": Variation("", 4.92, 25.8, 65),
    "A-h1": Variation("1 head, d_k = d_v = 512", 5.29, 24.9),
    "A-h4": Variation("4 heads, d_k = d_v = 128", 5.00, 25.5),
    "A-h16": Variation("16 heads, d_k = d_v = 32", 4.91, 25.8),
    "A-h32": Variation("32 heads, d_k = d_v = 16", 5.01, 25.4),
    "B-dk16": Variation("d_k = 16", 5.16, 25.1, 58),
    "B-dk32": Variation("d_k = 32", 5.01, 25.4, 60),
    "C-N2": Variation("2 layers", 6.11, 23.7, 36),
    "C-N4": Variation("4 layers", 5.19, 25.3, 50),
    "C-N8": Variation("8 layers", 4.88, 25.5, 80),
    "C-d256": Variation("d_model 256, d_k = d_v = 32", 5.75, 24.5, 28),
    "C-d1024": Variation("d_model 1024, d_k = d_v = 128", 4.66, 26.0, 168),
    "C-ff1024": Variation("d_ff 1024", 5.12, 25.4, 53),
    "C-ff4096": Variation("d_ff 4096", 4.75, 26.2, 90),
    "D-dropout0.0": Variation("dropout 0.0", 5.77, 24.6),
    "D-dropout0.2": Variation("dropout 0.2", 4.95, 25.5),
    "D-label-smoothing0.0": Variation("label smoothing 0.0", 4.67, 25.3),
    "D-label-smoothing0.2": Variation("label smoothing 0.2", 5.47, 25.7),
    "E-learned": Variation("learned positions", 4.92, 25.7),
    "big": Variation("6 layers, d_model 1024, d_ff 4096, 16 heads, dropout 0.3", 4.33, 26.4, 213),
}
