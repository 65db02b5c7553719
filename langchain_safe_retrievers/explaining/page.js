"use strict";
// Sorting: a press on a column's head sorts by its cells' data-v; another turns the order around.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  for (const button of table.tHead.querySelectorAll("button")) {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const was = head.getAttribute("aria-sort");
      const turned = was === "ascending" ? "descending" : "ascending";
      const order = was === "none" ? button.dataset.first : turned;
      for (const other of heads) {
        if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
      }
      head.setAttribute("aria-sort", order);
      sortRows(body, heads.indexOf(head), order === "ascending" ? 1 : -1);
    });
  }
}

function sortRows(body, column, sign) {
  const rows = [...body.rows].map((row) => ({ row, value: row.cells[column].dataset.v ?? "" }));
  rows.sort((a, b) => {
    if (a.value === "" || b.value === "") return (a.value === "") - (b.value === ""); // nothing is last
    const difference = Number(a.value) - Number(b.value);
    return sign * (Number.isNaN(difference) ? a.value.localeCompare(b.value) : difference);
  });
  body.append(...rows.map(({ row }) => row));
}

// A link to a row opens it.
function openTarget() {
  const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const details = row?.querySelector("details");
  if (!details) return;
  details.open = true;
  details.querySelector("summary").focus();
}
addEventListener("hashchange", openTarget);
openTarget();
