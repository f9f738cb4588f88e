// One kind of chart for everything over something: lines, dots and stacked areas in SVG, with a line of words
// that reads out the values under the pointer or the arrow keys, and a table for those who want no drawing.

import { el, say, svg, table } from "./dom.js";
import { area, decades, path, sample, scale, ticks } from "./scale.js";

const HEIGHT = 208;
const EDGE = { left: 52, right: 14, top: 10, bottom: 38 };
const ROWS = 12; // of the table

/**
 * A figure that draws itself whenever it is given data:
 *   x, and series of { name, values, mark: line | dots | area, look, quiet } with as many values, of which
 *   quiet ones are drawn but not read out;
 *   rules: horizontal lines { value, name, look }; steps: whether lines go by steps; logX; from, to: ends of y.
 * `words` say what it is: title, note, xName, x and y (how values are written), empty.
 */
export function chart(words) {
  const heading = el("h3", {}, words.title);
  const legend = el("ul", { class: "legend", "aria-hidden": "true" });
  const readout = el("p", { class: "readout", "aria-live": "off" });
  const drawing = svg("svg", { role: "img", height: HEIGHT });
  const hint = `${words.title}: use the arrow keys to read values`;
  const plot = el("div", { class: "plot", tabindex: "0", role: "group", "aria-label": hint }, drawing);
  const rows = el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `${words.title}, table` });
  const details = el("details", {}, el("summary", {}, "As a table"), rows);
  const note = el("p", { class: "note" }, words.note);
  const element = el("figure", { class: "chart" }, heading, readout, legend, plot, note, details);
  const state = { data: null, cursor: null, places: [] };

  const redraw = () => {
    if (state.data === null || plot.clientWidth === 0) return;
    draw(drawing, plot.clientWidth, state, words);
    if (state.cursor !== null) point(drawing, state);
    say(readout, read(state, words));
    if (details.open) rows.replaceChildren(asTable(state.data, words));
  };
  const move = (cursor) => {
    state.cursor = cursor;
    drawing.querySelector(".cursor")?.remove();
    if (cursor !== null) point(drawing, state);
    say(readout, read(state, words));
  };
  listen(plot, readout, state, move);
  details.addEventListener("toggle", redraw);
  new ResizeObserver(redraw).observe(plot);

  return {
    element,
    update(data) {
      state.data = data;
      if (state.cursor !== null && state.cursor >= data.x.length) state.cursor = null;
      key(legend, data);
      drawing.setAttribute("aria-label", `${words.title}. ${read({ data, cursor: null }, words)}`);
      redraw();
    },
  };
}

function listen(plot, readout, state, move) {
  plot.addEventListener("pointermove", (event) => {
    const x = event.clientX - plot.getBoundingClientRect().left;
    if (state.places.length) move(nearest(state.places, x));
  });
  plot.addEventListener("pointerleave", () => move(null));
  plot.addEventListener("blur", () => {
    readout.setAttribute("aria-live", "off");
    move(null);
  });
  plot.addEventListener("keydown", (event) => {
    const last = state.places.length - 1;
    const now = state.cursor ?? last;
    const far = Math.max(1, Math.round(last / 10));
    const to = { ArrowLeft: now - 1, ArrowRight: now + 1, PageUp: now - far, PageDown: now + far, Home: 0, End: last };
    if (last < 0 || !(event.key in to)) return;
    event.preventDefault();
    readout.setAttribute("aria-live", "polite");
    move(Math.min(Math.max(to[event.key], 0), last));
  });
}

function nearest(places, x) {
  let best = 0;
  places.forEach((place, index) => {
    if (Math.abs(place - x) < Math.abs(places[best] - x)) best = index;
  });
  return best;
}

/** The values under the cursor in words; without one the latest. */
function read({ data, cursor }, words) {
  if (data.x.length === 0) return words.empty;
  const index = cursor ?? data.x.length - 1;
  const spoken = data.series.filter((one) => !one.quiet);
  const values = spoken.map((one) => {
    const value = words.y(one.values[index]);
    return data.series.length > 1 ? `${one.name} ${value}` : value;
  });
  return `${words.x(data.x[index])}: ${values.join(", ")}`;
}

function key(legend, data) {
  const entries = [...data.series, ...(data.rules ?? []).filter((rule) => rule.name)];
  const looks = [data.x.length > 1, ...entries.map((one) => `${one.name} ${one.look}`)].join("\n");
  if (legend.dataset.shown === looks) return;
  legend.dataset.shown = looks;
  const needed = data.x.length > 1 && entries.length > 1 ? entries : []; // a single one is what the title says
  legend.replaceChildren(
    ...needed.map((one) => el("li", { class: `key ${one.look} ${one.mark ?? "rule"}` }, el("bdi", {}, one.name))),
  );
}

function asTable(data, words) {
  const rows = sample(data.x.length, ROWS).map((index) => [
    words.x(data.x[index]),
    ...data.series.map((one) => words.y(one.values[index])),
  ]);
  return table(words.title, [words.xName, ...data.series.map((one) => `>${one.name}`)], rows);
}

/** Both ends of y, such that everything is seen. */
function reach(data) {
  const shown = [...data.series.flatMap((one) => stacked(data, one)), ...(data.rules ?? []).map((one) => one.value)];
  const finite = shown.filter((value) => Number.isFinite(value));
  const low = data.from ?? Math.min(0, ...finite);
  const high = data.to ?? Math.max(low, ...finite);
  return high > low ? [low, high] : [low, low + 1];
}

/** Values as they are drawn: areas stand upon those before them. */
function stacked(data, series) {
  if (series.mark !== "area") return series.values;
  const below = data.series.slice(0, data.series.indexOf(series) + 1).filter((one) => one.mark === "area");
  return series.values.map((_, index) => below.reduce((sum, one) => sum + one.values[index], 0));
}

function draw(drawing, width, state, words) {
  const { data } = state;
  drawing.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  drawing.setAttribute("width", width);
  const right = width - EDGE.right;
  const bottom = HEIGHT - EDGE.bottom;
  if (data.x.length < 2) {
    state.places = [];
    const why = data.x.length ? "A curve needs two points" : words.empty;
    const text = svg("text", { x: width / 2, y: HEIGHT / 2, class: "nothing" }, why);
    drawing.replaceChildren(text);
    return;
  }
  const [low, high] = reach(data);
  const marks = ticks(low, high, 4);
  const y = scale(Math.min(marks[0], low), Math.max(marks.at(-1), high), bottom, EDGE.top);
  const [first, last] = data.range ?? [data.x[0], data.x.at(-1)];
  const x = scale(first, Math.max(last, first), EDGE.left, right, data.logX);
  state.places = data.x.map(x);
  state.height = (series, index) => y(stacked(data, series)[index]);
  const below = data.logX ? thinned(decades(first, last), width) : ticks(first, last, Math.max(3, Math.round(width / 85)));
  drawing.replaceChildren(
    grid(marks, y, right, words),
    axis(below.filter((value) => value >= first && value <= last), x, bottom, words, (EDGE.left + right) / 2),
    ...(data.rules ?? []).map((rule) => svg("path", { class: `rule ${rule.look}`, d: `M${EDGE.left} ${y(rule.value)}H${right}` })),
    ...data.series.map((series) => marked(data, series, state.places, y)),
  );
}

function thinned(values, width) {
  const step = width < 420 && values.length > 4 ? 2 : 1;
  return values.filter((_, index) => (values.length - 1 - index) % step === 0);
}

function grid(marks, y, right, words) {
  const lines = marks.flatMap((value) => [
    svg("path", { class: value === 0 ? "zero" : "grid", d: `M${EDGE.left} ${Math.round(y(value)) + 0.5}H${right}` }),
    svg("text", { x: EDGE.left - 7, y: y(value) + 4, class: "left" }, words.tick(value)),
  ]);
  return svg("g", { "aria-hidden": "true" }, ...lines);
}

function axis(values, x, bottom, words, middle) {
  return svg(
    "g",
    { "aria-hidden": "true" },
    ...values.map((value) => svg("text", { x: x(value), y: bottom + 16, class: "below" }, words.xTick(value))),
    svg("text", { x: middle, y: bottom + 33, class: "below axis" }, words.xName),
  );
}

function marked(data, series, places, y) {
  const values = stacked(data, series);
  const points = values.map((value, index) => [places[index], value === null ? null : y(value)]);
  if (series.mark === "area") {
    const lower = values.map((value, index) => [places[index], y(value - series.values[index])]);
    return svg("path", { class: `area ${series.look}`, d: area(points, lower) });
  }
  if (series.mark === "dots") {
    const dots = points.filter(([, height]) => height !== null);
    return svg("g", { class: `dots ${series.look}` }, ...dots.map(([cx, cy]) => svg("circle", { cx, cy, r: 2 })));
  }
  return svg("path", { class: `line ${series.look}`, d: path(points, data.steps) });
}

/** The cursor: a line across, and a dot on each series. */
function point(drawing, state) {
  const x = state.places[state.cursor];
  if (x === undefined) return;
  const dots = state.data.series
    .filter((series) => !series.quiet && series.values[state.cursor] !== null)
    .map((series) => svg("circle", { class: `dot ${series.look}`, cx: x, cy: state.height(series, state.cursor), r: 4 }));
  const line = svg("path", { class: "hair", d: `M${x} ${EDGE.top}V${HEIGHT - EDGE.bottom}` });
  drawing.append(svg("g", { class: "cursor" }, line, ...dots));
}
