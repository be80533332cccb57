// Comfort only: everything on the page can be read without it.
"use strict";

// Columns of a table sort by their values; the order of the page comes back with a third press.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      const after = before === null ? "descending" : before === "descending" ? "ascending" : null;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (after === null) return body.append(...original);
      head.setAttribute("aria-sort", after);
      const sign = after === "descending" ? -1 : 1;
      body.append(...[...original].sort((a, b) => sign * compare(key(a.cells[column]), key(b.cells[column]))));
    });
  });
}

function key(cell) {
  const given = cell.dataset.value;
  return given === undefined ? cell.textContent.trim() : given === "" ? -Infinity : Number(given);
}

function compare(a, b) {
  return typeof a === "number" ? (a === b ? 0 : a - b) : a.localeCompare(b);
}
