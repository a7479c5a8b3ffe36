// A sentence and its translation as words to click. Everything that comes from them is set as text, never as HTML.

const CURSIVE = /^[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}]$/u;
// Letters that never join the one after them: alef, dal, reh, waw and their kin (Joining_Type R and U of Unicode).
const ENDS_STROKE = /^[\u0621-\u0625\u0627\u0629\u062f-\u0632\u0648\u0671-\u0677\u0688-\u0699\u06c0\u06c3-\u06cb\u06cd\u06cf\u06d2\u06d3\u06d5\u06e5\u06e6\u06ee\u06ef]$/;
const MORE = 24; // pixels at the edge of a long sentence that fade, see the style sheet
const JOINER = "\u200d"; // makes a letter take the form that it has beside another one, though they are different pieces

function draw({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const focused = parentElement.activeElement?.dataset;
  const place = focused && { ...focused };
  const turned = new Map(sidesOf(root).map((side) => [side.textContent, side.scrollTop]));
  const chosen = chosenIn(root);
  const drawn = { ...data, selected: selectionOf(root, data) };
  const arrow = element("span", "arrow", "\u2192");
  arrow.setAttribute("aria-hidden", "true");
  const target = element("div", "target");
  target.append(arrow, sentence("target", drawn));
  root.replaceChildren(sentence("source", drawn), target);
  if (place?.side) root.querySelector(`[data-side="${place.side}"][data-start="${place.start}"]`)?.focus({ preventScroll: true });
  for (const side of sidesOf(root)) side.scrollTop = turned.get(side.textContent) ?? 0;
  if (chosenIn(root) !== chosen) reveal(root.querySelector(".on"));
  // The style sheet lets a colour of the page pass over in no time: so another theme is noticed, whose drawings the server makes.
  root.ontransitionend = ({ target }) => target === root && setTriggerValue("theme", true);
  for (const word of root.querySelectorAll(".word")) {
    word.onmouseenter = word.onfocus = () => tell(root, { words: [nameOf(word)] });
    word.onmouseleave = word.onblur = () => tell(root, null);
  }
  const rest = answerClicks(root, (words) => setTriggerValue("words", words));
  const deafen = listen(root, (place) => {
    for (const word of root.querySelectorAll(".word")) word.classList.toggle("pointed", Boolean(place?.words.includes(nameOf(word))));
    for (const side of sidesOf(root)) reveal(side.querySelector(".pointed"));
  });
  return () => [rest(), deafen()];
}

// Which words are selected is settled here, for all drawings: however quick the clicks, each counts. What was sent last stands
// until the page comes back with it, or with another sentence.
function selectionOf(root, data) {
  const about = JSON.stringify([data.source, data.target]);
  const waits = root.chosen?.sent && root.chosen.about === about && String(root.chosen.words) !== String(data.selected);
  if (!waits) root.chosen = { about, words: data.selected, sent: false };
  return root.chosen.words;
}

// Answer to what is clicked, here and in other drawings, until the bar is drawn anew or taken off the page. Returns how to stop it.
function answerClicks(root, send) {
  window.removeEventListener(SELECTED, root.answer);
  const answer = (root.answer = ({ detail: { word, also } }) => {
    const words = selectedAfter(root.chosen.words, word, also);
    Object.assign(root.chosen, { words, sent: true });
    for (const each of root.querySelectorAll(".word")) {
      mark(each, words);
      if (nameOf(each) === word) reveal(each);
    }
    send(words);
  });
  window.addEventListener(SELECTED, answer);
  return () => window.removeEventListener(SELECTED, answer);
}

// On the only selected word a click selects none; beside others it is one more or one less; without a word, none is left.
function selectedAfter(selected, word, also) {
  const others = selected.filter((each) => each !== word);
  if (!word) return [];
  if (also) return others.length < selected.length ? others : [...selected, word];
  return selected.length === 1 && !others.length ? [] : [word];
}

function mark(word, selected) {
  const chosen = selected.includes(nameOf(word));
  word.classList.toggle("on", chosen);
  word.setAttribute("aria-pressed", chosen);
}

function sidesOf(root) {
  return [...root.querySelectorAll(".side")];
}

function chosenIn(root) {
  return [...root.querySelectorAll(".on")].map(nameOf).join();
}

// Bring a word of a long sentence into sight by turning its side alone: the page stays where it is.
function reveal(word) {
  const side = word?.closest(".side");
  if (!side) return;
  const [most, least] = [word.offsetTop - MORE, word.offsetTop + word.offsetHeight + MORE - side.clientHeight];
  side.scrollTop = Math.max(least, Math.min(most, side.scrollTop));
}

// Where a long sentence goes on, out of sight.
function markMore(side) {
  side.classList.toggle("above", side.scrollTop > 0);
  side.classList.toggle("below", side.scrollTop + side.clientHeight + 1 < side.scrollHeight);
}

// What the other drawings call a word, see `links` of word_links.py.
function nameOf({ dataset }) {
  return `${dataset.side} ${dataset.start}`;
}

function sentence(side, data) {
  const list = element("div", "side");
  list.setAttribute("role", "group");
  list.setAttribute("aria-label", side === "source" ? "Source" : "Translation");
  list.dir = data.directions[side];
  const buttons = data[side].map(({ start, glued, direction, pieces }, index) => {
    const word = element("button", `word${glued ? " glued" : ""}`);
    word.type = "button";
    word.tabIndex = index ? -1 : 0; // Tab reaches a sentence, arrow keys its words
    Object.assign(word.dataset, { side, start });
    mark(word, data.selected);
    word.setAttribute("aria-label", spoken(pieces));
    word.dir = direction;
    word.append(...pieces.map((each, place) => piece(each, joins(pieces[place - 1], each), joins(each, pieces[place + 1]))));
    word.title = pieces.filter((each) => each.probability !== null).map(described).join("\n");
    word.onclick = (event) => select(nameOf(word), event);
    word.oncontextmenu = (event) => {
      if (event.pointerType !== "touch") return;
      event.preventDefault(); // a long touch adds a word, as there is no key to hold
      select(nameOf(word), { shiftKey: true });
    };
    word.onkeydown = (event) => (event.key === "Escape" ? select("", event) : move(buttons, index, event));
    return word;
  });
  list.append(...runs(buttons));
  list.onscroll = () => markMore(list);
  new ResizeObserver(list.onscroll).observe(list);
  return list;
}

// A line does not end between a word and the full stop behind it.
function runs(buttons) {
  const all = [];
  for (const button of buttons) {
    if (!button.classList.contains("glued") || !all.length) all.push(element("span", "run"));
    all.at(-1).append(button);
  }
  return all;
}

function piece({ spans, probability }, joinsLast, joinsNext) {
  const box = element("span", "piece");
  const text = element("span", "spans");
  text.append(...spans.map(([part, style]) => element("span", style, style ? part : (joinsLast ? JOINER : "") + part + (joinsNext ? JOINER : ""))));
  box.append(text);
  if (probability !== null) {
    const track = element("span", "track");
    const bar = element("div", "bar");
    bar.style.width = `${100 * probability}%`;
    track.append(bar);
    box.append(track);
  }
  return box;
}

function described({ spans, probability }) {
  return `${textOf(spans)}  probability ${probability.toFixed(3)}`;
}

// Whether two pieces meet within a script whose letters are written in one stroke.
function joins(first, second) {
  if (!first || !second) return false;
  const [before, after] = [first, second].map(({ spans }) => [...spoken([{ spans }]).replace(/\p{M}/gu, "")]);
  return CURSIVE.test(before.at(-1)) && CURSIVE.test(after[0]) && !ENDS_STROKE.test(before.at(-1));
}

// The word as it is read aloud: without joint marks.
function spoken(pieces) {
  const spans = pieces.flatMap((each) => each.spans);
  return textOf(spans.filter(([, style]) => style !== "faint")) || textOf(spans);
}

function move(words, index, event) {
  const goal = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: words.length - 1 }[event.key];
  const word = words[goal];
  if (!word) return;
  event.preventDefault();
  goTo(word, words);
}
