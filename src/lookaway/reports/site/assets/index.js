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

// Paper has no clicks: everything that is folded is printed open.
let folded = [];
addEventListener("beforeprint", () => {
  folded = Array.from(document.querySelectorAll("details.board:not([open])"));
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
