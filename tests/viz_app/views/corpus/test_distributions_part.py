"""The top tokens of a head."""

from dataclasses import replace

import numpy as np
import pytest

from core.analysis.corpus.distributions import TOKEN_SIDES, TokenMeasure
from core.analysis.corpus.index import CorpusIndex
from core.analysis.heads.head import Head
from core.analysis.tokens.words import readable
from core.translator import Translator
from viz_app.views.corpus.distributions_part import tokens_table

CROSS, DECODER = Head("cross", 1, 2), Head("decoder_self", 0, 1)


@pytest.mark.parametrize("measure", ["weight", "strength"])
def test_top_tokens_are_named_as_in_their_sentences(
    translator: Translator, index: CorpusIndex, measure: TokenMeasure
) -> None:
    for head in (CROSS, DECODER, Head("encoder_self", 1, 0)):
        table = tokens_table(translator, index, head, measure)
        names = {
            side: {name for name, each in zip(table["token"], table["side"], strict=True) if each == side}
            for side in TOKEN_SIDES
        }
        known: dict[str, set[str]] = {"query": set(), "key": set()}
        for sentence in index.sentences:
            (attention, *_) = translator.explain(sentence.source, sentence.target).maps[head.kind]
            known["query"] |= {*map(readable, attention.row_tokens if head.kind == "cross" else attention.query_tokens)}
            known["key"] |= {*map(readable, attention.key_tokens)}
        assert names["query"] <= known["query"]
        assert names["key"] <= known["key"]
        assert [rank for rank, side in zip(table["rank"], table["side"], strict=True) if side == "key"] == list(
            range(1, 21)
        )


def test_tokens_of_another_vocabulary_are_refused(translator: Translator, index: CorpusIndex) -> None:
    table = index.known_distributions()
    other = replace(index, distributions=replace(table, token_ids=np.full_like(table.token_ids, 10**6)))
    with pytest.raises(ValueError, match=r"the index has the token id 1,000,000, the vocabulary \d+ tokens: it belong"):
        tokens_table(translator, other, CROSS, "weight")
