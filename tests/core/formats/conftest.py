"""Short translations for the tests of formats."""

import pytest

EXTRA_TOKENS = 8  # of a translation, beyond the length of its source


@pytest.fixture(autouse=True)
def _short_translations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models with random weights do not end their sentences."""
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", EXTRA_TOKENS)
