"""Many concurrent sessions of one server, over Streamlit's protocol, without a browser."""

import json
import threading
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from urllib.parse import urlencode

import pytest
import torch
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

from core import Translator
from core.checkpoint import save_checkpoint
from core.config import PRESETS
from core.model import Transformer
from core.tokenizer import SentencePieceTokenizer
from viz_app.components.sentence_bar import sentence_payload

PATIENCE = 60  # seconds to wait for a message
SENTENCES = (
    "A dog runs.",
    "Where?",
    "Two children play.",
    "It is raining.",
    "The sea.",
    "My brother works.",
    "Nobody knows.",
    "The old house.",
)


class Session:
    """A session: a connection, and the elements received over it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.elements: list[Element] = []  # of the last run
        self.id = ""
        self.checkpoint = ""  # name of the file that was uploaded last

    def __enter__(self) -> "Session":
        self._stack = ExitStack()
        self._socket = self._stack.enter_context(
            connect(f"{self.address.replace('http', 'ws')}/_stcore/stream", max_size=None)
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def ask(self, clicked: str = "", **address: str) -> None:
        """Request a run of the page, for an address or a click on a button."""
        message = BackMsg()
        message.rerun_script.query_string = urlencode(address)
        if clicked:
            message.rerun_script.widget_states.widgets.add(id=clicked, trigger_value=True)
        if self.checkpoint:
            uploader = next(element.file_uploader for element in self.elements if element.HasField("file_uploader"))
            files = message.rerun_script.widget_states.widgets.add(id=uploader.id).file_uploader_state_value
            files.uploaded_file_info.add(file_id=self.checkpoint, name=self.checkpoint)
        self._socket.send(message.SerializeToString())

    def messages(self) -> Iterator[ForwardMsg]:
        """Yield the messages of a run, up to its end."""
        while True:
            message = ForwardMsg.FromString(self._socket.recv(timeout=PATIENCE))
            if message.HasField("new_session"):
                self.id, self.elements = message.new_session.initialize.session_id, []
            if message.HasField("delta") and message.delta.HasField("new_element"):
                self.elements.append(message.delta.new_element)
            yield message
            if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY and message.HasField("script_finished"):
                return

    def run(self, **address: str) -> None:
        """Request a run and wait for its end."""
        self.ask(**address)
        for _ in self.messages():
            assert not any(element.HasField("exception") for element in self.elements)

    def words(self) -> object:
        """The payload of the sentence bar."""
        drawings = (element.bidi_component for element in self.elements)
        return next(json.loads(drawing.json)[1] for drawing in drawings if "sentence_bar" in drawing.component_name)

    def bring(self, checkpoint: Path) -> None:
        """Upload a checkpoint, which the next run uses."""
        with urllib.request.urlopen(f"{self.address}/_stcore/health") as answer:
            cookie = answer.headers["Set-Cookie"].split(";")[0]
        head = f'--cut\r\nContent-Disposition: form-data; name="file"; filename="{checkpoint.name}"\r\n\r\n'
        body = head.encode() + checkpoint.read_bytes() + b"\r\n--cut--\r\n"
        headers = {
            "Content-Type": "multipart/form-data; boundary=cut",
            "Cookie": cookie,
            "X-Xsrftoken": cookie.split("=", 1)[1].strip('"'),
        }
        url = f"{self.address}/_stcore/upload_file/{self.id}/{checkpoint.name}"
        urllib.request.urlopen(urllib.request.Request(url, body, headers, method="PUT")).close()
        self.checkpoint = checkpoint.name

    def shown(self) -> str:
        """All text and HTML of the last run."""
        return " ".join(element.html.body + element.markdown.body for element in self.elements)


@pytest.fixture
def own_checkpoints(tmp_path: Path, tokenizer: SentencePieceTokenizer) -> list[Path]:
    """A checkpoint for every other session."""
    return [
        untrained(tmp_path / f"own-{number}.safetensors", tokenizer, 1, seed=number)
        for number in range(1, len(SENTENCES), 2)
    ]


@pytest.fixture
def slow_checkpoint(tmp_path: Path, tokenizer: SentencePieceTokenizer) -> Path:
    """A model with many layers, so that a long translation takes long on every machine."""
    return untrained(tmp_path / "slow.safetensors", tokenizer, num_decoder_layers=16, seed=2)


def untrained(path: Path, tokenizer: SentencePieceTokenizer, num_decoder_layers: int, seed: int) -> Path:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        shape = replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, num_decoder_layers=num_decoder_layers)
        save_checkpoint(path, Transformer(shape), tokenizer)
    return path


def test_eight_sessions_have_their_own_sentences_and_checkpoints(
    app: str, tiny_checkpoint: Path, own_checkpoints: list[Path]
) -> None:
    start = threading.Barrier(len(SENTENCES))

    def read(number: int) -> list[tuple[object, str]]:
        """Read two sentences at the same time as all others, every other reader the second with a checkpoint of
        their own.
        """
        seen: list[tuple[object, str]] = []
        with Session(app) as session:
            for step in range(2):
                start.wait(PATIENCE)
                session.run(text=sentence(number, step), beam_size="1")
                seen.append((session.words(), session.shown()))
                if number % 2 and not step:
                    session.bring(own_checkpoints[number // 2])
        return seen

    with ThreadPoolExecutor(len(SENTENCES)) as pool:
        readers = list(pool.map(read, range(len(SENTENCES))))
    for number, seen in enumerate(readers):
        for step, (words, html) in enumerate(seen):
            checkpoint = own_checkpoints[number // 2] if number * step % 2 else tiny_checkpoint
            translator, text = Translator.from_checkpoint(checkpoint), sentence(number, step)
            target = translator.translate(text, 1).hypotheses[0].token_ids
            assert words == json.loads(json.dumps(sentence_payload(translator.explain(text, target))))
            assert checkpoint.name in html


def sentence(reader: int, step: int) -> str:
    return SENTENCES[(reader + step) % len(SENTENCES)]


def test_a_long_translation_delays_no_other_session_and_can_be_stopped(app: str, slow_checkpoint: Path) -> None:
    long = {"text": "x " * 220, "beam_size": "16"}
    with Session(app) as patient, Session(app) as quick:
        for session in (patient, quick):
            session.run()
            session.bring(slow_checkpoint)
        patient.ask(**long)
        arriving = patient.messages()
        stop = next(
            message.delta.new_element.button for message in arriving if message.delta.new_element.button.label == "Stop"
        )
        quick.run(text="Where?", beam_size="1")  # with the same model
        assert quick.words()
        patient.ask(clicked=stop.id, **long)
        rest = list(arriving)
        assert any(message.HasField("new_session") for message in rest), (
            "the long translation was over before the short one"
        )
        assert "Stopped." in patient.shown()
        patient.run(**long)
        assert "Stopped." in patient.shown()  # it is not started again
