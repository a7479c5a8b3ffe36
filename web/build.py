"""`python -m web.build OUT`: the model in a page that needs no server.

OUT gets `index.html` with the files of the models beside it, for any host, and `headlight.html`, which has them inside
and opens from the disk.
"""

import argparse
import base64
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from core.drawing.drawing_data import KIND_NAMES, KIND_TEXTS, TITLES
from core.drawing.figure1 import model_facts
from core.drawing.paper_parts import paper_code
from core.files.bundle import bundled_script, bundled_style
from core.files.shipped_files import shipped_checkpoint
from core.files.strict_json import json_text
from core.files.web_page import script_digest
from core.formats.checkpoint import load_checkpoint
from core.text.phrases import marked
from viz_app.language import LANGUAGES, ScriptText, speaking, texts_for_script
from viz_app.language.extraction import template

HERE = Path(__file__).parent
# What the models do, the languages of source and target, and sentences to begin with; the first opens first.
MODELS = {
    "multi30k": (
        marked("English to German, small: captions of pictures"),
        ("en", "de"),
        ["A little girl in a pink dress is climbing up a set of stairs.", "Two dogs are running through the snow."],
    ),
    "en-de": (
        marked("English to German"),
        ("en", "de"),
        ["The animal didn't cross the street because it was too tired.", "I don't know where he lives."],
    ),
    "en-fr": (
        marked("English to French"),
        ("en", "fr"),
        ["The animal didn't cross the street because it was too tired.", "I don't know where he lives."],
    ),
}


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m web.build", description=__doc__)
    parser.add_argument("out", type=Path, help="folder for the page; made if it is missing")
    parser.add_argument(
        "--models", nargs="+", choices=MODELS, default=list(MODELS), help="the first opens first (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    build(options.out, options.models)
    for path in sorted(options.out.iterdir()):
        print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")


def build(out: Path, models: list[str]) -> None:
    """Write the page into a folder, which is made if it is missing."""
    out.mkdir(parents=True, exist_ok=True)
    files = {name: shipped_checkpoint(name) for name in models}
    kernel = compiled_kernel()
    for name, path in files.items():
        shutil.copy(path, out / f"{name}.safetensors")
    (out / "index.html").write_text(page(files, kernel, inside=False), encoding="utf-8")
    (out / "headlight.html").write_text(page(files, kernel, inside=True), encoding="utf-8")


def page(files: dict[str, Path], kernel: bytes, inside: bool) -> str:
    """The page as HTML for the checkpoints of some of `MODELS`, which are inside of it or fetched from beside it."""
    style, script = bundled_style(HERE / "page.css"), bundled_script(HERE / "page.js")
    rules = {
        "default-src": "'none'",
        "script-src": f"'{script_digest(script)}' 'wasm-unsafe-eval'",
        "style-src": f"'{script_digest(style)}'",
        "worker-src": "blob:",
        "connect-src": "'none'" if inside else "'self'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    policy = "; ".join(f"{name} {value}" for name, value in rules.items())
    first, *rest = [_model_inside(name, path) for name, path in files.items()] if inside else [""]
    # Escape `<` in JSON, so that no text can close the script element.
    data = json_text(page_data(files, kernel), separators=(",", ":")).replace("<", "\\u003c")
    parts = {"policy": policy, "style": style, "script": script, "data": data, "first": first, "rest": "\n".join(rest)}
    html = (HERE / "page.html").read_text(encoding="utf-8")
    for name, text in parts.items():
        html = html.replace("{" + name + "}", text, 1)
    return html


def page_data(files: dict[str, Path], kernel: bytes) -> dict[str, Any]:
    """What page.js reads, see `Data` there."""
    return {
        "models": [
            {
                "name": name,
                "title": MODELS[name][0],
                "languages": MODELS[name][1],
                "examples": MODELS[name][2],
                "bytes": path.stat().st_size,
                "facts": model_facts(load_checkpoint(path).model.config),
            }
            for name, path in files.items()
        ],
        "code": paper_code(),
        "kernel": base64.b64encode(kernel).decode(),
        "worker": bundled_script(HERE / "worker.js"),
        "kinds": {
            kind: {"name": KIND_NAMES[kind], "text": KIND_TEXTS[kind], "titles": TITLES[kind]} for kind in KIND_NAMES
        },
        "languages": dict(_languages()),
    }


def _languages() -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    """The languages of the interface with the texts of the page and its drawings, by their codes."""
    texts = tuple(_texts())
    for code, name in LANGUAGES.items():
        with speaking(code):
            yield code, (name, texts_for_script(texts))


def _texts() -> Iterable[ScriptText]:
    for message in template():
        if any(file.startswith(("web/", "core/drawing/")) for file, _ in message.locations):
            yield cast("ScriptText", message.id if isinstance(message.id, tuple) else (message.id,))


def _model_inside(name: str, path: Path) -> str:
    return f'<script type="text/plain" id="model {name}">{base64.b64encode(path.read_bytes()).decode()}</script>'


def compiled_kernel() -> bytes:
    """WebAssembly of kernel.c.

    Raises:
        ModuleNotFoundError: the extra `web` is not installed.
    """
    if importlib.util.find_spec("ziglang") is None:
        raise ModuleNotFoundError(
            'the compiler of the kernel, ziglang, is not installed: pip install -c constraints.txt -e ".[web]"'
        )
    flags = ["-target", "wasm32-freestanding", "-O3", "-msimd128", "-nostdlib"]
    link = ["--no-entry", "--import-memory", "--initial-memory=65536", "-z,stack-size=1024", "--strip-all"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "kernel.wasm"
        command = [sys.executable, "-m", "ziglang", "cc", *flags, *(f"-Wl,{each}" for each in link)]
        subprocess.run([*command, "-o", str(out), str(HERE / "kernel.c")], check=True)
        return out.read_bytes()


if __name__ == "__main__":
    main()
