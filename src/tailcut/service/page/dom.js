// Elements are made here and nowhere else. What comes from clients of the service (names of projects,
// algorithms, instances) only ever becomes a text node or the value of a harmless attribute.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** An HTML element; functions among the attributes (`onclick`) listen, strings among the children are text. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** A name that came from a client: kept apart from the direction of the text around it. */
export function name(text, attributes = {}) {
  return el("bdi", { title: text, class: "name", ...attributes }, text);
}

/** Set a text only if it is another one, so that screen readers and selections are left in peace. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A table with headings; columns whose heading begins with ">" are numbers, to the right. */
export function table(caption, headings, rows, attributes = {}) {
  const right = headings.map((heading) => heading.startsWith(">"));
  const cell = (content, index) =>
    index === 0
      ? el("th", { scope: "row", class: right[0] ? "number" : null }, content)
      : el("td", { class: right[index] ? "number" : null }, content);
  return el(
    "table",
    attributes,
    el("caption", { class: "unseen" }, caption),
    el("thead", {}, el("tr", {}, ...headings.map((heading, index) => head(heading, right[index])))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map(cell)))),
  );
}

function head(heading, right) {
  return el("th", { scope: "col", class: right ? "number" : null }, right ? heading.slice(1) : heading);
}

/** Bring the rows of a table body into the order of `items`, keeping those that are there already. */
export function arrange(body, items, key, make, change) {
  const present = new Map([...body.children].map((row) => [row.dataset.key, row]));
  items.forEach((item, place) => {
    const id = String(key(item));
    let row = present.get(id);
    if (row === undefined) {
      row = make(item);
      row.dataset.key = id;
    }
    present.delete(id);
    change(row, item);
    if (body.children[place] !== row) body.insertBefore(row, body.children[place] ?? null);
  });
  for (const row of present.values()) row.remove();
}
