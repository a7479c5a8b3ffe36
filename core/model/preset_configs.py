"""Configurations by name: the paper's, the variations of its section 6.2, and those of the shipped models."""

from dataclasses import replace

from core.model.config import TransformerConfig

_BASE = TransformerConfig(vocab_size=37_000)
_BIG = replace(_BASE, d_model=1024, d_ff=4096, num_heads=16, dropout=0.3)
_REVERSE = replace(
    _BASE, vocab_size=281, d_model=64, d_ff=128, num_heads=4, num_encoder_layers=2, num_decoder_layers=2, dropout=0.0
)

# A preset's vocabulary is the paper's; give your own with `dataclasses.replace(PRESETS["base"], vocab_size=8000)`. The
# rows of Table 3 carry its letters. Rows D-label-smoothing-* have the shape of the base model and differ in training.
PRESETS: dict[str, TransformerConfig] = {
    "base": _BASE,
    "big": _BIG,
    "big-en-fr": replace(_BIG, vocab_size=32_000, dropout=0.1),  # English-French (5.1, 6.1)
    "A-h1": replace(_BASE, num_heads=1, d_k=512, d_v=512),
    "A-h4": replace(_BASE, num_heads=4, d_k=128, d_v=128),
    "A-h16": replace(_BASE, num_heads=16, d_k=32, d_v=32),
    "A-h32": replace(_BASE, num_heads=32, d_k=16, d_v=16),
    "B-dk16": replace(_BASE, d_k=16),
    "B-dk32": replace(_BASE, d_k=32),
    "C-N2": replace(_BASE, num_encoder_layers=2, num_decoder_layers=2),
    "C-N4": replace(_BASE, num_encoder_layers=4, num_decoder_layers=4),
    "C-N8": replace(_BASE, num_encoder_layers=8, num_decoder_layers=8),
    "C-d256": replace(_BASE, d_model=256, d_k=32, d_v=32),
    "C-d1024": replace(_BASE, d_model=1024, d_k=128, d_v=128),
    "C-ff1024": replace(_BASE, d_ff=1024),
    "C-ff4096": replace(_BASE, d_ff=4096),
    "D-dropout0.0": replace(_BASE, dropout=0.0),
    "D-dropout0.2": replace(_BASE, dropout=0.2),
    "D-label-smoothing0.0": _BASE,
    "D-label-smoothing0.2": _BASE,
    "E-learned": replace(_BASE, positions="learned"),
    # The shipped English-German model: the paper's depth and heads at half its width, so that it trains on a CPU.
    "en-de": replace(_BASE, vocab_size=8_000, d_model=256, d_ff=1024),
    # A draft model for its speculative decoding: little to compute for a token, as the encoder runs once a sentence.
    "en-de-draft": replace(
        _BASE, vocab_size=8_000, d_model=128, d_ff=512, num_heads=4, num_encoder_layers=3, num_decoder_layers=1
    ),
    # en-de without causal mask, for mask-predict. Its mask token is `<unk>`: with pieces for all bytes, no text has it.
    "en-de-mask-predict": replace(_BASE, vocab_size=8_000, d_model=256, d_ff=1024, mask_id=3),
    # For a small corpus of image captions on a CPU: size and dropout of the small model of Wu et al. 2021, roughly.
    "multi30k": replace(
        _BASE,
        vocab_size=8_000,
        d_model=128,
        d_ff=256,
        num_heads=4,
        num_encoder_layers=4,
        num_decoder_layers=4,
        dropout=0.3,
    ),
    # Constituency parsing (6.3): 4 layers, d_model 1024, the rest as base; the dropout is that of
    # `transformer_parsing_base` in the authors' Tensor2Tensor, as the paper only says that it was tuned. With 32,000
    # pieces for semi-supervised training.
    "parsing": replace(_BASE, vocab_size=16_000, d_model=1024, num_encoder_layers=4, num_decoder_layers=4, dropout=0.2),
    # Parsing from a few thousand trees, on a CPU.
    "parsing-small": replace(
        _BASE,
        vocab_size=4_000,
        d_model=192,
        d_ff=768,
        num_heads=4,
        num_encoder_layers=3,
        num_decoder_layers=3,
        dropout=0.3,
    ),
    # Reads a picture of one line of text, 24 pixels high, as 8 x 8 patches, and writes its characters: inputs other
    # than text are the paper's outlook (7). Small enough to train on one core of a CPU in less than an hour.
    "lines": replace(
        _BASE,
        vocab_size=100,
        d_model=128,
        d_ff=512,
        num_heads=4,
        num_encoder_layers=4,
        num_decoder_layers=3,
        patch_size=8,
        patch_rows=3,
    ),
    # Write letters in reverse order, to compare positions (3.5) and self-attention restricted to the 4 nearest, which
    # section 4 leaves for later, in two minutes of training each: see docs/measurements/extrapolation.py.
    "reverse": _REVERSE,
    "reverse-learned": replace(_REVERSE, positions="learned", max_positions=32),
    "reverse-r4": replace(_REVERSE, neighbourhood=4),
    # For tests: all parts, tiny sizes.
    "tiny": replace(
        _BASE,
        vocab_size=64,
        d_model=32,
        d_ff=64,
        num_heads=4,
        num_encoder_layers=2,
        num_decoder_layers=2,
        max_positions=64,
    ),
}
