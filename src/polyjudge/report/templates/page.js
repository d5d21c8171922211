// Drawers, switches to numbers, sorting, filtering, CSV. Texts are set as text, never as HTML.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.querySelector(".pj");
  const make = (tag, kind, text) => {
    const element = document.createElement(tag);
    if (kind) element.className = kind;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const button = (text, act) => {
    const made = make("button", "plain small", text);
    made.type = "button";
    made.addEventListener("click", act);
    return made;
  };

  // drawers
  const dialog = root.querySelector("dialog");
  const content = dialog.querySelector(".content");
  const own = (name) => Object.prototype.hasOwnProperty.call(data.drawers, name);

  const strip = (lines) => {
    const box = make("div", "strip");
    const most = Math.max(...lines.flatMap((line) => line.bars.map((bar) => bar[1])));
    lines.forEach((line, i) => {
      box.append(make("span", "", line.label));
      const bars = make("div", i === 0 ? "bars own" : "bars");
      for (const [x, share] of line.bars) {
        const bar = make("i");
        bar.style.left = x + "%";
        bar.style.height = Math.max(3, (100 * share) / most) + "%";
        bars.append(bar);
      }
      const mean = make("b");
      mean.style.left = line.mean + "%";
      mean.title = "mean";
      bars.append(mean);
      box.append(bars);
    });
    const ends = make("div", "ends");
    ends.append(make("span", "", lines[0].ends[0]), make("span", "", lines[0].ends[1]));
    box.append(make("span"), ends);
    return box;
  };

  const answer = (a) => {
    const box = make("div", "answer");
    const said = [a.judge || "score", a.score].filter((x) => x !== undefined).join(" ");
    const others = a.others === undefined ? "" : (a.judge ? ", the others " : ", the other systems ") + a.others;
    const human = a.human === undefined ? "" : ", people " + a.human;
    box.append(make("p", "said", said + others + human));
    const where = [a.task && "task " + a.task, a.system, a.language].filter(Boolean).join(" · ");
    box.append(make("p", "where", where));
    const list = make("dl");
    for (const part of ["prompt", "response", "reason"]) {
      if (!a[part]) continue;
      const text = make("dd", a[part].length > 420 ? "cut" : "", a[part]);
      if (a[part].length > 420) text.tabIndex = 0;
      list.append(make("dt", "", part), text);
    }
    if (list.children.length) box.append(list);
    return box;
  };

  const open = (key) => {
    if (!own(key)) return;
    const drawer = data.drawers[key];
    dialog.querySelector("h2").textContent = drawer.title;
    content.replaceChildren(make("p", "soft", drawer.lead));
    if (drawer.spread) content.append(make("h3", "", "Distribution of scores"), strip(drawer.spread));
    const first = drawer.answers.some((a) => a.others !== undefined) ? "Answers, most different from the others first" : "Answers";
    if (drawer.answers.length) content.append(make("h3", "", first), ...drawer.answers.map(answer));
    dialog.showModal();
    dialog.scrollTop = 0;
    dialog.querySelector("h2").focus();
  };
  for (const opener of root.querySelectorAll("[data-key]")) opener.addEventListener("click", () => open(opener.dataset.key));
  dialog.querySelector(".close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

  // charts: a switch to their numbers
  for (const figure of root.querySelectorAll("figure")) {
    const [drawn, numbers] = [figure.querySelectorAll(".drawn"), figure.querySelector(".numbers")];
    if (!numbers) continue;
    const toggle = button("Numbers", () => {
      const shown = numbers.classList.toggle("unseen");
      for (const part of drawn) (part.closest("details") || part).hidden = !shown;
      toggle.setAttribute("aria-pressed", String(!shown));
      toggle.textContent = shown ? "Numbers" : "Chart";
    });
    toggle.setAttribute("aria-pressed", "false");
    let caption = figure.querySelector("figcaption");
    if (!caption) figure.prepend((caption = make("figcaption")));
    caption.append(toggle);
  }

  // tables: sort by a heading, filter by a word
  const value = (row, i) => {
    const cell = row.cells[i];
    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  };
  const order = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : typeof a === "number" ? -1 : typeof b === "number" ? 1 : a.localeCompare(b);
  for (const table of root.querySelectorAll("table[data-sort]")) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    if (rows.length < 3) continue;
    [...table.tHead.rows[0].cells].forEach((head, i) => {
      const text = head.textContent;
      const sort = make("button", "", text);
      sort.type = "button";
      sort.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        body.append(...[...rows].sort((a, b) => (down ? -1 : 1) * order(value(a, i), value(b, i))));
      });
      head.replaceChildren(sort);
    });
    if (rows.length < 10) continue;
    const input = make("input");
    input.type = "search";
    input.placeholder = "Filter";
    input.setAttribute("aria-label", "Filter rows of " + table.caption.textContent);
    const status = make("span", "unseen");
    status.setAttribute("role", "status");
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        left += !row.hidden;
      }
      status.textContent = left + " rows";
    });
    table.closest(".table").querySelector(".tools [data-csv]").before(input, status);
  }

  // what scrolls can be reached by keyboard
  const reach = new ResizeObserver((entries) => {
    for (const { target: t } of entries) {
      const scrolls = t.scrollWidth > t.clientWidth || t.scrollHeight > t.clientHeight;
      scrolls && !t.closest(".unseen") ? (t.tabIndex = 0) : t.removeAttribute("tabindex");
    }
  });
  for (const part of root.querySelectorAll(".scroll")) reach.observe(part);

  // CSV
  for (const save of root.querySelectorAll("[data-csv]")) {
    const text = Object.prototype.hasOwnProperty.call(data.csv, save.dataset.csv) ? data.csv[save.dataset.csv] : null;
    if (text === null) {
      save.remove();
      continue;
    }
    save.setAttribute("aria-label", "Save " + save.dataset.csv + " as CSV");
    save.addEventListener("click", () => {
      const link = make("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
      link.download = data.command + "-" + save.dataset.csv + ".csv";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }
})();
