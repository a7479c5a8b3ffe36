"""The output of the gradient: its name, and the computed maps."""

import pytest

from core import Explanation, Translator
from viz_app.session.attributions import file_part, first_rows, output_text
from viz_app.session.model_memory import Loaded
from viz_app.session.model_passes import method_maps
from viz_app.session.models import Model


@pytest.fixture
def explanation() -> Explanation:
    target = ("\u2581Ein", "\u2581H", "und", ".", *(f"\u2581w{number}" for number in range(4)), "</s>")
    return Explanation("", "", ("</s>",), ("<s>", *target[:-1]), target, (0.0,) * 9, ((),) * 9, {})


@pytest.mark.parametrize(
    ("output", "name", "in_files"),
    [
        (None, "the whole translation", ""),
        ((0,), "\u201cEin\u201d (token 1)", "-output0"),
        ((1, 2), "\u201cHund\u201d (tokens 2, 3)", "-output1-2"),
        ((2, 8), "\u201c\u00b7und\u201d, \u201c</s>\u201d (tokens 3, 9)", "-output2-8"),
        (
            tuple(range(9)),
            "\u201cEin\u201d, \u201cHund\u201d, \u201c.\u201d and 5 more words (9 tokens)",
            "-output0-to-8-9-tokens",
        ),
    ],
)
def test_an_output_goes_by_its_words_and_the_numbers_of_its_tokens(
    explanation: Explanation, output: tuple[int, ...] | None, name: str, in_files: str
) -> None:
    assert output_text(explanation, output) == name
    assert file_part(output) == in_files


def test_an_output_is_for_the_gradient_alone_and_known_apart_from_the_whole(translator: Translator) -> None:
    model = Model("tiny", "digest", Loaded(translator))
    sentence = ("A dog.", "Ein Hund.")
    whole, one, again = (
        method_maps(model, *sentence, "gradient", output)["cross"][0].weights for output in (None, (1,), (1,))
    )
    assert not one.equal(whole)
    assert one is again
    assert one[:, 2:].abs().max() == 0
    with pytest.raises(ValueError, match=r"output is \(1,\) with the method 'norms': only 'gradient' takes an output"):
        method_maps(model, *sentence, "norms", (1,))
    decoder = method_maps(model, *sentence, "attention")["decoder_self"][0]
    assert first_rows(decoder, 2).predicted_tokens == (decoder.predicted_tokens or ())[:2]
