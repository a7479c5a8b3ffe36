"""The options of `python -m core translate` that decide which translations are found."""

import argparse
from pathlib import Path
from typing import Any, get_args

from core.cli.file_translation.engine import Engine, threads_per_process
from core.decoding import Constraints, Sampling, forbidden_token
from core.decoding.limits import MAX_EXTRA_TOKENS
from core.decoding.mask_predict import ITERATIONS, LENGTH_CANDIDATES
from core.decoding.sampling import RANGES
from core.decoding.states import BEAM_SIZES, LENGTH_PENALTIES
from core.files.number_range import NumberRange
from core.inference.device import Precision
from core.translator import Translator

SAMPLING = {
    "temperature": "below 1 for probable words, above 1 for others too (default: 1)",
    "top_k": "draw from the N most probable tokens; 0 for all (default: 0)",
    "top_p": "draw from the fewest tokens with this probability together (default: 1)",
    "min_p": "draw from tokens with this share of the most probable one's probability (default: 0)",
    "seed": "the same seed draws the same samples (default: 0)",
}


def add_search_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that decide which translations are found."""
    parser.add_argument("--beam-size", type=BEAM_SIZES, help="beam size; 1 is greedy search (default: 4)")
    parser.add_argument(
        "--length-penalty",
        type=LENGTH_PENALTIES,
        metavar="ALPHA",
        help="exponent of the length penalty; 0 for none (default: 0.6)",
    )
    parser.add_argument(
        "--n-best", type=BEAM_SIZES, default=1, help="up to N hypotheses a line, best first, with tabs between them"
    )
    parser.add_argument(
        "--draft",
        type=Path,
        help="a small checkpoint with the same vocabulary that drafts tokens for greedy search (speculative decoding): "
        "the same translations, a sentence at a time; implies --beam-size 1",
    )
    parser.add_argument(
        "--iterations",
        type=ITERATIONS,
        help="iterations of mask-predict, for a model without causal mask (default: 10)",
    )
    parser.add_argument(
        "--length-candidates",
        type=LENGTH_CANDIDATES,
        help="lengths that mask-predict tries for each sentence (default: 5)",
    )
    parser.add_argument(
        "--min-length",
        type=NumberRange(int, 0, MAX_EXTRA_TOKENS, note="every text has room for so many"),
        help="least number of tokens before the end of a translation (default: 0)",
    )
    parser.add_argument(
        "--forbid",
        nargs="+",
        metavar="TOKEN",
        help="words of one token, or pieces, that are not written: unter, or 3:unter for the third token only",
    )
    parser.add_argument(
        "--prefix",
        metavar="TEXT",
        help="text that every translation begins with; it may end inside a word, unless it ends with a space",
    )
    parser.add_argument(
        "--samples",
        type=RANGES["num_samples"],
        help="draw N translations a line at random instead of searching, with tabs between them",
    )
    for name, text in SAMPLING.items():
        parser.add_argument(_option(name), type=RANGES[name], help=f"of --samples: {text}")
    parser.add_argument(
        "--precision",
        choices=get_args(Precision),
        default="exact",
        help="fast: 8-bit integers or bfloat16 where measured to be faster; translations may differ",
    )


def engine_of(options: argparse.Namespace, translator: Translator) -> Engine:
    """The search selected by the options, with its defaults.

    Raises:
        ValueError: an option is for another kind of model, or more hypotheses are requested than it returns.
    """
    of_search, of_refinement = ("beam_size", "length_penalty"), ("iterations", "length_candidates")
    autoregressive = translator.config.autoregressive
    for name in of_refinement if autoregressive else of_search:
        if getattr(options, name) is not None:
            kind = "an autoregressive model" if autoregressive else "a model without causal mask, for mask-predict"
            fitting = of_search if autoregressive else of_refinement
            raise ValueError(
                f"{_option(name)} does not apply to {options.checkpoint.name}, which is {kind}: use "
                f"{' and '.join(map(_option, fitting))}, or another --checkpoint"
            )

    def value(name: str, default: Any) -> Any:
        given = getattr(options, name)
        return default if given is None else given

    common: dict[str, Any] = {
        "threads": threads_per_process(),
        "precision": options.precision,
        "n_best": options.n_best,
        "constraints": _constraints(options, translator),
        "prefix": _prefix(options, translator),
        "sampling": _sampling(options, translator),
    }
    if options.draft is not None:
        translator.codec.require_autoregressive("--draft")
        if (beam_size := value("beam_size", 1)) != 1:
            raise ValueError(
                f"--draft with --beam-size {beam_size}: speculative decoding has the result of greedy search only; "
                f"leave out one of them"
            )
        _require_n_best(options.n_best, "--beam-size", 1)
        return Engine(options.checkpoint, 1, value("length_penalty", 0.6), draft=options.draft, **common)
    if autoregressive:
        beam_size = value("beam_size", 4)
        _require_n_best(options.n_best, "--beam-size", beam_size)
        return Engine(options.checkpoint, beam_size, value("length_penalty", 0.6), **common)
    length_candidates = value("length_candidates", 5)
    _require_n_best(options.n_best, "--length-candidates", length_candidates)
    return Engine(options.checkpoint, length_candidates, 0.0, iterations=value("iterations", 10), **common)


def _require_n_best(n_best: int, option: str, limit: int) -> None:
    """Check that the number of hypotheses is not above that of another option."""
    if n_best > limit:
        raise ValueError(f"--n-best ({n_best}) must be from 1 to {option} ({limit})")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _constraints(options: argparse.Namespace, translator: Translator) -> Constraints:
    """The minimum length and the forbidden tokens, unless the model predicts all tokens at once."""
    for name in ("min_length", "forbid"):
        if getattr(options, name) is not None:
            translator.codec.require_autoregressive(_option(name))
    target = translator.tokenizer.target
    forbidden = tuple(forbidden_token(text, target) for text in options.forbid or ())
    return Constraints(min_length=options.min_length or 0, forbidden=forbidden)


def _prefix(options: argparse.Namespace, translator: Translator) -> str:
    """What every translation begins with, if the search can begin so."""
    if options.prefix is not None:
        translator.codec.require_autoregressive("--prefix")
        if other := next((name for name in ("draft", "samples") if getattr(options, name) is not None), None):
            raise ValueError(
                f"--prefix with {_option(other)}: only beam and greedy search complete a beginning; leave out one of "
                f"them"
            )
    return options.prefix or ""


def _sampling(options: argparse.Namespace, translator: Translator) -> Sampling | None:
    """How samples are drawn, None for a search."""
    given = {name: getattr(options, name) for name in SAMPLING if getattr(options, name) is not None}
    if options.samples is None:
        if given:
            raise ValueError(f"{_option(next(iter(given)))} needs --samples N: a search draws nothing at random")
        return None
    translator.codec.require_autoregressive("--samples")
    searches = [name for name in ("draft", "beam_size", "length_penalty") if getattr(options, name) is not None]
    if searches or options.n_best != 1:
        raise ValueError(
            f"--samples with {_option(next(iter(searches), 'n_best'))}: samples are drawn, not searched for; leave out "
            f"one of them"
        )
    return Sampling(num_samples=options.samples, **given)
