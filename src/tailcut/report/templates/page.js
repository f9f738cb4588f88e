"use strict";
// Clicking a heading sorts its table: numbers by value, texts by alphabet, empty cells last.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const rows = [...table.tBodies[0].rows];
      const numbers = rows.every((row) => key(row) === "" || !Number.isNaN(Number(key(row))));
      rows.sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === "" || y === "") return (x === "") - (y === "");
        const order = numbers ? Number(x) - Number(y) : x.localeCompare(y, "en", { numeric: true });
        return up ? order : -order;
      });
      table.tBodies[0].append(...rows);
    });
  });
}
// A link to a scenario opens it.
const open = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") target.open = true;
};
addEventListener("hashchange", open);
open();
// On a phone a figure scrolls sideways, which may hide its legend: show a copy above it. A closed part has no sizes
// yet, so its figures wait until it is opened.
const copyLegends = () => {
  for (const place of document.querySelectorAll("figure > div:not([data-legends])")) {
    if (!place.getClientRects().length) continue;
    place.dataset.legends = "";
    for (const legend of place.querySelectorAll('[id*="legend_"]')) {
      const { x, y, width, height } = legend.getBBox();
      const copy = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      copy.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
      copy.setAttribute("class", "legend");
      copy.setAttribute("aria-hidden", "true");
      copy.style.width = `${width * 1.6}px`;
      copy.append(...[...legend.childNodes].map((part) => part.cloneNode(true)));
      for (const part of copy.querySelectorAll("[id]")) part.removeAttribute("id");
      place.before(copy);
    }
  }
};
for (const part of document.querySelectorAll("details")) part.addEventListener("toggle", copyLegends);
copyLegends();
