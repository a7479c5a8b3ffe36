"""Sizes of the tuples of a pickle, before it is read.

A tuple in a tuple may be written once and referred to again and again. As a key of a dictionary it is hashed in full:
forty tuples of two of the one before take 2^40 steps, which nothing interrupts.
"""

import pickletools
from io import BytesIO
from typing import Any

MAX_ELEMENTS = 10**6  # of a tuple, counting those of its tuples; real files have sizes, strides and pairs
_MARK = -1
_TUPLES = {"TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"}
_PUTS, _GETS = {"PUT", "BINPUT", "LONG_BINPUT"}, {"GET", "BINGET", "LONG_BINGET"}


def check_tuples(file: BytesIO) -> None:
    """Read one pickle without building what it describes.

    Args:
        file: at the start of the pickle; afterwards at its end.

    Raises:
        ValueError: one of its tuples has too many elements, or it is damaged.
    """
    stack: list[int] = []  # elements of each tuple, 1 for anything else, `_MARK`
    memo: dict[Any, int] = {}
    try:
        for opcode, argument, _ in pickletools.genops(file):
            if opcode.name in _PUTS or opcode.name == "MEMOIZE":
                memo[len(memo) if opcode.name == "MEMOIZE" else argument] = stack[-1]
                continue
            if opcode.name in _GETS:
                stack.append(memo[argument])
                continue
            taken: list[int] = []
            for kind in reversed(opcode.stack_before):
                if kind is pickletools.stackslice:
                    while stack[-1] != _MARK:
                        taken.append(stack.pop())
                else:
                    taken.append(stack.pop())
            size = 1
            if opcode.name in _TUPLES:
                size = 1 + sum(each for each in taken if each != _MARK)
            if size > MAX_ELEMENTS:
                raise ValueError(f"it has a tuple of more than {MAX_ELEMENTS} elements, tuples in tuples")
            stack += [_MARK if kind is pickletools.markobject else size for kind in opcode.stack_after]
    except (IndexError, KeyError) as error:
        raise ValueError("it takes what it has not made") from error
