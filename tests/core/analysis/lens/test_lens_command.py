import pytest

from core.analysis.lens.logit_lens import logit_lens
from tests.core.analysis.conftest import DOG, Command


def test_the_table_is_the_lens(command: Command):
    rows = command("lens", *DOG, "--top", "2")
    lens = logit_lens(command.translator, "A dog runs.", "Ein Hund.", 2)
    assert len(rows) == lens.token_ids.numel()
    found = [float(row["log_prob"]) for row in rows]
    assert found == pytest.approx(lens.log_probs.flatten().tolist(), rel=1e-6)
    assert [int(row["level"]) for row in rows] == sorted(int(row["level"]) for row in rows)


@pytest.mark.usefixtures("short_translations")
def test_the_translations_of_the_encoder(command: Command):
    rows = command("lens", "--text", "A dog runs.", "--beam-size", "1", "--encoder")
    assert [row["level"] for row in rows] == ["0", "1", "2"]
    assert rows[-1]["translation"] == command.translator.translate("A dog runs.", 1).text
