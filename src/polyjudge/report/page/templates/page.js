"use strict";
// Long data is deflated (RFC 1950 and 1951). Unpacked at once, so that charts are there when a page has loaded.
const inflate = (source) => {
  const LENGTH = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
  const FAR = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
    8193, 12289, 16385, 24577];
  const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
  let at = 2, held = 0, have = 0, size = 0, out = new Uint8Array(8 * source.length);
  const bits = (n) => {
    while (have < n) { held |= source[at++] << have; have += 8; }
    const value = held & ((1 << n) - 1);
    held >>>= n; have -= n;
    return value;
  };
  const put = (byte) => {
    if (size === out.length) { const more = new Uint8Array(2 * size); more.set(out); out = more; }
    out[size++] = byte;
  };
  const book = (lengths) => {
    const count = new Uint16Array(16), place = new Uint16Array(16), symbols = new Uint16Array(lengths.length);
    for (const length of lengths) if (length) count[length]++;
    for (let i = 1; i < 16; i++) place[i] = place[i - 1] + count[i - 1];
    lengths.forEach((length, symbol) => { if (length) symbols[place[length]++] = symbol; });
    return { count, symbols };
  };
  const next = ({ count, symbols }) => {
    for (let length = 1, code = 0, first = 0, index = 0; length < 16; length++) {
      code |= bits(1);
      if (code - count[length] < first) return symbols[index + code - first];
      index += count[length];
      first = (first + count[length]) << 1;
      code <<= 1;
    }
    throw new Error("The data of this page is damaged.");
  };
  const books = (kind) => {
    if (kind === 1) return [book(Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8))), book(Array(30).fill(5))];
    const literals = bits(5) + 257, distances = bits(5) + 1, some = bits(4) + 4, lengths = Array(19).fill(0), all = [];
    for (let i = 0; i < some; i++) lengths[ORDER[i]] = bits(3);
    const code = book(lengths);
    while (all.length < literals + distances) {
      const symbol = next(code);
      if (symbol < 16) all.push(symbol);
      else {
        const value = symbol === 16 ? all.at(-1) : 0;
        for (let n = symbol === 16 ? 3 + bits(2) : symbol === 17 ? 3 + bits(3) : 11 + bits(7); n; n--) all.push(value);
      }
    }
    return [book(all.slice(0, literals)), book(all.slice(literals))];
  };
  for (let last = 0; !last;) {
    last = bits(1);
    const kind = bits(2);
    if (kind === 0) {
      held = have = 0;
      let n = source[at] | (source[at + 1] << 8);
      for (at += 4; n; n--) put(source[at++]);
      continue;
    }
    const [literal, distance] = books(kind);
    for (let symbol = next(literal); symbol !== 256; symbol = next(literal)) {
      if (symbol < 256) { put(symbol); continue; }
      const i = symbol - 257;
      let n = LENGTH[i] + (i < 8 || i === 28 ? 0 : bits((i - 4) >> 2));
      const j = next(distance), back = FAR[j] + (j < 4 ? 0 : bits((j - 2) >> 1));
      for (; n; n--) put(out[size - back]);
    }
  }
  return new TextDecoder().decode(out.subarray(0, size));
};
(() => {
  const $ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const text = (id) => {
    const { dataset, textContent } = document.getElementById(id);
    return dataset.packed ? inflate(Uint8Array.from(atob(textContent), (c) => c.charCodeAt(0))) : textContent;
  };
  const { charts, config, scaled } = JSON.parse(text("charts"));
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const views = new Map();

  const set = (view, name, value) => {
    try { view.signal(name, value); } catch { /* the chart has no such parameter */ }
  };
  const paint = (name) => {
    for (const view of views.values()) {
      for (const [key, value] of Object.entries(scaled[name])) set(view, key, value);
      view.run();
    }
  };
  const theme = () => (dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => paint(theme()));
  // Printed whole: what was folded opens for the print and closes again. Links open the section they lead to.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = $("details.fold:not([open]), details.remarks:not([open])");
    for (const part of folded) part.open = true;
    paint("light");
  });
  addEventListener("afterprint", () => {
    for (const part of folded) part.open = false;
    paint(theme());
  });
  const unfold = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const part = target && (target.querySelector(":scope > details.fold") || target.closest("details.fold"));
    if (part) { part.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", unfold);
  unfold();

  // One judge, highlighted in every chart and table.
  const chooser = document.getElementById("judge");
  const highlight = (judge) => {
    for (const view of views.values()) { set(view, "chosen", judge); view.run(); }
    for (const row of $("tr[data-judges]"))
      row.classList.toggle("chosen", judge !== "" && JSON.parse(row.dataset.judges).includes(judge));
  };
  if (chooser) chooser.addEventListener("change", () => highlight(chooser.value));
  const pick = (_, item) => {
    const judge = item && item.datum && item.datum.judge;
    if (!chooser || !judge || ![...chooser.options].some((o) => o.value === judge)) return;
    chooser.value = chooser.value === judge ? "" : judge;
    highlight(chooser.value);
  };

  // A choice that belongs to one figure.
  for (const select of $("select.scope"))
    select.addEventListener("change", () => {
      for (const [id, view] of views)
        if (id.startsWith(`chart-${select.dataset.figure}-`)) { set(view, "scope", select.value); view.run(); }
    });

  // Sorting: a click or Enter on a column's head; empty cells stay last.
  const key = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent.trim();
  };
  const empty = (value) => value === "" || value === "–";
  for (const button of $("thead button"))
    button.addEventListener("click", () => {
      const head = button.closest("th"), table = button.closest("table"), column = head.cellIndex;
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of $("th[aria-sort]", table)) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = table.tBodies[0];
      const rows = [...body.rows].map((row) => [key(row, column), row]);
      rows.sort(([a], [b]) => {
        if (empty(a) || empty(b)) return empty(a) - empty(b);
        const order = typeof a === "number" && typeof b === "number" ? a - b
          : String(a).localeCompare(String(b), undefined, { numeric: true });
        return up ? order : -order;
      });
      body.append(...rows.map(([, row]) => row));
    });

  const save = document.getElementById("save");
  save.hidden = false;
  save.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text("results")], { type: "application/json" }));
    link.download = "results.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });

  const draw = async () => {
    const options = { actions: false, renderer: "svg", ast: true, config, tooltip: { theme: "custom" } };
    for (const [id, spec] of Object.entries(charts)) {
      const { view } = await vegaEmbed(document.getElementById(id).firstElementChild, spec, options);
      view.addEventListener("click", pick);
      views.set(id, view);
    }
    paint(theme());
    document.documentElement.dataset.drawn = String(views.size);
    window.polyjudge = { views };
  };
  draw().catch((error) => {
    document.documentElement.dataset.failed = "yes";
    console.error(error);
  });
})();
