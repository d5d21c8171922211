"use strict";
// Everything shown is set as text, never as markup. Nothing leaves the page but the file that the person saves.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { words, ask, items } = data;
  const at = (id) => document.getElementById(id);
  const key = "polyjudge-labels:" + data.labels + "/" + data.name;
  const LONG = 20000;
  const REASONS = ["unclear", "broken", "cannot", "other"];
  // Of an answer that was undone a mark stays, so that another tab does not bring it back.
  let state = { answers: {}, undo: [], place: 0 };
  const tab = Math.random().toString(36).slice(2);
  let kept = true; // in the browser
  let since = Date.now();
  let value = null; // of the slider: nothing is chosen until the person does

  try {
    const old = JSON.parse(localStorage.getItem(key) || "null");
    if (old && old.answers) state = { answers: old.answers, undo: old.undo || [], place: 0 };
  } catch { kept = false; }
  const answerOf = (item) => Object.hasOwn(state.answers, item.id) && !state.answers[item.id].undone ? state.answers[item.id] : null;
  const answered = (item) => answerOf(item) !== null;
  const firstOpen = () => items.findIndex((item) => !answered(item));

  // Answers of this sheet in another tab: of two to the same item the later one counts.
  const join = (text) => {
    try {
      const others = (JSON.parse(text || "null") || {}).answers || {};
      for (const [id, answer] of Object.entries(others)) {
        if (!Object.hasOwn(state.answers, id) || state.answers[id].at < answer.at) state.answers[id] = answer;
      }
    } catch { /* what is not ours changes nothing */ }
  };
  const keep = () => {
    try {
      join(localStorage.getItem(key));
      localStorage.setItem(key, JSON.stringify(state));
      kept = true;
    } catch { kept = false; }
    at("saved").textContent = kept ? words.saved : "";
  };
  const node = (name, text, more = {}) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    return Object.assign(made, more);
  };
  // What is seen is the key and the word; what is heard is the word.
  const label = (made, hint, text) => {
    if (hint) {
      made.append(Object.assign(node("kbd", hint), { ariaHidden: "true" }));
      made.setAttribute("aria-keyshortcuts", hint.replace("Ctrl ", "Control+").replace("PgUp", "PageUp").replace("PgDn", "PageDown"));
    }
    made.append(node("span", text));
  };
  const button = (text, hint, act) => {
    const made = node("button", undefined, { type: "button" });
    label(made, hint, text);
    made.addEventListener("click", act);
    return made;
  };
  const fill = (box, text) => {
    box.textContent = text.length > LONG ? text.slice(0, LONG) + " … " : text;
    if (text.length > LONG) {
      box.append(button("… " + (text.length - LONG).toLocaleString(), "", () => { box.textContent = text; }));
    }
    box.tabIndex = 0; // so that a keyboard can scroll it
    box.scrollTop = 0;
  };
  const say = (text) => { at("note").textContent = text; };

  const record = (answer) => {
    const item = items[state.place];
    state.undo.push({ id: item.id, before: answerOf(item) });
    if (state.undo.length > 500) state.undo.shift();
    const seconds = Math.round((Date.now() - since) / 1000);
    state.answers[item.id] = { ...answer, at: new Date().toISOString(), seconds };
    keep();
    const later = items.findIndex((other, i) => i > state.place && !answered(other));
    const open = later >= 0 ? later : firstOpen();
    show(open >= 0 ? open : state.place);
  };
  const undo = () => {
    const last = state.undo.pop();
    if (!last) return;
    const now = new Date().toISOString();
    state.answers[last.id] = last.before ? { ...last.before, at: now } : { at: now, undone: true };
    keep();
    show(Math.max(0, items.findIndex((item) => item.id === last.id)));
  };
  const move = (step) => show(Math.min(items.length - 1, Math.max(0, state.place + step)));
  const reasons = (open) => {
    at("reasons").hidden = !open;
    at("skip").setAttribute("aria-expanded", String(open));
    if (open) at("reasons").firstChild.focus();
  };

  const show = (place) => {
    state.place = place;
    since = Date.now();
    const item = items[place];
    const mine = answerOf(item) || {};
    const done = items.filter(answered).length;
    at("bar").style.width = (100 * done) / items.length + "%";
    at("count").textContent = `${place + 1} / ${items.length}`;
    at("count").dataset.done = done;
    for (const part of ["task", "response"]) {
      at(part).hidden = !item[part];
      fill(at(part).querySelector(".text"), item[part]);
    }
    at("choices").replaceChildren(...(ask.kind === "slider" ? slider(mine) : buttons(mine)));
    at("undo").disabled = !state.undo.length;
    at("back").disabled = place === 0;
    at("next").disabled = place === items.length - 1;
    at("done").hidden = done < items.length;
    at("save").classList.toggle("ready", done === items.length);
    at("title").textContent = `${words.how}: ${data.name}, ${place + 1} / ${items.length}`;
    for (const [i, made] of [...at("reasons").children].entries()) made.ariaPressed = String(mine.skip === REASONS[i]);
    reasons(false);
    say("");
    at("response").querySelector(".text").focus({ preventScroll: true });
    window.scrollTo(0, 0);
  };

  // a level is its own key; pass and fail are 1 and 2
  const keyOf = (i) => typeof ask.choices[i][0] === "number" ? String(ask.choices[i][0]) : String(i + 1);
  const buttons = (mine) => ask.choices.map(([choice, word], i) => {
    const made = button(word, keyOf(i), () => record({ label: choice, skip: null }));
    made.ariaPressed = String(mine.label === choice);
    if (typeof choice === "number") made.ariaLabel = word ? `${choice}, ${word}` : String(choice);
    return made;
  });
  const slider = (mine) => {
    const range = node("input", undefined, { type: "range", id: "range" });
    Object.assign(range, { min: ask.low, max: ask.high, step: ask.step });
    range.setAttribute("aria-labelledby", "ask");
    const number = node("output", "", { id: "value" });
    const set = (x) => {
      value = x;
      range.classList.toggle("empty", x === null);
      range.setAttribute("aria-valuetext", x === null ? words.empty : String(x));
      if (x !== null) range.value = x;
      number.textContent = x === null ? "–" : String(x);
    };
    range.addEventListener("input", () => { set(Number(range.value)); say(""); });
    range.addEventListener("click", () => set(Number(range.value))); // also where it happened to rest
    set(typeof mine.label === "number" ? mine.label : null);
    const confirm = button("✓", "Enter", enter);
    Object.assign(confirm, { id: "confirm", ariaLabel: words.next });
    const keys = node("span", undefined, { className: "keys", dir: "ltr", ariaHidden: "true" });
    keys.append(node("kbd", "0"), "– ", node("kbd", "9"), node("kbd", "←"), node("kbd", "→"), node("kbd", "Shift ←"), node("kbd", "Shift →"));
    return [node("span", `${ask.low} ${words.worst}`, { className: "end" }), range,
      node("span", `${ask.high} ${words.best}`, { className: "end" }), number, confirm, keys];
  };
  const slide = (x) => {
    const range = at("range");
    range.value = Math.min(ask.high, Math.max(ask.low, x));
    range.dispatchEvent(new Event("input"));
  };
  const enter = () => {
    if (ask.kind === "slider" && value !== null) record({ label: value, skip: null });
    else if (answered(items[state.place])) move(1);
    else say(words.empty);
  };

  const save = () => {
    const answers = items.filter(answered).map((item) => ({ item: item.id, ...answerOf(item) }));
    const text = JSON.stringify({ format: "polyjudge-answers", labels: data.labels, name: data.name, answers }, null, 1);
    const link = node("a", undefined, { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: data.name + ".json" });
    document.body.append(link);
    link.click();
    setTimeout(() => { URL.revokeObjectURL(link.href); link.remove(); }, 1000);
  };

  label(at("undo"), "U", words.undo);
  label(at("save"), "Ctrl S", words.save);
  label(at("back"), "PgUp", words.back);
  label(at("next"), "PgDn", words.next);
  label(at("skip"), "S", words.skip);
  at("done").textContent = words.done;
  at("ask").textContent = ask.question;
  label(at("how").querySelector("summary"), "R", words.how);
  at("how").hidden = !data.rubric;
  fill(at("rubric"), data.rubric);
  at("task").querySelector("h2").textContent = words.task;
  at("response").querySelector("h2").textContent = words.response;
  at("reasons").replaceChildren(...REASONS.map((why, i) =>
    button(words[why], String(i + 1), () => record({ label: null, skip: why }))));
  for (const [id, act] of Object.entries({ undo, save, back: () => move(-1), next: () => move(1), skip: () => reasons(at("reasons").hidden) })) {
    at(id).addEventListener("click", act);
  }

  // The digit that a character is, in any script; -1 where it is none.
  const digitOf = (character) => {
    if (!/^\p{Nd}$/u.test(character)) return -1;
    let digit = 0; // digits stand in blocks of ten
    while (digit < 9 && /^\p{Nd}$/u.test(String.fromCodePoint(character.codePointAt(0) - digit - 1))) digit += 1;
    return digit;
  };
  // The key as a Latin keyboard names it: a layout that has no Latin letters has the same keys in the same places.
  const nameOf = (event) => {
    const digit = digitOf(event.key);
    if (digit >= 0) return String(digit);
    const place = /^(?:Key|Digit|Numpad)([A-Z0-9])$/.exec(event.code);
    const isOther = !/^[a-z]$/i.test(event.key) && [...event.key].length === 1;
    if ((isOther || event.key === "Dead" || event.key === "Process") && place) return place[1].toLowerCase();
    return event.key.length === 1 ? event.key.toLowerCase() : event.key;
  };

  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.isComposing) return;
    const name = nameOf(event);
    const control = event.ctrlKey || event.metaKey;
    const run = (act) => { event.preventDefault(); act(); };
    if (control) {
      if (name === "s") run(save);
      if (name === "z") run(undo);
      return;
    }
    const digit = /^[0-9]$/.test(name) ? Number(name) : -1;
    if (!at("reasons").hidden) {
      if (name === "Escape") run(() => reasons(false));
      if (digit >= 1 && digit <= REASONS.length) run(() => record({ label: null, skip: REASONS[digit - 1] }));
      return;
    }
    if (name === "u" || name === "Backspace") return run(undo);
    if (name === "s") return run(() => reasons(true));
    if (name === "r") return run(() => { at("how").open = !at("how").open; });
    if (name === "PageDown") return run(() => move(1));
    if (name === "PageUp") return run(() => move(-1));
    if (name === "Enter" && !["BUTTON", "SUMMARY"].includes(document.activeElement.tagName)) return run(enter);
    const side = name === "ArrowRight" || name === "ArrowUp" ? 1 : name === "ArrowLeft" || name === "ArrowDown" ? -1 : 0;
    if (ask.kind !== "slider") {
      const choice = ask.choices.find((_, i) => keyOf(i) === name);
      if (choice) run(() => record({ label: choice[0], skip: null }));
    } else if (digit >= 0) {
      run(() => slide(ask.low + (digit / 10) * (ask.high - ask.low)));
    } else if (side && (name.endsWith("Right") || name.endsWith("Left") || document.activeElement === at("range"))) {
      const along = name.endsWith("Right") || name.endsWith("Left") ? (document.dir === "rtl" ? -side : side) : side;
      run(() => slide((value === null ? (ask.low + ask.high) / 2 : value) + along * (event.shiftKey ? 10 : 1) * ask.step));
    }
  });
  // Two tabs of one sheet say so to each other, and share their answers.
  window.addEventListener("storage", (event) => {
    if (event.key === key) {
      join(event.newValue);
      show(state.place);
    }
    if (event.key === key + "/tab" && event.newValue && !event.newValue.startsWith(tab)) {
      at("elsewhere").textContent = words.elsewhere;
      if (event.newValue.endsWith("?")) greet("!");
    }
  });
  const greet = (mark) => {
    try { localStorage.setItem(key + "/tab", `${tab} ${Date.now()} ${mark}`); } catch { /* then nothing is kept at all */ }
  };
  window.addEventListener("beforeunload", (event) => { if (!kept && items.some(answered)) event.preventDefault(); });
  keep();
  show(Math.max(0, firstOpen()));
  greet("?");
})();
