// A translation as its tokens; under them what the model would have written in place of the one that is looked at.
// Everything that comes from texts is set as text, never as HTML.

const TOKEN = "token"; // what the address calls the one that is looked at

function draw({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const focused = { ...parentElement.activeElement?.dataset };
  const said = JSON.stringify([data.step, data.problem, data.tokens.map(({ spans }) => spans)]);
  const asked = root.dataset.said === undefined && !data.problem ? held(TOKEN, 1, data.tokens.length, said) : undefined;
  if (root.dataset.said !== said) root.dataset.step = asked ? asked - 1 : (data.problem?.position ?? data.step); // else the reader's own choice stays
  root.dataset.said = said;

  const panel = element("div", "panel");
  const tokens = data.tokens.map((token, position) => tokenButton(token, position, data.forced, () => look(position)));
  const line = element("div", "tokens");
  line.setAttribute("role", "group");
  line.setAttribute("aria-label", "Translation, token by token");
  line.dir = data.direction;
  tokens.forEach((token, position) => place(line, token, data.tokens[position]));
  root.replaceChildren(line, panel);

  const send = (choice) => setTriggerValue("choice", { position: Number(root.dataset.step), ...choice });
  const look = (position, focus) => {
    root.dataset.step = position;
    hold(TOKEN, position === data.step ? null : position + 1, said);
    tokens.forEach((token, index) => {
      token.setAttribute("aria-pressed", index === position);
      token.tabIndex = index === position ? 0 : -1; // Tab reaches the line, arrow keys its tokens
    });
    fill(panel, data, position, send);
    if (focus) tokens[position].focus();
  };
  tokens.forEach((token, index) => {
    token.onkeydown = (event) => {
      const goal = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: tokens.length - 1 }[event.key];
      if (event.key === "ArrowDown") panel.querySelector(".option").focus();
      else if (tokens[goal]) look(goal, true);
      else return;
      event.preventDefault();
    };
  });
  panel.onkeydown = (event) => {
    if (event.target.classList.contains("option")) move(panel, tokens[Number(root.dataset.step)], event);
  };
  look(Number(root.dataset.step));
  const [token, input, go] = [tokens[Number(root.dataset.step)], panel.querySelector("input"), panel.querySelector(".go")];
  const again = { token, option: panel.querySelector(".written"), own: input, go };
  again[focused.role]?.focus({ preventScroll: true });
}

// A word stays in one line if there is room, the bytes of a character in any case.
function place(line, token, { spans, glued }) {
  const word = (glued && line.lastChild) || element("span", "word");
  if (spans[0][1] === "byte" && word.lastChild) return void word.lastChild.append(token);
  const character = element("span", "character");
  character.append(token);
  word.append(character);
  if (!word.parentNode) line.append(" ", word);
}

function tokenButton({ spans, name, logProb, probability, options }, position, forced, look) {
  const node = element("button", "token");
  node.type = "button";
  node.classList.toggle("forced", position < forced);
  node.dataset.role = "token";
  node.style.setProperty("--tint", `${Math.round(60 * (1 - probability))}%`);
  node.append(...spans.map(([part, style]) => element("span", style, part)));
  const rank = options.findIndex(({ written }) => written) + 1;
  const words = [name, `probability ${probability.toFixed(3)}`, `log-probability ${decimal(logProb, 3)}`];
  if (position < forced) words.push("forced");
  else if (rank > 1) words.push(`not the first choice`);
  node.title = words.join(", ");
  node.setAttribute("aria-label", words.join(", "));
  node.onclick = look;
  return node;
}

// The options of one position, and room for a word of one's own.
function fill(panel, { tokens, problem }, position, send) {
  const { name, begun, options } = tokens[position];
  const head = element("div", "head");
  head.append(element("b", "", `Token ${position + 1} of ${tokens.length}`), "choose what stands here: the search goes on from it");
  const list = element("div", "options");
  list.setAttribute("role", "group");
  list.setAttribute("aria-label", `In place of ${name}`);
  list.append(...options.map((option) => optionButton(option, () => send({ token: option.token }))));
  list.firstChild.tabIndex = 0;

  const form = element("form", "own");
  const input = element("input", "");
  input.placeholder = "own word";
  input.setAttribute("aria-label", `Own word in place of ${name}`);
  input.dataset.role = "own";
  input.dir = "auto";
  input.autocomplete = "off";
  const button = element("button", "go", "Go on from it");
  button.dataset.role = "go";
  if (begun) {
    form.append(element("span", "begun", begun));
    input.title = "Goes on from these letters; begin with a space for a new word";
  }
  form.append(input, button);
  form.onsubmit = (event) => {
    event.preventDefault();
    send({ text: input.value });
  };
  panel.replaceChildren(head, list, form);
  if (problem?.position === position) {
    input.value = problem.text;
    input.setAttribute("aria-invalid", "true");
    const message = element("div", "problem", problem.message);
    message.setAttribute("role", "alert");
    panel.append(message);
  }
}

function optionButton({ spans, name, logProb, probability, written }, send) {
  const node = element("button", written ? "option written" : "option");
  node.type = "button";
  node.tabIndex = -1;
  node.dataset.role = "option";
  const text = element("span", "text");
  text.append(...spelled(spans));
  const track = element("span", "track");
  const bar = element("span", "bar");
  bar.style.width = `${100 * probability}%`;
  track.append(bar);
  node.append(element("span", "mark", written ? "\u25cf" : ""), text, track, element("span", "number", probability.toFixed(2)));
  node.append(element("span", "number faint", decimal(logProb, 2)));
  const is = written ? ", as it is now: keeps the beginning, and searches on" : "";
  node.title = `${name}: probability ${probability.toFixed(3)}, log-probability ${decimal(logProb, 3)}${is}`;
  node.setAttribute("aria-label", `${name}, probability ${probability.toFixed(2)}${written ? ", written" : ""}`);
  node.onclick = send;
  return node;
}

function move(panel, token, event) {
  const options = [...panel.querySelectorAll(".option")];
  const index = options.indexOf(event.target);
  const goal = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: options.length - 1 }[event.key];
  if (goal === undefined) return;
  event.preventDefault();
  (options[goal] ?? (goal < 0 ? token : panel.querySelector("input"))).focus();
}
