"""Attention of one symbol of a tree, against the rows of the maps."""

from pathlib import Path

import pytest
import torch

from core.analysis.heads.bracket_attention import symbol_attention
from core.parsing.parser import Parse, Parser
from core.parsing.trees import constituents
from core.results import Explanation
from core.translator import Translator


@pytest.fixture(scope="module")
def parsed(tree_checkpoint: Path) -> tuple[Parse, Explanation]:
    parser = Parser(Translator.from_checkpoint(tree_checkpoint))
    parse = parser.parse("The strange dogs run.", beam_size=2)
    return parse, parser.translator.explain(parse.text, parse.token_ids)


def test_words_get_what_their_pieces_got_and_brackets_look_at_what_was_written_before(
    parsed: tuple[Parse, Explanation],
) -> None:
    parse, explanation = parsed
    found = symbol_attention(explanation, parse.words, 2, "cross")
    assert found.keys == ("The", "strange", "dogs", "run", ".", "</s>")
    assert torch.allclose(found.weights.sum(-1), torch.ones(2, 4))
    own = explanation.maps["cross"][1].weights[3, 2]
    starts = [index for index, token in enumerate(explanation.source_tokens) if token.startswith("\u2581")]
    assert starts[2] - starts[1] > 1  # "strange" is several pieces to this tokenizer
    assert found.weights[1, 3, 1].item() == pytest.approx(own[starts[1] : starts[2]].sum().item())
    assert found.weights[1, 3, -1].item() == pytest.approx(own[-1].item())

    root = constituents(parse.tree)[0]
    found = symbol_attention(explanation, parse.words, root.closed, "decoder_self")
    assert found.symbol == f"){root.label}"
    assert found.keys[:2] == ("<s>", f"({root.label}")
    assert len(found.keys) == root.closed + 1
    assert torch.allclose(found.weights.sum(-1), torch.ones(2, 4))


def test_invalid_positions_and_words_are_refused(parsed: tuple[Parse, Explanation]) -> None:
    parse, explanation = parsed
    with pytest.raises(ValueError, match=r"position \(900\) must be from 0 to"):
        symbol_attention(explanation, parse.words, 900, "cross")
    with pytest.raises(ValueError, match="the source tokens form 5 words, expected 4"):
        symbol_attention(explanation, parse.words[:4], 0, "cross")
