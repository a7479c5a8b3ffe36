"""The settings of a run and its facts, recorded in its folder, so that it is resumed as it was started."""

import hashlib
import shlex
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from core.files.file_writing import write_text
from core.files.strict_json import json_text, read_json, readable_json
from core.model.config import TransformerConfig
from train.recipe import CHANGEABLE, Recipe
from train.runs.provenance import commit, portable
from train.runs.state_file import check_like

IDENTITY = ("preset", "config", "seed", "manifest", "init")  # recorded facts that tell runs apart
# Recipe fields missing from the records of older runs, with the values that those runs had.
LEGACY_RECIPE: dict[str, Any] = {"bucketing": "target", "precision": "bfloat16", "schedule": "inverse_sqrt"}


class RunFolderError(RuntimeError):
    """The run's folder is locked or cannot be written; the message says which files are safe, and what to do."""


@dataclass(frozen=True)
class RunSettings:
    """Settings of a run, which stay the same when it is resumed."""

    preset: str  # its name
    config: TransformerConfig
    recipe: Recipe  # with its precision resolved; see `train.precision`
    data: Path  # the prepared folder
    manifest: dict[str, Any]  # of the data
    init: dict[str, Any] | None = None  # facts of the checkpoint that the run starts from; see `train.warm_start`

    def facts(self) -> dict[str, Any]:
        """Return the facts that a run records first."""
        return {
            "preset": self.preset,
            "config": asdict(self.config),
            "recipe": asdict(self.recipe),
            "data": self.data.name,
        }


@dataclass(frozen=True)
class RunRecord:
    """The file of a run's settings and facts."""

    path: Path

    def digest(self) -> str | None:
        """Return a digest of the facts that tell runs apart; None if there is no run."""
        if not self.path.exists():
            return None
        record = self._read()
        facts = [record.get(name) for name in IDENTITY]
        return hashlib.sha256(json_text(facts, sort_keys=True).encode()).hexdigest()

    def _read(self) -> dict[str, Any]:
        advice = "put back a copy of it, or give another folder with --run"
        try:
            record = read_json(self.path)
        except ValueError as error:
            raise RunFolderError(f"{error}; {advice}") from error
        sample = {"preset": "", "command": "", "config": {}, "recipe": {}, "manifest": {}}
        sample |= {"resumed": [{"step": 0}]} if "resumed" in record else {}
        try:
            check_like(record, sample)
        except ValueError as error:
            raise RunFolderError(f"{self.path} is damaged: {error}; {advice}") from error
        return record

    def recipe(self) -> dict[str, Any]:
        """Return the recipe of the run in this folder; {} if there is no run."""
        return {**LEGACY_RECIPE, **self._read()["recipe"]} if self.path.exists() else {}

    def start(
        self, settings: RunSettings, hardware: str, step: int, measured: dict[str, float] | None = None
    ) -> dict[str, Any]:
        """Record a new run's settings, or check those of an existing one, and return the facts for its checkpoints.

        The step to resume from is recorded with a changed commit, as are the times that chose the precision.

        Raises:
            ValueError: the folder holds a run with another preset, configuration, recipe or data.
        """
        facts = settings.facts()
        command = portable(shlex.join(["python", "-m", "train", *sys.argv[1:]]))
        if self.path.exists():
            record = self._read()
            try:
                differing = _differing(record, settings)
            except (TypeError, ValueError, KeyError) as error:
                raise RunFolderError(f"{self.path} is damaged: {error}; give another folder with --run") from error
            if differing:
                raise ValueError(
                    f"{self.path.parent} holds a run with another {', '.join(differing)}: resume it with its own "
                    f"settings, or give another folder"
                )
            code = commit()
            if code != record.get("resumed", [record])[-1].get("commit"):
                record["resumed"] = [*record.get("resumed", []), {"step": step, "commit": code}]
                self._write(record)
            if record["recipe"] == facts["recipe"]:
                command = portable(record["command"])  # otherwise the latest one says when the run ends
            return {**record, "command": command, "recipe": facts["recipe"]}
        record = {
            **facts,
            "command": command,
            "commit": commit(),
            "seed": settings.recipe.seed,
            "hardware": hardware,
            "torch": torch.__version__,
            "manifest": settings.manifest,
            **({"init": settings.init} if settings.init else {}),
            **({"precision_measured": measured} if measured else {}),
        }
        self._write(record)
        return record

    def _write(self, record: dict[str, Any]) -> None:
        write_text(self.path, readable_json(record))


def _differing(record: dict[str, Any], settings: RunSettings) -> list[str]:
    """Return the settings that differ from those of an existing run, in words.

    Fields missing from its record have the values of `LEGACY_RECIPE`, or else their defaults.
    """
    differing = ["preset"] if record["preset"] != settings.preset else []
    for new, recorded in (
        (settings.config, TransformerConfig(**record["config"])),
        (settings.recipe, Recipe(**{**LEGACY_RECIPE, **record["recipe"]})),
    ):
        old = asdict(recorded)
        differing += [
            f"{name} ({old[name]}, not {value})"
            for name, value in asdict(new).items()
            if old[name] != value and name not in CHANGEABLE
        ]
    files = [facts["file"] if facts else "none" for facts in (record.get("init"), settings.init)]
    differing += [f"--init ({files[0]}, not {files[1]})"] if record.get("init") != settings.init else []
    return differing + (["data"] if record["manifest"] != settings.manifest else [])
