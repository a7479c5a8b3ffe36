"""What models do, in a few words, from the metadata of their files; their weights are not read."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from viz_app.language import language, marked, tr
from viz_app.session.models import Model

LANGUAGE_OF_FILE = re.compile(r"\.([a-z]{2,3})(?:\.\w+)?$")  # train.de.xz

OF_PRESET = {  # models of a task without languages
    "reverse-learned": marked("Learned positions, reverses letters"),
    "reverse-r4": marked("Restricted attention, reverses letters"),
}


class Offer(NamedTuple):
    """A model that can be selected."""

    key: str  # by which it is selected
    name: str  # of its file
    task: str = ""  # what it does; "" if its file does not say
    layers: str = ""  # such as `6 + 6`; "" if unknown
    is_shipped: bool = False  # whether it comes with Headlight


def open_offer(model: Model, *, is_shipped: bool) -> Offer:
    """Return the offer of an open model."""
    if model.explanation is not None:
        return Offer(model.digest, model.name, tr("Attention without a model"))
    config, tokenizer = model.translator.config, model.translator.tokenizer
    task = _task(
        {"patch_size": config.patch_size, "mask_id": config.mask_id},
        model.translator.training,
        tokenizer.languages,
        writes_trees=model.parser is not None,
    )
    return Offer(model.digest, model.name, task, _layers(vars(config)), is_shipped)


def file_offer(key: str, path: Path) -> Offer:
    """Return the offer of a shipped file that is not open."""
    config, training = _metadata(path, path.stat().st_mtime_ns)
    return Offer(key, path.name, _task(config, training), _layers(config), is_shipped=True)


def labels(offers: Sequence[Offer]) -> dict[str, str]:
    """Name models by key: by what they do and, where several shipped ones do the same, by their layers or by their
    files. A visitor's own begin with the name of the file, which a narrow menu shows.
    """
    found: dict[str, str] = {}
    for offer in offers:
        twins = [each for each in offers if each.task == offer.task and each.is_shipped]
        text = offer.task or offer.name
        if offer.task and not offer.is_shipped:
            text = f"{offer.name} \u00b7 {offer.task}"
        elif offer.task and offer != twins[0]:
            is_alone = [each.layers for each in twins].count(offer.layers) == 1
            text += f", {tr('{layers} layers', layers=offer.layers) if is_alone else Path(offer.name).stem}"
        found[offer.key] = text if text not in found.values() else f"{text} ({offer.key[:4]})"
    return found


def _task(
    config: Mapping[str, Any], training: Mapping[str, Any], languages: Sequence[str] = (), *, writes_trees: bool = False
) -> str:
    """Say what a model does, from untrusted facts.

    Fields of the configuration at their defaults may be missing, and languages of the tokenizer may be "". A model that
    writes trees is one whose vocabulary is known to have labelled brackets.
    """
    if config.get("patch_size"):
        return tr("Reads pictures of text")
    if writes_trees or any("f1" in score for score in _objects(training.get("scores"))):
        return tr("Parses sentences")
    if text := OF_PRESET.get(str(training.get("preset"))):
        return tr(text)
    names = [_language_name(code) for code in languages]
    if not all(names) or len(names) != 2:
        names = [_language_name(code) for code in _languages_of_data(training)]
    if not all(names) or len(names) != 2:
        return ""
    source, target = names
    if config.get("mask_id") is not None:
        return tr("{source} to {target}, all words at once", source=source, target=target)
    return tr("{source} to {target}", source=source, target=target)


def _languages_of_data(training: Mapping[str, Any]) -> list[str]:
    """Return the codes of the languages that the names of the training files end with."""
    manifest = training.get("manifest")
    files = cast("dict[str, Any]", manifest).get("files") if isinstance(manifest, dict) else None
    names = [each for each in cast("list[Any]", files) if isinstance(each, str)] if isinstance(files, list) else []
    return [code[1] for name in names if (code := LANGUAGE_OF_FILE.search(name))]


def _language_name(code: str) -> str:
    """Return the name of a language in that of the visitor; "" if there is none of this code."""
    return _language_names(language()).get(code, "")


@lru_cache
def _language_names(code: str) -> Mapping[str, str]:
    from babel import Locale

    return Locale(code).languages


def _layers(config: Mapping[str, Any]) -> str:
    counts = [config.get("num_encoder_layers"), config.get("num_decoder_layers")]
    return " + ".join(map(str, counts)) if all(isinstance(count, int) for count in counts) else ""


def _objects(value: object) -> list[dict[str, Any]]:
    listed = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", each) for each in listed if isinstance(each, dict)]


@lru_cache(maxsize=64)
def _metadata(path: Path, _mtime_ns: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return configuration and training of a file that the operator ships; empty if it has none."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
        config, training = (json.loads(metadata.get(name, "{}")) for name in ("config", "training"))
    except (SafetensorError, OSError, ValueError):  # opening it says why
        return {}, {}
    return config, training
