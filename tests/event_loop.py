"""An event loop for a test: that of Playwright runs in the main thread as long as a process has a browser."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any


def run_alone(coroutine: Coroutine[Any, Any, Any]) -> None:
    """Run a coroutine in a loop and a thread of its own, and raise what it raises."""
    done: Future[None] = Future()

    def run() -> None:
        try:
            done.set_result(asyncio.run(coroutine))
        except BaseException as error:
            done.set_exception(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    done.result()
