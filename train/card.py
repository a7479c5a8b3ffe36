"""Model cards: a checkpoint's training facts, the scores recorded in them included, as Markdown with curves."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from safetensors import safe_open
from safetensors.torch import save_file

from core.analysis.training_cost import PAPER_HOURS, estimated_flops, training_cost
from core.files.console import command_line
from core.files.file_writing import write_atomically, write_text
from core.files.runlog import LogLine, format_log, of_kind, read_log, thin_log
from core.files.strict_json import json_text
from core.files.training_runs import averaged_files, training_facts_of, training_runs
from core.formats.checkpoint import Checkpoint, load_checkpoint
from train.runs.provenance import folder_of
from train.snapshot_checksum import check_checksum, checksum_file, with_checksum

# names of the Hub, and fields of a score
METRICS = {"bleu": "bleu", "chrf": "chrf", "cer": "character_error_rate", "f1": "f1", "exact_match": "exact_texts"}
# The task of a score with a field, in the words of the Hub's model index; without one of these it is translation.
TASKS = {"character_error_rate": "image-to-text", "f1": "constituency-parsing", "exact_texts": "text2text-generation"}
# a new score replaces an older one with the same settings
SETTINGS = ("test_set", "beam_size", "length_penalty", "iterations")


class RecordedScore(Protocol):
    """A score on a test set, see `train.eval`."""

    def facts(self) -> dict[str, Any]: ...


def record_scores(path: Path, scores: Sequence[RecordedScore]) -> None:
    """Add scores to the training facts of a checkpoint, whose tensors stay identical.

    Raises:
        CheckpointError: the file is not a checkpoint.
    """
    check_checksum(path)
    training = load_checkpoint(path).training
    new = [score.facts() for score in scores]
    settings = [[score.get(name) for name in SETTINGS] for score in new]
    with training_facts_of(path):
        kept = [score for score in training.get("scores", []) if [score.get(name) for name in SETTINGS] not in settings]
    with safe_open(path, framework="pt") as file:
        metadata = {**file.metadata(), "training": json_text({**training, "scores": kept + new}, ensure_ascii=False)}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118

    def write() -> None:
        write_atomically(path, lambda temporary: save_file(tensors, temporary, metadata))

    if not checksum_file(path).exists():
        write()
        return
    with with_checksum(path):
        write()


def write_card(
    path: Path,
    output: Path,
    log: Path | None = None,
    licences: str = "",
    limits: str = "",
    license_name: str | None = None,
    languages: Sequence[str] = (),
    datasets: Sequence[str] = (),
) -> None:
    """Write a checkpoint's training facts as Markdown, with curves (SVG) and a thinned log of the run's log beside it.

    The card begins with the metadata of the Hugging Face Hub's model cards, in YAML: an identifier of the licence of
    the weights, such as `cc-by-4.0`, or `other`, codes of languages, and names of the data, by default those that its
    pairs are labelled with. `licences` and `limits` are Markdown on the data's origins and the model's weaknesses.
    """
    checkpoint = load_checkpoint(path)
    facts = checkpoint.training
    with training_facts_of(path):
        sections = [
            f"{_metadata(path.stem, facts, license_name, languages, datasets)}\n\n# {path.name}",
            _summary(path, checkpoint),
            "## Data",
            _data(facts.get("manifest", {})),
            licences.strip(),
            "## Training",
            _training(facts),
            _rebuilding(path.name, facts),
            operations(checkpoint),
        ]
        scores = ["## Scores", _scores(facts["scores"])] if facts.get("scores") else []
        "".join((*sections, *scores)).encode()  # raises for a lone surrogate
    if log:
        curves = output.with_suffix(".svg")
        lines = read_log(log)
        try:
            draw_curves(lines, curves)
        except ValueError as error:
            raise ValueError(f"{log}: {error}") from error
        write_text(output.with_suffix(".log.jsonl"), format_log(thin_log(lines)))
        sections += [f"![Loss and validation perplexity over the steps]({curves.name})"]
    sections += scores
    if limits.strip():
        sections += ["## Limits", limits.strip()]
    write_text(output, "\n\n".join(section for section in sections if section) + "\n")


def draw_curves(lines: Sequence[LogLine], output: Path) -> None:
    """Draw training and validation loss (nats per token) over the steps of a log.

    Raises:
        ValueError: the log has no losses yet.
    """
    from matplotlib.figure import Figure  # a slow import

    if not any(line["kind"] in ("train", "valid") for line in lines):
        raise ValueError("the log has no losses yet: wait for the run's first log line")
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axes = figure.subplots()
    for kind, label, color, width in (("train", "training", "#9db8d6", 0.8), ("valid", "validation", "#1f4e8c", 1.8)):
        points = of_kind(lines, kind)
        steps, losses = ([line[name] for line in points] for name in ("step", "nll"))
        axes.plot(steps, losses, label=label, color=color, linewidth=width)
    axes.set_xlabel("step")
    axes.set_ylabel("negative log-likelihood per token, nats")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(output)


def _metadata(
    name: str, facts: dict[str, Any], license_name: str | None, languages: Sequence[str], datasets: Sequence[str]
) -> str:
    """Return the YAML that opens a card: the known ones among the fields of the Hub's model cards."""
    scores: list[dict[str, Any]] = facts.get("scores", [])
    results = [
        {
            "task": {"type": next((task for field, task in TASKS.items() if field in score), "translation")},
            "dataset": {"name": score["test_set"], "type": score["test_set"]},
            "metrics": [
                {"type": metric, "value": score[field], "name": _metric_name(field, score)}
                for metric, field in METRICS.items()
                if field in score
            ],
        }
        for score in scores
    ]
    values = {
        "license": license_name,
        "language": list(languages),
        "library_name": "headlight",
        "tags": ["transformer", *([facts["preset"]] if facts.get("preset") else [])],
        "datasets": list(datasets) or [label for label in facts.get("manifest", {}).get("pairs_by_label", {}) if label],
        "metrics": [metric for metric, field in METRICS.items() if any(field in score for score in scores)],
        "model-index": [{"name": name, "results": results}] if results else [],
    }
    # every value of JSON is one of YAML
    lines = [f"{key}: {json_text(value, ensure_ascii=False)}" for key, value in values.items() if value]
    return "\n".join(["---", *lines, "---"])


def _metric_name(field: str, score: dict[str, Any]) -> str:
    if signature := score.get(f"{field}_signature"):
        return f"sacreBLEU {signature}"
    if evaluator := score.get("evaluator"):
        return f"labelled {field.upper()} by {evaluator}"
    return field.replace("_", " ")


def _summary(path: Path, checkpoint: Checkpoint) -> str:
    config = checkpoint.config
    parameters = sum(parameter.numel() for parameter in checkpoint.model.parameters())
    patches = f"{config.patch_size} x {config.patch_size} pixels, {config.patch_rows} a column"
    return _table(
        ("", ""),
        [
            ("layers", f"{config.num_encoder_layers} + {config.num_decoder_layers}"),
            ("heads", config.head_counts),
            ("d_model, d_ff", f"{config.d_model}, {config.d_ff}"),
            *([("patches", patches)] if config.patch_size else []),
            ("vocabulary", f"{config.vocab_size} {'characters' if config.patch_size else 'pieces, joint'}"),
            ("parameters", f"{parameters:,}"),
            ("file", f"{path.stat().st_size / 1e6:.1f} MB, {checkpoint.training.get('stored_as', 'float32')}"),
        ],
    )


def _data(manifest: dict[str, Any]) -> str:
    origins, repeat = manifest.get("pairs_by_label", {}), manifest.get("repeat", {})
    times = manifest.get("segmentations", 1)
    rows = [(origin or "(all)", f"{pairs:,}", times * repeat.get(origin, 1)) for origin, pairs in origins.items()]
    counts = manifest.get("train")
    summary = ""
    if counts:
        tokens = f"{counts['source_tokens']:,} source and {counts['target_tokens']:,} target tokens"
        summary = f"An epoch shows {counts['pairs']:,} pairs: {tokens}."
    if bpe_dropout := manifest.get("bpe_dropout"):
        summary += f" Each time a pair is in other pieces: BPE-dropout of {bpe_dropout:g} (Provilkov et al. 2020)."
    if made := sum(end - first for first, end in manifest.get("by_rule", [])):
        shares = f"--copying {manifest['copying']:g} --capitals {manifest['capitals']:g}"
        summary += f" Of the pairs {made:,} were made by rule from the others (`{shares}`)."
    if manifest.get("text_normalization"):
        summary += " Both sides have single spaces and none at their ends, as the text that a `Translator` encodes."
    return "\n\n".join(
        part for part in (_table(("origin", "pairs", "times an epoch"), rows) if rows else "", summary) if part
    )


def _training(facts: dict[str, Any]) -> str:
    named = ("preset", "command", "commit", "seed", "hardware", "torch", "steps", "hours", "memory_gb", "date")
    known = [name for name in named if facts.get(name) is not None]
    rows = [(name, f"`{facts[name]}`" if name in ("command", "commit") else facts[name]) for name in known]
    if init := facts.get("init"):
        rows.append(("started from", f"`{init['file']}`, SHA-256 {init['sha256'][:12]}"))
    rows += [("resumed", f"at step {part['step']} with commit `{part['commit']}`") for part in facts.get("resumed", [])]
    rows += [(name, value) for name, value in facts.get("recipe", {}).items() if name not in ("steps", "seed")]
    if times := facts.get("precision_measured"):
        seconds = f"bfloat16 {times['bfloat16_seconds']} s, float32 {times['float32_seconds']} s"
        rows.append(
            ("precision chosen by", f"{seconds}, for the matrix products of {times['batch_tokens']:,} tokens a side")
        )
    if len(facts.get("averaged", [])) > 1:
        rows.append(("mean of", ", ".join(f"step {part['steps']}" for part in facts["averaged"])))
    return _table(("", ""), rows)


def _rebuilding(name: str, facts: dict[str, Any]) -> str:
    """Return the commands that made the checkpoint, with the cost of each part of its training."""
    parts = training_runs(facts)
    if not all("command" in part and "steps" in part for part in parts):
        return ""
    commands: list[str] = []
    for part in parts:
        commands.append(part["command"])
        if len(averaged_files(part)) > 1 and part is not facts:
            commands.append(_averaging(part, part.get("file", "FILE")))
    if facts.get("averaged"):
        commands.append(_averaging(facts, name))
    rows: list[tuple[object, ...]] = [
        (number, f"{part['steps']:,}", part.get("hours", ""), part.get("hardware", ""), part.get("date", "")[:10])
        for number, part in enumerate(parts, 1)
    ]
    if len(parts) > 1:
        hours = sum(part.get("hours", 0.0) for part in parts)
        rows.append(("all", f"{sum(part['steps'] for part in parts):,}", round(hours, 2), "", ""))
    table = _table(("part", "steps", "hours", "hardware", "date"), rows)
    return "\n\n".join(("### Rebuild", "\n".join(("```sh", *commands, "```")), table))


def operations(checkpoint: Checkpoint) -> str:
    """Return a sentence on the operations of all runs, beside those of the paper; "" if they are not recorded."""
    cost = training_cost(checkpoint.model.config, checkpoint.training)
    if cost is None:
        return ""
    rate = f" ({cost.flops / cost.hours / 3600:.1e} a second)" if cost.hours else ""
    paper = " and ".join(f"{estimated_flops(hours):.1e} for its {name} model" for name, hours in PAPER_HOURS.items())
    return (
        f"At most {cost.flops:.1e} floating-point operations in matrix products{rate}, counted as if every batch was "
        f"full. The paper estimates {paper} (Table 2)."
    )


def _averaging(facts: dict[str, Any], output: str) -> str:
    """Return the command that made a mean of checkpoints."""
    files = averaged_files(facts)
    inputs = [folder_of(facts) or "RUN", "--last", str(len(files))]
    if any("run" in part or "sha256" in part for part in files):
        begun_from = {run["sha256"]: run for run in training_runs(facts) if "sha256" in run}
        runs = [part.get("run") or begun_from.get(part.get("sha256"), facts) for part in files]
        inputs = [
            f"{folder_of(run) or 'RUN'}/snapshots/{part['file']}" if part["file"].startswith("step-") else part["file"]
            for run, part in zip(runs, files, strict=True)
        ]
    half = ["--half"] if facts.get("stored_as") == "float16" else []
    return command_line("python", "-m", "train", "average", *inputs, *half, "-o", output)


# Columns of the table of scores: heading, field of a score, and field with its signature.
_COLUMNS = (
    ("test set", "test_set", None),
    ("sentences", "sentences", None),
    ("character error rate, %", "character_error_rate", None),
    ("exact lines, %", "exact_lines", None),
    ("exact texts, %", "exact_texts", None),
    ("F1, %", "f1", "evaluator"),
    ("precision, %", "precision", None),
    ("recall, %", "recall", None),
    ("exact match, %", "exact", None),
    ("BLEU", "bleu", "bleu_signature"),
    ("chrF", "chrf", "chrf_signature"),
    ("BLEU as in the paper", "paper_bleu", "paper_bleu_signature"),
    ("BLEU, lower-cased", "lowercased_bleu", "lowercased_bleu_signature"),
    ("perplexity per piece", "perplexity", None),
    ("beam size", "beam_size", None),
    ("length penalty", "length_penalty", None),
    ("iterations", "iterations", None),
)


def _scores(scores: list[dict[str, Any]]) -> str:
    """Return a table of scores, without the columns that no score has, such as those missing in older checkpoints."""
    columns = [column for column in _COLUMNS if any(column[1] in score for score in scores)]
    rows = [[score.get(name, "") for _, name, _ in columns] for score in scores]
    signatures = [
        f"- {heading}: `{signature}`"
        for heading, _, key in columns
        if key
        for signature in sorted({score[key] for score in scores if key in score})
    ]
    return "\n\n".join((_table([heading for heading, _, _ in columns], rows), "\n".join(signatures)))


def _table(header: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
