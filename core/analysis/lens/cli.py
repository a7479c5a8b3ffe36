"""`python -m core lens`: what each layer predicts, as CSV."""

import argparse

from core.analysis.csv_output import write_csv
from core.analysis.lens.decoder_lens import encoder_translations
from core.analysis.lens.logit_lens import lens_columns, logit_lens
from core.analysis.sentence_arguments import add_sentence_arguments, sentence_target
from core.translator import Translator


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `lens` to a parser."""
    add_sentence_arguments(parser)
    parser.add_argument("--top", type=int, default=3, metavar="K", help="tokens for each state (default: %(default)s)")
    parser.add_argument(
        "--encoder", action="store_true", help="print the translation from each encoder layer instead (DecoderLens)"
    )


def run(options: argparse.Namespace) -> None:
    """Print top tokens by decoder layer, or translations by encoder layer.

    Level 0 is the input of the stack, level l its state after layer l counted from 1; positions are counted from 0.

    Raises:
        ValueError: the text or an option is invalid.
        OSError: the checkpoint cannot be read.
    """
    if options.top < 1:
        raise ValueError(f"--top ({options.top}) must be at least 1: the number of tokens for each state")
    translator = Translator.from_checkpoint(options.checkpoint)
    if options.encoder:
        found = encoder_translations(translator, options.text, options.beam_size, options.length_penalty)
        write_csv(
            {
                "level": range(len(found)),
                "log_prob": [translation.log_prob for translation in found],
                "translation": [translation.text for translation in found],
            }
        )
        return
    lens = logit_lens(translator, options.text, sentence_target(translator, options), options.top)
    write_csv(lens_columns(lens, translator.tokenizer.target.piece))
