import torch
from torch.nn import functional as F

from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.model.training import exclude_untrained, is_trained, smoothed_nll


def test_the_smoothed_loss_is_pytorchs() -> None:
    torch.manual_seed(1)
    logits, label = torch.randn(1, 9, dtype=torch.float64), torch.tensor([4])
    nll = -logits[0].log_softmax(-1)
    expected = F.cross_entropy(logits, label, label_smoothing=0.3)
    torch.testing.assert_close(smoothed_nll(nll[4], nll.mean(), 0.3), expected)


def test_what_is_not_trained_changes_nothing() -> None:
    """The gradients by the key biases are rounding noise, which is why they are left alone."""
    torch.manual_seed(1)
    model = Transformer(PRESETS["tiny"]).double().eval()
    left_out = [name for name, _ in model.named_parameters() if not is_trained(name)]
    assert left_out
    model(torch.tensor([[5, 6, 7]]), torch.tensor([[1, 8, 9]])).square().mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None
        assert (float(parameter.grad.abs().max()) < 1e-13) == (name in left_out), name
    exclude_untrained(model)
    assert [name for name, each in model.named_parameters() if not each.requires_grad] == left_out
