from collections.abc import Sequence

import pytest

from core.analysis.heads.corpus_maps import batch_maps, translated_batches
from core.text.tokenizer import SentencePieceTokenizer
from core.trace import KINDS
from core.translator import Translator
from tests.margins import assert_equal_to_rounding


class TwoVocabularies(SentencePieceTokenizer):
    """A tokenizer whose target pieces are in capitals."""

    @property
    def target(self) -> "TwoVocabularies":
        return Capitals(self.to_bytes())


class Capitals(TwoVocabularies):
    def pieces(self, token_ids: Sequence[int]) -> list[str]:
        return [piece.upper() for piece in super().pieces(token_ids)]


def test_a_batch_gives_each_sentence_what_it_gets_alone(translator: Translator, parallel_text: list[tuple[str, str]]):
    pairs = [parallel_text[5], parallel_text[9], ("A\u03a9", "B\u03a9")]  # of very different lengths, and with bytes
    for found, (source, target) in zip(batch_maps(translator, pairs), pairs, strict=True):
        alone = translator.explain(source, target).maps
        for kind in KINDS:
            for mine, expected in zip(found[kind], alone[kind], strict=True):
                assert (mine.layer, mine.query_tokens, mine.key_tokens) == (
                    expected.layer,
                    expected.query_tokens,
                    expected.key_tokens,
                )
                assert mine.predicted_tokens == expected.predicted_tokens
                assert list(map(type, mine.key_tokens)) == list(map(type, expected.key_tokens))
                assert_equal_to_rounding(mine.weights, expected.weights, translator.model)


def test_source_tokens_are_pieces_of_the_source_vocabulary(translator: Translator):
    two = Translator(translator.model, TwoVocabularies(translator.tokenizer.to_bytes()))
    (found,) = batch_maps(two, [("A dog runs.", "Ein Hund rennt.")])
    expected = two.explain("A dog runs.", "Ein Hund rennt.").maps
    assert expected["cross"][0].key_tokens != tuple(map(str.upper, expected["cross"][0].key_tokens))
    for kind in KINDS:
        assert found[kind][0].query_tokens == expected[kind][0].query_tokens
        assert found[kind][0].key_tokens == expected[kind][0].key_tokens


@pytest.mark.usefixtures("short_translations")
def test_every_sentence_of_a_sample_is_seen_once_batch_by_batch(translator: Translator):
    sources = ["A.", "A dog runs.", *["Two children are playing."] * 8]
    batches = list(translated_batches(translator, sources))
    assert [len(batch) for batch in batches] == [8, 2]
    assert sorted(source for batch in batches for source, _ in batch) == sorted(sources)


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (["A dog.", "  "], "sentence 2: there is nothing to translate"),
        (["very " * 600], "sentence 1: the text has .* tokens"),
    ],
)
def test_invalid_sentences_are_refused_before_anything_is_computed(
    translator: Translator, sources: list[str], message: str
):
    with pytest.raises(ValueError, match=message):
        translated_batches(translator, sources)
