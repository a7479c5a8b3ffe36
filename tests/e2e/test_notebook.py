"""The scripts of the notebook's widgets in a page that stands in for Jupyter: traits go both ways, texts stay texts."""

import json

import pytest
from playwright.sync_api import Page, expect

from core.notebook import HeadView
from core.notebook.widget import NotebookWidget
from core.translator import Translator
from tests.e2e.accessibility import violations

HOSTILE = "</script><img src=x onerror=document.title='broken'>"
# A model as anywidget gives it: `sent` has what reaches Python, `receive` sets a trait as Python does.
JUPYTER = """
async ([script, state]) => {
  const handlers = {}, changed = new Set();
  const changes = (name) => (handlers[`change:${name}`] ?? []).forEach((handle) => handle());
  window.sent = [];
  window.receive = (name, value) => { state[name] = value; changes(name); };
  const model = {
    get: (name) => state[name],
    set: (name, value) => {
      if (JSON.stringify(state[name]) !== JSON.stringify(value)) changed.add(name);
      state[name] = value;
    },
    on: (event, handle) => (handlers[event] ??= []).push(handle),
    off: (event, handle) => { handlers[event] = handlers[event].filter((each) => each !== handle); },
    save_changes: () => {
      window.sent.push(Object.fromEntries([...changed].map((name) => [name, state[name]])));
      [...changed].forEach(changes);
      changed.clear();
    },
  };
  const { default: { render } } = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  const el = document.body.appendChild(document.createElement("div"));
  window.draw = async () => { window.remove = await render({ model, el }); };
  await window.draw();
}
"""


def show(page: Page, view: NotebookWidget) -> None:
    page.set_content("<title>notebook</title><body style='color: #111'></body>")
    state = view.get_state()
    page.evaluate(JUPYTER, [state["_esm"], json.loads(json.dumps({**state, "layout": None}))])


@pytest.mark.new_tab
def test_widgets_draw_and_answer(page: Page, translator: Translator) -> None:
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.on("console", lambda message: failures.append(message.text) if message.type == "error" else None)
    view = translator.explain(HOSTILE, "Ein <b>Hund</b>.").show(("cross", 0, 0))

    show(page, view)
    expect(page.locator(".sentence")).to_contain_text(HOSTILE)
    page.get_by_role("button", name="L2 H3", exact=True).click()
    page.locator("[data-axis=key]").nth(1).click()
    page.locator("[data-axis=key]").nth(3).click(modifiers=["Control"])
    for change in page.evaluate("sent"):
        view.set_state(change)
    assert (view.head, view.side, view.words) == (("cross", 1, 2), "key", (1, 3))
    assert page.evaluate("sent").pop() == {"words": [1, 3]}

    page.evaluate("receive('head', ['encoder_self', 0, 3]), receive('view', 'Map')")
    expect(page.get_by_text("Encoder attention, L1 H4")).to_be_visible()
    expect(page.get_by_role("img", name="L1 H4")).to_be_visible()
    light = page.locator(".bar canvas").screenshot()
    page.evaluate("document.body.style.color = '#eee'")
    expect(page.locator(".root")).to_have_css("background-color", "rgb(20, 23, 27)")
    assert page.locator(".bar canvas").screenshot() != light
    assert violations(page, "body > div") == []

    show(page, HeadView(view.explanation, config=translator.config))
    page.locator(".figure1 a[href='#decoder_self.1.2']").click()
    assert page.evaluate("sent").pop() == {"head": ["decoder_self", 0, 1]}
    expect(page.get_by_text("Decoder attention, L1 H2")).to_be_visible()
    assert violations(page, "body > div") == []

    hypotheses = translator.translate(HOSTILE, beam_size=3).show()
    show(page, hypotheses)
    page.locator(".hypotheses button").nth(2).click()
    hypotheses.set_state(page.evaluate("sent").pop())
    assert hypotheses.hypothesis == 2
    expect(page.locator(".token")).to_have_count(len(hypotheses.selected.tokens))
    page.locator(".token").first.hover()
    expect(page.get_by_role("status")).to_contain_text("log-probability")
    assert violations(page, "body > div") == []
    page.evaluate("remove()")
    assert page.locator("img, b").count() == 0
    assert page.title() == "notebook"
    assert failures == []


def test_widgets_have_the_theme_that_the_notebook_names(page: Page, translator: Translator) -> None:
    """In Visual Studio Code, text between widgets is dark in every theme; Colab's text need not tell either."""
    show(page, translator.translate("A dog runs.", beam_size=2).show())
    root = page.locator(".root")
    light, dark = "rgb(255, 255, 255)", "rgb(20, 23, 27)"
    expect(root).to_have_css("background-color", light)
    kinds = {"vscode-dark": dark, "vscode-light": light, "vscode-high-contrast": dark}
    for kind, color in {**kinds, "vscode-high-contrast-light": light}.items():
        page.evaluate("(kind) => document.body.dataset.vscodeThemeKind = kind", kind)
        expect(root).to_have_css("background-color", color)
    page.evaluate("delete document.body.dataset.vscodeThemeKind")
    page.evaluate("document.documentElement.setAttribute('theme', 'dark')")
    expect(root).to_have_css("background-color", dark)
    text = root.evaluate("(root) => getComputedStyle(root).color")
    expect(page.locator(".hypotheses .text").first).to_have_css("color", text)
    expect(page.locator(".hypotheses td").first).to_have_css("color", text)


def test_a_widget_is_drawn_again_into_the_same_place(page: Page, translator: Translator) -> None:
    """As anywidget does for a changed script: it empties the place, and draws."""
    view = translator.translate("A dog runs.", beam_size=2).show()
    show(page, view)
    page.evaluate("document.body.firstElementChild.replaceChildren(), draw().then(() => remove()).then(() => draw())")
    expect(page.locator(".root")).to_have_count(1)
    page.locator(".hypotheses button").nth(1).click()
    assert page.evaluate("sent").pop() == {"hypothesis": 1}


def test_numbers_are_whole_in_a_narrow_cell(page: Page, translator: Translator) -> None:
    page.set_viewport_size({"width": 320, "height": 900})
    show(page, translator.translate("A dog runs through it.", beam_size=3).show())
    numbers = page.locator(".hypotheses td.number")
    expect(numbers).to_have_count(12)  # it is drawn
    lines = numbers.evaluate_all(
        """(cells) => cells.map((cell) => {
          const range = document.createRange();
          range.selectNodeContents(cell);
          return new Set([...range.getClientRects()].map(({ top }) => top)).size;
        })"""
    )
    assert lines == [1] * 12
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
