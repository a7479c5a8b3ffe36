"""`python -m web.build OUT`: the model in a page that needs no server.

OUT gets `index.html` with the files of the models beside it, for any host, and `headlight.html`, which has them inside
and opens from the disk.
"""

import argparse
import base64
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from core.drawing.drawing_data import KIND_NAMES, KIND_TEXTS, TITLES
from core.drawing.figure1 import model_facts
from core.drawing.paper_parts import paper_code
from core.files.bundle import bundled_script, bundled_style
from core.files.extras import MissingPackageError
from core.files.shipped_files import shipped_checkpoint
from core.files.strict_json import json_text
from core.files.web_page import script_digest
from core.formats.checkpoint import load_checkpoint
from core.text.phrases import marked
from docs.gallery.exhibits import CAPTIONS, EXHIBITS
from docs.gallery.pages import parsed
from viz_app.language import LANGUAGES, ScriptText, speaking, texts_for_script
from viz_app.language.extraction import template

HERE = Path(__file__).parent
# What the models do, and the languages of source and target; the first opens first.
MODELS = {
    "en-de": (marked("English to German"), ("en", "de")),
    "multi30k": (marked("English to German, small: captions of pictures"), ("en", "de")),
    "en-fr": (marked("English to French"), ("en", "fr")),
}


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m web.build", description=__doc__)
    parser.add_argument("out", type=Path, help="folder for the page; made if it is missing")
    parser.add_argument(
        "--models", nargs="+", choices=MODELS, default=list(MODELS), help="the first opens first (default: %(default)s)"
    )
    parser.add_argument("--address", default="", help="https://.../, where previews of links find the page's picture")
    options = parser.parse_args(arguments)
    build(options.out, options.models, options.address)
    for path in sorted(options.out.iterdir()):
        print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")


def build(out: Path, models: list[str], address: str = "") -> None:
    """Write the page into a folder, which is made if it is missing."""
    out.mkdir(parents=True, exist_ok=True)
    files = {name: shipped_checkpoint(name) for name in models}
    kernel = compiled_kernel()
    for name, path in files.items():
        shutil.copy(path, out / f"{name}.safetensors")
    shutil.copy(HERE.parent / "docs/static_page.png", out)
    (out / "index.html").write_text(page(files, kernel, inside=False, address=address), encoding="utf-8")
    (out / "headlight.html").write_text(page(files, kernel, inside=True), encoding="utf-8")


def page(files: dict[str, Path], kernel: bytes, inside: bool, address: str = "") -> str:
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
    element = '<script type="text/plain" id="model {}">{}</script>'.format
    models = [element(name, base64.b64encode(path.read_bytes()).decode()) for name, path in files.items() if inside]
    # Escape `<` in JSON, so that no text can close the script element.
    data = json_text(page_data(files, kernel), separators=(",", ":")).replace("<", "\\u003c")
    icon = base64.b64encode((HERE.parent / "viz_app/frame/icon.svg").read_bytes()).decode()
    parts = {"policy": policy, "address": address, "icon": icon, "style": style, "script": script, "data": data}
    parts |= {"first": "".join(models[:1]), "rest": "\n".join(models[1:])}
    html = (HERE / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{(\w+)\}", lambda found: parts[found[1]], html)  # at once: the parts have braces of their own


def page_data(files: dict[str, Path], kernel: bytes) -> dict[str, Any]:
    """What page.js reads, see `Data` there."""
    return {
        "models": [
            {
                "name": name,
                "title": MODELS[name][0],
                "languages": MODELS[name][1],
                "examples": list(examples(name)),
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


def examples(model: str) -> Iterator[dict[str, Any]]:
    """The sentences to begin with, see `Example` in page.js."""
    for exhibit in (each for each in (*EXHIBITS, *CAPTIONS) if each.model == model and each.notice):
        head, word, _ = next(link for link in map(parsed, exhibit.links) if link[0].short in exhibit.notice)
        yield {"sentence": exhibit.source, "notice": exhibit.notice, "place": head._asdict(), "word": word}


def _languages() -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    """The languages of the interface with the texts of the page and its drawings, by their codes."""
    folders = ("web/", "core/drawing/", "core/trace.py", "docs/gallery/")
    messages = [each.id for each in template() if any(file.startswith(folders) for file, _ in each.locations)]
    texts = [cast("ScriptText", each if isinstance(each, tuple) else (each,)) for each in messages]
    for code, name in LANGUAGES.items():
        with speaking(code):
            yield code, (name, texts_for_script(tuple(texts)))


def compiled_kernel() -> bytes:
    """WebAssembly of kernel.c.

    Raises:
        MissingPackageError: the extra `web` is not installed.
    """
    if importlib.util.find_spec("ziglang") is None:
        raise MissingPackageError("python -m web.build", "ziglang", "web")
    flags = ["-target", "wasm32-freestanding", "-O3", "-msimd128", "-nostdlib"]
    link = ["--no-entry", "--import-memory", "--initial-memory=65536", "-z,stack-size=1024", "--strip-all"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "kernel.wasm"
        command = [sys.executable, "-m", "ziglang", "cc", *flags, *(f"-Wl,{each}" for each in link)]
        subprocess.run([*command, "-o", str(out), str(HERE / "kernel.c")], check=True)
        return out.read_bytes()


if __name__ == "__main__":
    main()
