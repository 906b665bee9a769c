"use strict";
// Heads of columns become buttons that sort: best first, then the other way round. Without scripts the tables stand as they are.
// Controls do not compete: they stay below.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = table.tHead.rows[table.tHead.rows.length - 1].cells;
  const body = table.tBodies[0];
  const first = Array.from(body.rows);
  Array.from(heads).forEach((head, column) => {
    if (head.tagName !== "TH" || "plain" in head.dataset) return;
    const button = document.createElement("button");
    button.type = "button";
    while (head.firstChild) button.append(head.firstChild);
    head.append(button);
    button.addEventListener("click", () => {
      const isText = head.classList.contains("text");
      const usual = isText || head.dataset.better === "low" || /^(Ranks|Tie group)$/.test(button.textContent) ? "ascending" : "descending";
      const other = usual === "ascending" ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") === usual ? other : usual;
      for (const cell of heads) cell.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const key = (row) => {
        const cell = row.cells[column];
        return isText ? cell.textContent : "v" in cell.dataset ? Number(cell.dataset.v) : null;
      };
      const rows = first.slice().sort((one, two) => {
        const a = key(one), b = key(two);
        const below = ("control" in one.dataset) - ("control" in two.dataset);
        if (below) return below;
        if (a === null || b === null) return (a === null) - (b === null);
        return sign * (isText ? a.localeCompare(b) : a - b);
      });
      body.append(...rows);
    });
  });
}

// Views of the cases: what is searched for and shown is part of the address, so that a view can be sent as a link.
const views = {
  worst: { order: "bad", keeps: () => true },
  failures: { order: "bad", keeps: (row) => "failure" in row.dataset },
  disagree: { order: "spread", keeps: (row) => Number(row.dataset.spread) > 0 },
  untested: { order: "bad", keeps: (row) => "untested" in row.dataset },
};
for (const grid of document.querySelectorAll(".case-grid")) {
  const tools = grid.querySelector(".tools"), body = grid.querySelector("tbody");
  const input = tools.querySelector("input"), said = tools.querySelector("output");
  const buttons = Array.from(tools.querySelectorAll("button"));
  const rows = Array.from(body.rows);
  const names = rows.map((row) => row.cells[0].textContent.toLowerCase());
  const state = { view: "worst", q: "" };
  const show = () => {
    const view = views[state.view], words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const size = (row) => (view.order in row.dataset ? Number(row.dataset[view.order]) : -Infinity);
    const kept = rows.filter((row, at) => view.keeps(row) && words.every((word) => names[at].includes(word)));
    kept.sort((one, two) => (size(two) === size(one) ? 0 : size(two) - size(one)));
    for (const row of rows) row.hidden = !kept.includes(row);
    body.append(...kept);
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.view === state.view));
    said.textContent = `${kept.length} of ${rows.length} cases`;
  };
  const keep = () => {
    const options = new URLSearchParams({ suite: grid.dataset.name, view: state.view });
    if (state.q) options.set("q", state.q);
    history.replaceState(null, "", `#cases?${options}`);
    show();
  };
  const restore = () => {
    const [name, query] = location.hash.slice(1).split("?");
    const options = new URLSearchParams(query);
    if (name !== "cases" || options.get("suite") !== grid.dataset.name) return;
    if (Object.hasOwn(views, options.get("view"))) state.view = options.get("view");
    state.q = input.value = options.get("q") || "";
    show();
    grid.scrollIntoView();
  };
  for (const button of buttons) button.addEventListener("click", () => { state.view = button.dataset.view; keep(); });
  input.addEventListener("input", () => { state.q = input.value; keep(); });
  addEventListener("hashchange", restore);
  tools.hidden = false;
  restore();
}

// Paper has no clicks: everything that is folded is printed open.
let folded = [];
addEventListener("beforeprint", () => {
  folded = Array.from(document.querySelectorAll(":is(details.board, .warnings > details, .empty):not([open])"));
  for (const entry of folded) entry.open = true;
});
addEventListener("afterprint", () => {
  for (const entry of folded) entry.open = false;
});

// A link to a folded board opens it.
const reveal = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") target.open = true;
};
addEventListener("hashchange", reveal);
reveal();
// While a run goes on its page is written again and again; the browser keeps the place of the reader.
const going = document.querySelector("main[data-reload]");
if (going) setTimeout(() => location.reload(), 1000 * Number(going.dataset.reload));
