"""The server around Streamlit: its answers, and its preparations at the start."""

import ast
import gc
import importlib
import os
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TypeAlias

import pytest
import streamlit as st
import torch
from streamlit import config, net_util
from streamlit.testing.v1 import AppTest
from streamlit.watcher import polling_path_watcher
from streamlit.watcher.polling_path_watcher import PollingPathWatcher
from streamlit.web.server import server_util

from core.files.process_memory import PROCESS
from viz_app.page_list import VIEWS
from viz_app.server import serving
from viz_app.session import models, readings
from viz_app.session.address import FIRST_EXAMPLE

Ended: TypeAlias = "subprocess.CompletedProcess[str]"


@pytest.fixture(autouse=True)
def process_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The server sets its process up for itself; other tests run in this one."""
    for owner, name in (
        (net_util, "get_external_ip"),
        (net_util, "get_internal_ip"),
        (PollingPathWatcher, "_schedule"),
        (PROCESS, "limit"),
        (PROCESS, "reclaim"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))  # as before in the end
    threads = torch.get_num_threads()
    yield
    gc.unfreeze()
    torch.set_num_threads(threads)


def test_origins_are_compared_without_asking_another_machine() -> None:
    """Tests fail that reach one; Streamlit looks up this machine's address where an origin is none of the names."""
    serving.configure_streamlit()
    assert not server_util.is_url_from_allowed_origins("http://[::1]:8501")


@pytest.mark.parametrize(("setting", "looks"), [("none", 1), ("poll", 2)])
def test_an_idle_app_looks_at_files_only_if_it_is_told_to(
    setting: str, looks: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Streamlit begins to look at the files with its settings before the app can tell it not to."""
    get = config.get_option
    monkeypatch.setattr(config, "get_option", lambda name: setting if name == "server.fileWatcherType" else get(name))
    tasks: list[Callable[[], None]] = []
    monkeypatch.setattr(PollingPathWatcher, "_executor", SimpleNamespace(submit=tasks.append))
    monkeypatch.setattr(polling_path_watcher, "_POLLING_PERIOD_SECS", 0)
    PollingPathWatcher(str(tmp_path / "config.toml"), lambda _: None, allow_nonexistent=True)
    serving.configure_streamlit()
    tasks[0]()
    assert len(tasks) == looks


@pytest.mark.parametrize(
    ("options", "address"),
    [
        ({}, "http://127.0.0.1:8501"),
        ({"server.address": "0.0.0.0", "server.port": 80}, "http://localhost:80"),
        ({"server.address": "::", "server.baseUrlPath": "/lab/"}, "http://localhost:8501/lab"),
        ({"server.address": "::1"}, "http://[::1]:8501"),
        ({"server.address": "127.0.0.1", "browser.serverAddress": "a.example"}, "http://a.example:8501"),
    ],
)
def test_the_printed_address_is_one_for_this_machine(
    options: dict[str, object], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"server.address": "127.0.0.1", "server.port": 8501, "server.baseUrlPath": "", **options}
    options["browser.serverPort"] = options["server.port"]
    get = config.get_option
    monkeypatch.setattr(config, "get_option", lambda name: options.get(name, get(name)))
    monkeypatch.setattr(config, "is_manually_set", options.__contains__)
    assert serving.address() == address


def test_it_listens_to_this_machine_alone_from_wherever_it_is_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(config, "_main_script_path", str(models.ROOT / "viz_app" / "main.py"))
    last = Path(config.get_config_files("config.toml")[-1])  # what it says goes before what the others say
    assert tomllib.loads(last.read_text(encoding="utf-8"))["server"]["address"] == "127.0.0.1"


def test_the_model_is_there_before_anybody_asks(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(models.CHECKPOINT_VARIABLE, str(tiny_checkpoint))
    caches = ("LRU_CACHE_CAPACITY", "ONEDNN_PRIMITIVE_CACHE_CAPACITY")
    monkeypatch.setattr(os, "environ", os.environ.copy())
    for name in caches:
        os.environ.pop(name, None)
    frozen = gc.get_freeze_count()
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 4)
    serving.prepare(pause=0)
    assert gc.get_freeze_count() > frozen  # a search for garbage looks through what is newer alone
    assert [os.environ.get(name) for name in caches] == ["128", "128"]  # sentences of many lengths take little memory
    monkeypatch.setattr("core.Translator.from_checkpoint", None)  # nothing is read again
    model = models.shipped_model()
    assert model.name == tiny_checkpoint.name
    monkeypatch.setattr("core.Translator.translate", None)  # nor is what the first page shows translated again
    monkeypatch.setattr("core.Translator.explain", None)
    first_page = (
        AppTest.from_string("from viz_app.frame import sentence_input; sentence_input.sentence_bar()")
        .run()
        .session_state
    )
    search = readings.Search(
        first_page["text"], first_page["beam_size"], first_page["length_penalty"], first_page["hypotheses"]
    )
    translation = search.run(model, lambda done, most: None)
    assert readings.Reading(model, search, translation, 0, translation.hypotheses[0]).explain().source == FIRST_EXAMPLE
    st.cache_resource.clear()


def imports_of(script: str) -> str:
    page = ast.parse((models.ROOT / "viz_app" / script).read_text(encoding="utf-8"))
    imports: list[ast.stmt] = [node for node in page.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return ast.unparse(ast.Module(imports, []))


# The modules that a new process has loaded before it needs the model, and for the first page; a figure that is drawn
# when it has begun to import pandas; then, without what is the app's own among its modules, a visitor who comes when
# the server has begun to import `core`.
START = """
import sys

for stage in sys.argv[2:]:
    exec(stage)
    print(*sys.modules)

import importlib, threading
from tests.viz_app.half_imported import Meanwhile
from viz_app.drawing.plotly_chart import empty_figure
from viz_app.drawing.theme import LIGHT

def draw():
    figure = empty_figure(LIGHT, height=100).add_heatmap(x=["a", "b"], z=[[0.1, 0.2]])
    drawn.append(len(figure.to_json()) > 100)

drawn = []
drawing = threading.Thread(target=draw)
Meanwhile("pandas", drawing)
importlib.import_module("pandas")
drawing.join()
print(drawn)
for name in [name for name in sys.modules if name.partition(".")[0] in ("core", "viz_app")]:
    del sys.modules[name]

from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from viz_app.server import serving

app = AppTest.from_file(sys.argv[1], default_timeout=60)
session = threading.Thread(target=app.run)
manifest_scanner.scan_component_manifests = serving.import_pages = list  # slow
Meanwhile("core", session)
serving.prepare(pause=0)
session.join()
print([each.message for each in app.exception] + [each.value for each in app.error])
print(app.selectbox(key="open_model").options)
"""


@pytest.fixture(scope="module")
def started(tiny_checkpoint: Path) -> Ended:
    """`START`, which prints a line of each stage."""
    frame = ("main", "frame.sidebar", "frame.share_menu", "frame.badges", "frame.sentence_input")
    stages = ("\n".join(f"import viz_app.{module}" for module in frame), imports_of(VIEWS[0].script))
    command = [sys.executable, "-c", START, str(models.ROOT / "viz_app" / "shell.py"), *stages]
    environment = {**os.environ, models.CHECKPOINT_VARIABLE: str(tiny_checkpoint)}
    return subprocess.run(command, cwd=models.ROOT, env=environment, capture_output=True, text=True)


def test_the_sentence_box_is_painted_before_torch_is_imported(started: Ended) -> None:
    """torch and pandas take seconds to import on a slow machine."""
    loaded = set(started.stdout.splitlines()[0].split())
    assert "viz_app.frame.sentence_input" in loaded
    assert not {"torch", "core", "pandas", "matplotlib"} & loaded


def test_the_first_translation_is_painted_before_pandas_is_imported(started: Ended) -> None:
    """The tables of the first page come last, and so do their imports."""
    loaded = set(started.stdout.splitlines()[1].split())
    assert {"core", "viz_app.views.overview.figure1"} <= loaded
    assert not {"pandas", "pyarrow", "matplotlib"} & loaded


def test_a_figure_can_be_drawn_while_another_thread_imports_pandas(started: Ended) -> None:
    """Plotly finds it in `sys.modules` by itself, and uses types that it may not have yet."""
    assert started.stdout.splitlines()[2:3] == ["[True]"], started.stderr


def test_imports_of_the_other_pages_are_made_in_advance(monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[str] = []

    def noted(name: str) -> ModuleType:
        imported.append(name)
        return importlib.__import__(name)

    monkeypatch.setattr(importlib, "import_module", noted)
    serving.import_pages()
    assert {
        "matplotlib.figure",
        "streamlit",
        "core.capture",
        "viz_app.views.heads.grid.head_detail",
        "viz_app.views.models.parsing.figures",
        "viz_app.views.paper.positions.score_decomposition",
    } <= {*imported}


def test_connections_send_what_they_are_given_at_once() -> None:
    """asyncio leaves connections of a listener that does not name TCP as its protocol, as Streamlit's, as they are."""
    with socket.socket(socket.AF_INET) as listener, socket.socket() as browser:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        before = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        serving.disable_nagle()
        browser.connect(listener.getsockname())
        connection, _ = listener.accept()
        with connection:
            assert (before, connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0) == (0, True)


def test_a_visitor_who_comes_while_the_model_is_imported_finds_it(started: Ended, tiny_checkpoint: Path) -> None:
    """Where two threads import modules of `core` in different orders, Python lets one of them fail."""
    visit = started.stdout.splitlines()[3:]
    assert (started.returncode, visit[:1]) == (0, ["[]"]), started.stderr
    assert tiny_checkpoint.name in visit[1]


def test_a_missing_model_is_left_for_the_page_to_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(models.CHECKPOINT_VARIABLE, str(tmp_path / "none.safetensors"))
    serving.prepare(pause=0)
    with pytest.raises(models.ModelError, match="There is no checkpoint to read at"):
        models.shipped_model()


@pytest.mark.parametrize(
    ("cores", "asked", "threads"),
    [
        (1, None, 1),
        (2, None, 1),  # the other one is the browser's
        (8, None, 4),
        (128, None, serving.MAX_THREADS),
        (2, "1", 1),
        (8, "8", 8),
        (128, "6", 6),
        (2, "16", 2),  # threads that wait for one another on two cores
        (8, "3,1", 3),
        (8, "", 4),
        (8, "0", 4),
        (8, "many", 4),
    ],
)
def test_half_of_the_cores_is_the_browsers(cores: int, asked: str | None, threads: int) -> None:
    assert serving.chosen_threads(cores, asked) == threads
