"""Unusual sentences, from a seed: any Unicode, markup, control characters, very long words."""

import os
import random
import time
from collections.abc import Callable, Iterator

MARKUP = (
    *(
        "<script>alert(1)</script>",
        "</svg>",
        "<b>",
        "&amp;",
        "&#x3C;",
        "]]>",
        "<!--",
        "-->",
        "\"'><img src=x onerror=a>",
    ),
    *("**a**", "_b_", "`c`", "[d](e)", "![](x)", ":red[f]", ":smile:", "# g", "| h |", "~~i~~", "{{j}}", "{k}", "%s"),
    *("$x_1^2$", "\\frac{a}{b}", "\\", "$$", "\\n", "%", "#{l}", "${m}", "__import__('os')", "<s>", "</s>", "<0x41>"),
    *("<unk>", "<pad>", "<mask>", "<0x", "<0xE2><0x96><0x81>", ">>fra<<", "\u2581", "\u2581the", "@@", "&#9601;"),
    *(
        "$\\sum_{i=1}^n \\frac{q_i k_i}{\\sqrt{d_k}}$",
        "\\(a\\)",
        "E = m c^2",
        "x\u0302\u2080 \u2264 \U0001d453(\U0001d465)\u00b2",
        "\\begin{x}",
    ),
)
MARKS = [chr(code) for code in (*range(0x300, 0x370), 0x20DD, 0x1DC4, 0xFE0F, 0x200D, 0x0E31, 0x093F)]
CONTROLS = [chr(code) for code in (*range(32), 0x7F, *range(0x80, 0xA0), 0xAD, 0x200B, 0x2028, 0x2029, 0xFEFF, 0xFFFE)]
TURNS = [*"\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"]
EMOJI = (
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",  # joined
    "\U0001f44d\U0001f3fd",  # with a colour
    "\U0001f1e9\U0001f1ea",  # a flag
    "1\ufe0f\u20e3",  # a keycap
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",  # with tags
)
WORDS = ("A", "dog", "runs", "through", "green", "grass", ".", "Die", "Straße", "führt", "Brücken", ",", "1505", "!")
PLANES = [(0, 0xD800), (0xE000, 0x10000), (0x10000, 0x20000), (0x20000, 0x30000), (0xE0000, 0x110000)]
Generator = random.Random


def _any_plane(random: Generator) -> str:
    return "".join(chr(random.randrange(*random.choice(PLANES))) for _ in range(random.randrange(1, 9)))


def _stacked(random: Generator) -> str:
    return random.choice("aeionש") + "".join(random.choices(MARKS, k=random.choice((1, 2, 3, 30))))


def _right_to_left(random: Generator) -> str:
    letters = [chr(random.randrange(*random.choice([(0x5D0, 0x5EB), (0x621, 0x64B)]))) for _ in range(6)]
    return random.choice(TURNS) + "".join(letters) + random.choice(["", *TURNS])


PARTS: tuple[Callable[[Generator], str], ...] = (
    lambda random: random.choice(WORDS),
    lambda random: random.choice(MARKUP),
    lambda random: random.choice(EMOJI),
    lambda random: "".join(random.choices(CONTROLS, k=random.randrange(1, 4))),
    lambda random: random.choice("xß漢\u0e01") * random.choices((1, 20, 300), (60, 38, 2))[0],
    _any_plane,
    _stacked,
    _right_to_left,
)
BLANKS = ("", " ", "\n", "\t \r\n", "\u00a0\u3000", "\u2028", "\x1f")
REASONS = ("surrogate", "nothing to translate", "at most", "has no tokens")  # why a sentence is refused
SURROGATES = [*"\ud800\udbff\udc00\udfff"]


def strange_sentence(seed: str, number: int) -> str:
    """A sentence of up to twelve parts, which depends on a seed and its number alone.

    One in fifty has a lone surrogate, which is no text, one in a hundred is blank, and one in two hundred is long.
    """
    random = Generator(f"{seed} {number}")
    fate = random.random()
    if fate < 0.01:
        return random.choice(BLANKS)
    separator = random.choice(("", " ", "  "))
    count = random.randrange(100, 400) if fate < 0.015 else random.randrange(1, 13)
    parts = [random.choice(PARTS)(random) for _ in range(count)]
    if random.random() < 0.02:
        parts.insert(random.randrange(len(parts)), random.choice(SURROGATES))
    return separator.join(parts)


def sentence_numbers(default: int) -> range:
    """The numbers of the sentences to try: `SENTENCES` of them, from `FIRST_SENTENCE` on."""
    first = int(os.environ.get("FIRST_SENTENCE", "0"))
    return range(first, first + int(os.environ.get("SENTENCES", str(default))))


def with_progress(numbers: range, step: int = 1000) -> Iterator[int]:
    """The numbers; says after every thousand how long they took."""
    start = time.monotonic()
    for done, number in enumerate(numbers):
        if done and done % step == 0:
            print(f"{done} of {len(numbers)} sentences in {time.monotonic() - start:.0f} s", flush=True)
        yield number


def is_text(sentence: str) -> bool:
    """Whether UTF-8 can encode a sentence: it has no lone surrogate."""
    return not any("\ud800" <= character < "\ue000" for character in sentence)


def reason(error: ValueError, *others: str) -> str:
    """The message of an error; fails if it gives none of the reasons for which a sentence is refused, or others."""
    message = str(error)
    assert any(each in message for each in (*REASONS, *others)), message
    return message
