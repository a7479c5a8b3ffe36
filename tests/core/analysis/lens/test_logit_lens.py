from typing import Any

import pytest
import torch

from core.analysis.lens.logit_lens import LogitLens, logit_lens
from core.model import Transformer
from core.model.config import TransformerConfig
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.core.analysis.conftest import PRE_NORM, SOURCE, TARGET, random_translator
from tests.core.tiny_models import LIKE_T5

VARIANTS: dict[str, dict[str, Any]] = {
    "post": {},
    "pre": PRE_NORM,
    "t5": LIKE_T5,
    "embedding": {"embedding_norm": True},
}


@pytest.fixture(scope="module", params=VARIANTS.values(), ids=VARIANTS)
def other(tokenizer: SentencePieceTokenizer, request: pytest.FixtureRequest) -> Translator:
    return random_translator(tokenizer, **request.param)


def test_the_last_level_is_the_model(other: Translator):
    found = logit_lens(other, SOURCE, TARGET)
    assert found.predicted_log_probs[-1].tolist() == pytest.approx(found.explanation.log_probs, abs=1e-5)
    for row, alternatives in enumerate(found.explanation.alternatives):
        pieces = [other.tokenizer.piece(token) for token in found.token_ids[-1, row].tolist()]
        assert pieces[: len(alternatives)] == [str(piece) for piece, _ in alternatives]


def test_a_level_is_a_model_with_fewer_layers(other: Translator):
    """Its parameters are those of the first layers and all that follows the last one."""
    found = logit_lens(other, SOURCE, TARGET, 3)
    source, fed, predicted = other.token_ids(SOURCE, TARGET)
    for level in range(1, found.num_layers + 1):
        fields: dict[str, Any] = {**vars(other.model.config), "num_decoder_layers": level}
        shorter = Transformer(TransformerConfig(**fields)).eval()
        shorter.load_state_dict(other.model.state_dict(), strict=False)
        log_probs = shorter(torch.tensor([source]), torch.tensor([fed]))[0].log_softmax(-1)
        own = log_probs.gather(1, torch.tensor(predicted)[:, None]).squeeze(1)
        assert torch.allclose(found.predicted_log_probs[level], own, atol=1e-4)
        assert torch.allclose(found.log_probs[level], log_probs.topk(3).values, atol=1e-4)


def test_ranks_are_those_of_the_log_probabilities(other: Translator):
    found = logit_lens(other, SOURCE, TARGET, other.model.config.vocab_size)
    _, _, predicted = other.token_ids(SOURCE, TARGET)
    for level in range(found.num_layers + 1):
        for row, token in enumerate(predicted):
            assert found.token_ids[level, row].tolist().index(token) + 1 == found.predicted_ranks[level, row]


def test_a_token_is_decided_where_it_stays_on_top(translator: Translator):
    explanation = logit_lens(translator, SOURCE, TARGET).explanation
    ranks = torch.tensor([[2, 1, 1, 1], [2, 1, 2, 3], [1, 1, 9, 1], [1, 1, 1, 2]])
    nothing = torch.zeros(4, 4, 1)
    lens = LogitLens(explanation, nothing.long(), nothing, nothing[..., 0], ranks, str)
    assert lens.decided == (2, 0, 3, None)
