"""Hooks that a block removes at its end."""

import pytest
from torch import nn, zeros

from core.hooks import removed_hooks


def test_hooks_are_removed_after_an_error_too() -> None:
    module, calls = nn.Identity(), list[str]()

    def interrupted() -> None:
        with removed_hooks() as handles:
            handles.append(module.register_forward_hook(lambda *_: calls.append("after")))
            handles.append(module.register_forward_pre_hook(lambda *_: calls.append("before")))
            module(zeros(1))
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        interrupted()
    module(zeros(1))
    assert calls == ["before", "after"]
