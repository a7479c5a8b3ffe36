"""A thread that runs while another module is being imported, for tests in a process of their own."""

import sys
import threading
import time
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder

LIMIT = 60.0  # seconds


class Meanwhile:
    """Finder that starts a thread when a package, not imported so far, has begun to import its modules.

    The import goes on as soon as the thread has ended, or waits for an import itself.
    """

    def __init__(self, package: str, thread: threading.Thread) -> None:
        self.package, self.thread = package, thread
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """Find the first module of the package, as Python does."""
        if not name.startswith(f"{self.package}."):
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path)
        assert spec is not None
        assert spec.loader is not None
        execute = spec.loader.exec_module
        spec.loader.exec_module = lambda module: (self._begin(), execute(module))[1]
        return spec

    def _begin(self) -> None:
        self.thread.start()
        end = time.monotonic() + LIMIT
        while self.thread.is_alive() and not _waits_for_import() and time.monotonic() < end:
            time.sleep(0.02)


def _waits_for_import() -> bool:
    innermost = [frame.f_code for frame in sys._current_frames().values()]
    return any("importlib" in code.co_filename and code.co_name == "acquire" for code in innermost)
