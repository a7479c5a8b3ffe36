"""`python -m docs.stale`: what was made from the weights of shipped models, and is older than they are.

    python -m docs.stale                     list it, with its commands; the exit status is 1 if there is any
    python -m docs.stale --all               list everything that was made from weights
    python -m docs.stale --make [NAME ...]   run the commands, of these or of all that is stale
    python -m docs.stale --made NAME ...     record what was made by hand

`products` declares what there is. `made_from_weights.json` beside this file has the SHA-256 of the checkpoints that
each was made from. A command with words in capitals needs files that are not shipped: fill them in, run it, and record
it with `--made`. `train evaluate --record` changes a checkpoint, so it comes first. Not here: `docs/table3` and
`docs/measurements/extrapolation.csv`, which have models of their own; benchmarks of speed, which depend on shapes; the
site, which runs its notebooks at each build.
"""

import argparse
import hashlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from docs.gallery.exhibits import CAPTIONS, EXHIBITS
from viz_app.page_list import VIEWS

ROOT = Path(__file__).resolve().parents[1]
RECORD = Path(__file__).with_name("made_from_weights.json")
EN_DE = ("en-de",)
GOLD = {"en-de": " --gold GOLD.en GOLD.de GOLD.align"}  # docs/pages/corpus.md says which links
PICTURED = {  # models of pages that show other ones than the app opens first
    "generation": ("en-de", "en-de-draft", "en-de-mask-predict"),
    "over_training": ("multi30k",),
    "parsing": ("parsing",),
    "picture": ("lines",),
}
REVERSE = "reverse-learned", "reverse-r4"
TABLES = {  # texts with measurements of several models
    "README.md": (
        *("en-de", "en-fr", "multi30k", "multi30k-distilled", "en-de-mask-predict", "parsing", "lines"),
        *REVERSE,
    ),
    "docs/results.md": ("en-de", "en-fr", "multi30k", "multi30k-distilled"),
    "docs/pages/generation.md": ("en-de", "en-de-draft", "en-de-mask-predict"),
    "docs/pages/parsing.md": ("parsing",),
    "docs/pages/picture.md": ("lines",),
}
EVALUATE = {  # what measures the scores of models that do not translate
    "parsing": "python -m train evaluate-trees checkpoints/parsing.safetensors --trees TREES",
    "lines": "python -m train evaluate-lines checkpoints/lines.safetensors --lines LINES",
    **{name: f"python docs/measurements/extrapolation.py --score checkpoints/{name}.safetensors" for name in REVERSE},
}

Record = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Product:
    """Files that are made from shipped models.

    Attributes:
        files: paths in the repository.
        models: names of the checkpoints that it is made from.
        command: makes it, or measures what it says; words in capitals stand for files that are not shipped.
        minutes: how long the command takes on an idle machine, an estimate.
        note: what is left to do by hand.
    """

    files: tuple[str, ...]
    models: tuple[str, ...]
    command: str
    minutes: float
    note: str = ""

    @property
    def needs_files(self) -> bool:
        """Whether the command cannot run as it stands."""
        return bool(re.search(r"\b[A-Z]{3,}\b", self.command))


def products() -> dict[str, Product]:
    """Return everything that is made from weights, by name, in the order in which it is made: pictures are last."""
    found = dict[str, Product]()
    names = sorted(path.stem for path in (ROOT / "checkpoints").glob("*.safetensors"))
    for name in names:
        model, beside = f"checkpoints/{name}.safetensors", ROOT / "checkpoints" / name
        card = tuple(f"checkpoints/{name}{suffix}" for suffix in (".md", ".svg", ".log.jsonl"))
        note = f"python -m train card {model} --licences LICENCES --limits LIMITS; keep what was written by hand"
        found[f"card of {name}"] = Product(card, (name,), f"{evaluate(name)} --record", 30, note)
        if beside.with_suffix(".signs.json").exists():
            thresholds = f"python -m core sign-thresholds --checkpoint {model} --right TESTS --sampled 40"
            found[f"signs of {name}"] = Product((f"checkpoints/{name}.signs.json",), (name,), thresholds, 1)
        if beside.with_suffix(".corpus.npz").exists():
            index = f"checkpoints/{name}.corpus.npz"
            command = f"python -m core corpus --checkpoint {model} --input {index} -o {index}{GOLD.get(name, '')}"
            found[f"index of {name}"] = Product((index,), (name,), command, 7)
        if beside.with_suffix(".history.zip").exists():
            history = f"checkpoints/{name}.history.zip"
            pack = f"python -m train history RUN -o {history}"
            found[f"history of {name}"] = Product((history,), (name,), pack, 1, "RUN is the run of this checkpoint")
            rounded = f"python docs/measurements/rounded_snapshots.py {history} {model}"
            table = ("docs/pages/over_training.md",)
            found["rounding of snapshots"] = Product(table, (name,), rounded, 2, "put what it prints into the table")
    for path, models in TABLES.items():
        command = "; ".join(map(evaluate, models))
        found[f"scores in {path}"] = Product((path,), models, command, 60, "README.md has the scores of the cards")
    signs = "python -m benchmarks.signs --made MADE --natural NATURAL"
    tables = ("benchmarks/README.md", "docs/pages/translate.md", "docs/pages/score.md")
    found["how well signs work"] = Product(tables, EN_DE, signs, 60, "put what it prints into the tables")
    for module, name, options in (
        ("alignment/first_head", "first_head", "--sentences SENTENCES --gold SOURCE TARGET LINKS"),
        ("unfamiliar_source", "unfamiliar_source", "ENGLISH OTHER"),
    ):
        measure = f"python docs/measurements/{name}.py {options}"
        note = "put what it prints into the docstring"
        found[f"measurement {name}"] = Product((f"core/analysis/{module}.py",), EN_DE, measure, 10, note)
    opening = ("viz_app/session/address.py", "README.md")
    check = "python docs/measurements/default_sentence.py"
    found["sentence that the app opens with"] = Product(opening, EN_DE, check, 1)
    gallery = tuple(sorted({exhibit.model for exhibit in (*EXHIBITS, *CAPTIONS)}))
    found["gallery"] = Product(("docs/gallery/exhibits.py",), gallery, "python -m docs.gallery .cache/gallery", 2)
    notebooks = tuple(sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/notebooks/*.ipynb")))
    found["notebooks"] = Product(
        notebooks, EN_DE, "python -m pytest -n 0 tests/docs/test_notebooks.py", 2, "read their texts beside the outputs"
    )
    pages = ("heads", "paper_figures", "score_components", "training_step")
    examples = ("README.md", "docs/tutorial.md", *(f"docs/pages/{page}.md" for page in pages))
    found["examples in texts"] = Product(
        examples,
        EN_DE,
        "python -m viz_app.server.command --port PORT",
        15,
        "look up on each page what its text says of the model",
    )
    for models in dict.fromkeys(PICTURED.get(view.name, EN_DE) for view in VIEWS):
        pages = [view.name for view in VIEWS if PICTURED.get(view.name, EN_DE) == models]
        files = tuple(f"docs/pages/{page}.png" for page in pages) + ("docs/app.png",) * (models == EN_DE)
        command = "python docs/screenshots.py" + (f" --page {' '.join(pages)}" if models != EN_DE else "")
        found[f"pictures of {', '.join(models)}"] = Product(files, models, command, 1 + len(files) / 4)
    note = "put what it prints into the page"
    found["answers for teachers"] = Product(("docs/teaching.md",), EN_DE, "python -m docs.teaching", 1, note)
    found["picture of the static page"] = Product(
        ("docs/static_page.png",), EN_DE, "python docs/screenshots.py --static-page", 1
    )
    found["moving picture"] = Product(("docs/app.webp",), EN_DE, "python docs/moving_picture.py", 1)
    return found


def evaluate(model: str) -> str:
    """Return the command that measures the scores of a model."""
    translated = f"python -m train evaluate checkpoints/{model}.safetensors --source SOURCE --target TARGET"
    return EVALUATE.get(model, translated)


def digests() -> dict[str, str]:
    """Return the SHA-256 of every shipped checkpoint, by name."""
    paths = (ROOT / "checkpoints").glob("*.safetensors")
    return {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def stale(made: Mapping[str, Product], record: Record, now: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the names of products that are older than weights, by their recorded digests, each with the changed
    models.
    """
    changed = {
        name: [model for model in product.models if record.get(name, {}).get(model) != now[model]]
        for name, product in made.items()
    }
    return {name: models for name, models in changed.items() if models}


def read_record() -> Record:
    """Return what each product was made from; nothing is known of products that it does not have."""
    return json.loads(RECORD.read_text("utf-8"))


def note_made(names: Iterable[str], made: Mapping[str, Product], now: Mapping[str, str]) -> None:
    """Record that products are made from the weights of today, and forget those that are no longer declared."""
    record = {name: facts for name, facts in read_record().items() if name in made}
    record |= {name: {model: now[model] for model in made[name].models} for name in names}
    RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", "utf-8")


def make(names: Iterable[str], made: Mapping[str, Product], now: Mapping[str, str]) -> list[str]:
    """Run the commands of products, record each that ends well, and return the names of those that are not or not fully
    made.
    """
    left = list[str]()
    for name in names:
        product = made[name]
        print(f"\n{name}", flush=True)
        if not product.needs_files:
            program, *arguments = shlex.split(product.command)
            print(f"+ {product.command}", flush=True)
            command = [sys.executable if program == "python" else program, *arguments]
            if subprocess.run(command, cwd=ROOT, check=False).returncode == 0 and not product.note:
                note_made([name], made, now)
                continue
        left.append(name)
        print(_by_hand(name, product))
    return left


def _by_hand(name: str, product: Product) -> str:
    lines = [product.command] * product.needs_files + [product.note] * bool(product.note)
    lines.append(f"python -m docs.stale --made {shlex.quote(name)}")
    return "\n".join(f"  by hand: {line}" for line in lines)


def main(arguments: list[str] | None = None) -> int:
    """Run the command, and return its exit status: 1 if something is older than its weights."""
    made, now = products(), digests()
    parser = argparse.ArgumentParser(
        prog="python -m docs.stale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--all", action="store_true", help="list everything that is made from weights")
    what.add_argument("--make", nargs="*", metavar="NAME", help="make these, or all that is stale")
    what.add_argument("--made", nargs="+", metavar="NAME", help="record that these are made from the weights of today")
    options = parser.parse_args(arguments)
    if unknown := [name for name in (*(options.make or ()), *(options.made or ())) if name not in made]:
        parser.error(f"there is no product {unknown[0]!r}, expected one of: {', '.join(made)}")
    if options.made:
        note_made(options.made, made, now)
    found = stale(made, read_record(), now)
    if options.make is not None:
        return int(bool(make(options.make or found, made, now)))
    for name in made if options.all else found:
        product = made[name]
        print(f"{name}: {', '.join(product.files)}, about {product.minutes:.0f} min")
        print(f"  {'older than ' + ', '.join(found[name]) if name in found else 'made from the weights of today'}")
        print(f"  {product.command}" + f"\n  {product.note}" * bool(product.note))
    print(f"{len(found)} of {len(made)} are older than the weights")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
