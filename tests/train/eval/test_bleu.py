import math

import pytest

from core.text import bleu_tokenizers
from tests.core.text.test_bleu_tokenizers import CHINESE, GERMAN, JAPANESE, KOREAN, THAI
from train.eval.bleu import bleu_notes, lowercased_bleu, paper_bleu, sacre_bleu, split_compounds, tokenized


def test_compounds_are_split_as_the_script_does() -> None:
    assert split_compounds("rich-text format") == "rich ##AT##-##AT## text format"
    assert split_compounds("a - b -c d- 3,5-fach") == "a - b -c d- 3,5 ##AT##-##AT## fach"
    assert split_compounds("E-Mail-Verkehr") == "E ##AT##-##AT## Mail ##AT##-##AT## Verkehr"


def test_tokens_are_those_of_moses_for_the_language() -> None:
    lines = ["Der E-Mail-Verkehr, z. B. am 3. Oktober, kostet 3,5 Mio. Euro."]
    assert tokenized(lines, "de") == ["Der E-Mail-Verkehr , z. B. am 3. Oktober , kostet 3,5 Mio. Euro ."]
    assert tokenized(["Rund 3 Mio. Euro"], "en") == ["Rund 3 Mio . Euro"]


def test_bleu_as_in_the_paper_computed_by_hand() -> None:
    """Tokens: `die Rich ##AT##-##AT## Text Datei .` against `eine Rich ##AT##-##AT## Text Datei .`, 6 each.

    1-grams 5 of 6, 2-grams 4 of 5, 3-grams 3 of 4, 4-grams 2 of 3; no brevity penalty: the product is 1/3.
    Unsplit, `die Rich-Text Datei .` has no four right tokens in a row, and nothing is smoothed.
    """
    hypotheses, references = ["die Rich-Text Datei."], ["eine Rich-Text Datei."]
    bleu = paper_bleu(hypotheses, references, "de")
    assert bleu.score == pytest.approx(100 * (1 / 3) ** 0.25)
    assert "case:mixed" in bleu.signature
    assert "smooth:none" in bleu.signature
    assert "(de) and compounds split" in bleu.signature
    assert lowercased_bleu(hypotheses, references, "de").score == 0


def test_lower_case_forgives_capitals_and_nothing_else() -> None:
    hypotheses, references = ["der hund sieht die Katze ."], ["Der Hund sieht die Katze!"]
    bleu = lowercased_bleu(hypotheses, references, "de")
    assert bleu.score == pytest.approx(100 * (5 / 6 * 4 / 5 * 3 / 4 * 2 / 3) ** 0.25)
    assert "case:lc" in bleu.signature
    # cased, no 4-gram matches, and there is no smoothing
    assert paper_bleu(hypotheses, references, "de").score == 0
    assert sacre_bleu(hypotheses, references).score > 0


def test_short_translations_are_penalised() -> None:
    bleu = lowercased_bleu(["a b c d e"], ["a b c d e f"], "de")
    assert bleu.score == pytest.approx(100 * math.exp(1 - 6 / 5))


@pytest.mark.parametrize(
    ("texts", "tokenizer"),
    [
        (CHINESE, "zh"),
        (JAPANESE, "char"),
        (KOREAN, "char"),
        (THAI, "char"),
        ([*THAI, *CHINESE], "char"),
        (GERMAN, "13a"),
    ],
)
def test_a_text_of_any_script_equals_itself(texts: list[str], tokenizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bleu_tokenizers, "find_spec", lambda _name: None)
    others = [text[1:] for text in texts]
    cased, paper, lowercased = (
        lambda hypotheses: sacre_bleu(hypotheses, texts),
        lambda hypotheses: paper_bleu(hypotheses, texts, "de"),
        lambda hypotheses: lowercased_bleu(hypotheses, texts, "de"),
    )
    for bleu in (cased, paper, lowercased):
        assert bleu(texts).score == pytest.approx(100)
        assert 0 < bleu(others).score < 100
    assert f"|tok:{tokenizer}|" in cased(texts).signature
    chosen = "sacremoses" if tokenizer == "13a" else f"sacreBLEU's {tokenizer}"
    assert f"tokenized by {chosen}" in lowercased(texts).signature
    assert f"tokenized by {chosen}" in paper(texts).signature
    assert paper(texts).signature.endswith("and compounds split")


def test_notes_name_the_tokenizer_and_texts_that_it_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bleu_tokenizers, "find_spec", lambda _name: None)
    assert bleu_notes(GERMAN, GERMAN, "de") == []
    assert bleu_notes(CHINESE, CHINESE) == ["BLEU has the tokenizer zh: 13a would look for words between spaces"]
    assert bleu_notes([], JAPANESE) == [
        "BLEU has the tokenizer char, for want of ja-mecab (pip install 'sacrebleu[ja]'): 13a would look for words "
        "between spaces"
    ]
    (note,) = bleu_notes(CHINESE, GERMAN)
    assert note.startswith("the translations have hardly any spaces, so that BLEU takes whole lines for words")
    (note,) = bleu_notes(GERMAN, ["HeutegeheichindieSchule."])
    assert "the references have hardly any spaces" in note
    assert "--language, one of zh, ja, ko, th, lo, km, my, bo, or go by chrF" in note
