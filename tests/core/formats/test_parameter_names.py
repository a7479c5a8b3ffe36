"""Names of parameters in files of other projects."""

import pytest
import torch

from core.formats.checkpoint import CheckpointError
from core.formats.parameter_names import check_names
from core.formats.weights import Weights


def test_names_and_shapes_are_listed_side_by_side() -> None:
    found = {"a": (3, 4), "b": (5,), "extra": (1,), "ignored": (2,), **{f"more{n}": (1,) for n in range(9)}}
    weights = Weights("model.bin", found, {}, lambda name: torch.zeros(found[name]))
    with pytest.raises(CheckpointError) as error:
        check_names(weights, {"a": (4, 3), "b": (5,), "c": (7,), "d": (7,)}, ["ignored"])
    assert str(error.value).splitlines() == [
        "model.bin does not fit its configuration. Tensors",
        "missing (2): c; d",
        "unexpected (10): extra; more0; more1; more2; ...",
        "of another shape (1): a: [3, 4], expected [4, 3]",
    ]
