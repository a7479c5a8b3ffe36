import pytest
import torch

from core.analysis.attribution.logit_lexicon import head_lexicon, rank_lexicons
from core.analysis.attribution.logit_trace import AttentionWrite, LogitTrace, trace_logits
from core.analysis.linear_norm import FrozenNorm
from core.text.byte_pieces import is_special
from core.trace import Head
from core.translator import Translator
from tests.core.analysis.conftest import SOURCE, TARGET


@pytest.fixture(scope="module")
def trace(translator: Translator) -> LogitTrace:
    return trace_logits(translator, SOURCE, TARGET)


def promoted(trace: LogitTrace, head: Head, vector: torch.Tensor, row: int) -> torch.Tensor:
    """[V] scores of a vector that a head writes, with the frozen scales of a row."""
    passed = False
    for step in trace.stream:
        if isinstance(step, FrozenNorm) and passed:
            vector = step.gain * (vector - vector.mean()) / step.sigma[row]
        passed |= isinstance(step, AttentionWrite) and (step.kind, step.layer) == head[:2]
    return trace.unembedding.double() @ vector


def written(trace: LogitTrace, head: Head) -> AttentionWrite:
    return next(
        step for step in trace.stream if isinstance(step, AttentionWrite) and (step.kind, step.layer) == head[:2]
    )


@pytest.mark.parametrize("row", [0, 5])
def test_the_lexicon_has_the_most_promoted_tokens_of_any_row(trace: LogitTrace, row: int):
    head = Head("cross", 1, 2)
    write = written(trace, head)
    for key, entries in enumerate(head_lexicon(trace, head, 3).entries):
        scores = promoted(trace, head, write.output_matrix[:, 2] @ write.values[2, key], row)
        assert [token for token, _ in entries] == scores.topk(3).indices.tolist()
        for token, score in entries:
            assert score == pytest.approx(float((scores[token] - scores.mean()) / scores.std()), rel=1e-3)


def test_the_ranking_by_its_definition(trace: LogitTrace):
    ranking = rank_lexicons(trace).heads
    assert sorted(agreement.head for agreement in ranking) == [
        Head("cross", layer, head) for layer in range(3) for head in range(4)
    ]
    values = [agreement.reciprocal_rank for agreement in ranking]
    assert values == sorted(values, reverse=True)
    best = ranking[0]
    write, ranks = written(trace, best.head), list[int]()
    for row, token in enumerate(trace.explanation.predicted_tokens):
        if is_special(token):
            continue
        vector = write.output_matrix[:, best.head.head] @ (
            write.weights[best.head.head, row] @ write.values[best.head.head]
        )
        order = promoted(trace, best.head, vector, row).argsort(descending=True).tolist()
        ranks.append(1 + order.index(trace.predicted_ids[row]))
    assert best.reciprocal_rank == pytest.approx(sum(1 / rank for rank in ranks) / len(ranks))
    assert best.first == pytest.approx(ranks.count(1) / len(ranks))


def test_a_translation_of_special_tokens_alone_has_a_ranking(translator: Translator):
    assert len(rank_lexicons(trace_logits(translator, "A dog.", "")).heads) == 12


@pytest.mark.parametrize("head", [Head("cross", 3, 0), Head("cross", 0, 4), Head("decoder_self", 0, 0)])
def test_a_head_without_a_lexicon_is_refused(trace: LogitTrace, head: Head):
    with pytest.raises(ValueError, match="a lexicon belongs to a head of cross-attention, in layers L1 to L3"):
        head_lexicon(trace, head)
