"""Random damage to files."""

import random


def damaged(data: bytes, chance: random.Random, start: int = 0, stop: int | None = None) -> bytes:
    """A copy with bytes changed, removed or repeated at one to ten places between `start` and `stop`, as of slices."""
    changed, places = bytearray(data), range(len(data))[start:stop]
    for _ in range(chance.choice((1, 3, 10))):
        place = chance.choice(places) if places else 0
        match chance.randrange(3):
            case 0:
                changed[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                changed[place : place + chance.randrange(1, 40)] = b""
            case _:
                changed[place:place] = changed[place : place + chance.randrange(1, 40)]
    return bytes(changed)
