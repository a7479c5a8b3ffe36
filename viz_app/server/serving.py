"""The server around Streamlit: middleware, and preparations at the start."""

import ast
import gc
import importlib
import os
import socket
import stat
import sys
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.routing import BaseRoute, Route
from streamlit import App, config, net_util
from streamlit.runtime import memory_uploaded_file_manager
from streamlit.watcher.polling_path_watcher import PollingPathWatcher
from streamlit.web.server import server_util
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from viz_app.drawing.bertviz_scripts import all_hashes, source_hash
from viz_app.frame.sidebar import page_script
from viz_app.language import LANGUAGES, compact, speaking
from viz_app.page_list import VIEWS
from viz_app.server import addresses
from viz_app.server.first_frame import FirstFrame, inline_scripts
from viz_app.server.former_addresses import FormerAddresses
from viz_app.server.left_visitors import keep_left_visitors
from viz_app.server.security import OwnOrigin, SecurityHeaders
from viz_app.server.stalled_connections import StalledBodies, limit_heads
from viz_app.server.temporary_folder import TemporaryFolder, remove_leftovers
from viz_app.server.uploads import BoundedUploads, ExpectedUploads
from viz_app.session import environment, model_memory, models, readings
from viz_app.session.address import FIRST_EXAMPLE
from viz_app.session.core_import import import_core

OPEN_FILES = "/dev/fd"  # the open files of this process by number, on systems that have it
PAUSE = 3.0  # seconds between loading the model and importing the other pages
# Seconds for which a thread may hold the interpreter while others wait for it. Each of the hundreds of calls of PyTorch
# in a pass gives it up, and waits as long to have it back if another page is drawn meanwhile: by Python's own interval,
# ten times as long, that took longer than the pass.
SWITCH_INTERVAL = 0.0005
MAX_THREADS = 4  # at batch size 1, matrix products are too small for more


@asynccontextmanager
async def lifespan(_app: App) -> AsyncGenerator[None]:
    """At the server's start print the address and load the model in a thread; at its end remove temporary files."""
    print("\n ", "Headlight", address(), "\n", flush=True)
    sys.setswitchinterval(SWITCH_INTERVAL)
    disable_nagle()
    limit_heads(AutoHTTPProtocol)
    keep_left_visitors()
    remove_leftovers()
    folder = TemporaryFolder()
    threading.Thread(target=prepare, name="prepare", daemon=True).start()
    try:
        yield
    finally:
        folder.remove()


def configure_streamlit() -> None:
    """Check the settings of the environment, and hand them to Streamlit, which has checks of its own.

    Raises:
        SettingError: an environment variable has an impossible value.
    """
    environment.check_settings()
    config.set_option("server.allowedHosts", [host.strip("[]") for host in environment.allowed_hosts()])
    config.set_option("server.maxUploadSize", environment.upload_megabytes())
    setattr(memory_uploaded_file_manager, "MemoryUploadedFileManager", BoundedUploads)  # noqa: B010
    # Streamlit would ask other machines for the address of this one, to compare origins with it.
    net_util.get_external_ip = net_util.get_internal_ip = lambda: None
    if config.get_option("server.fileWatcherType") == "none":
        # It checks its files of settings five times per second all the same, more than half of an idle app's work.
        setattr(PollingPathWatcher, "_schedule", lambda _: None)  # noqa: B010


def address() -> str:
    """Return the address of the app for a browser on this machine.

    Streamlit's own message also has addresses for other machines. It asks another machine for them, and this app
    answers to them only if `HEADLIGHT_HOSTS` lists them.
    """
    chosen = "browser.serverAddress" if config.is_manually_set("browser.serverAddress") else "server.address"
    host = server_util.get_display_address(str(config.get_option(chosen) or "localhost"))
    return server_util.get_url(f"[{host}]" if ":" in host else host)


def disable_nagle() -> None:
    """Set TCP_NODELAY on all listening sockets; connections inherit it.

    asyncio does so only for sockets created with TCP as their protocol number. Streamlit's has none, so the second part
    of an answer waits until the browser has acknowledged the first one: 40 ms on Linux.
    """
    for name in os.listdir(OPEN_FILES) if os.path.isdir(OPEN_FILES) else ():
        with suppress(OSError):  # closed in the meantime
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as listener:
                    if listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def prepare(pause: float = PAUSE) -> None:
    """Load the first model and, after a pause in which the first visitor gets a page, import all other pages.

    All objects that exist once the model is loaded, mostly code, are frozen: a search for garbage, in which no page
    runs, would traverse them each time, for a tenth of a second. What visitors have made by then is never garbage.
    """
    import_core()
    from core.inference import cpu_products

    cpu_products.bound_kernel_caches()  # which grow with every new length of a sentence
    set_threads()
    model_memory.limit_memory()
    with suppress(models.ModelError):  # the page shows it
        prepare_example(models.shipped_model())
    for code in LANGUAGES:  # loads how each writes numbers, which takes a tenth of a second
        with speaking(code):
            compact(1e6)
    gc.freeze()
    time.sleep(pause)
    import_pages()


def chosen_threads(cores: int, requested: str | None) -> int:
    """Return the number of threads to compute with on so many usable cores.

    By default half of the cores, since the browser draws on the same machine: PyTorch's threads wait for each other
    after every product, so one that loses its core to the browser stops all of them. For the same reason there are
    never more threads than cores. `OMP_NUM_THREADS` may request a number, or one for each level of nesting, of which
    the first counts; other values are ignored, as OpenMP does.
    """
    first = (requested or "").split(",")[0].strip()
    if first.isdecimal() and int(first) > 0:
        return min(int(first), cores)
    return max(1, min(cores // 2, MAX_THREADS))


def set_threads() -> None:
    """Set the number of threads, see `chosen_threads`."""
    import torch

    from core.inference.device import usable_cores

    torch.set_num_threads(chosen_threads(usable_cores(), os.environ.get("OMP_NUM_THREADS")))


def prepare_example(model: models.Model) -> None:
    """Translate and explain the sentence that the first page shows by default."""
    search = readings.Search(FIRST_EXAMPLE)
    with suppress(ValueError):  # an unusual model may not accept it; the page shows it
        translation = search.run(model, lambda done, most: None)
        readings.Reading(model, search, translation, 0, translation.hypotheses[0]).explain()


def import_pages() -> None:
    """Import the modules that the pages import, above all pandas and matplotlib."""
    importlib.import_module("matplotlib.figure")  # for PDF
    for view in VIEWS:
        for node in ast.parse((Path(__file__).parents[1] / view.script).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                importlib.import_module(node.module)
                for name in node.names:  # a module of a package, or a name in a module
                    with suppress(ModuleNotFoundError):
                        importlib.import_module(f"{node.module}.{name.name}")
            elif isinstance(node, ast.Import):
                for name in node.names:
                    importlib.import_module(name.name)


def routes() -> list[BaseRoute]:
    """Return the addresses that are not Streamlit's."""
    return [Route("/preview", addresses.preview, methods=["POST"]), Route("/pdf", addresses.pdf, methods=["POST"])]


def middleware() -> list[Middleware]:
    """Return the middleware, in the order in which it sees a request.

    Raises:
        SettingError: an environment variable has an impossible value.
    """
    scripts = [*inline_scripts(), *map(page_script, LANGUAGES)]
    hashes = [*map(source_hash, scripts), *all_hashes()]
    return [
        Middleware(SecurityHeaders, scripts=hashes, ancestors=environment.frame_ancestors()),
        Middleware(TrustedHostMiddleware, allowed_hosts=environment.allowed_hosts()),
        Middleware(OwnOrigin),
        Middleware(StalledBodies),
        Middleware(ExpectedUploads),
        Middleware(FormerAddresses),
        Middleware(FirstFrame),
    ]
