"""Many concurrent sessions of one server, over Streamlit's protocol, without a browser."""

import itertools
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from benchmarks.session import PATIENCE, Session
from core import Translator
from tests.fixtures import SaveModel
from viz_app.components.sentence_bar import sentence_payload
from viz_app.server.launch import running_app
from viz_app.session.environment import MEMORY_VARIABLE

SENTENCES = ("A dog runs.", "Where?", "Two children play.", "It is raining.")  # one for each session


@pytest.fixture
def own_checkpoints(saved_model: SaveModel) -> list[Path]:
    """A checkpoint for every other session."""
    return [saved_model(f"own-{number}", number, num_decoder_layers=1) for number in range(1, len(SENTENCES), 2)]


@pytest.fixture
def slow_checkpoint(saved_model: SaveModel) -> Path:
    """An untrained model that goes on to the limit, so that a long translation takes long on every machine."""
    return saved_model("slow", 2, num_decoder_layers=4)


def test_sessions_have_their_own_sentences_and_checkpoints(
    app: str, tiny_checkpoint: Path, own_checkpoints: list[Path]
) -> None:
    start = threading.Barrier(len(SENTENCES))

    def read(number: int) -> list[tuple[dict[str, Any], str]]:
        """Read three sentences at the same time as all others, every other reader those after the first with a
        checkpoint of their own: the last one when all have opened theirs.
        """
        seen: list[tuple[dict[str, Any], str]] = []
        with Session(app) as session, ExitStack() as broken:
            broken.callback(start.abort)  # the others do not wait for one that has failed
            for step in range(3):
                start.wait(PATIENCE)
                session.run(text=sentence(number, step), beam_size="1")
                seen.append((session.words(), session.page_text()))
                if number % 2 and not step:
                    session.upload(own_checkpoints[number // 2])
            broken.pop_all()
        return seen

    with ThreadPoolExecutor(len(SENTENCES)) as pool:
        readers = list(pool.map(read, range(len(SENTENCES))))
    assert len({words["ticket"] for seen in readers for words, _ in seen}) == len(SENTENCES)
    for number, seen in enumerate(readers):
        for step, (words, html) in enumerate(seen):
            checkpoint = own_checkpoints[number // 2] if number % 2 and step else tiny_checkpoint
            translator, text = Translator.from_checkpoint(checkpoint), sentence(number, step)
            (best,) = translator.translate(text, 1).hypotheses
            explanation = translator.explain(text, best.token_ids)
            payload = sentence_payload(explanation, translations={0: f"1: {best.text}"}, is_editable=True)
            assert words == json.loads(json.dumps({**payload, "ticket": words["ticket"]}))
            assert checkpoint.name in html


def sentence(reader: int, step: int) -> str:
    return SENTENCES[(reader + step) % len(SENTENCES)]


def test_models_of_visitors_who_have_left_make_room(
    tiny_checkpoint: Path, saved_model: SaveModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each leaves before the next one comes, and all their models together would not fit."""
    monkeypatch.setenv(MEMORY_VARIABLE, "45")
    with running_app(tiny_checkpoint) as small:
        for number in range(5):
            checkpoint = saved_model(f"{number}", 100 + number, num_decoder_layers=1, d_ff=8192)
            assert checkpoint.stat().st_size > 6e6
            with Session(small) as session:
                session.run(text="Where?", beam_size="1")
                session.upload(checkpoint)
                alerts = " ".join(element.alert.body for element in session.elements)
                assert checkpoint.name in session.page_text(), alerts
                assert "MB" not in alerts


def test_a_long_translation_delays_no_other_session_and_can_be_stopped(app: str, slow_checkpoint: Path) -> None:
    long = {"text": "x " * 220, "beam_size": "16"}
    with Session(app) as patient, Session(app) as quick:
        for session in (patient, quick):
            session.run(text="Where?", beam_size="1")
            session.upload(slow_checkpoint)
        patient.request(**long)
        arriving = patient.messages()
        buttons = (message.delta.new_element.button for message in arriving)
        stop = next((button for button in buttons if button.label == "Stop"), None)
        assert stop, patient.page_text()
        quick.run(text="Where?", beam_size="1")  # with the same model
        assert quick.words()
        patient.request(clicked=stop.id, **long)
        late = list(itertools.takewhile(lambda message: not message.HasField("new_session"), arriving))
        assert all(message.delta.new_element.progress.value < 100 for message in late), (
            "the long translation was over before the short one"
        )
        assert list(arriving), "the click on Stop has started no run"
        assert "Stopped." in patient.page_text()
        patient.run(**long)
        assert "Stopped." in patient.page_text()  # it is not started again
