"""The app on a tiny checkpoint, and random attention to draw."""

import functools
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock
from weakref import WeakValueDictionary

import pytest
import streamlit as st
import streamlit.config
import torch
from fontTools.subset import Options
from streamlit import type_util
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.runtime.scriptrunner_utils import script_run_context
from streamlit.testing.v1 import AppTest, app_test, local_script_runner

from core import Explanation, Translator
from core.capture import AttentionMap, Kind
from tests.fixtures import SaveModel
from tests.viz_app.pages import Start
from viz_app.controls import job_control
from viz_app.session import model_memory
from viz_app.session.model_memory import Loaded
from viz_app.session.models import CHECKPOINT_VARIABLE, Model
from viz_app.views.models.over_training import histories, measurement
from viz_app.views.models.parsing import parser_model
from viz_app.views.models.picture import reader_model
from viz_app.views.translate.generation import compared_models

SHELL = str(Path(__file__).parents[2] / "viz_app" / "shell.py")
MakeMap = Callable[..., AttentionMap]

# A run of an AppTest would scan all installed packages for components, of which the app uses none, compile the app's
# scripts, and collect statistics of its use, which the app's settings turn off: together two thirds of its time.
manifest_scanner.scan_component_manifests = list
app_test.ScriptCache = local_script_runner.ScriptCache = functools.cache(ScriptCache)  # one for all runs
streamlit.config.set_option("browser.gatherUsageStats", False)
# Smaller savings: a stand-in without magic methods, one look at the parameters of each cached function, and no digests
# of messages, which name them in a browser's cache.
app_test.MagicMock = Mock
type_util.get_func_parameters = functools.cache(type_util.get_func_parameters)
script_run_context.populate_hash_if_needed = lambda _: None
# Fonts in PDF files lack the tables for shaping, which no viewer of a PDF reads and which take longest to cut.
Options._drop_tables_default = [*Options._drop_tables_default, "GDEF", "GPOS", "GSUB", "MATH", "kern"]
ask_until_it_has_run = local_script_runner.require_widgets_deltas


def wait_for_run(runner: local_script_runner.LocalScriptRunner, timeout: float) -> None:
    """Wait for the thread of a run, which Streamlit's tests interrupt every millisecond to ask whether it has ended."""
    assert runner._script_thread is not None
    runner._script_thread.join(timeout)
    ask_until_it_has_run(runner, 1)


local_script_runner.require_widgets_deltas = wait_for_run


@pytest.fixture(scope="session")
def make_map() -> MakeMap:
    """Random weights whose rows sum to 1, with tokens that repeat; `keys` counts in cross-attention alone."""

    def make(
        queries: int = 5,
        keys: int = 4,
        num_heads: int = 3,
        layer: int = 0,
        kind: Kind = "cross",
        token: str = "\u2581the",
    ) -> AttentionMap:
        keys = keys if kind == "cross" else queries
        weights = (
            torch.randn(num_heads, queries, keys, generator=torch.Generator().manual_seed(layer)).mul(2).softmax(-1)
        )
        fed = ("<s>", *[token] * (queries - 1))
        predicted = (*[token] * (queries - 1), "</s>")
        key_tokens = fed if kind == "decoder_self" else (*[token] * (keys - 1), "</s>")
        if kind == "encoder_self":
            return AttentionMap(kind, layer, weights, key_tokens, key_tokens)
        return AttentionMap(kind, layer, weights, fed, key_tokens, predicted)

    return make


@pytest.fixture(scope="module")
def model(translator: Translator) -> Model:
    return Model("tiny.safetensors", "digest", Loaded(translator))


@pytest.fixture(scope="module")
def explanation(translator: Translator) -> Explanation:
    return translator.explain("The dog is reading yesterday.", "Der Hund liest gestern ein Buch.")


@pytest.fixture(scope="module")
def caches() -> Iterator[None]:
    """Caches of the app that only tests of one file share, which run in one process and in one order."""
    yield
    st.cache_resource.clear()


@pytest.fixture
def nothing_in_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No models of other tests in memory."""
    monkeypatch.setattr(model_memory, "_in_memory", WeakValueDictionary())
    monkeypatch.setattr(model_memory, "_kept", {})
    yield
    st.cache_resource.clear()


@pytest.fixture(scope="session")
def small_checkpoint(saved_model: SaveModel) -> Path:
    """An untrained model with 1 + 2 layers of two heads, for analyses of many passes. Do not modify it: copy it."""
    return saved_model("small", 1, num_encoder_layers=1, num_heads=2)


@pytest.fixture
def start(tiny_checkpoint: Path, caches: None, monkeypatch: pytest.MonkeyPatch) -> Start:
    """`start(text=..., beam_size=...)`: the app before its first run, with these in its address, on a tiny checkpoint
    or another.

    A model that has learned nothing never ends a sentence, so the limit is near.
    """
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 1)
    # A search of all objects for garbage: tests/core/files/test_process_memory.py has one.
    monkeypatch.setattr("core.files.process_memory.return_freed_memory", lambda: None)

    def make(checkpoint: Path = tiny_checkpoint, **address: str | list[str]) -> AppTest:
        monkeypatch.setenv(CHECKPOINT_VARIABLE, str(checkpoint))
        app = AppTest.from_file(SHELL, default_timeout=60)
        app.query_params.update(address)
        return app

    return make


@pytest.fixture
def irregular(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Paths of devices, a named pipe and a socket, and links to them."""
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(tmp_path)  # the name of a socket has at most 108 bytes
        listener.bind("socket")
        (tmp_path / "model.safetensors").symlink_to("/dev/zero")
        (tmp_path / "run.zip").symlink_to("pipe")
        names = ("pipe", "socket", "model.safetensors", "run.zip")
        yield ["/dev/zero", "/dev/random", *(str(tmp_path / name) for name in names)]


@pytest.fixture
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute one step of a job in each run of a page."""
    monkeypatch.setattr(job_control, "TURN", 0.0)


@pytest.fixture
def small_pages(
    short_turns: None,
    mask_predict_checkpoint: Path,
    tree_checkpoint: Path,
    line_checkpoint: Path,
    history_file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tiny models in place of the shipped ones that a few pages use beside the current model, one sentence in place of
    the shipped sample that is followed over a training, short turns, and no second run of what the page Generation
    measures.
    """
    monkeypatch.setattr(compared_models, "RUNS", 1)
    for module, path in ((parser_model, tree_checkpoint), (reader_model, line_checkpoint)):
        monkeypatch.setattr(module, "SHIPPED", path)
    monkeypatch.setattr(histories, "shipped_history", lambda model: history_file)
    monkeypatch.setattr(measurement, "SHIPPED", ("Where?",))
    monkeypatch.setattr(compared_models, "DRAFT", tree_checkpoint)  # drafts for no translation
    monkeypatch.setattr(compared_models, "MASK_PREDICT", mask_predict_checkpoint)


@pytest.fixture
def app(start: Start) -> AppTest:
    """The app on a short sentence, before its first run."""
    return start(beam_size="2", text="Where?")
