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

// Another pair of models: the table of all cases has what is drawn. The numbers below are those of the drawing of the page.
const SVG = "http://www.w3.org/2000/svg";
const plot = { width: 420, height: 432, left: 46, right: 12, top: 24, bottom: 46, pad: 26, apart: 4.6, turn: 2.4, dot: 12 };
for (const part of document.querySelectorAll(".two-models")) {
  const tools = part.querySelector(".tools"), svg = part.querySelector("svg.two"), { low, high, better } = svg.dataset;
  if (!tools) continue;
  const selects = Array.from(tools.querySelectorAll("select"));
  const cases = Array.from(part.querySelectorAll("tbody tr"), (row) => ({
    title: row.cells[0].querySelector("bdi").textContent,
    href: row.cells[0].querySelector("a")?.getAttribute("href"),
    values: Array.from(row.cells).slice(1).map((cell) => ("v" in cell.dataset ? Number(cell.dataset.v) : null)),
  }));
  const make = (tag, attributes, ...inside) => {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...inside);
    return node;
  };
  const span = plot.width - plot.left - plot.right - 2 * plot.pad;
  const at = (value) => ((value - low) / (high - low)) * span;
  const across = (value) => Math.round(plot.left + plot.pad + at(value));
  const up = (value) => Math.round(plot.height - plot.bottom - plot.pad - at(value));
  const amount = (count) => `${count} case${count === 1 ? "" : "s"}`;
  const draw = () => {
    const [x, y] = selects.map((select) => Number(select.value));
    const names = selects.map((select) => select.selectedOptions[0].textContent);
    const styles = selects.map((select) => Number(select.selectedOptions[0].dataset.style));
    const drawn = cases.filter((one) => one.values[x] !== null && one.values[y] !== null);
    const place = (one) => `${across(one.values[x])} ${up(one.values[y])}`;
    const shared = new Map(), seen = new Map(), won = [0, 0, 0];
    for (const one of drawn) shared.set(place(one), (shared.get(place(one)) || 0) + 1);
    const dots = drawn.map((one) => {
      const a = one.values[x], b = one.values[y], key = place(one), number = seen.get(key) || 0;
      seen.set(key, number + 1);
      const winner = Math.abs(a - b) <= 1e-6 * Math.max(Math.abs(a), Math.abs(b)) ? 2 : (a > b) === (better === "high") ? 0 : 1;
      won[winner] += 1;
      const away = Math.min(plot.apart, plot.pad / Math.sqrt(shared.get(key))) * Math.sqrt(number);
      const label = `${one.title}: ${names[0]} ${a.toFixed(3)}, ${names[1]} ${b.toFixed(3)}`;
      const use = make("use", {
        href: `#m${winner === 2 ? 0 : styles[winner] % 6}`, class: `mk ${winner === 2 ? "even" : `c${styles[winner] % 7}`}`,
        x: across(a) + away * Math.cos(plot.turn * number) - plot.dot / 2,
        y: up(b) + away * Math.sin(plot.turn * number) - plot.dot / 2, width: plot.dot, height: plot.dot,
      });
      const inside = [make("title", {}, label), use];
      return one.href ? make("a", { href: one.href, "aria-label": label, tabindex: "-1" }, ...inside) : make("g", {}, ...inside);
    });
    svg.querySelector(".dots").replaceChildren(...dots);
    const short = (name) => (name.length > 24 ? `${name.slice(0, 23)}…` : name);
    [".of-x", ".of-y"].forEach((axis, number) => {
      svg.querySelector(`${axis} text`).textContent = short(names[number]);
      svg.querySelector(`${axis} use`).setAttribute("href", `#m${styles[number] % 6}`);
      svg.querySelector(`${axis} use`).setAttribute("class", `mk c${styles[number] % 7}`);
    });
    svg.querySelector("title").textContent = `Case by case: ${names[0]} to the right, ${names[1]} upwards`;
    const left = cases.length - drawn.length, equal = won[2] ? `, and both are equal on ${won[2]}` : "";
    const said = `${names[0]} is better on ${amount(won[0])}, ${names[1]} on ${won[1]}${equal}.`;
    for (const place of [part.querySelector(".counts"), svg.querySelector("desc")]) place.textContent = said;
    part.querySelector(".left-out").textContent = left ? `${amount(left)} ${left === 1 ? "is" : "are"} not drawn: one of the two has no value that counts there.` : "";
  };
  // The same model twice says nothing: the other one takes its place.
  const before = selects.map((select) => select.value);
  selects.forEach((select, number) => select.addEventListener("change", () => {
    if (select.value === selects[1 - number].value) selects[1 - number].value = before[number];
    selects.forEach((one, at) => { before[at] = one.value; });
    draw();
  }));
  tools.hidden = false;
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
