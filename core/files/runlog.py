"""Training logs: one JSON object per line.

{"kind": "train" | "valid" | "sample" | "warning", "step": ..., ...}:

train    loss, nll (nats per target token), rate, tokens_per_second, ...
valid    nll, perplexity
sample   source, reference, translation
warning  message
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.files.argument_types import path_of
from core.files.file_writing import reading
from core.files.strict_json import json_text

LogLine = dict[str, Any]
KINDS = ("train", "valid", "sample", "warning")
TEXTS = {"sample": ("source", "reference", "translation"), "warning": ("message",)}  # other kinds have numbers
DIGITS = 5  # significant digits in a thinned log
MAX_STEP = 2**31 - 1
MAX_NAMES = 100  # of numbers and texts in all lines of a log


def read_log(path: str | Path) -> list[LogLine]:
    """Read all complete lines, in order; an incomplete last line, as in a running or killed job, is skipped.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not a training log; the message has the line.
    """
    path = path_of(path)
    with reading(path):
        return parse_log(path.read_bytes(), str(path))


def parse_log(content: bytes, name: str) -> list[LogLine]:
    """As `read_log`, from the content of a file, whose name is for messages."""
    *whole, last = content.split(b"\n")
    lines = [parse_line(text, f"{name}, line {number}") for number, text in enumerate(whole, 1) if text.strip()]
    if last.strip():
        try:
            lines.append(parse_line(last, name))
        except ValueError:
            if not whole:
                raise
    names = {each for line in lines for each in line}
    if len(names) > MAX_NAMES or not all(map(_is_text, names)):
        raise ValueError(f"{name} has {len(names)} names of numbers and texts, expected at most {MAX_NAMES} of letters")
    return lines


def parse_line(text: bytes, place: str) -> LogLine:
    """Parse a line of a log.

    Raises:
        ValueError: it is not one; the message has its place.
    """
    try:
        line = json.loads(text)
    except (ValueError, RecursionError) as error:  # includes UnicodeDecodeError
        raise ValueError(f"{place} is not JSON ({error}): a run's log has one JSON object a line") from error
    if not isinstance(line, dict) or line.get("kind") not in KINDS or type(line.get("step")) is not int:
        raise ValueError(f"{place} has no kind ({', '.join(KINDS)}) and step: this is not the log of a training run")
    if not 0 <= line["step"] <= MAX_STEP:
        raise ValueError(f"{place} has the step {line['step']!r:.40}, expected one from 0 to {MAX_STEP}")
    texts = TEXTS.get(line["kind"])
    names = texts or line.keys() - {"kind", "step"}
    is_expected, expected = (_is_text, "a text") if texts else (_is_number, "a number")
    for name in names:
        if not is_expected(line.get(name)):
            raise ValueError(f"{place}: {name!r:.40} is {line.get(name)!r:.40}, expected {expected}")
    return line


def _is_number(value: object) -> bool:
    """Whether it is a number, finite or not, that a float can hold."""
    return type(value) is float or (type(value) is int and abs(value) < 2**63)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def of_kind(lines: Sequence[LogLine], kind: str) -> list[LogLine]:
    """Lines of one kind."""
    return [line for line in lines if line["kind"] == kind]


def thin_log(lines: Sequence[LogLine], train: int = 200, valid: int = 100, samples: int = 12) -> list[LogLine]:
    """Keep an evenly spaced part of a log, with the first and last lines: so many of each kind, and steps with samples.

    Numbers are rounded to five significant digits, and lines with one that is not finite are left out. With the
    defaults, a log of any length is reduced to about 50 KB.
    """
    lines = [line for line in lines if all(type(each) is not float or math.isfinite(each) for each in line.values())]
    sampled = sorted({line["step"] for line in of_kind(lines, "sample")})
    steps = {sampled[place] for place in _spread(len(sampled), samples)}
    kept = [line for line in of_kind(lines, "sample") if line["step"] in steps] + of_kind(lines, "warning")
    for kind, most in (("train", train), ("valid", valid)):
        of_one_kind = of_kind(lines, kind)
        kept += [of_one_kind[place] for place in _spread(len(of_one_kind), most)]
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
    return "".join(json_text(line, ensure_ascii=False) + "\n" for line in lines)
