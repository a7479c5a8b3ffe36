"""The table of commands of `python -m core`: translate, convert, explain, score and others."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from torch import nn

from core.analysis.alignment.align import ALIGN
from core.analysis.attribution.attribute import ATTRIBUTE
from core.analysis.attribution.faithfulness import FAITHFULNESS
from core.analysis.attribution.logit_attribution import CONTRIBUTIONS
from core.analysis.attribution.logit_lexicon import LEXICON
from core.analysis.attribution.score_components import SCORE_COMPONENTS
from core.analysis.composition.paths import PATHS
from core.analysis.corpus import cli as corpus_cli
from core.analysis.corpus.head_description import HEADS
from core.analysis.declaration import Analysis
from core.analysis.discoveries import cli as discover_cli
from core.analysis.heads.nearest_heads import NEAREST
from core.analysis.heads.word_pair import PAIR
from core.analysis.interventions.cut import CUT
from core.analysis.interventions.patch import PATCH
from core.analysis.layers.measure_layers import LAYER_TYPES
from core.analysis.lens.logit_lens import LENS
from core.analysis.over_training.followed_sentence import OVER_TRAINING
from core.analysis.panels import PANELS
from core.analysis.signs.thresholds import SIGN_THRESHOLDS
from core.analysis.token_path.step import STEP
from core.analysis.training_step.training_step import TRAINING_STEP
from core.analysis.two_models.compare import COMPARE
from core.analysis.word_scores.score import SCORE
from core.cli.file_translation import cli as translate_cli
from core.export import cli as explain_cli
from core.files.console import Command, printable, run_program
from core.formats import cli as convert_cli
from core.formats.checkpoint import Checkpoint
from core.inference.cpu_inference import PackedTransformer, computation, packing_obstacle

NOT_MEASURED = "not measured for an imported model: off unless chosen, by --precision fast or HEADLIGHT_PRECISION=fast"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command of `python -m core`.

    Returns:
        As `run_program`: 0 on success, 1 after an error. `translate` returns 3 if it left some lines empty.
    """
    about = "Translate, convert checkpoints, and explain and analyse translations."
    return run_program("python -m core", about, COMMANDS, arguments)


def translate() -> int:
    """Run `headlight-translate`, which is `python -m core translate`."""
    summary, *_ = command = COMMANDS["translate"]
    return run_program("headlight-translate", f"{summary[0].upper()}{summary[1:]}.", {"translate": command})


# --- inspect --------------------------------------------------------------------------------------------------------


def _inspect_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sources",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="a checkpoint; of another project also its folder, a zip archive of that, or all its files; or OWNER/NAME "
        "of a model in the cache of the Hugging Face Hub",
    )
    convert_cli.add_options(parser)
    parser.add_argument(
        "--draft",
        type=Path,
        metavar="OUT",
        help="write a draft of the config.json that describes a model of your own, with what its parameters show",
    )


def _inspect(options: argparse.Namespace) -> None:
    if options.draft:
        print("\n".join(map(printable, convert_cli.write_draft(options.sources, options.draft))))
        return
    checkpoint = convert_cli.read_checkpoint(options.sources, revision=options.revision, check=options.check)
    model = convert_cli.hub_model(options.sources, options.revision)
    places = [model.folder] if model else options.sources
    sizes = [path.stat().st_size for each in places for path in (each.rglob("*") if each.is_dir() else [each])]
    print(printable(f"{', '.join(each.name for each in options.sources)}: {sum(sizes) / 1e6:.1f} MB"))
    for title, facts in [*_sections(checkpoint), ("Matrix products on this machine", _products(checkpoint))]:
        print(f"\n{title}")
        for line in _lines(facts):
            print(f"  {line}")


def _sections(checkpoint: Checkpoint) -> list[tuple[str, dict[str, Any]]]:
    training = {name: fact for name, fact in checkpoint.training.items() if name not in ("config", "scores")}
    sections = [
        ("Configuration", asdict(checkpoint.config)),
        ("Parameters", _parameter_counts(checkpoint)),
        ("Tokenizer", {"pieces": checkpoint.tokenizer.vocab_size, "bytes": len(checkpoint.tokenizer.to_bytes())}),
        ("Training", training or {"facts": "none"}),
    ]
    scores = checkpoint.training.get("scores")
    return sections + ([("Scores", {"on": scores})] if scores else [])


def _products(checkpoint: Checkpoint) -> dict[str, Any]:
    """Matrix products used by both precisions of `translate`, with their times, the minimum over several calls."""
    model = checkpoint.model.eval()
    if packing_obstacle(model):
        return {"exact": computation(model), "fast": "the same"}
    packed = PackedTransformer(model, "fast")
    chosen = sorted({choice.product for choice in packed.choices.values()})
    steps: dict[str, Any] = {}
    if packed.steps:
        names = {rows: compiled.name for rows, compiled in packed.steps.items()}
        steps["steps of decoding"] = f"compiled, {' and '.join(sorted(set(names.values())))} if fast"
    if packed.compiled_encoder:
        steps["encoder"] = f"compiled, {packed.compiled_encoder.name} if fast"
    if packed.step_seconds:
        steps["a step"] = {
            f"of {rows} rows": ", ".join(f"{name} {1e6 * s:,.0f} us" for name, s in seconds.items())
            for rows, seconds in packed.step_seconds.items()
        }
    measured = {
        f"{choice.rows} x {choice.inputs} x {choice.outputs}": ", ".join(
            f"{name} {1e6 * value:,.0f} us" for name, value in choice.seconds.items()
        )
        + f": {choice.product}"
        for choice in packed.choices.values()
    }
    return {
        "exact": f"{packed.products[0].name}; {computation(model)}",
        "fast": chosen or packed.products[0].name,
        **steps,
        "measured": measured or "no alternatives",
        **({"loss of fast": NOT_MEASURED} if "imported" in checkpoint.training else {}),
    }


def _parameter_counts(checkpoint: Checkpoint) -> dict[str, Any]:
    """Counts by part, and for one layer of each stack; tied embeddings count once."""
    model, config = checkpoint.model, checkpoint.config

    def count(part: nn.Module) -> int:
        return sum(parameter.numel() for parameter in part.parameters())

    def parts(stack: nn.Module, layer: nn.Module, layers: int) -> dict[str, str]:
        counts = {
            f"{layers} layers": count(stack),
            **{f"each {name}": count(part) for name, part in layer.named_children() if count(part)},
        }
        return {name: f"{number:,}" for name, number in counts.items()}

    return {
        "total": f"{count(model):,}",
        "embedding": f"{count(model.embedding):,}",
        **{
            name.replace("_", " "): f"{count(part):,}"
            for name, part in model.named_children()
            if name in ("patch_embedding", "target_embedding", "output_projection")
        },
        "encoder": parts(model.encoder, model.encoder.layers[0], config.num_encoder_layers),
        "decoder": parts(model.decoder, model.decoder.layers[0], config.num_decoder_layers),
    }


def _lines(facts: dict[str, Any]) -> Iterator[str]:
    """`name  value` lines, aligned, with nested facts indented."""
    width = max((len(name) for name, value in facts.items() if not isinstance(value, dict)), default=0)
    for name, value in facts.items():
        items = cast("list[Any]", value) if isinstance(value, list) else [value]
        if not any(isinstance(item, dict) for item in items):
            yield printable(f"{name:<{width}}  {', '.join(map(str, items)) or 'none'}")
            continue
        for item in items:
            yield printable(name)
            nested = cast("dict[str, Any]", item) if isinstance(item, dict) else {"": item}
            yield from (f"  {line}" for line in _lines(nested))


ANALYSES: tuple[Analysis, ...] = (
    SCORE,
    SIGN_THRESHOLDS,
    COMPARE,
    ALIGN,
    CONTRIBUTIONS,
    LEXICON,
    SCORE_COMPONENTS,
    ATTRIBUTE,
    FAITHFULNESS,
    LENS,
    *PANELS,
    HEADS,
    PAIR,
    NEAREST,
    OVER_TRAINING,
    STEP,
    TRAINING_STEP,
    CUT,
    PATCH,
    PATHS,
    LAYER_TYPES,
)
COMMANDS: dict[str, Command] = {
    "translate": ("translate a file or standard input, line by line", translate_cli.add_arguments, translate_cli.run),
    "convert": ("convert a checkpoint of another project", convert_cli.add_arguments, convert_cli.run),
    "inspect": ("show the contents of a checkpoint", _inspect_arguments, _inspect),
    "explain": ("write an explanation of one translation to a file", explain_cli.add_arguments, explain_cli.run),
    "explain-arrays": (
        "write an explanation of attention that another program has computed to a file",
        explain_cli.add_array_arguments,
        explain_cli.run_arrays,
    ),
    "corpus": (
        "index the strongest examples of all heads and neurons over a file of sentences",
        corpus_cli.add_arguments,
        corpus_cli.run,
    ),
    "discover": (
        "write what heads do more of than random weights, and what changes without them, as a web page",
        discover_cli.add_arguments,
        discover_cli.run,
    ),
    **{each.name: each.command for each in ANALYSES},
}
