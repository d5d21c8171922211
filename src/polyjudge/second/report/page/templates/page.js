"use strict";
(() => {
  const $ = (selector, root = document) => [...root.querySelectorAll(selector)];
  // Results, charts and the chart library are deflated and in base64.
  const unpack = (id) => {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  };
  let scaled = {};
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
    const part = target && target.closest("details.fold");
    if (part) { part.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", unfold);
  unfold();

  // One judge, highlighted in every chart and table.
  const chooser = document.getElementById("judge");
  const highlight = (judge) => {
    for (const view of views.values()) { set(view, "chosen", judge); view.run(); }
    for (const row of $("tr[data-judges]"))
      row.classList.toggle("chosen", judge !== "" && row.dataset.judges.split("\t").includes(judge));
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
  const key = (row, column, numeric) => {
    const text = row.cells[column].firstChild.textContent.trim();  // without the interval
    return numeric && text !== "–" ? Number(text.replace(/[^0-9eE.+-]/g, "")) : text;
  };
  const empty = (value) => value === "" || value === "–";
  for (const button of $("thead button"))
    button.addEventListener("click", () => {
      const head = button.closest("th"), table = button.closest("table"), column = head.cellIndex;
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of $("th[aria-sort]", table)) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = table.tBodies[0];
      const rows = [...body.rows].map((row) => [key(row, column, head.classList.contains("n")), row]);
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
  save.addEventListener("click", async () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([await unpack("results")], { type: "application/json" }));
    link.download = "results.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });

  const draw = async () => {
    const [library, drawings] = await Promise.all(["library", "charts"].map(unpack));
    document.head.append(Object.assign(document.createElement("script"), { textContent: library }));
    const { charts, config, ...rest } = JSON.parse(drawings);
    scaled = rest.scaled;
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
