"""`python -m core patch`: activation patching between two sentences.

Also proposals for the second one.
"""

import argparse
import re

from core.analysis.csv_output import write_csv
from core.analysis.heads.head import Head
from core.analysis.interventions.minimal_pairs import minimal_pairs
from core.analysis.interventions.pair_runs import METRICS, PairRuns
from core.analysis.interventions.patch_tables import heads_columns, map_columns, paths_columns
from core.analysis.interventions.patching import INTO, all_patched, mean_map, patching_map
from core.analysis.interventions.path_patching import INPUTS, HeadInput, Receiver, path_effects, possible_senders
from core.analysis.interventions.recorded_runs import record_runs
from core.analysis.sentence_arguments import add_sentence_arguments, require_position, sentence_target
from core.capture import Kind
from core.files.console import show
from core.translator import Translator

_KINDS: dict[str, Kind] = {"encoder": "encoder_self", "decoder": "decoder_self", "cross": "cross"}
_LAYER = re.compile(r"(encoder|decoder|cross) L([1-9]\d{0,2})")
_RECEIVER = re.compile(rf"(encoder|decoder|cross) L([1-9]\d{{0,2}}) H([1-9]\d{{0,2}}) ({'|'.join(INPUTS)})")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `patch` to a parser."""
    add_sentence_arguments(parser)
    parser.add_argument("--propose", action="store_true", help="print sentences of equal length in tokens, and stop")
    parser.add_argument(
        "--corrupted",
        nargs="+",
        metavar="TEXT",
        help="the second sentence; with several, the mean over all pairs is printed",
    )
    parser.add_argument("--token", type=int, metavar="N", help="number of the predicted token, counted from 1")
    parser.add_argument(
        "--against",
        metavar="PIECE",
        help="the token to compare with, such as \u2581Junge (default: the best other one of the corrupted run)",
    )
    parser.add_argument(
        "--metric",
        choices=METRICS,
        default="difference",
        help="difference of two logits, or log-probability of the token (default: %(default)s)",
    )
    parser.add_argument("--into", choices=INTO, default="corrupted", help="run to patch (default: %(default)s)")
    detail = parser.add_mutually_exclusive_group()
    detail.add_argument(
        "--heads", metavar="LAYER", help="patch each head of a layer, such as 'cross L5', at each position instead"
    )
    detail.add_argument(
        "--paths-to",
        metavar="RECEIVER",
        help="patch the paths from each head to the queries, keys or values of one instead, such as "
        "'cross L5 H3 value'",
    )
    parser.add_argument(
        "--hold-networks", action="store_true", help="for --paths-to: feed-forward networks do not change on the way"
    )


def run(options: argparse.Namespace) -> None:
    """Print the proposals, or the effect of each patch, head or path, as CSV.

    Both metrics are printed on stderr. Layers, heads and positions are counted from 0 in the tables.

    Raises:
        ValueError: a text or an option is invalid, or the sentences cannot be patched.
        OSError: the checkpoint cannot be read.
    """
    layer, receiver = parsed_layer(options.heads), parsed_receiver(options.paths_to)
    if not options.propose and (options.corrupted is None or options.token is None):
        raise ValueError("--corrupted and --token are needed: give a second sentence and a token, or see --propose")
    translator = Translator.from_checkpoint(options.checkpoint)
    if options.propose:
        pairs = minimal_pairs(translator, options.text)
        write_csv(
            {
                "contrast": [pair.contrast for pair in pairs],
                "text": [pair.text for pair in pairs],
                "reason": [pair.reason for pair in pairs],
            }
        )
        return
    if len(options.corrupted) > 1 and (layer or receiver):
        raise ValueError(f"{len(options.corrupted)} sentences are given: --heads and --paths-to patch one pair")
    pairs = _recorded(translator, options)
    runs, into = pairs[0], options.into
    if layer is not None:
        write_csv(heads_columns(runs, *layer, into))
    elif receiver is not None:
        senders = possible_senders(translator.model, receiver)
        effects = path_effects(runs, senders, [receiver], into, hold_networks=options.hold_networks)
        write_csv(paths_columns(senders, effects))
    else:
        write_csv(map_columns(pairs, mean_map([patching_map(each, into) for each in pairs])))
    for each in pairs:
        first, second = map(translator.piece, (each.token, each.against))
        what = f"{first} minus {second}" if each.metric == "difference" else f"log-probability of {first}"
        gap = abs(all_patched(each) - each.clean)
        show(f"{what}: clean {each.clean:.6f}, corrupted {each.corrupted:.6f}; all patched: clean (gap {gap:.1g})")


def _recorded(translator: Translator, options: argparse.Namespace) -> list[PairRuns]:
    """Runs of the sentence with each corrupted one.

    Raises:
        ValueError: as `record_runs`.
    """
    target = sentence_target(translator, options)
    position = require_position(options.token, translator.pieces(translator.token_ids(options.text, target).predicted))
    against = None if options.against is None else translator.tokenizer.target.token_id(options.against)
    return [
        record_runs(translator, options.text, text, target, position, None, against, options.metric)
        for text in options.corrupted
    ]


def parsed_layer(name: str | None) -> tuple[Kind, int] | None:
    """Parse an attention layer such as `cross L5`.

    Raises:
        ValueError: the name is not that of a layer.
    """
    if name is None:
        return None
    parts = _LAYER.fullmatch(name)
    if parts is None:
        raise ValueError(f"--heads ({name}) must be a layer such as 'cross L5' or 'encoder L1', counted from 1")
    return _KINDS[parts[1]], int(parts[2]) - 1


def parsed_receiver(name: str | None) -> Receiver | None:
    """Parse a receiver such as `cross L5 H3 value`.

    Raises:
        ValueError: the name is not that of a receiver.
    """
    if name is None:
        return None
    parts = _RECEIVER.fullmatch(name)
    if parts is None:
        raise ValueError(
            f"--paths-to ({name}) must be the queries, keys or values of a head, counted from 1, such as "
            f"'cross L5 H3 value'"
        )
    which: HeadInput = next(each for each in INPUTS if each == parts[4])
    return Receiver(Head(_KINDS[parts[1]], int(parts[2]) - 1, int(parts[3]) - 1), which)
