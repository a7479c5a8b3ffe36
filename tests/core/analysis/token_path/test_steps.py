import pytest

from core.analysis.token_path.steps import TokenPath
from core.analysis.token_path.token_walk import follow_token
from core.translator import Translator
from tests.core.analysis.conftest import SOURCE, TARGET


@pytest.fixture(scope="module")
def path(translator: Translator) -> TokenPath:
    return follow_token(translator, SOURCE, TARGET, "decoder", 5, 1, 3)


def test_the_table_has_every_number(path: TokenPath):
    columns = path.table()
    rows = list(zip(*columns.values(), strict=True))
    cross = path.attention("cross")
    expected = ("cross", "products", 2, 4, float(cross.products[2, 4]))
    assert expected in rows
    assert ("decoder_self", "allowed", None, 6, 0) in rows
    assert ("embedding", "scale", None, None, path.parts["embedding"].scale) in rows  # type: ignore[union-attr]
    assert len(rows) == len({row[:4] for row in rows})


def test_one_part_and_some_quantities(path: TokenPath):
    columns = path.table("cross", ("scores", "weights"))
    keys = len(path.explanation.source_tokens)
    assert columns["part"] == ["cross"] * 2 * keys
    assert columns["quantity"] == ["scores"] * keys + ["weights"] * keys
    assert columns["value"][keys:] == path.attention("cross").weights.tolist()


def test_what_does_not_exist_is_named(path: TokenPath):
    with pytest.raises(ValueError, match="no part 'encoder_self', expected one of embedding, layers_below, decoder"):
        path.table("encoder_self")
    with pytest.raises(ValueError, match="cross has no quantity 'logits', expected one of kind, head, x, query"):
        path.table("cross", ("logits",))
    with pytest.raises(ValueError, match="the decoder has no encoder_self attention, only decoder_self and cross"):
        path.attention("encoder_self")
