"""Any text through tokenizer, translation and explanation: a result, or a message that says what is wrong.

`SENTENCES=100000 pytest -n 0 -s tests/core/test_strange_sentences.py` takes half an hour.
With `FIRST_SENTENCE=50000`, its sentences are those from that number on.
"""

import math
from collections.abc import Callable
from itertools import islice

import pytest
import torch

from core.files.shipped_files import shipped_checkpoint
from core.formats.checkpoint import load_checkpoint
from core.text.tokenizer import SPACE_MARK, Tokenizer
from core.translator import Translator
from tests.strange_sentences import is_text, reason, sentence_numbers, strange_sentence, with_progress

NUMBERS = sentence_numbers(100)
ENOUGH = 100  # sentences, for how many are refused
BATCH = 50


def refusal(function: Callable[..., object], *arguments: str) -> str:
    """The message of a ValueError, which gives a reason; empty if there is none."""
    try:
        function(*arguments)
    except ValueError as error:
        return reason(error)
    return ""


@pytest.fixture(scope="module")
def shipped_tokenizer() -> Tokenizer:
    return load_checkpoint(shipped_checkpoint()).tokenizer


@pytest.mark.parametrize("name", ["tokenizer", "shipped_tokenizer"])
def test_the_tokenizer_loses_nothing(name: str, request: pytest.FixtureRequest) -> None:
    tokenizer: Tokenizer = request.getfixturevalue(name)
    refused = 0
    for number in with_progress(NUMBERS):
        text = strange_sentence("tokenizer", number)
        if not is_text(text):
            with pytest.raises(ValueError, match="surrogates not allowed"):
                tokenizer.encode(text)
            refused += 1
            continue
        token_ids = tokenizer.encode(text)
        assert tokenizer.decode(token_ids) == text.replace(SPACE_MARK, " ")
        assert all(3 < token_id < tokenizer.vocab_size for token_id in token_ids)
    print(f"{len(NUMBERS) - refused} sentences tokenized, {refused} with a lone surrogate refused")
    assert len(NUMBERS) < ENOUGH or 0 < refused < len(NUMBERS) / 10, "a fiftieth has one"


@pytest.mark.usefixtures("short_translations")
def test_every_sentence_is_translated_or_refused_with_a_reason(translator: Translator) -> None:
    """A batch is the same as its sentences one by one, in a sample."""
    translated, refused, progress = 0, 0, with_progress(NUMBERS)
    while numbers := list(islice(progress, BATCH)):
        texts = list[str]()
        for number in numbers:
            text = strange_sentence("translate", number)
            if message := refusal(translator.token_ids, text, ""):
                assert refusal(translator.translate, text) == message
                refused += 1
            else:
                texts.append(text)
        translations = translator.translate_batch(texts, beam_size=1)
        for text, translation in zip(texts, translations, strict=True):
            assert translation.source == text
            assert is_text(translation.text)
            assert math.isfinite(translation.log_prob)
            assert translation.log_prob <= 0
        if texts:
            assert translator.translate(texts[0], 1).text == translations[0].text
        translated += len(texts)
    print(f"{translated} sentences translated, {refused} refused")
    assert len(NUMBERS) < ENOUGH or refused < translated


def test_every_sentence_is_explained_with_all_its_tokens(translator: Translator) -> None:
    """With another strange sentence as its translation."""
    explained = 0
    for number in with_progress(NUMBERS):
        text, target = strange_sentence("explain", number), strange_sentence("translation", number)
        if message := refusal(translator.token_ids, text, target):
            assert refusal(translator.explain, text, target) == message
            continue
        source_ids, fed, predicted = translator.token_ids(text, target)
        explanation = translator.explain(text, target, num_alternatives=2)
        sizes = {"encoder_self": (len(source_ids),) * 2, "decoder_self": (len(fed),) * 2}
        sizes["cross"] = (len(fed), len(source_ids))
        assert len(explanation.log_probs) == len(predicted)
        sums = list[torch.Tensor]()
        for kind, maps in explanation.maps.items():
            for each in maps:
                assert each.weights.shape[1:] == (len(each.query_tokens), len(each.key_tokens)) == sizes[kind]
                sums.append(each.weights.sum(-1).flatten())
        torch.testing.assert_close(torch.cat(sums), torch.ones(sum(map(len, sums))))
        assert is_text("".join([*explanation.source_tokens, *explanation.predicted_tokens]))
        explained += 1
    print(f"{explained} of {len(NUMBERS)} sentences explained, the others refused")
    assert len(NUMBERS) < ENOUGH or explained > len(NUMBERS) / 2
