"""What is not so is refused. The site, whose pages test_built_site.py has, is not built if any exhibit is not so."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import torch

from core import Translator
from core.analysis.tokens.words import mean_over_words
from core.files.shipped_files import shipped_checkpoint
from core.results import Explanation
from core.trace import HEAD_PATTERN, Head, parse_head
from docs.gallery import __main__ as command
from docs.gallery.exhibits import CAPTIONS, EXHIBITS, Exhibit
from docs.gallery.pages import FalseClaimError, card, checked, parsed, standalone_page
from web.build import MODELS, examples

BY_NAME = {exhibit.name: exhibit for exhibit in EXHIBITS}


Explained = Callable[[str], Explanation]


@pytest.fixture(scope="module")
def explained() -> Explained:
    """The explanation of an exhibit, made once."""
    return cache(lambda name: checked(BY_NAME[name]))


@pytest.mark.parametrize("exhibit", [each for each in EXHIBITS if each.off], ids=lambda exhibit: exhibit.name)
def test_a_head_that_is_off_has_no_weights(exhibit: Exhibit, explained: Explained) -> None:
    head = parse_head(exhibit.off)
    assert not explained(exhibit.name).maps[head.kind][head.layer].weights[head.head].any()


@pytest.fixture(scope="module")
def true() -> Exhibit:
    """An exhibit that says what the model does, whatever its weights are: the link is the largest weight of a row."""
    source, translator = "A dog runs.", Translator.from_checkpoint(shipped_checkpoint())
    translation = translator.translate(source)
    maps = translator.explain(source, translation.hypotheses[0].token_ids).maps["cross"]
    words = [mean_over_words(layer) for layer in maps]
    weights = torch.stack([layer.weights[:, 0, :-1] for layer in words])  # of the first word, [layers, heads, words]
    layer, head, key = (int(each) for each in torch.unravel_index(weights.argmax(), weights.shape))
    link = f"{Head('cross', layer, head)}: {words[0].row_tokens[0]} > {words[0].key_tokens[key]}"
    return Exhibit("dog", "A dog", source, translation.text, "It runs.", (link,), ("Why?", "Where?", "When?"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"translation": "Nein."}, "dog: the translation is '{translation}'; correct the exhibit, text and field"),
        ({"others": ("Nein.",)}, "dog: 'Nein.' is not among"),
        ({"rivals": (("{query}", "Nein"),)}, "dog: 'Nein' is not among the alternatives of '{query}'"),
        ({"links": ("{head}: {query} > {less}",)}, "dog: '{head}: {query} > {less}' is not the largest weight by 0.05"),
        ({"links": ("{head}: {query} > cat",)}, "dog: there is no such row or key for '{head}: {query} > cat'"),
        ({"variants": (("Two dogs run.", "Nein."),)}, "dog: the translation of 'Two dogs run.' is"),
        ({"questions": ("[Look](there)",)}, "dog: the link of '[Look](there)' leads nowhere"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_not_so_is_refused(true: Exhibit, change: dict[str, Any], message: str) -> None:
    checked(true)
    head, query, key = parsed(true.links[0])
    less = next(word for word in ("dog", "runs") if word != key)
    filled = partial(_filled, translation=true.translation, head=head, query=query, less=less)
    with pytest.raises(FalseClaimError, match=re.escape(filled(message))):
        checked(replace(true, **{field: filled(value) for field, value in change.items()}))


def _filled(value: Any, **names: object) -> Any:
    """A text with these names in it, or a tuple of such texts."""
    return value.format(**names) if isinstance(value, str) else tuple(_filled(each, **names) for each in value)


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_every_head_of_a_text_has_a_link_that_is_checked(exhibit: Exhibit) -> None:
    assert set(re.findall(r"L\d H\d", exhibit.text)) <= set(
        re.findall(r"L\d H\d", " ".join(exhibit.links) + exhibit.off)
    )
    assert all(re.match(HEAD_PATTERN, link) for link in exhibit.links)
    assert 2 <= len(re.findall(r"[.!?](?= |$)", exhibit.text.replace("...", ""))) <= 3, "two sentences or three"
    assert all(text.count("*") % 2 == 0 for text in (exhibit.text, *exhibit.questions))


@pytest.mark.parametrize("name", MODELS)
def test_what_to_notice_is_in_a_link_and_names_words_of_the_sentences(name: str) -> None:
    exhibits = {each.notice: each for each in (*EXHIBITS, *(checked(each) and each for each in CAPTIONS))}
    for text, shown in [(each["notice"], each["word"]) for each in examples(name)]:
        words = re.findall("\u201c(.+?)\u201d", text)
        assert words[0] == shown
        assert all(word in f"{exhibits[text].source} {exhibits[text].translation}" for word in words)


def test_there_are_twenty_sentences_with_three_questions_each() -> None:
    assert len(BY_NAME) == len(EXHIBITS) == 20
    assert {len(exhibit.questions) for exhibit in EXHIBITS} == {3}


def test_a_page_has_the_texts_and_selects_the_word_of_the_link(explained: Explained) -> None:
    exhibit, explanation = BY_NAME["digits"], explained("digits")
    page = standalone_page(exhibit, explanation)
    assert exhibit.title in page
    head, query, _ = parsed(exhibit.links[0])
    assert f'"first":["cross",{head.layer},{head.head}]' in page
    pieces = [piece.replace("\u2581", " ") for piece in explanation.predicted_tokens]
    begins = [len("".join(pieces[:place])) for place in range(len(pieces))]
    word = re.search(rf" {re.escape(query)}(?= )", "".join(pieces))
    assert word, "3.417, which is in several pieces"
    rows = [place for place, begin in enumerate(begins) if word.start() <= begin < word.end()]
    assert len(rows) > 1
    assert f'"rows":{rows}'.replace(", ", ",") in page
    assert '"back":["All sentences","../index.html"]' in page


def test_a_card_links_to_its_page_and_marks_the_word(explained: Explained) -> None:
    exhibit = BY_NAME["compound"]
    text = card(exhibit, explained("compound"))
    assert text.startswith('<a class="card" href="gallery/compound.html">')
    _, query, _ = parsed(exhibit.links[0])
    assert re.search(rf'<text [^>]*class="on">\u00b7?{query}</text>', text)
    assert "<script" not in text


def test_the_command_writes_a_page_for_each_and_the_cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "EXHIBITS", EXHIBITS[-1:])
    command.main([str(tmp_path / "out")])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["capitals.html", "cards.html"]
