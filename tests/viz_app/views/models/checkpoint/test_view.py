"""The page Checkpoint without a browser."""

import html
from dataclasses import replace
from pathlib import Path

import pytest

from core.formats.checkpoint import save_checkpoint
from core.formats.model_facts import paper_facts
from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.text.tokenizer import SentencePieceTokenizer
from tests.viz_app.pages import Start, healthy, opened, reading
from viz_app import language
from viz_app.drawing.display_text import plain
from viz_app.language.catalogue_files import translations
from viz_app.views.models.checkpoint.facts_table import MAX_SHOWN, PAPER, facts_html, facts_table
from viz_app.views.models.checkpoint.trial_sentences import ISO_639_3, SENTENCES, sentences_in


def test_it_reports_and_offers_the_current_model_with_three_sentences_and_checks(start: Start) -> None:
    app = opened(start(text="Where?", beam_size="1"), "checkpoint")
    table = next(element.proto.body for element in app.html if "facts-table" in element.proto.body)
    assert "<td>Headlight</td>" in table
    assert f"<th>{PAPER}</th>" in table
    assert len([button for button in app.button if button.key and button.key.startswith("trial_")]) == 3
    assert any("Checked now" in caption.value for caption in app.caption)
    assert any(each.proto.label == "For transformers (zip)" for each in app.get("download_button"))
    assert not app.error
    healthy(app.button(key="trial_1").click().run())
    assert reading(app).translation.source == SENTENCES["en"][1]


def test_facts_are_in_the_language_of_the_visitor_and_the_table_is_in_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "language", lambda: "de")
    facts = {"mine": paper_facts(), PAPER: paper_facts()}
    found = facts_html(facts)
    german = "6 + 6, 8 " + translations("de").gettext("heads")
    assert found.count(f"<td class=usual>{german}</td>") == 2  # as in the paper, in any language
    assert found.count("<td class=usual>") == 2 * len(facts[PAPER])
    assert "6 + 6, 8 heads" in list(facts_table(facts)[PAPER])


def test_text_of_an_untrusted_file_is_escaped_and_what_is_as_in_the_paper_is_marked() -> None:
    facts = {"<b>mine</b>": {"format": "<script>", "norms": "post"}, PAPER: {"norms": "post"}}
    found = facts_html(facts)
    assert "<script>" not in found
    assert "<b>" not in found
    assert found.count("<td class=usual>post</td>") == 2
    table = facts_table(facts)
    assert list(table.columns) == ["fact", "<b>mine</b>", PAPER]
    assert list(table["fact"]) == ["format", "norms"]
    assert list(table[PAPER]) == ["", "post"]


def test_of_a_long_text_the_beginning_is_shown_and_the_rest_after_a_click() -> None:
    codes = ", ".join(f">>{number:03}<<" for number in range(100))
    facts = {"mine": {"target languages": codes}, PAPER: {}}
    start, rest = facts_html(facts).split("<summary>")[1].split("\u2026</summary>")
    assert html.unescape(rest).startswith(f"{codes}</details>")
    assert 0 < len(html.unescape(start)) <= MAX_SHOWN + 1
    assert codes.startswith(html.unescape(start).strip())
    assert list(facts_table(facts)["mine"]) == [codes]


def test_the_sentences_are_in_the_language_of_the_source() -> None:
    assert sentences_in("de") == (SENTENCES["de"], True)
    assert sentences_in("deu") == (SENTENCES["de"], True)
    assert sentences_in("pt_BR") == (SENTENCES["pt"], True)
    assert sentences_in("xx") == (SENTENCES["en"], False)
    assert sentences_in("") == (SENTENCES["en"], False)
    assert set(ISO_639_3.values()) == set(SENTENCES)


def test_it_is_not_offered_to_transformers_if_marians_layout_does_not_support_it(
    start: Start, tokenizer: SentencePieceTokenizer, tmp_path: Path
) -> None:
    model = Transformer(replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, neighbourhood=8)).eval()
    save_checkpoint(tmp_path / "near.safetensors", model, tokenizer)
    app = opened(start(tmp_path / "near.safetensors", text="Where?", beam_size="1"), "checkpoint")
    assert not any(each.proto.label == "For transformers (zip)" for each in app.get("download_button"))
    assert any(
        plain("attention: 8 nearest positions, expected all positions") in caption.value for caption in app.caption
    )
