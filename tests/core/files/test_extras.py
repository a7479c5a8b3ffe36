"""An installation of `core` alone, whose optional packages are hidden here."""

import importlib
import os
import pkgutil
import re
import sys
import tomllib
from multiprocessing.context import ForkServerContext
from pathlib import Path

from packaging.requirements import Requirement

from core.files.shipped_files import DISTRIBUTION, REPOSITORY

EXTRAS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
HIDDEN = ("anywidget", "babel", "ctranslate2", "huggingface_hub", "matplotlib", "pandas", "PIL", "plotly", "pyarrow")
HIDDEN += ("sacrebleu", "sacremoses", "starlette", "streamlit", "tensorboard", "transformers")
WITH_PICTURES = ("core.images.picture", "core.images.rendering")


def packages(*extras: str) -> set[str]:
    """The packages of some extras, and of the extras in them."""
    found = {Requirement(text) for extra in extras for text in EXTRAS[extra]}
    more = {extra for each in found if each.name == DISTRIBUTION for extra in each.extras} - {*extras}
    return packages(*extras, *more) if more else {each.name for each in found}


def test_every_extra_has_what_is_hidden_here() -> None:
    optional = packages(*EXTRAS)
    assert {"pillow" if name == "PIL" else name for name in HIDDEN} <= optional
    assert {"streamlit", "plotly", "pandas", "pyarrow", "sacrebleu", "matplotlib"} <= packages("app")
    assert packages("app", "bertviz", "train", "hub", "notebook") <= packages("all")


def use_core_alone(checkpoint: Path, folder: Path, output: Path) -> None:
    """Import all of `core`, translate, explain to files, and call what needs more; write what was refused."""
    with output.open("w") as file:
        os.dup2(file.fileno(), 2)
    for name in [name for name in sys.modules if name.partition(".")[0] in (*HIDDEN, "core", "viz_app")]:
        del sys.modules[name]  # imported in advance in some processes
    sys.modules.update(dict.fromkeys(HIDDEN))  # type: ignore[arg-type]
    import core

    for module in pkgutil.walk_packages(core.__path__, "core.", onerror=lambda _: None):
        if not module.name.startswith(("core.notebook", "core.__main__", "core.native._", *WITH_PICTURES)):
            importlib.import_module(module.name)
    from core.analysis.csv_output import save_csv
    from core.cli.commands import main

    options = ["--checkpoint", str(checkpoint), "--text", "A dog."]
    assert main(["translate", *options, "--output", str(folder / "out.txt")]) == 0
    for suffix in ("html", "json"):
        assert main(["explain", *options, "--output", str(folder / f"out.{suffix}")]) == 0
    explanation = core.Translator.from_checkpoint(checkpoint).explain("A dog.", "Ein Hund.")
    save_csv(explanation.table(), folder / "out.csv")
    for run in (explanation.to_frame, explanation.show, lambda: importlib.import_module(WITH_PICTURES[1])):
        try:
            run()
        except ImportError as error:
            print(error, file=sys.stderr)
    (folder / "text.tsv").write_text("A dog.\tEin Hund.\n", "utf-8")
    main(["compare", "--checkpoint", str(checkpoint), "--other", str(checkpoint), "--input", str(folder / "text.tsv")])
    sys.stderr.flush()


def test_core_alone_translates_explains_and_says_what_the_rest_needs(
    processes: ForkServerContext, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    process = processes.Process(target=use_core_alone, args=(tiny_checkpoint, tmp_path, tmp_path / "stderr.txt"))
    process.start()
    process.join(120)
    said = (tmp_path / "stderr.txt").read_text()
    assert process.exitcode == 0, said
    found = re.findall(r"^(.+) needs (\w+), which is not installed: .* extra `(\w+)`$", said, re.MULTILINE)
    assert found == [
        ("to_frame()", "pandas", "app"),
        ("show()", "anywidget", "notebook"),
        ("drawing a line of text", "matplotlib", "pictures"),
        ("python -m core compare: chrF", "sacrebleu", "scores"),
    ]
