"""What a model copies letter by letter, and what it makes of capitals, on sentences made by rule.

    python -m benchmarks.copying [CHECKPOINT] [--number 100] [--seed 1] [--cases FILE ...] [--wrong] [--quick]

A translation is right if it has what was to be copied letter by letter, numbers in any notation, and if at most a third
of its words came over as they were (the signs `numbers`, `lost` and `copied`). For capitals, chrF against the
translation of the same text in small letters, both without case, tells translations from letters at random.
`--cases` are files of sources, one a line, without what follows a tab. `--wrong` prints what is not right.
"""

import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import sacrebleu

from benchmarks import ratios
from benchmarks.capture import SHIPPED
from core import Translator
from core.analysis.signs.text_signs import copied_sign, lost_sign, numbers_sign
from core.text.text_files import read_text, split_lines
from train.data.synthetic_pairs import written

MOST_COPIED = 1 / 3
FRAMES = (
    *("The sticker on the crate says {}.", "Nobody at the desk could explain {}.", "Please read {} to me again."),
    *("We wrote {} on the wall of the kitchen.", "Is {} still on your list?", "The old machine printed {} all night."),
    *("{} was what she had asked for.", "Keep {} in mind when you begin.", "Without {} the door does not open."),
)
VERBATIM = (  # marks as in `train.data.synthetic_pairs`
    *("~@~.de", "~.~@~.example", "https://~.example/~/~", "www.~.net", "/opt/~/~", "~.csv", "~_~.py", "--~", "{~}"),
    *("%s", "{~_~}", "<em>^~</em>", "<br>", "~_~()", "@~", "^^-9999", "+99 999 999999", "9.99.9", "192.168.9.9", "☺"),
)
WORDS = "lamp", "orbit", "quill", "tarn", "vexo", "mirel", "basin", "ketto", "plume", "sorrel"
SUBJECTS = "The teacher", "Two boys", "My neighbour", "A young woman", "Her brother", "The old man"
ACTIONS = "will buy bread", "must not open the window", "forgot the key", "could not find the way", "bought a red coat"
ENDINGS = "", "today", "in the garden", "at the station", "because it was cold"
KINDS = "digits", "dates", "verbatim", "capitals"


def sentences(kind: str, number: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield sentences of a kind, and what is to be copied letter by letter; "" where another notation is right, too."""
    draw = random.Random(f"{kind} {seed}")
    spoken = [f"{' '.join(words).rstrip()}." for words in product(SUBJECTS, ACTIONS, ENDINGS)]
    for index in range(number):
        match kind:
            case "digits":
                item = "".join(draw.choices("0123456789", k=1 + index % 12))
            case "dates":
                day, month, year, hour = (draw.randint(*ends) for ends in ((1, 28), (1, 12), (1950, 2050), (0, 23)))
                written_dates = f"{year}-{month:02}-{day:02}", f"{day:02}.{month:02}.{year}", f"May {day}, {year}"
                item = (*written_dates, f"{hour}:{draw.randint(10, 59)}")[index % 4]
            case "verbatim":
                item = written([VERBATIM[index % len(VERBATIM)]], WORDS, draw)
            case _:
                yield draw.choice(spoken).upper(), ""
                continue
        yield draw.choice(FRAMES).format(item), item if kind == "verbatim" else ""


def is_right(source: str, translation: str, item: str) -> bool:
    """Whether a translation has all that was to be copied, and is one."""
    missing = numbers_sign(source, translation).value or lost_sign(source, translation).value
    return item in translation and not missing and copied_sign(source, translation).value <= MOST_COPIED


def main() -> None:
    """Translate and print the table."""
    parser = ratios.parser(__doc__, number=100, seed=1)
    parser.add_argument("checkpoint", nargs="?", default=SHIPPED, help="a file, or the name of a shipped one")
    parser.add_argument("--cases", type=Path, nargs="*", default=[])
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--quick", action="store_true", help="four sentences of each kind: only checks that it works")
    options = parser.parse_args()
    translator = Translator.from_checkpoint(options.checkpoint)
    number = 4 if options.quick else options.number
    sets = {kind: list(sentences(kind, number, options.seed)) for kind in KINDS}
    for path in options.cases:
        sets[str(path)] = [(line.split("\t")[0], "") for line in split_lines(read_text(path))]
    print("kind | right | of")
    for name, cases in sets.items():
        texts = [each.text for each in translator.translate_batch([source for source, _ in cases])]
        wrong = [
            f"  {source} -> {text}"
            for (source, item), text in zip(cases, texts, strict=True)
            if not is_right(source, text, item)
        ]
        note = ""
        if name == "capitals":
            small = translator.translate_batch([source.capitalize() for source, _ in cases])
            references = [each.text.casefold() for each in small]
            score = sacrebleu.corpus_chrf([text.casefold() for text in texts], [references]).score
            note = f" (chrF {score:.1f} against small letters)"
        print(f"{name} | {len(cases) - len(wrong)} | {len(cases)}{note}", *(wrong if options.wrong else ()), sep="\n")


if __name__ == "__main__":
    main()
