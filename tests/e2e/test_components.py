"""Our drawings in a browser, without the app around them: their JavaScript, a payload, and the values they send."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Page, expect

from core.analysis.joint_map import JointMap
from core.capture import AttentionMap
from core.drawing import drawing_data
from core.drawing.drawing_data import encoded_weights
from core.files import bundle
from core.translator import Explanation
from viz_app.components import attention_lines, attention_map, head_grid, sentence_bar
from viz_app.components.attention_lines import MIN_WEIGHT, lines_payload
from viz_app.components.attention_map import joint_payload, map_payload
from viz_app.components.head_grid import grid_payload
from viz_app.components.sentence_bar import sentence_payload
from viz_app.components.word_links import Links
from viz_app.drawing.theme import LIGHT

EVIL = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"
LINKS: Links = {"query": ["target 0", "target 1", "target 2"], "key": ["source 0", "source 1"]}
MOUNT = """async ([address, data]) => {
  window.sent ??= [];
  window.clicked ??= [];
  const note = ({ detail: { word, also } }) => window.clicked.push([word, also]);
  window.listening ??= addEventListener("headlight:selected", note) ?? true;
  const host = (window.host ??= document.body.appendChild(document.createElement("div")));
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  if (!root.querySelector(".root")) root.innerHTML = '<div class="root"></div>';
  window.draw ??= (await import(address)).default;
  window.draw({ data, parentElement: root, setTriggerValue: (name, value) => window.sent.push([name, value]) });
}"""

STYLE = """css => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  host.shadowRoot.adoptedStyleSheets = [sheet];
}"""


def mount(
    page: Page, module: Any, payload: dict[str, Any], since: int = 1, texts: Mapping[str, str] | None = None
) -> None:
    language = {"language": "de" if texts else "en", "texts": texts or {}}
    data = json.loads(json.dumps([since, payload, language]))
    page.evaluate(MOUNT, [address(page, Path(module.__file__).with_suffix(".js")), data])


def address(page: Page, script: Path) -> str:
    """The address of a module that holds all that it needs: a blob of the page, as Streamlit makes it."""
    make = "text => URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))"
    return page.evaluate(make, bundle.bundled_script(script))


@pytest.fixture
def attention() -> AttentionMap:
    weights = torch.tensor([[[0.9, 0.1], [0.0, 1.0], [0.5, 0.5]], [[0.0, 1.0], [1.0, 0.0], [0.25, 0.75]]])
    return AttentionMap(
        "cross",
        4,
        weights,
        ("<s>", "\u2581Ein", "\u2581Hund"),
        ("\u2581dog", f"\u2581{EVIL}"),
        ("\u2581Ein", "\u2581Hund", "</s>"),
    )


def test_hovering_a_word_leaves_its_lines_and_shows_their_weights(page: Page, attention: AttentionMap) -> None:
    mount(page, attention_lines, lines_payload(attention, [0, 1], LIGHT))
    expect(page.locator(".head")).to_have_text(["L5 H1", "L5 H2"])
    expect(page.locator(".values")).to_have_count(0)
    page.locator("[data-axis=query]").first.hover()
    expect(page.locator(".value")).to_have_text(["H21.000", "H10.100", "H10.900"])
    expect(page.locator("g").first).to_be_hidden()
    assert page.locator("g").nth(1).locator("path").count() == 3
    page.mouse.move(0, 0)
    expect(page.locator(".values")).to_have_count(0)


def test_a_click_sends_the_word_and_keeps_its_lines(page: Page, attention: AttentionMap) -> None:
    mount(page, attention_lines, lines_payload(attention, [0], LIGHT, links=LINKS))
    page.locator("[data-axis=key]").first.click()
    page.locator("[data-axis=query]").nth(2).click(modifiers=["Shift"])
    assert page.evaluate("clicked") == [["source 0", False], ["target 2", True]]
    mount(page, attention_lines, lines_payload(attention, [0], LIGHT, place={"query": [1], "key": []}, links=LINKS))
    page.mouse.move(0, 0)
    expect(page.locator(".value")).to_have_text(["1.000"])
    mount(
        page, attention_lines, lines_payload(attention, [0, 1], LIGHT, place={"query": [1, 2], "key": []}, links=LINKS)
    )
    expect(page.locator("[aria-pressed=true]")).to_have_text(["Ein \u25b8 Hund", "Hund \u25b8 </s>"])
    of_dog, of_evil = ["H2Hund 1.000", "H1</s> 0.500", "H2</s> 0.250"], ["H1Hund 1.000", "H2</s> 0.750", "H1</s> 0.500"]
    found = page.locator(".values").evaluate_all(
        "lists => lists.map((each) => [...each.children].map((n) => n.textContent))"
    )
    assert sorted(found) == sorted([of_dog, of_evil])  # each line its own weight, and whose it is


def test_what_attends_stands_behind_what_is_attended_to_and_tokens_are_never_html(
    page: Page, attention: AttentionMap
) -> None:
    """Source left, target right: the order of the columns, the ends of the lines, and the arrow keys."""
    mount(page, attention_lines, lines_payload(attention, [0], LIGHT))
    order = page.locator("[data-axis]").evaluate_all("words => [...new Set(words.map((word) => word.dataset.axis))]")
    assert order == ["key", "query"]
    drawn = []
    for path in page.locator(".middle g").first.locator("path").all():
        for start, end in re.findall(r"M0 ([\d.]+)C40 [\d.]+ 60 [\d.]+ 100 ([\d.]+)", path.get_attribute("d") or ""):
            drawn.append((int(float(end) // 24), int(float(start) // 24)))
    assert sorted(drawn) == [tuple(pair) for pair in attention.weights[0].nonzero().tolist()]
    expect(page.locator("[data-axis=key]").nth(1)).to_have_text(EVIL)
    assert page.locator("img, script").count() == 0
    assert page.title() == ""


@pytest.mark.parametrize("module", [attention_lines, attention_map], ids=["lines", "map"])
def test_what_went_to_hidden_tokens_is_printed_at_the_end_of_the_row(
    page: Page, attention: AttentionMap, module: Any
) -> None:
    def payload(drawn: AttentionMap) -> dict[str, Any]:
        return lines_payload(drawn, [0], LIGHT) if module is attention_lines else map_payload(drawn, 0, LIGHT)

    mount(page, module, payload(attention.select([0, 1, 2], [1])))  # the first key is hidden
    assert page.locator(".share").all_text_contents() == ["0.90", "", "0.50"]
    mount(page, module, payload(attention), since=2)
    expect(page.locator(".share")).to_have_count(0)


def test_masked_cells_are_let_through_and_a_selection_dims_the_rest(page: Page) -> None:
    tokens = ("\u2581a", "\u2581b", "\u2581c")
    decoder = AttentionMap("decoder_self", 0, torch.zeros(1, 3, 3), tokens, tokens, tokens)
    mount(page, attention_map, map_payload(decoder, 0, LIGHT, place={"query": [0], "key": [2]}))
    opaque = page.locator("canvas.picture").evaluate(
        "canvas => [...canvas.getContext('2d').getImageData(0, 0, 3, 3).data].filter((_, i) => i % 4 === 3)"
    )
    assert [bool(alpha) for alpha in opaque] == torch.ones(3, 3).tril().bool().flatten().tolist()
    dims = page.locator(".dim").evaluate_all(
        "all => all.map(({ style: s }) => [s.top, s.height, s.left, s.width].map(parseFloat))"
    )
    assert [[round(3 * share / 100) for share in dim] for dim in dims] == [
        [1, 2, 0, 2]
    ]  # rows 1 and 2 of columns 0 and 1
    expect(page.locator(".band.selected")).to_have_count(0)


def test_the_keyboard_reaches_every_word(page: Page, attention: AttentionMap) -> None:
    mount(page, attention_lines, lines_payload(attention, [0], LIGHT, links=LINKS))
    for key in ("Tab", "ArrowDown", "ArrowRight", "Enter", "Shift+Enter", "Escape"):
        page.keyboard.press(key)
    assert page.evaluate("clicked") == [["target 1", False], ["target 1", True], ["", False]]
    mount(page, attention_lines, lines_payload(attention, [0], LIGHT))
    expect(page.locator("[data-axis=query]").nth(1)).to_be_focused()


def test_a_cell_a_row_and_a_column_are_read_with_the_keyboard(page: Page, attention: AttentionMap) -> None:
    mount(page, attention_map, map_payload(attention, 1, LIGHT, links=LINKS))
    page.evaluate("addEventListener('headlight:pointed', ({ detail }) => sent.push(detail.place))")
    tip = page.get_by_role("status")
    page.get_by_role("img", name="L5 H2").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect(tip).to_contain_text("0.750")
    assert page.evaluate("sent.at(-1)") == {
        "query": 2,
        "key": 1,
        "size": {"query": 3, "key": 2},
        "links": LINKS,
        "words": ["target 2", "source 1"],
    }
    page.get_by_role("button", name="fed Ein, predicts Hund").focus()
    expect(tip).to_have_text("fed Ein \u25b8 predicts Hund attends to1.000 dog0.000 " + EVIL)
    page.keyboard.press("Enter")
    assert page.evaluate("clicked") == [["target 1", False]]
    assert page.locator("img, script").count() == 0


def test_the_words_of_a_drawing_are_in_the_language_of_the_page(page: Page, attention: AttentionMap) -> None:
    texts = {"Rows": "Zeilen", "weight": "Gewicht", "{query} attends to": "Worauf {query} achtet"}
    mount(page, attention_map, map_payload(attention, 0, LIGHT), texts=texts)
    expect(page.locator(".scale")).to_contain_text("Gewicht")
    page.get_by_role("group", name="Zeilen").get_by_role("button").first.hover()
    expect(page.get_by_role("status").locator("div").first).to_have_text("Worauf fed <s> \u25b8 predicts Ein achtet")
    mount(page, attention_map, map_payload(attention, 0, LIGHT), since=2)
    expect(page.locator(".scale")).to_contain_text("weight")


def test_the_joint_matrix_says_why_a_block_is_empty_and_tells_source_from_target(page: Page) -> None:
    weights = torch.tensor([[1.0, torch.nan, torch.nan], [1.0, 1.0, 0.0], [1.0, 0.25, 0.75]])
    tokens = (f"\u2581{EVIL}", "<s>", "\u2581Hund")
    joint = JointMap(weights, tokens, tokens, ("\u2581Hund", "</s>"), 1, 1)
    links = {"query": ["source 0", "target 0", "target 1"], "key": ["source 0", "", "target 0"]}
    mount(page, attention_map, joint_payload(joint, "L5 mean", LIGHT, place={"query": [1, 2], "key": []}, links=links))
    expect(page.locator(".dim")).to_have_count(1)  # the first row
    expect(page.locator(".blank")).to_have_text("the source does not see the target")
    expect(page.locator(".edge")).to_have_count(2)
    tip = page.get_by_role("status")
    page.get_by_role("img", name="L5 mean, 3 rows and 3 columns").focus()
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    expect(tip).to_have_text(f"{EVIL}cannot attend to <s>the source does not see the target")
    page.get_by_role("button", name="fed Hund, predicts </s>").focus()
    expect(tip).to_have_text(f"fed Hund \u25b8 predicts </s> attends tosource1.000 {EVIL}target0.750 Hund0.250 <s>")
    page.get_by_role("button", name="Hund, target", exact=True).focus()
    expect(tip).to_have_text("Hund is attended to bytarget0.750 </s>0.000 Hund")
    page.keyboard.press("Enter")
    assert page.evaluate("clicked") == [["target 0", False]]
    empty = page.evaluate(
        "Array.from(host.shadowRoot.querySelector('canvas').getContext('2d').getImageData(1, 0, 2, 1).data)"
    )
    assert empty == [0] * 8  # two cells that are see-through


def has_line(weights: torch.Tensor, min_weight: float, top_mass: float = 2) -> list[list[int]]:
    """Rows and columns of the weights that get a line: of each row the largest, until they have this share of it."""
    found: list[list[int]] = []
    for query, row in enumerate(weights.tolist()):
        drawn = 0.0
        for weight, key in sorted(((weight, key) for key, weight in enumerate(row)), reverse=True):
            if weight >= min_weight and weight > 0 and drawn < top_mass * sum(row):
                found.append([query, key])
            drawn += weight
    return sorted(found)


def test_the_browser_draws_the_weights_that_tables_have(page: Page) -> None:
    """Weights are encoded in steps of 1/32767: no weight of these is so near a bound that the step decides."""
    attention = AttentionMap(
        "cross",
        0,
        torch.randn(2, 9, 13, generator=torch.Generator().manual_seed(3)).mul(3).softmax(-1),
        ("a",) * 9,
        ("b",) * 13,
        ("c",) * 9,
    )
    script = address(page, Path(drawing_data.__file__).with_name("weights.js"))
    sent = encoded_weights(attention.weights[1])
    for options in ({}, {"min_weight": 0.1}, {"min_weight": 0.0, "top_mass": 0.75}, {"top_mass": 0.0}):
        kept = page.evaluate(
            """async ([script, sent, minWeight, topMass]) => {
              const { decodedWeights, lineWeights } = await import(script);
              const lines = lineWeights(decodedWeights(sent), 13, minWeight, topMass);
              return lines.map(({ query, key, weight }) => [query, key, weight]);
            }""",
            [script, sent, options.get("min_weight", MIN_WEIGHT), options.get("top_mass")],
        )
        expected = has_line(attention.weights[1], **({"min_weight": MIN_WEIGHT} | options))
        assert sorted([query, key] for query, key, _ in kept) == expected
        for query, key, weight in kept:
            assert weight == pytest.approx(attention.weights[1, query, key].item(), abs=2e-5)


def test_a_line_has_as_much_ink_as_weight_and_dots_say_that_there_is_little(page: Page) -> None:
    weights = torch.tensor([[[0.6, 0.3, 0.06, 0.04]]])
    mount(page, attention_lines, lines_payload(AttentionMap("cross", 0, weights, ("a",), tuple("bcde")), [0], LIGHT))
    drawn = page.locator("path[stroke-opacity]:not(.head *, .dots *)").evaluate_all(
        "paths => paths.map((path) => ['stroke-opacity', 'stroke-width'].map((name) => +path.getAttribute(name)))"
    )
    inks = sorted((opacity * width for opacity, width in drawn[1:]), reverse=True)  # the first is of dots
    assert [ink / inks[0] for ink in inks] == pytest.approx([1, 0.5, 0.1], rel=0.06)
    expect(page.locator(".dots")).to_have_text("dots: below 0.05")


def test_what_was_sent_first_is_not_drawn_over_what_was_sent_last(page: Page, attention: AttentionMap) -> None:
    mount(page, attention_lines, lines_payload(attention, [0], LIGHT), since=2)
    mount(page, attention_lines, lines_payload(attention, [0, 1], LIGHT), since=1)
    expect(page.locator(".head")).to_have_text(["L5 H1"])
    mount(page, attention_lines, lines_payload(attention, [0, 1], LIGHT), since=3)
    expect(page.locator(".head")).to_have_text(["L5 H1", "L5 H2"])


def test_the_sentence_bar_shows_probabilities_and_sends_words(page: Page) -> None:
    explanation = Explanation(
        source="",
        target="",
        source_tokens=(f"\u2581{EVIL}", "</s>"),
        fed_tokens=("<s>", "\u2581H", "und"),
        predicted_tokens=("\u2581H", "und", "</s>"),
        log_probs=(0.0, -0.6931472, -2.302585),
        alternatives=((), (), ()),
        maps={},
    )
    mount(page, sentence_bar, sentence_payload(explanation, [("target", range(2))]))
    expect(page.locator("[data-side=source]").first).to_have_text(EVIL)
    assert page.locator("img, script").count() == 0
    assert page.locator(".bar").evaluate_all("bars => bars.map(bar => bar.style.width)") == ["100%", "50%", "10%"]
    expect(page.locator("[aria-pressed=true]")).to_have_text("H\u00b7und")
    page.locator("[data-side=target]").first.click()
    twice = ["Shift+Enter"] * 2
    for key in ("ArrowRight", *twice, "ArrowLeft", *twice, "Enter", "Enter", "Shift+Enter", "Escape"):
        page.keyboard.press(key)
    first, second = "target 0", "target 2"  # of which the first was selected, and a click let it go
    sent = [[], [second], [], [first], [], [first], [], [first], []]
    assert page.evaluate("sent") == [["words", words] for words in sent]


def test_of_quick_clicks_each_counts_whatever_the_page_still_shows(page: Page) -> None:
    tokens = ("\u2581a", "\u2581b", "\u2581c", "</s>")
    explanation = Explanation("", "", tokens, ("<s>",), ("</s>",), (0.0,), ((),), {})
    words, pressed = page.locator("[data-side=source]"), page.locator("[aria-pressed=true]")
    mount(page, sentence_bar, sentence_payload(explanation))
    words.nth(0).click()
    words.nth(1).click(modifiers=["ControlOrMeta"])
    # the answer to the first click
    mount(page, sentence_bar, sentence_payload(explanation, [("source", range(1))]), since=2)
    expect(pressed).to_have_text(["a", "b"])
    words.nth(2).click(modifiers=["ControlOrMeta"])
    assert page.evaluate("sent.at(-1)") == ["words", ["source 0", "source 1", "source 2"]]
    mount(
        page,
        sentence_bar,
        sentence_payload(explanation, [("source", range(number, number + 1)) for number in range(3)]),
        since=3,
    )
    # it was answered: what the page says counts again
    mount(page, sentence_bar, sentence_payload(explanation), since=4)
    expect(pressed).to_have_count(0)
    # in another drawing
    page.evaluate("dispatchEvent(new CustomEvent('headlight:selected', { detail: { word: 'source 1', also: false } }))")
    expect(pressed).to_have_text(["b"])


def test_a_picture_larger_than_its_frame_shows_on_which_side_it_continues(page: Page, attention: AttentionMap) -> None:
    mount(page, attention_lines, {**lines_payload(attention, [0], LIGHT), "height": 60})
    page.evaluate(STYLE, bundle.bundled_style(Path(attention_lines.__file__).with_suffix(".css")))
    box = page.locator(".box")
    expect(box).to_have_class("box scrolling below")
    box.evaluate("box => box.scrollTo(0, 10)")
    expect(box).to_have_class("box scrolling below above")
    box.evaluate("box => box.scrollTo(0, box.scrollHeight)")
    expect(box).to_have_class("box scrolling above")
    mount(page, attention_lines, lines_payload(attention, [0], LIGHT), since=2)
    expect(box).to_have_class("box scrolling")


def test_a_long_sentence_turns_to_the_word_that_is_meant_while_the_page_stays(page: Page) -> None:
    tokens = (*(f"\u2581word{number}" for number in range(400)), "</s>")
    explanation = Explanation("", "", tokens, ("<s>",), ("</s>",), (0.0,), ((),), {})
    mount(page, sentence_bar, sentence_payload(explanation))
    page.evaluate(STYLE, Path(sentence_bar.__file__).with_suffix(".css").read_text(encoding="utf-8"))
    source, words = page.get_by_role("group", name="Source"), page.locator("[data-side=source]")
    expect(source).to_have_class("side scrolling below")
    mount(page, sentence_bar, sentence_payload(explanation, [("source", range(200, 201))]), since=2)
    expect(words.nth(200)).to_be_in_viewport()
    expect(source).to_have_class(re.compile(r"\babove below\b|\bbelow above\b"))
    page.evaluate(
        "dispatchEvent(new CustomEvent('headlight:pointed', { detail: { place: { words: ['source 300'] } } }))"
    )
    expect(words.nth(300)).to_be_in_viewport()
    words.nth(300).focus()
    page.keyboard.press("End")
    expect(words.nth(400)).to_be_in_viewport()
    expect(source).to_have_class("side scrolling above")
    # the same word: who reads on is left to read
    mount(page, sentence_bar, sentence_payload(explanation, [("source", range(200, 201))]), since=3)
    expect(source).to_have_class("side scrolling above")
    assert page.evaluate("scrollY") == 0
    assert source.evaluate("side => side.clientHeight") < 200


def test_arabic_letters_join_across_pieces_and_keep_their_accents(page: Page) -> None:
    tokens = ("\u2581\u0627", "\u0644", "\u0643", "<0xD9>", "<0x8F>", "</s>")
    explanation = Explanation("", "", tokens, ("<s>",), ("</s>",), (0.0,), ((),), {})
    mount(page, sentence_bar, sentence_payload(explanation))
    source = page.locator("[data-side=source]").first
    # alef joins nothing after it
    assert source.locator(".piece").all_text_contents() == ["\u0627", "\u00b7\u0644\u200d", "\u00b7\u200d\u0643\u064f"]
    expect(source).to_have_attribute("aria-label", "\u0627\u0644\u0643\u064f")
    expect(source).to_have_css("direction", "rtl")


CLICK = "detail => window.dispatchEvent(new CustomEvent('headlight:clicked', { detail }))"
PIXELS = "canvas => [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data]"


def test_a_click_in_the_grid_hands_the_head_to_the_drawings_as_the_server_would_send_it(
    page: Page, attention: AttentionMap
) -> None:
    mount(page, head_grid, grid_payload([replace(attention, layer=layer) for layer in range(2)], LIGHT))
    page.evaluate("addEventListener('headlight:clicked', ({ detail }) => sent.push(detail))")
    page.get_by_role("button", name="L2 H2").click()
    chosen, clicked = page.evaluate("sent")
    assert chosen == ["head", {"layer": 1, "head": 1}]
    assert clicked["size"] == {"query": 3, "key": 2}
    payload = lines_payload(replace(attention, layer=1), [1], LIGHT)["heads"][0]
    assert clicked["head"] == {name: payload[name] for name in ("name", "color", "dash", "weights", "hidden")}


@pytest.mark.parametrize("module", [attention_lines, attention_map], ids=["lines", "map"])
def test_a_clicked_head_is_drawn_at_once_and_no_older_answer_after_it(
    page: Page, attention: AttentionMap, module: Any
) -> None:
    def payload(layer: int, head: int, **options: Any) -> dict[str, Any]:
        own = replace(attention, layer=layer)
        if module is attention_lines:
            return lines_payload(own, [head], LIGHT, **options)
        return map_payload(own, head, LIGHT, **options)

    first, second, third = (payload(layer, layer % 2, follows_clicks=True) for layer in range(3))
    name = page.locator(".head")

    def picture() -> Any:
        if module is attention_lines:
            return page.locator("path").evaluate_all(
                "paths => paths.map(path => [path.getAttribute('d'), path.style.stroke])"
            )
        return page.locator("canvas.picture").evaluate(PIXELS)

    def clicked(payload: dict[str, Any], queries: int = 3) -> None:
        detail = {"head": payload["heads"][0], "size": {"query": queries, "key": 2}}
        page.evaluate(CLICK, json.loads(json.dumps(detail)))

    mount(page, module, second)
    drawn_by_the_page = picture()
    mount(page, module, first, since=2)
    assert picture() != drawn_by_the_page
    clicked(second)
    expect(name).to_have_text("L2 H2")
    assert picture() == drawn_by_the_page
    clicked(third)
    mount(page, module, second, since=3)  # the answer to the click before the last
    expect(name).to_have_text("L3 H1")
    mount(page, module, third, since=4)
    mount(page, module, first, since=5)  # chosen by name: no click is left to be answered
    expect(name).to_have_text("L1 H1")
    clicked(second, queries=4)  # of another sentence
    expect(name).to_have_text("L1 H1")
    mount(page, module, payload(4, 0), since=6)  # heads are being compared
    clicked(second)
    expect(name).to_have_text("L5 H1")
