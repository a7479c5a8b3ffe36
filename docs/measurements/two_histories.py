"""Measure how far a history is from the same history rounded to 8 bits.

python docs/measurements/two_histories.py checkpoints/en-de.history checkpoints/en-de.history.zip

Where both were rounded from the same numbers, no weight of a matrix is more than half a step of 8 bits away, and no
other parameter differs by more than 16 bits do.
"""

import argparse
from pathlib import Path

import torch
from torch import Tensor

from core.history import open_history

FINEST = 2.0**-40


def main() -> None:
    """Print the distances of each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("history", type=Path, help="of `train history`")
    parser.add_argument("rounded", type=Path, help="of `train history --eight-bits`")
    arguments = parser.parse_args()
    history, rounded = open_history(arguments.history), open_history(arguments.rounded)
    for step in history.steps:
        exact, eight_bits = (dict(each.checkpoint(step).model.named_parameters()) for each in (history, rounded))
        distances, others, num_other = [], 0, 0
        for name, parameter in exact.items():
            one, other = parameter.detach(), eight_bits[name].detach()
            if one.ndim == 2:
                distances.append(distance(one, other))
            else:
                others += int((one != other).sum())
                num_other += one.numel()
        found = torch.cat(distances)
        print(
            f"step {step:>6,}: {len(found):,} weights at most {found.max():.3f} steps away; "
            f"{others:,} of {num_other:,} other parameters differ"
        )


def distance(exact: Tensor, rounded: Tensor) -> Tensor:
    """How far weights are from rounded ones, in steps of their rows.

    A step is the largest power of two that divides all numbers of a row. Rows of zeros are left out.
    """
    multiples = (rounded / FINEST).long()
    divisors = torch.where(multiples == 0, torch.iinfo(torch.long).max, multiples & -multiples).amin(1)
    rows = (rounded != 0).any(1)
    return ((exact - rounded)[rows].abs() / (divisors[rows, None] * FINEST)).flatten()


if __name__ == "__main__":
    main()
