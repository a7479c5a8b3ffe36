"""Libraries that take seconds to import, for modules of tests that every worker collects and few run."""

import importlib
from typing import Any


class LazyModule:
    """A module that is imported when something of it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest looks for those of fixtures and mocks
            raise AttributeError(name)
        return getattr(importlib.import_module(self._name), name)


parseval = LazyModule("train.eval.parseval")
sacremoses = LazyModule("sacremoses")
transformers = LazyModule("transformers")
t5_layers = LazyModule("transformers.models.t5.modeling_t5")
