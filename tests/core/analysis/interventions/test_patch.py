import pytest

from core.analysis.interventions.minimal_pairs import minimal_pairs
from core.analysis.interventions.pair_runs import PairRuns
from core.analysis.interventions.patching import head_effects, mean_map, patching_map
from core.analysis.interventions.path_patching import Receiver, path_effects, possible_senders
from core.analysis.interventions.recorded_runs import record_runs
from core.trace import Head
from core.translator import Translator
from tests.core.analysis.conftest import Command
from tests.core.analysis.interventions.conftest import CLEAN, CORRUPTED

OTHER = "The old train is sold."


SENTENCE = ("--text", CLEAN, "--target", "Ein Hund.", "--token", "3", "--corrupted", CORRUPTED)


def recorded(translator: Translator, corrupted: str = CORRUPTED) -> PairRuns:
    return record_runs(translator, CLEAN, corrupted, "Ein Hund.", 2)


def test_the_table_is_the_map(command: Command):
    rows, found = command("patch", *SENTENCE), patching_map(recorded(command.translator))
    assert len(rows) == 2 * (3 * 15 + 4 * 3)
    for row in rows:
        effects = found[row["component"]]  # type: ignore[index]
        value = effects.recovered[int(row["layer"]), int(row["position"])]
        assert float(row["recovered"]) == pytest.approx(float(value), abs=1e-5)
    assert [row["clean_token"] for row in rows[:15]].count("ou") == 1
    assert [row["corrupted_token"] for row in rows[:15]].count("ra") == 1
    assert "; all patched: clean (gap " in command.said


def test_several_sentences_are_averaged(command: Command):
    row = command("patch", *SENTENCE, OTHER, "--into", "clean")[2 * 15 + 9]
    expected = mean_map([patching_map(recorded(command.translator, text), "clean") for text in (CORRUPTED, OTHER)])
    assert (row["component"], row["layer"], row["position"]) == ("encoder_feed_forward", "0", "9")
    assert float(row["recovered"]) == pytest.approx(float(expected["encoder_feed_forward"].recovered[0, 9]), abs=1e-5)
    assert row["corrupted_token"] == "\u2581c/\u2581s"


def test_heads_and_paths(command: Command):
    runs = recorded(command.translator)
    rows = command("patch", *SENTENCE, "--heads", "cross L2")
    assert [int(row["head"]) for row in rows] == [*range(4)] * 3
    expected = head_effects(runs, "cross", 1, 2).recovered.tolist()
    assert [float(row["recovered"]) for row in rows[-4:]] == pytest.approx(expected, abs=1e-5)
    receiver = Receiver(Head("cross", 1, 2), "value")
    senders = possible_senders(command.translator.model, receiver)
    for options, hold in ((["--hold-networks"], True), ([], False)):
        rows = command("patch", *SENTENCE, "--paths-to", "cross L2 H3 value", *options)
        expected = path_effects(runs, senders, [receiver], hold_networks=hold).recovered[:, 0].tolist()
        assert [float(row["recovered"]) for row in rows] == pytest.approx(expected, abs=1e-5)


def test_the_proposals_are_printed(command: Command):
    proposed = [row["text"] for row in command("patch", *SENTENCE, "--propose")]
    assert proposed == [pair.text for pair in minimal_pairs(command.translator, CLEAN)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--token", "99"], "--token (99) must be one of the"),
        (["--heads", "cross"], "--heads (cross) must be a layer such as 'cross L5'"),
        (["--heads", "cross L9"], "cross has no layer 8: expected 0 to 1"),
        (["--paths-to", "cross L1 H1"], "must be the queries, keys or values of a head, counted from 1"),
        (["--corrupted", CORRUPTED, OTHER, "--heads", "cross L1"], "2 sentences are given: --heads and --paths-to"),
        (["--against", "nope"], "'nope' is not one of the 400 pieces"),
        (["--corrupted", "A dog."], "patching needs equally many"),
    ],
)
def test_what_is_wrong_is_named(command: Command, options: list[str], message: str):
    assert message in command.error("patch", *SENTENCE, *options)


def test_a_second_sentence_is_needed(command: Command):
    assert "--corrupted and --token are needed" in command.error("patch", "--text", CLEAN)
