"""What training minimises and how it changes a weight (5.3, 5.4): the one place, for `train` and for analyses.

The learning rate over the steps is in `schedule.py`.
"""

from torch import Tensor, nn

WARMUP = 4_000  # steps over which the rate rises (5.3)
ADAM_BETAS, ADAM_EPS = (0.9, 0.98), 1e-9  # (5.3)
LABEL_SMOOTHING = 0.1  # epsilon_ls (5.4)
# the joint embedding matrix, the only parameter of a trained model that depends on the vocabulary
EMBEDDING = "embedding.tokens.weight"


def smoothed_nll(label_nll: Tensor, uniform_nll: Tensor, smoothing: float) -> Tensor:
    """Cross-entropy with a smoothed label (Szegedy et al. 2015): (1 - e) times the label plus e times the uniform
    distribution over the whole vocabulary, the label included.

    Args:
        label_nll: negative log-probability of the label, in nats, or a sum of such.
        uniform_nll: mean of the negative log-probabilities of the whole vocabulary, likewise.
        smoothing: e, in [0, 1)
    """
    return (1 - smoothing) * label_nll + smoothing * uniform_nll


def is_trained(name: str) -> bool:
    """Whether training changes a parameter: all but the key biases.

    These add a constant to all scores of a query, which the softmax cancels: their gradient is rounding noise, which
    Adam would turn into full-sized steps.
    """
    return not name.endswith("k_proj.bias")


def exclude_untrained(model: nn.Module, only: str = "all") -> None:
    """Exclude what training does not change from gradients, and all whose names have no part of `only`.

    There, `bytes` stands for the embeddings.

    Raises:
        ValueError: a part of `only`, between commas, is in no name.
    """
    named = dict(model.named_parameters())
    parts = ("" if only == "all" else only.replace("bytes", EMBEDDING)).split(",")
    if unknown := [part for part in parts if not any(part in name for name in named)]:
        raise ValueError(f"only ({only!r}) must be all or parts of names of parameters, or bytes, not {unknown[0]}")
    for name, parameter in named.items():
        if not is_trained(name) or not any(part in name for part in parts):
            parameter.requires_grad_(False)
