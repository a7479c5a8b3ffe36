"""A session with the app over Streamlit's protocol, without a browser, for load and for tests of many visitors."""

import json
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

PATIENCE = 60  # seconds to wait for a message


class Session:
    """A session: a connection, and the elements received over it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.elements: list[Element] = []  # of the last run
        self.id = ""
        self.checkpoint = ""  # id of the file that was uploaded last
        self.uploaded: dict[str, str] = {}  # the parameter of the address that names it
        self._address: dict[str, str] = {}  # that was requested last

    def __enter__(self) -> "Session":
        self._stack = ExitStack()
        self._socket = self._stack.enter_context(
            connect(f"{self.address.replace('http', 'ws')}/_stcore/stream", max_size=None)
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def request(self, clicked: str = "", page: str = "", **address: str) -> None:
        """Request a run of a page, for an address or a click on a button.

        An address is requested as by a browser that goes back to it, so its sentence may differ from the current one.
        """
        self._address = address
        self._send(page, clicked, is_navigation=not clicked)

    def _send(self, page: str = "", clicked: str = "", *, is_navigation: bool) -> None:
        message = BackMsg()
        message.rerun_script.page_name = page
        message.rerun_script.query_string = urlencode(self._address | self.uploaded)
        message.rerun_script.is_history_navigation = is_navigation
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
            message = ForwardMsg.FromString(self._socket.recv(timeout=PATIENCE, decode=False))
            if message.HasField("new_session"):
                self.id, self.elements = message.new_session.initialize.session_id, []
            if message.HasField("page_info_changed"):
                named = dict(parse_qsl(message.page_info_changed.query_string))
                self.uploaded = {name: named[name] for name in ("uploaded",) if name in named}
            if message.HasField("delta") and message.delta.HasField("new_element"):
                self.elements.append(message.delta.new_element)
            yield message
            if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY and message.HasField("script_finished"):
                return

    def run(self, page: str = "", **address: str) -> None:
        """Request a run and wait for its end.

        Raises:
            AssertionError: the page shows an exception.
        """
        self.request(page=page, **address)
        for _ in self.messages():
            shown = [element.exception.message for element in self.elements if element.HasField("exception")]
            assert not shown, shown

    def words(self) -> dict[str, Any]:
        """The payload of the sentence bar."""
        drawings = (element.bidi_component for element in self.elements)
        return next(json.loads(drawing.json)[1] for drawing in drawings if "sentence_bar" in drawing.component_name)

    def upload(self, checkpoint: Path) -> None:
        """Upload a checkpoint, and run the page of the last address with it."""
        with urllib.request.urlopen(f"{self.address}/_stcore/health") as answer:
            cookie = answer.headers["Set-Cookie"].split(";")[0]
        head = f'--cut\r\nContent-Disposition: form-data; name="file"; filename="{checkpoint.name}"\r\n\r\n'
        body = head.encode() + checkpoint.read_bytes() + b"\r\n--cut--\r\n"
        headers = {
            "Content-Type": "multipart/form-data; boundary=cut",
            "Cookie": cookie,
            "X-Xsrftoken": cookie.split("=", 1)[1].strip('"'),
        }
        url, self.checkpoint = self._upload_place(checkpoint.name)
        urllib.request.urlopen(urllib.request.Request(url, body, headers, method="PUT")).close()
        self._send(is_navigation=False)
        for _ in self.messages():
            pass

    def _upload_place(self, name: str) -> tuple[str, str]:
        """Request an address for a file, as an uploader does; return the address and the file's id."""
        message = BackMsg()
        message.file_urls_request.file_names.append(name)
        self._socket.send(message.SerializeToString())
        while True:
            answer = ForwardMsg.FromString(self._socket.recv(timeout=PATIENCE, decode=False))
            if answer.HasField("file_urls_response"):
                (place,) = answer.file_urls_response.file_urls
                return f"{self.address}{place.upload_url}", place.file_id

    def page_text(self) -> str:
        """All text and HTML of the last run."""
        return " ".join(element.html.body + element.markdown.body for element in self.elements)
