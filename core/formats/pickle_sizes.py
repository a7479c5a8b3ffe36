"""Bounds on the steps and the memory that reading a pickle takes, checked before it is read.

A pickle may refer again and again to an object that it has made once. Forty tuples, each holding the one before twice,
take 2^40 uninterruptible steps as a key of a dictionary; a dictionary of a megabyte that is copied a thousand times
takes a gigabyte; and some of the functions that PyTorch lets a pickle call make gigabytes from a number.
"""

import pickletools
import re
from collections.abc import Collection
from io import BytesIO
from typing import Any

from core.files.budget import MAX_PICKLE_STEPS

CALLED = {
    "collections.OrderedDict",
    "collections.Counter",
    "builtins.set",
    "_codecs.encode",  # bytes, in older protocols
    "torch.Size",
    "torch.device",
    *(f"torch._utils._rebuild_{kind}" for kind in ("tensor", "tensor_v2", "parameter")),
}
TYPES = re.compile(  # of elements
    r"torch\.(cuda\.)?((Double|Float|Half|BFloat16|Long|Int|Short|Char|Byte|Bool)Storage|b?float\d+|u?int\d+|bool)"
)
_CHARACTERS = 64  # of a text, that count as one element
_SLOW, _NAMED = 3, 8  # steps of an operation on other values, and of one that calls for a name
_PUTS, _GETS = {"PUT", "BINPUT", "LONG_BINPUT"}, {"GET", "BINGET", "LONG_BINGET"}
_FILLS = {"APPEND", "APPENDS", "SETITEM", "SETITEMS"}
_CALLS = {"REDUCE", "NEWOBJ", "NEWOBJ_EX", "OBJ", "INST", "BUILD"}
_LEAVES = {  # numbers and texts, most of the operations of a long pickle
    each.name
    for each in pickletools.opcodes
    if each.name.startswith(("BIN", "SHORT_BIN", "LONG", "INT", "FLOAT", "NONE", "NEW", "UNICODE", "STRING"))
    and not each.stack_before
    and each.name not in _PUTS | _GETS
}


class ForeignCallError(ValueError):
    """A pickle calls something that is not part of a tensor: a class or function called `name`."""

    def __init__(self, name: str) -> None:
        super().__init__(f"it calls for {name:.80}")
        self.name = name


class _Value:
    """A value that a pickle makes."""

    __slots__ = "is_filled", "size"

    def __init__(self, size: int) -> None:
        self.size = size  # number of elements, with those of tuples among them
        self.is_filled = False  # whether elements were added to it, so that it is no key of a dictionary


_MARK = _Value(0)
_LEAF = _Value(1)  # any number or short text


def check_pickle(file: BytesIO, inert: Collection[str] = (), steps: int = 0) -> int:
    """Read one pickle to its end without building objects; return the steps, with those of others of the file.

    Raises:
        ForeignCallError: it calls for something besides tensors, containers and what is `inert`.
        ValueError: it would take too many steps, or is damaged.
    """
    stack: list[_Value] = []
    memo: dict[Any, _Value] = {}
    try:
        for opcode, argument, _ in pickletools.genops(file):
            name, steps, size = opcode.name, steps + 1, 0
            if name in _LEAVES:
                size = _length(argument)
                stack.append(_Value(1 + size) if size else _LEAF)
            elif name in _PUTS:
                memo[argument] = stack[-1]
            elif name == "MEMOIZE":
                memo[len(memo)] = stack[-1]
            elif name in _GETS:
                stack.append(memo[argument])
            else:
                steps += _NAMED if name == "GLOBAL" else _SLOW
                if name == "GLOBAL":
                    _check_name(str(argument).replace(" ", "."), inert)
                size = _applied(stack, opcode, argument)
                if name in _CALLS or name.startswith("SETITEM"):  # keys are hashed
                    steps += size
            if steps > MAX_PICKLE_STEPS or size > MAX_PICKLE_STEPS:
                raise ValueError(f"to read it would take more than {MAX_PICKLE_STEPS} steps")
    except (IndexError, KeyError) as error:
        raise ValueError("it takes what it has not made") from error
    return steps


def _applied(stack: list[_Value], opcode: pickletools.OpcodeInfo, argument: object) -> int:
    """Apply an operation to the stack; return the number of elements that it copies or adds."""
    taken = _taken(stack, opcode)
    if opcode.name in _FILLS:
        stack.append(filled := taken.pop())
        if filled is _LEAF:
            raise ValueError("it adds elements to what has none")
        size = sum(1 if each.is_filled else each.size for each in taken)
        filled.size, filled.is_filled = filled.size + size, True
        return size
    size = _length(argument) + sum(each.size for each in taken) * (2 if opcode.name in _CALLS else 1)
    stack += [_MARK if each is pickletools.markobject else _Value(1 + size) for each in opcode.stack_after]
    return size


def _check_name(name: str, inert: Collection[str]) -> None:
    name = name.replace("__builtin__.", "builtins.")  # of Python 2
    if name not in CALLED and name not in inert and not TYPES.fullmatch(name):
        raise ForeignCallError(name)


def _taken(stack: list[_Value], opcode: pickletools.OpcodeInfo) -> list[_Value]:
    """Pop the operands of an operation from the stack, the last first."""
    taken: list[_Value] = []
    for kind in reversed(opcode.stack_before):
        if kind is pickletools.stackslice:
            while stack[-1] is not _MARK:
                taken.append(stack.pop())
        else:
            taken.append(stack.pop())
    return taken


def _length(argument: object) -> int:
    return len(argument) // _CHARACTERS if isinstance(argument, str | bytes | bytearray) else 0
