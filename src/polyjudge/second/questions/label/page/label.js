"use strict";
// Everything shown is set as text, never as markup. Nothing leaves the page but the file that the person saves.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { words, ask, items } = data;
  const at = (id) => document.getElementById(id);
  const key = "polyjudge-labels:" + data.file;
  const LONG = 20000;
  let state = { answers: {}, undo: [], place: 0 };
  let kept = true;
  let since = Date.now();
  let touched = false;

  try {
    const old = JSON.parse(localStorage.getItem(key) || "null");
    if (old && old.answers) state = { answers: old.answers, undo: old.undo || [], place: 0 };
  } catch { kept = false; }
  const answered = (item) => Object.hasOwn(state.answers, item.id);
  const firstOpen = () => items.findIndex((item) => !answered(item));
  state.place = Math.max(0, firstOpen());

  const keep = () => {
    try { localStorage.setItem(key, JSON.stringify(state)); kept = true; } catch { kept = false; }
    at("saved").textContent = kept ? words.saved : "";
  };

  const node = (name, text, more = {}) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    return Object.assign(made, more);
  };

  const button = (text, hint, act) => {
    const made = node("button", undefined, { type: "button" });
    if (hint) made.append(node("kbd", hint));
    made.append(text);
    made.addEventListener("click", act);
    return made;
  };

  const fill = (box, text) => {
    box.textContent = text.length > LONG ? text.slice(0, LONG) + " … " : text;
    box.tabIndex = 0;
    if (text.length > LONG) {
      box.append(button("… " + (text.length - LONG).toLocaleString(), "", () => { box.textContent = text; }));
    }
    box.scrollTop = 0;
  };

  const record = (answer) => {
    const item = items[state.place];
    if (!item) return;
    state.undo.push({ id: item.id, before: state.answers[item.id] || null });
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
    if (last.before) state.answers[last.id] = last.before; else delete state.answers[last.id];
    keep();
    show(Math.max(0, items.findIndex((item) => item.id === last.id)));
  };

  const move = (step) => show(Math.min(items.length - 1, Math.max(0, state.place + step)));

  const reasons = (open) => {
    at("reasons").hidden = !open;
    at("skip").setAttribute("aria-expanded", String(open));
    if (open) at("reasons").firstChild.focus();
  };
  const REASONS = ["unclear", "broken", "cannot", "other"];

  const show = (place) => {
    state.place = place;
    since = Date.now();
    touched = false;
    const item = items[place];
    const mine = state.answers[item.id] || {};
    const done = items.filter(answered).length;
    at("bar").style.width = (100 * done) / items.length + "%";
    at("count").textContent = `${place + 1} / ${items.length}`;
    at("count").dataset.done = done;
    fill(at("task").querySelector(".text"), item.prompt);
    at("task").hidden = !item.prompt;
    const many = item.responses.length > 1;
    at("responses").replaceChildren(...item.responses.map((text, i) => {
      const part = node("section");
      const box = node("div", undefined, { className: "text", dir: "auto" });
      fill(box, text);
      part.append(node("h2", many ? [words.a, words.b][i] : words.response), box);
      return part;
    }));
    at("choices").replaceChildren(...(ask.kind === "slider" ? slider(mine) : buttons(mine)));
    at("undo").disabled = !state.undo.length;
    at("back").disabled = place === 0;
    at("next").disabled = place === items.length - 1;
    at("done").hidden = done < items.length;
    at("save").classList.toggle("ready", done === items.length);
    for (const [i, made] of [...at("reasons").children].entries()) made.ariaPressed = String(mine.skip === REASONS[i]);
    reasons(false);
    window.scrollTo(0, 0);
  };

  const buttons = (mine) => ask.choices.map(([value, word], i) => {
    const made = button(word, String((i + 1) % 10), () => record({ label: value, skip: null }));
    made.ariaPressed = String(mine.label === value);
    return made;
  });

  const slider = (mine) => {
    const start = typeof mine.label === "number" ? mine.label : (ask.low + ask.high) / 2;
    const range = node("input", undefined, { type: "range", id: "range" });
    range.min = ask.low; range.max = ask.high; range.step = ask.step; range.value = start;
    range.setAttribute("aria-label", at("ask").textContent);
    const number = node("output", typeof mine.label === "number" ? mine.label : "–");
    range.addEventListener("input", () => { touched = true; number.textContent = range.value; });
    const confirm = button("✓", "Enter", () => confirmRange());
    confirm.ariaLabel = words.next;
    return [node("span", `${ask.low} ${words.worst}`, { className: "end" }), range,
      node("span", `${ask.high} ${words.best}`, { className: "end" }), number,
      confirm];
  };
  const setRange = (value) => {
    const range = at("range");
    range.value = value;
    range.dispatchEvent(new Event("input"));
  };
  const confirmRange = () => {
    if (touched || answered(items[state.place])) record({ label: Number(at("range").value), skip: null });
  };

  const save = (name, type, text) => {
    const link = node("a", undefined, { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    document.body.append(link);
    link.click();
    setTimeout(() => { URL.revokeObjectURL(link.href); link.remove(); }, 1000);
  };
  const answers = () => items.filter(answered).map((item) => ({ item: item.id, ...state.answers[item.id] }));
  const saveJson = () => save(`${data.name}.json`, "application/json", JSON.stringify({
    format: "polyjudge-answers", version: 1, labels: data.labels, file: data.file, answers: answers(),
  }, null, 1));
  const saveCsv = () => {
    const rows = answers().map((a) => [a.item, a.label ?? "", a.skip ?? "", a.at, a.seconds].join(","));
    save(`${data.name}.csv`, "text/csv", ["item,label,skip,at,seconds", ...rows].join("\r\n") + "\r\n");
  };

  at("undo").append(node("kbd", "U"), words.undo);
  at("save").textContent = words.save;
  at("csv").textContent = "CSV";
  at("csv").title = words.csv;
  at("back").append(node("kbd", "PgUp"), words.back);
  at("next").append(node("kbd", "PgDn"), words.next);
  at("skip").append(node("kbd", "S"), words.skip);
  at("done").textContent = words.done;
  at("ask").textContent = ask.question;
  at("how").querySelector("summary").textContent = words.how;
  at("how").hidden = !data.rubric;
  at("how").open = !items.some(answered);
  at("rubric").textContent = data.rubric;
  at("task").querySelector("h2").textContent = words.task;
  document.body.classList.toggle("pairs", ask.kind === "pairs");
  at("reasons").replaceChildren(...REASONS.map((why, i) =>
    button(words[why], String(i + 1), () => record({ label: null, skip: why }))));
  at("undo").addEventListener("click", undo);
  at("save").addEventListener("click", saveJson);
  at("csv").addEventListener("click", saveCsv);
  at("back").addEventListener("click", () => move(-1));
  at("next").addEventListener("click", () => move(1));
  at("skip").addEventListener("click", () => reasons(at("reasons").hidden));

  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey) return;
    const name = event.key;
    const ends = () => event.preventDefault();
    if ((event.ctrlKey && name.toLowerCase() === "z") || (!event.ctrlKey && ["u", "U", "Backspace"].includes(name))) {
      ends(); undo(); return;
    }
    if (event.ctrlKey) return;
    const digit = /^[0-9]$/.test(name) ? Number(name) : -1;
    if (!at("reasons").hidden) {
      if (name === "Escape") { ends(); reasons(false); }
      if (digit >= 1 && digit <= REASONS.length) { ends(); record({ label: null, skip: REASONS[digit - 1] }); }
      return;
    }
    if (name === "s" || name === "S") { ends(); reasons(true); return; }
    if (name === "PageDown") { ends(); move(1); return; }
    if (name === "PageUp") { ends(); move(-1); return; }
    if (ask.kind === "slider") {
      const range = at("range"), wide = ask.high - ask.low;
      const step = (event.shiftKey ? 10 : 1) * ask.step;
      if (digit >= 0) { ends(); setRange(ask.low + (digit / 10) * wide); }
      else if (name === "ArrowRight" || name === "ArrowLeft") {
        const up = (name === "ArrowRight") !== (document.dir === "rtl");
        ends(); setRange(Number(range.value) + (up ? step : -step));
      } else if (name === "Enter" && event.target.tagName !== "BUTTON") { ends(); confirmRange(); }
      return;
    }
    if (digit >= 0) {
      const choice = ask.choices[(digit + 9) % 10];
      if (choice) { ends(); record({ label: choice[0], skip: null }); }
      return;
    }
    if (name === "ArrowRight" || name === "ArrowLeft") {
      ends(); move((name === "ArrowRight") !== (document.dir === "rtl") ? 1 : -1);
    }
  });
  window.addEventListener("beforeunload", (event) => { if (!kept && items.some(answered)) event.preventDefault(); });
  keep();
  show(state.place);
})();
