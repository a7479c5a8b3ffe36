"""How the tests are distributed over worker processes. The fixtures for all tests are in tests/fixtures.py."""

import gc
import os
import sys
from collections.abc import Generator
from functools import cache
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # set before torch is imported: tests run in parallel on tiny models
os.environ.setdefault("HEADLIGHT_DEVICE", "cpu")  # bitwise comparisons hold on the CPU only
# The workers, and what tests start, import what an earlier run has compiled: a third of the time until the first test.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# offline/ is for this process and all that it starts
sys.path.append(os.path.join(os.path.dirname(__file__), "offline"))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [sys.path[-1], os.environ.get("PYTHONPATH")]))

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

# A busy machine may take long for an example.
settings.register_profile("busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy machine")

# Folders in the order of their running time: workers that start with the longest files finish together.
FOLDERS = (
    "tests/e2e/",
    "tests/core/formats/",
    "tests/test_container.py",
    "tests/train/",
    "tests/test_imports.py",
    "tests/docs/",
    "tests/viz_app/",
    "tests/core/",
)
# Each kind runs in one worker, as it is slow to start or to import: transformers, a process that has imported the
# training and forks others, the texts of the app's whole code. Each worker has a browser and an app, whose tests take
# the longest and wait most. The first of these that fits decides.
TOGETHER = {
    "tests/core/formats/test_checkpoint_saving.py": "training",
    "tests/core/formats/test_structured_damage.py": "training",
    "tests/core/formats/": "transformers",
    "tests/core/analysis/signs/test_pair_signs.py": "transformers",
    "tests/core/analysis/training_step/": "transformers",
    "tests/core/export/test_attention_arrays.py": "transformers",
    "tests/core/export/test_piece_spellings.py": "transformers",
    "tests/core/test_changed_model.py": "transformers",
    "tests/core/test_constrained_translation.py": "transformers",
    "tests/core/text/test_traced_text.py": "transformers",
    "tests/viz_app/frame/test_hub_models.py": "transformers",
    "tests/viz_app/frame/test_task_examples.py": "transformers",
    "tests/viz_app/test_changed_model.py": "transformers",
    "tests/viz_app/test_imported_model.py": "transformers",
    "tests/viz_app/test_walks.py": "transformers",
    "tests/viz_app/views/overview/": "transformers",
    "tests/core/model/test_relative_positions.py": "transformers",
    "tests/benchmarks/test_peers.py": "transformers",
    "tests/train/": "training",
    "tests/core/cli/file_translation/test_ray_cluster.py": "Ray",
    "tests/core/cli/file_translation/": "training",
    "tests/core/files/test_console.py": "training",
    "tests/core/test_capture.py": "training",
    "tests/core/test_trace_refusals.py": "training",
    "tests/core/model/test_restricted_attention.py": "training",
    "tests/test_release.py": "training",
    "tests/test_offline.py": "training",
    "tests/docs/test_notebooks.py": "training",
    "tests/viz_app/language/": "texts",
    "tests/viz_app/drawing/test_scorecard_text.py": "texts",
}


class ByFile(LoadFileScheduling):
    """Run the tests of a file, and those of each kind of `TOGETHER`, in one worker."""

    def _split_scope(self, nodeid: str) -> str:
        kinds = (kind for path, kind in TOGETHER.items() if nodeid.startswith(path))
        return next(kinds, super()._split_scope(nodeid))


def pytest_addoption(parser: pytest.Parser) -> None:
    about = "disturb the products of matrices, by this seed, to find comparisons without a margin"
    parser.addoption("--disturb", type=int, metavar="SEED", help=about)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Import the fixtures, and PyTorch with them, except in the process that only distributes the tests.

    Until all tests are collected, almost nothing is garbage: it is not looked for.
    """
    manager = session.config.pluginmanager
    if not manager.hasplugin("dsession"):
        gc.disable()
        manager.import_plugin("tests.fixtures")
        if (seed := session.config.getoption("disturb")) is not None:
            from tests.disturbance import disturb

            disturb(seed)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One for each processor: one more takes more time to start than others wait for a server or a process."""
    return os.cpu_count() or 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    """Use `ByFile` as the scheduler of pytest-xdist."""
    return ByFile(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Collect from the last file to the first in every other worker.

    After a change of the tests, or in a fresh clone, two workers that meet in the middle each compile half of the files
    and read what the other has compiled. `pytest_collection_modifyitems` gives their tests the same order.
    """
    report = yield
    if isinstance(collector, pytest.Directory) and os.environ.get("PYTEST_XDIST_WORKER", "gw0")[-1] in "13579":
        report.result.reverse()
    return report


@cache
def quick_file(folder: Path) -> Path:
    """The smallest file of tests in a folder: marked `quick`, so that no folder is without, new ones included."""
    return min(folder.glob("test_*.py"), key=lambda path: (path.stat().st_size, path))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m quick` import no other files, which takes longer than to run these."""
    is_file_of_tests = collection_path.match("test_*.py")
    return (config.option.markexpr == "quick" and is_file_of_tests and not is_quick(collection_path)) or None


def is_quick(path: Path) -> bool:
    """Whether the tests of a file are marked `quick`."""
    return path == quick_file(path.parent)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """Mark the tests of the smallest files, and those of tests/e2e that use `browser`; sort all by `FOLDERS` and name.

    They are sorted twice: pytest groups tests by the parameters of their fixtures, beginning with the first, and would
    group them otherwise in a worker that has collected them from the last.

    In CI, one of the marked tests that fails is run once more; the summary of the run lists it.
    """
    for item in items:
        if is_quick(item.path):
            item.add_marker("quick")
        if item.nodeid.startswith(FOLDERS[0]) and "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
            if os.environ.get("CI"):
                item.add_marker(pytest.mark.flaky(reruns=1))
    items.sort(key=place)
    yield
    items.sort(key=place)


def place(item: pytest.Item) -> tuple[int, Path]:
    """Where the tests of a file stand among all."""
    return rank(item.nodeid), item.path


def rank(nodeid: str) -> int:
    """The first of `FOLDERS` that a test is in."""
    return next((rank for rank, folder in enumerate(FOLDERS) if nodeid.startswith(folder)), len(FOLDERS))


def pytest_collection_finish() -> None:
    """Look for garbage less often, and not among the modules that are imported by now: a tenth of the running time."""
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Leave nothing to look through for the five searches for garbage with which pytest ends, a second in all."""
    gc.freeze()
