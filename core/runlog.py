"""Training logs: one JSON object per line.

{"kind": "train" | "valid" | "sample" | "warning", "step": ..., ...}:

train    loss, nll (nats per target token), rate, tokens_per_second, ...
valid    nll, perplexity
sample   source, reference, translation
warning  message
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.file_writing import reading

LogLine = dict[str, Any]
KINDS = ("train", "valid", "sample", "warning")
DIGITS = 5  # significant digits in a thinned log


def read_log(path: Path) -> list[LogLine]:
    """Read all complete lines, in order.

    The last line is skipped if it is incomplete, as in a running or killed job.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not a training log; the message has the line.
    """
    with reading(path):
        *whole, last = path.read_bytes().split(b"\n")
    lines = [parse_line(text, f"{path}, line {number}") for number, text in enumerate(whole, 1) if text.strip()]
    if last.strip():
        try:
            lines.append(parse_line(last, str(path)))
        except ValueError:
            if not whole:
                raise
    return lines


def parse_line(text: bytes, place: str) -> LogLine:
    """Parse a line of a log.

    Args:
        place: for messages.

    Raises:
        ValueError: it is not one.
    """
    try:
        line = json.loads(text)
    except ValueError as error:  # includes UnicodeDecodeError
        raise ValueError(f"{place} is not JSON ({error}): a run's log has one JSON object a line") from error
    if not isinstance(line, dict) or line.get("kind") not in KINDS or not isinstance(line.get("step"), int):
        raise ValueError(f"{place} has no kind ({', '.join(KINDS)}) and step: this is not the log of a training run")
    return line


def of_kind(lines: Sequence[LogLine], kind: str) -> list[LogLine]:
    """Lines of one kind."""
    return [line for line in lines if line["kind"] == kind]


def thin_log(lines: Sequence[LogLine], train: int = 200, valid: int = 100, samples: int = 12) -> list[LogLine]:
    """Keep an evenly spaced part of a log, with the first and last lines.

    Numbers are rounded to five significant digits. With the defaults, a log of any length is reduced to about 50 KB.

    Args:
        train, valid: largest number of lines of each kind.
        samples: largest number of steps with samples.
    """
    sampled = sorted({line["step"] for line in of_kind(lines, "sample")})
    steps = {sampled[place] for place in _spread(len(sampled), samples)}
    kept = [line for line in of_kind(lines, "sample") if line["step"] in steps] + of_kind(lines, "warning")
    for kind, most in (("train", train), ("valid", valid)):
        found = of_kind(lines, kind)
        kept += [found[place] for place in _spread(len(found), most)]
    return [_rounded(line) for line in sorted(kept, key=lambda line: (line["step"], KINDS.index(line["kind"])))]


def _spread(count: int, most: int) -> list[int]:
    """At most `most` evenly spaced integers from 0 to count - 1, both ends included."""
    if count <= most:
        return list(range(count))
    return [round(place * (count - 1) / (most - 1)) for place in range(most)]


def _rounded(line: LogLine) -> LogLine:
    return {name: float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value for name, value in line.items()}


def format_log(lines: Sequence[LogLine]) -> str:
    """Text of a log with these lines."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
