import pytest
import torch

from core.analysis.tokens.aggregation import mean_of_rows, sum_of_columns
from core.analysis.tokens.words import mean_over_words, word_groups
from core.translator import Translator


@pytest.mark.parametrize("kind", ["encoder_self", "decoder_self", "cross"])
def test_the_pieces_of_a_word_taken_together_are_the_word(translator: Translator, kind: str):
    attention = translator.explain("Can you help yesterday?", "K\u00f6nnen Sie gestern helfen?").maps[kind][0]  # type: ignore[index]
    merged = mean_over_words(attention)
    queries, keys = word_groups(attention.predicted_tokens or attention.query_tokens), word_groups(attention.key_tokens)
    assert max(map(len, queries)) > 1
    for row, pieces in enumerate(queries):
        summed = torch.stack([mean_of_rows(attention, pieces)[:, key.start : key.stop].sum(1) for key in keys], 1)
        seen = ~summed.isnan()
        assert torch.allclose(summed[seen], merged.weights[:, row][seen], atol=1e-6)
        assert kind == "decoder_self" or seen.all()
    for column, pieces in enumerate(keys):
        summed = sum_of_columns(attention, pieces).nan_to_num()
        averaged = torch.stack([summed[:, query.start : query.stop].mean(1) for query in queries], 1)
        assert torch.allclose(averaged, merged.weights[:, :, column], atol=1e-6)


def test_nothing_and_what_is_not_there_cannot_be_taken_together(translator: Translator):
    attention = translator.explain("A dog.", "Ein").maps["cross"][0]
    with pytest.raises(ValueError, match=r"rows \[\] of a map of \d+ cannot be aggregated: give at least one, from 0"):
        mean_of_rows(attention, [])
    with pytest.raises(ValueError, match=r"columns \[0, 99\] of a map of \d+ cannot be aggregated"):
        sum_of_columns(attention, [0, 99])
