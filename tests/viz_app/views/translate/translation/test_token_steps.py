import math
from dataclasses import replace

import pytest

from core.analysis.sample_fan import KeptTokens
from core.analysis.tokens.next_words import WordOption
from core.translator import Explanation
from viz_app.views.translate.translation.token_steps import chosen_option, steps_payload

HOSTILE = "\u2581</script>"
BROWN, BLUE = (
    WordOption(word, ids, ("\u2581brau", "ner")[: len(ids)], end, 0.5, 0.004, word == "brauner")
    for word, ids, end in (("brauner", (7, 8), ()), ("brau", (7,), (3,)))
)
WORDS = {range(1, 3): (BROWN, BLUE)}


@pytest.fixture
def explanation() -> Explanation:
    target = ("\u2581Ein", "\u2581brau", "ner", HOSTILE, "</s>")
    return Explanation(
        source="A",
        target="Ein brauner </script>",
        source_tokens=("\u2581A", "</s>"),
        fed_tokens=("<s>", *target[:-1]),
        predicted_tokens=target,
        log_probs=(-0.5, -0.25, -3.0, -0.1, -0.2),
        alternatives=(
            (("\u2581Ein", -0.5), ("\u2581Der", -1.5)),
            (("\u2581brau", -0.25), ("<pad>", -2.0)),
            (("n", -0.5), ("r", -1.0)),
            ((HOSTILE, -0.1), ("</s>", -2.5)),
            (("</s>", -0.2), ("<s>", -3.0)),
        ),
        maps={},
    )


def test_each_token_has_its_options_and_the_written_one_is_among_them_and_stands_as_in_the_text(
    explanation: Explanation,
) -> None:
    tokens = steps_payload(explanation)["tokens"]
    assert [[option["choice"]["token"] for option in token["options"]] for token in tokens] == [
        ["\u2581Ein", "\u2581Der"],
        ["\u2581brau"],  # padding is never written
        ["n", "r", "ner"],  # what was written is none of the most probable
        [HOSTILE, "</s>"],
        ["</s>"],
    ]
    assert all(
        [option["at"]["token"] for option in token["options"] if option["written"]] == [name]
        for token, name in zip(tokens, explanation.predicted_tokens, strict=True)
    )
    assert tokens[2]["options"][2]["probability"] == tokens[2]["probability"] == pytest.approx(math.exp(-3.0), abs=1e-4)
    assert [token["glued"] for token in tokens] == [True, False, True, False, False]
    assert [token["begun"] for token in tokens] == ["", "", "brau", "", ""]


def test_the_line_is_read_from_where_most_of_its_letters_are(explanation: Explanation) -> None:
    assert steps_payload(explanation)["direction"] == "ltr"
    assert steps_payload(replace(explanation, target="A: \u05e9\u05dc\u05d5\u05dd"))["direction"] == "rtl"


def test_forbidden_and_left_out_alternatives_are_marked(explanation: Explanation) -> None:
    assert steps_payload(explanation)["kept"] is None
    kept = [KeptTokens(2, 0.9, -0.6)] * 5
    end = explanation.predicted_tokens[-1]
    alternatives = explanation.alternatives
    early = replace(explanation, alternatives=(*alternatives[:3], ((end, -0.1),), *alternatives[4:]))
    marks = steps_payload(early, forbidden={(3, end)}, kept=kept)["tokens"][3]["options"]
    assert [(option["forbidden"], option["kept"]) for option in marks] == [(True, False), (False, True)]
    payload = steps_payload(explanation, forbidden={(0, "\u2581Der")}, kept=kept)
    assert payload["kept"] == [[2, 0.9]] * 5
    marks = [[(option["forbidden"], option["kept"]) for option in token["options"]] for token in payload["tokens"]]
    assert marks == [
        [(False, True), (True, False)],
        [(False, True)],
        [(False, True), (False, False), (False, False)],
        [(False, True), (False, False)],
        [(False, True)],
    ]


def test_the_least_probable_token_is_open_first(explanation: Explanation) -> None:
    assert steps_payload(explanation)["step"] == 2
    assert steps_payload(explanation, step=0)["step"] == 0
    problem = steps_payload(explanation, problem=(1, "so", "No."))["problem"]
    assert problem == {"position": 1, "text": "so", "message": "No."}


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        ({"position": 0, "token": "\u2581Der"}, (0, "\u2581Der", False)),
        ({"position": 2, "token": "ner"}, (2, "ner", False)),
        ({"position": 4, "text": " und <b>"}, (4, " und <b>", True)),
        ({"position": 1, "token": "<pad>"}, None),
        ({"position": 0, "token": "\u2581Das"}, None),
        ({"position": 5, "text": "x"}, None),
        ({"position": -1, "token": "</s>"}, None),
        ({"position": "0", "text": "x"}, None),
        ({"position": 1, "word": 1}, (1, (7, 3), False)),
        ({"position": 1, "word": 2}, None),
        ({"position": 0, "word": 0}, None),
        (None, None),
    ],
)
def test_only_what_is_offered_can_be_chosen(explanation: Explanation, sent: object, found: object) -> None:
    assert chosen_option(sent, explanation, WORDS) == found
