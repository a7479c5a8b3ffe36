"""Measure the changes by rounding the snapshots of a history to 8 bits.

python docs/measurements/rounded_snapshots.py checkpoints/multi30k.history.zip checkpoints/multi30k.safetensors
python docs/measurements/rounded_snapshots.py multi30k.history.zip runs/multi30k

Compares the last snapshot with the checkpoint of its run, or all with those of the run's folder, on the sample of the
page Over training. All are given the greedy translations of the last rounded snapshot. `-o FILE` writes that snapshot,
for `python -m train evaluate FILE`.
"""

import argparse
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import torch
from torch import Tensor

from core import Translator, save_checkpoint
from core.analysis.heads.scorer import piece_frequencies
from core.analysis.lens.logit_lens import logit_lens
from core.analysis.over_training.history import open_history
from core.analysis.over_training.roles import SCORES, role
from core.analysis.over_training.snapshot_reading import Pair, cards_on
from viz_app.session.sample_sentences import SHIPPED


def main() -> None:
    """Print the time of opening, and the changes by rounding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounded", type=Path, help="a file of `train history`")
    parser.add_argument("exact", type=Path, help="the checkpoint of the last snapshot, or the run's folder")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write the last rounded snapshot to this .safetensors file"
    )
    arguments = parser.parse_args()
    started = time.perf_counter()
    history = open_history(arguments.rounded)
    print(f"{len(history.steps)} snapshots, opened in {time.perf_counter() - started:.1f} s")
    last = history.steps[-1]
    targets = history.translator(last).translate_batch(SHIPPED, beam_size=1)
    pairs = [(source, each.hypotheses[0].token_ids) for source, each in zip(SHIPPED, targets, strict=True)]
    if arguments.exact.is_dir():
        for step, translator in open_history(arguments.exact):
            compare(step, translator, history.translator(step), pairs)
    else:
        compare(last, Translator.from_checkpoint(arguments.exact), history.translator(last), pairs)
    if arguments.output:
        checkpoint = history.checkpoint(last)
        save_checkpoint(arguments.output, checkpoint.model, checkpoint.tokenizer, checkpoint.training)


def compare(step: int, exact: Translator, rounded: Translator, pairs: Sequence[Pair]) -> None:
    """Print how far two translators are apart."""
    models = exact, rounded
    own = [[each.text for each in model.translate_batch(SHIPPED)] for model in models]
    num_same = sum(one == other for one, other in zip(*own, strict=True))
    print(f"step {step:,}: {num_same} of {len(pairs)} own translations are the same")
    lenses = [[logit_lens(model, source, target, 1) for source, target in pairs] for model in models]
    log_probs = [
        torch.cat([torch.tensor(each.explanation.log_probs) for each in of_translator]) for of_translator in lenses
    ]
    print(f"  log-probability of a token, nats:   {distance(*log_probs)}")
    maps = [[each.explanation.maps for each in of_translator] for of_translator in lenses]
    weights = [
        torch.cat([each.weights.flatten() for of_sentence in of_translator for each in chain(*of_sentence.values())])
        for of_translator in maps
    ]
    print(f"  attention weight:                   {distance(*weights)}")
    predicted = [
        torch.cat([each.predicted_log_probs.exp().flatten() for each in of_translator]) for of_translator in lenses
    ]
    print(f"  lens, probability of a last token:  {distance(*predicted)}")
    tokens = [torch.cat([each.token_ids.flatten() for each in of_translator]) for of_translator in lenses]
    print(f"  lens, most probable token:          the same in {(tokens[0] == tokens[1]).float().mean():.1%} of cells")
    frequencies = piece_frequencies(rounded.tokenizer, SHIPPED)
    cards = [cards_on(model, pairs, frequencies) for model in models]
    scores = [
        torch.tensor([[score(card) for score in SCORES.values()] for card in of_translator]) for of_translator in cards
    ]
    print(f"  score of a head:                    {distance(*scores)}")
    roles = [[role(card) for card in of_translator] for of_translator in cards]
    num_others = sum(one != other for one, other in zip(*roles, strict=True))
    print(f"  role of a head:                     {num_others} of {len(cards[0])} are others")


def distance(one: Tensor, other: Tensor) -> str:
    """The distances of numbers, without those that are NaN, as text."""
    differences = (one - other).abs()
    differences = differences[~differences.isnan()]
    return f"{differences.mean():.4f} on average, {differences.max():.3f} at most"


if __name__ == "__main__":
    main()
