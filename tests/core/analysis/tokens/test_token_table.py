from core import Explanation
from core.analysis.tokens.token_table import token_table


def test_the_table_names_what_else_was_likely() -> None:
    explanation = Explanation(
        source="a",
        target="b",
        source_tokens=("\u2581a", "</s>"),
        fed_tokens=("<s>", "\u2581b"),
        predicted_tokens=("\u2581b", "</s>"),
        log_probs=(-0.5, -1.0),
        alternatives=((("\u2581b", -0.5), ("\u2581c", -1.0), ("d", -2.0)), (("x", -0.25), ("</s>", -1.0))),
        maps={},
    )
    table = token_table(explanation)
    assert table["token"] == ["b", "</s>"]
    assert table["others"] == ["c 0.37; \u00b7d 0.14", "\u00b7x 0.78"]
    assert table["position"] == [1, 2]
