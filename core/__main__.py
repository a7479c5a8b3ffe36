"""`python -m core {translate, inspect, explain, align, layer-types}`: use a checkpoint, see what it is, or measure."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, cast, get_args

from torch import nn
from tqdm import tqdm

from core.analysis import alignment_cli, layer_types_cli
from core.checkpoint import Checkpoint, load_checkpoint
from core.export import cli as explain_cli
from core.model import Transformer
from core.packing import PackedTransformer, Precision, packable
from core.sentences import split_sentences
from core.translator import Translator

CHUNK_LINES = 1000  # are translated, and written, at a time


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns: 0 when all went well, 1 after an error, which is said on stderr; argparse exits with 2 by itself."""
    parser = argparse.ArgumentParser(prog="python -m core", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (description, add_arguments, run) in COMMANDS.items():
        command = commands.add_parser(name, help=description, description=description)
        add_arguments(command)
        command.set_defaults(run=run)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # who read has read enough; nothing is left to flush
        return 1
    except (ValueError, OSError) as error:
        print(f"{parser.prog} {options.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


# --- translate ------------------------------------------------------------------------------------------------------


def _translate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--checkpoint", type=Path, required=True, metavar="FILE", help="the model")
    parser.add_argument("--beam-size", type=int, default=4, metavar="N", help="hypotheses kept alive; 1 is greedy search (default: %(default)s)")
    parser.add_argument("--length-penalty", type=float, default=0.6, metavar="ALPHA", help="0: none (default: %(default)s)")
    parser.add_argument(
        "--precision",
        choices=get_args(Precision),
        default="exact",
        help="fast: in 8-bit integers or bfloat16 where that proves faster here, not quite the same translations (default: %(default)s)",
    )


def _translate(options: argparse.Namespace) -> None:
    """Each line is translated as one sentence, unless it has too many tokens for that: then sentence by sentence."""
    translator = Translator.from_checkpoint(options.checkpoint, precision=options.precision)
    lines = [_sentences(translator, number, line) for number, line in enumerate(_read_lines(sys.stdin.buffer), start=1)]
    with tqdm(total=len(lines), unit=" lines", file=sys.stderr) as bar:
        for start in range(0, len(lines), CHUNK_LINES):
            chunk = lines[start : start + CHUNK_LINES]
            sentences = [sentence for line in chunk for sentence in line]
            translations = iter(translator.translate_batch(sentences, options.beam_size, options.length_penalty))
            for line in chunk:
                translation = " ".join(next(translations).text for _ in line)
                one_line = " ".join(translation.splitlines())  # whatever the model put out
                sys.stdout.buffer.write(one_line.encode() + b"\n")
            sys.stdout.buffer.flush()
            bar.update(len(chunk))


def _read_lines(stream: BinaryIO) -> list[str]:
    """Raises: ValueError, if a line is not UTF-8."""
    lines: list[str] = []
    for number, line in enumerate(stream, start=1):
        try:
            lines.append(line.decode().strip())
        except UnicodeDecodeError as error:
            raise ValueError(f"line {number} of the input is not UTF-8: {error.reason} at byte {error.start}") from error
    return lines


def _sentences(translator: Translator, number: int, line: str) -> list[str]:
    """Raises: ValueError, if one of them is still too long."""
    if not line or translator.fits(line):
        return [line] if line else []
    sentences = [sentence for sentence, _ in split_sentences(line)]
    for sentence in sentences:
        try:
            translator.token_ids(sentence, "")
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
    return sentences


# --- inspect --------------------------------------------------------------------------------------------------------


def _inspect_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE")


def _inspect(options: argparse.Namespace) -> None:
    checkpoint = load_checkpoint(options.file)
    print(f"{options.file.name}: {options.file.stat().st_size / 1e6:.1f} MB")
    for title, facts in [*_sections(checkpoint), ("Matrix products on this machine", _products(checkpoint.model.eval()))]:
        print(f"\n{title}")
        for line in _lines(facts):
            print(f"  {line}")


def _sections(checkpoint: Checkpoint) -> list[tuple[str, dict[str, Any]]]:
    training = {name: fact for name, fact in checkpoint.training.items() if name not in ("config", "scores")}
    sections = [
        ("Configuration", asdict(checkpoint.config)),
        ("Parameters", _parameter_counts(checkpoint)),
        ("Tokenizer", {"pieces": checkpoint.tokenizer.vocab_size, "bytes": len(checkpoint.tokenizer.to_bytes())}),
        ("Training", training or {"facts": "none in the file"}),
    ]
    scores = checkpoint.training.get("scores")
    return sections + ([("Scores", {"on": scores})] if scores else [])


def _products(model: Transformer) -> dict[str, Any]:
    """What the two precisions of `translate` compute with here, and how long each product took, the best of some calls."""
    if not packable(model):
        return {"exact": "as PyTorch multiplies by itself", "fast": "the same"}
    packed = PackedTransformer(model, "fast")
    chosen = sorted({choice.product for choice in packed.choices.values()})
    measured = {
        f"{choice.rows} x {choice.inputs} x {choice.outputs}": ", ".join(f"{name} {1e6 * value:,.0f} us" for name, value in choice.seconds.items())
        + f": {choice.product}"
        for choice in packed.choices.values()
    }
    return {"exact": packed.products[0].name, "fast": chosen or packed.products[0].name, "measured": measured or "nothing to choose from"}


def _parameter_counts(checkpoint: Checkpoint) -> dict[str, Any]:
    """By part, one layer standing for all of its stack; the tied embedding counts once."""
    model, config = checkpoint.model, checkpoint.config

    def count(part: nn.Module) -> int:
        return sum(parameter.numel() for parameter in part.parameters())

    def parts(stack: nn.Module, layer: nn.Module, layers: int) -> dict[str, str]:
        counts = {f"{layers} layers": count(stack), **{f"each {name}": count(part) for name, part in layer.named_children() if count(part)}}
        return {name: f"{number:,}" for name, number in counts.items()}

    return {
        "total": f"{count(model):,}",
        "embedding": f"{count(model.embedding):,}",
        "encoder": parts(model.encoder, model.encoder.layers[0], config.num_encoder_layers),
        "decoder": parts(model.decoder, model.decoder.layers[0], config.num_decoder_layers),
    }


def _lines(facts: dict[str, Any]) -> Iterator[str]:
    """`name  value`, aligned, with what is nested indented."""
    width = max((len(name) for name, value in facts.items() if not isinstance(value, dict)), default=0)
    for name, value in facts.items():
        items = cast("list[Any]", value) if isinstance(value, list) else [value]
        if not any(isinstance(item, dict) for item in items):
            yield _printable(f"{name:<{width}}  {', '.join(map(str, items))}")
            continue
        for item in items:
            yield _printable(name)
            nested = cast("dict[str, Any]", item) if isinstance(item, dict) else {"": item}
            yield from (f"  {line}" for line in _lines(nested))


def _printable(text: str) -> str:
    """Training facts are free text from a file that anybody may have made: keep it from steering the terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)


Command = tuple[str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], None]]
COMMANDS: dict[str, Command] = {
    "translate": ("standard input to standard output, a line in, a line out", _translate_arguments, _translate),
    "inspect": ("what is in a checkpoint", _inspect_arguments, _inspect),
    "explain": ("a translation seen from inside, as a file to take along", explain_cli.add_arguments, explain_cli.run),
    "align": ("rank every cross-attention head as a word aligner", alignment_cli.add_arguments, alignment_cli.run),
    "layer-types": ("measure the layers of the paper's Table 1 on this machine", layer_types_cli.add_arguments, layer_types_cli.run),
}

if __name__ == "__main__":
    sys.exit(main())
