from collections import defaultdict
from pathlib import Path

import pytest

from core import Translator
from core.analysis import unfamiliar_source
from core.analysis.corpus.index_file import index_beside
from core.files.file_writing import file_digest

pytestmark = pytest.mark.usefixtures("short_translations")


CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"
SENTENCES = defaultdict[str, list[str]](list)  # English ones with names, and those of seven other languages
for line in Path(__file__).with_name("source_languages.tsv").read_text(encoding="utf-8").splitlines():
    SENTENCES[line.partition("\t")[0]].append(line.partition("\t")[2])


@pytest.mark.parametrize("name", ["en-de", "en-fr"])
def test_names_are_no_other_language_and_seven_others_are(name: str):
    path = CHECKPOINTS / f"{name}.safetensors"
    translator = Translator.from_checkpoint(path)
    language = unfamiliar_source.language_by_index(index_beside(path), file_digest(path), translator)
    assert language is not None
    assert unfamiliar_source.language_by_index(index_beside(path), "of another checkpoint", translator) is None
    assert unfamiliar_source.language_by_index(path, file_digest(path), translator) is None
    assert [text for text in SENTENCES["names"] if language.is_other(text)] == []
    assert not language.is_other("MARIE CURIE, 1903!")  # no word but names
    others = [text for name, texts in SENTENCES.items() if name != "names" for text in texts]
    assert len(SENTENCES) == 8
    assert sum(map(language.is_other, others)) >= 0.95 * len(others)


def test_the_letters_of_words_have_a_distribution():
    words = ["sea", "sees", "ease", "as", "sea"]
    model, letters = unfamiliar_source.SpelledWords(words), sorted({*"".join(words), ">"})
    for context in ("<<<", "<se", "zzz", "ase"):
        seen = sum(model.probability(context, letter) for letter in letters)
        assert seen + (unfamiliar_source.LETTERS - len(letters)) * model.probability(context, "q") == pytest.approx(1)
    assert model.strangeness(["sea", "as"]) == pytest.approx(-(model.log_prob("sea") + model.log_prob("as")) / 7)
    assert model.strangeness(["sea"]) < model.strangeness(["esa"]) < model.strangeness(["xyz"])
    assert model.strangeness([]) == 0


def test_code_is_in_no_language():
    text = (
        "Send <b>it</b> to xq@zv.org, {zqx}, /etc/xqz, --zq, zqx.csv and f() (see https://xq.zv/q?z=1), or 50% of it."
    )
    assert unfamiliar_source.words_but_names(text) == ["to", "and", "see", "or", "of", "it"]


def test_only_words_without_a_capital_are_judged():
    words = unfamiliar_source.words_but_names("Dr. Ana didn't see 3 \u72d7 in Rome, it's true")
    assert words == ["didn't", "see", "\u72d7", "in", "it's", "true"]
    with pytest.raises(
        ValueError, match=f"3 sentences say too little of their language: give {unfamiliar_source.FEWEST_SENTENCES}"
    ):
        unfamiliar_source.SourceLanguage(["a b"] * 3, ["c"] * 3)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("TWO MEN ARE SITTING.", "Two men are sitting."),
        ("BREAKING NEWS: Two men ARE HERE", "Breaking news: two men are here"),
        ("NASA AND ESA", "Nasa and esa"),
        ("The NASA and the ESA met.", ""),
        ("NATO", ""),
        ("A. B. C. D.", ""),
        ("\u4eca\u5929\u5f88\u597d", ""),
    ],
)
def test_capitals_are_put_in_lower_case(text: str, plain: str):
    assert unfamiliar_source.without_capitals(text) == plain


def test_unknown_characters_are_counted_as_characters_and_not_as_bytes(translator: Translator):
    for known, unknown, text in ((0, 2, "\U0001f600 \U0001f436"), (4, 1, "dog. \U0001f436"), (3, 0, "A. b")):
        found = translator.translate(text, beam_size=1)
        assert unfamiliar_source.unknown_share(found) == pytest.approx(unknown / (known + unknown))
        assert unfamiliar_source.source_problem(found, None) == ("unknown" if unknown > known else "")
