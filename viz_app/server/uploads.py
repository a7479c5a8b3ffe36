"""Limits of the uploads that Streamlit keeps in memory.

Streamlit accepts every file for every session, up to the size of one upload each, and keeps it to the session's end.
"""

import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec, UploadFileUrlInfo

from viz_app.session import environment
from viz_app.session.uploads import MAX_FILES

VISITORS = 4  # all visitors together may hold as much as so many of them
FRAMING = 2**20  # bytes of a request besides its file
UPLOAD = re.compile(r"/_stcore/upload_file/([^/]+)/([^/]+)")  # session and file


class BoundedUploads(MemoryUploadedFileManager):
    """Files requested by pages, limited in their total size.

    A page requests files by its uploader, which gets an id for each selected file; each id takes one file.
    """

    def __init__(self, upload_endpoint: str) -> None:
        super().__init__(upload_endpoint)
        self._own_lock = threading.Lock()
        self._expected: dict[str, OrderedDict[str, None]] = {}
        self._arriving: Counter[str] = Counter()  # bytes by session
        self.most_bytes = environment.upload_megabytes() * 2**20 + FRAMING  # of a session

    def get_upload_urls(self, session_id: str, file_names: Sequence[str]) -> list[UploadFileUrlInfo]:
        """Return an address for each file, whose id is expected from now on."""
        addresses = super().get_upload_urls(session_id, file_names[:MAX_FILES])
        with self._own_lock:
            expected = self._expected.setdefault(session_id, OrderedDict())
            expected.update((each.file_id, None) for each in addresses)
            while len(expected) > MAX_FILES:
                expected.popitem(last=False)
        return addresses

    def expects(self, session_id: str, file_id: str) -> bool:
        """Whether a page of the session has requested a file that has not arrived yet."""
        with self._own_lock:
            return file_id in self._expected.get(session_id, ())

    def add_file(self, session_id: str, file: UploadedFileRec) -> None:
        """Keep an expected file; drop any other one."""
        with self._own_lock:
            is_expected = file.file_id in self._expected.get(session_id, ())
            if is_expected:
                del self._expected[session_id][file.file_id]
        if is_expected:
            super().add_file(session_id, file)

    def remove_session_files(self, session_id: str) -> None:
        """Forget a session that has ended."""
        with self._own_lock:
            self._expected.pop(session_id, None)
        super().remove_session_files(session_id)

    def has_room(self, session_id: str, size: int) -> bool:
        """Whether so many bytes more stay within the limits of the session, and of all sessions together."""
        with self._lock:
            files = [(each, sum(len(file.data) for file in held.values())) for each, held in self.file_storage.items()]
        with self._own_lock:
            kept = self._arriving + Counter(dict(files))
        return kept[session_id] + size <= self.most_bytes and kept.total() + size <= VISITORS * self.most_bytes

    def note_arrival(self, session_id: str, size: int) -> None:
        """Count bytes that arrive; their size is negative when they are kept as a file, or have been dropped."""
        with self._own_lock:
            self._arriving[session_id] += size
            if not self._arriving[session_id]:
                del self._arriving[session_id]


class TooMuchError(Exception):
    """The files of the session, or of all sessions, would take too much memory."""


class ExpectedUploads:
    """ASGI middleware that refuses a file before it is read.

    The status is 403 if no page has requested it, and 413 if there is no room for it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match = UPLOAD.search(scope["path"]) if scope["type"] == "http" and scope["method"] == "PUT" else None
        files = runtime.get_instance().uploaded_file_mgr if match and runtime.exists() else None
        if not match or not isinstance(files, BoundedUploads):
            await self.app(scope, receive, send)
            return
        session_id, arrived = match[1], 0
        declared = Headers(scope=scope).get("content-length", "")

        async def counted() -> Message:
            nonlocal arrived
            message = await receive()
            size = len(message.get("body", b""))
            if not files.has_room(session_id, size):
                raise TooMuchError
            files.note_arrival(session_id, size)
            arrived += size
            return message

        answer = self.app
        if not files.expects(session_id, match[2]):
            answer = PlainTextResponse("No page of the app has asked for this file.", 403)
        elif declared.isdecimal() and not files.has_room(session_id, int(declared)):
            answer = TOO_MUCH
        try:
            with suppress(ClientDisconnect):  # cancelled by the visitor: nobody waits for an answer
                await answer(scope, counted, send)
        except TooMuchError:
            await TOO_MUCH(scope, receive, send)
        finally:
            files.note_arrival(session_id, -arrived)


TOO_MUCH = PlainTextResponse(
    "There is no room for this file: remove others, or try again later.", 413, headers={"Connection": "close"}
)
