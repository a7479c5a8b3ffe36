import pytest

from core.analysis.token_path.token_walk import follow_token
from tests.core.analysis.conftest import DOG, Command


def test_the_table_is_the_path(command: Command):
    rows = command("step", *DOG, "--token", "2", "--layer", "2", "--head", "3")
    expected = follow_token(command.translator, "A dog runs.", "Ein Hund.", "decoder", 1, 1, 2).table()
    assert [float(row["value"]) for row in rows] == pytest.approx(expected["value"], rel=1e-6, abs=1e-12)
    assert [row["quantity"] for row in rows] == expected["quantity"]
    assert "layer 2, head 3: computed again by the formulas" in command.said


def test_one_part_of_the_encoder(command: Command):
    rows = command("step", *DOG, "--stack", "encoder", "--token", "1", "--part", "feed_forward")
    assert {row["part"] for row in rows} == {"feed_forward"}


def test_what_is_wrong_is_named(command: Command):
    message = command.error("step", *DOG, "--token", "1", "--part", "nothing")
    assert "no part 'nothing', expected one of embedding" in message
