"""An explanation of a tiny model to export."""

from pathlib import Path

import pytest

from core.export import ExplanationRecord, record_of
from core.translator import Translator


@pytest.fixture(scope="session")
def record(tiny_checkpoint: Path) -> ExplanationRecord:
    """With text that is harmful unless escaped, and hostile facts in the model."""
    translator = Translator.from_checkpoint(tiny_checkpoint)
    translator.training["note"] = "</script><script>document.title='broken'</script>"
    translator.training["loss"] = float("nan")
    explanation = translator.explain(
        "</script><img src=x onerror=document.title='broken'> \u0645\u0631\u062d\u0628\u0627 \U0001f600",
        "<!-- <b>Hund</b> \u2028",
    )
    return record_of(explanation, translator, {"target": "given"}, "tiny.safetensors", "0" * 64)
