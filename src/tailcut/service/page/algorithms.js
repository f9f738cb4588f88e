// How often each algorithm was chosen and what came of it; the survival curves of their runs.

import { get, of } from "./api.js";
import { chart } from "./chart.js";
import { arrange, el, name, say, svg } from "./dom.js";
import { count, number, percent, plural, seconds } from "./format.js";

const FEW = 12; // algorithms that are listed at first
const CURVES = 6; // survival curves in one drawing
const COLOURS = 9;
const SEGMENTS = ["solved", "timeout", "failed", "waiting"];

/** One colour per algorithm for as long as the page is open; those beyond the palette are grey. */
const looks = new Map();
export function look(project, algorithm) {
  const known = `${project}\n${algorithm}`;
  const before = [...looks.keys()].filter((one) => one.startsWith(`${project}\n`)).length;
  if (!looks.has(known)) looks.set(known, before < COLOURS ? `c${before}` : "cx");
  return looks.get(known);
}

/** An algorithm's name with its colour. */
export function algorithmName(project, algorithm) {
  return el("span", { class: "algorithm" }, el("span", { class: `chip ${look(project, algorithm)}`, "aria-hidden": "true" }), name(algorithm));
}

export function algorithmsPart(context, refresher) {
  const { project, signal } = context;
  const state = { all: [], chosen: null, everything: false };
  const body = el("tbody");
  const more = el("button", { type: "button", class: "quiet", hidden: true, onclick: () => {
    state.everything = !state.everything;
    list(body, more, state, project);
  } });
  const curve = chart({ title: "Survival", xName: "seconds, by powers of ten", x: (value) => `after ${seconds(value)}`, xTick: number,
    y: (value) => (value === null ? "not known" : `${percent(value)} still unsolved`), tick: percent, empty: "No run has ended yet",
    note: "Share of an algorithm's runs that have not solved their instance after a given time (Kaplan–Meier), up to the cutoff." });
  const picker = el("select", { id: "survival-of", onchange: () => {
    state.chosen = picker.value;
    survive();
  } });
  const survive = refresher(1, context, () => survival(project, state, curve, signal));
  const rarely = refresher(4, context, () => survival(project, state, curve, signal));
  curve.element.querySelector("h3").after(el("p", { class: "pick" }, el("label", { for: "survival-of" }, "Algorithm"), picker, el("span", { class: "runs" })));
  const heads = ["Algorithm", "Share of choices", ">Chosen", ">Solved", ">Timeouts", ">Failed", ">Mean runtime", ">PAR10"];
  const columns = heads.map((one) => el("th", { scope: "col", class: one.startsWith(">") ? "number" : null }, one.replace(">", "")));
  const table = el("table", { class: "shares" }, el("caption", { class: "unseen" }, "Algorithms"), el("thead", {}, el("tr", {}, ...columns)), body);
  const legend = el("ul", { class: "legend", "aria-hidden": "true" }, ...SEGMENTS.map((one) => el("li", { class: `key area ${one}` }, one)));
  const element = el("section", { "aria-labelledby": "algorithms" },
    el("h2", { id: "algorithms" }, "Algorithms"),
    el("div", { class: "pair" },
      el("div", { class: "panel" }, el("h3", {}, "Choices"), legend,
        el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Choices per algorithm" }, table), more),
      curve.element));
  return {
    element,
    update(now) {
      now.algorithms.forEach((one) => look(project, one.name));
      state.all = [...now.algorithms].sort((one, other) => other.chosen - one.chosen);
      list(body, more, state, project);
      choices(picker, state);
      rarely();
    },
  };
}

function list(body, more, state, project) {
  const shown = state.everything ? state.all : state.all.slice(0, FEW);
  const longest = Math.max(...state.all.map((one) => one.share), 1e-9);
  arrange(body, shown, (one) => one.name, (one) => row(one, project), (line, one) => change(line, one, longest));
  more.hidden = state.all.length <= FEW;
  say(more, state.everything ? "Show fewer" : `Show all ${count(state.all.length)}`);
}

function row(one, project) {
  const bar = svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "bar", "aria-hidden": "true" },
    ...SEGMENTS.map((kind) => svg("rect", { class: kind, height: 10 })));
  const numbers = Array.from({ length: 6 }, () => el("td", { class: "number" }));
  return el("tr", {},
    el("th", { scope: "row" }, algorithmName(project, one.name)),
    el("td", { class: "share" }, bar, el("span", { class: "number" })), ...numbers);
}

function change(line, one, longest) {
  const waiting = one.chosen - one.solved - one.censored - one.failed;
  const unit = one.chosen ? (100 * one.share) / longest / one.chosen : 0;
  let x = 0;
  [one.solved, one.censored, one.failed, waiting].forEach((amount, index) => {
    const rect = line.querySelectorAll("rect")[index];
    rect.setAttribute("x", x);
    rect.setAttribute("width", Math.max(0, amount * unit));
    x += amount * unit;
  });
  say(line.querySelector(".share .number"), percent(one.share));
  const texts = [count(one.chosen), count(one.solved), count(one.censored), count(one.failed), seconds(one.mean_runtime), seconds(one.par10)];
  line.querySelectorAll("td.number").forEach((cell, index) => say(cell, texts[index]));
}

/** Keep the choice of the survival curve up to date without taking it from who is choosing. */
function choices(picker, state) {
  const names = state.all.map((one) => one.name);
  if (!names.includes(state.chosen)) state.chosen = names[0] ?? null;
  const sorted = [...names].sort((one, other) => one.localeCompare(other));
  if ([...picker.options].map((one) => one.value).join("\n") !== sorted.join("\n")) {
    picker.replaceChildren(...sorted.map((one) => el("option", { value: one }, one)));
  }
  if (picker.value !== state.chosen) picker.value = state.chosen;
}

/** Draw the chosen algorithm's curve before those of the ones most often chosen. */
async function survival(project, state, curve, signal) {
  if (state.chosen === null) return;
  const others = state.all.filter((one) => one.name !== state.chosen && one.chosen > 0).slice(0, CURVES - 1);
  const names = [...others.map((one) => one.name), state.chosen];
  const found = [];
  for (const one of names) found.push(await get(of(project, `/survival?algorithm=${encodeURIComponent(one)}`), { signal }));
  const chosen = found.at(-1);
  if (chosen.algorithm !== state.chosen) return; // another one was asked for meanwhile
  const times = [...new Set(found.flatMap((one) => one.curve.map((point) => point.time)))].filter((time) => time > 0);
  times.sort((one, other) => one - other);
  const first = times.length ? Math.min(times[0], chosen.cutoff / 100) / 1.5 : 1;
  const x = times.length ? [first, ...times] : [];
  say(curve.element.querySelector(".runs"), plural(chosen.runs, "run"));
  curve.update({ x, logX: true, steps: true, from: 0, to: 1, range: [first, Math.max(chosen.cutoff, times.at(-1) ?? 0)],
    series: found.map((one) => ({
      name: one.algorithm,
      values: x.map((time) => standing(one.curve, time)),
      mark: "line",
      look: `${look(project, one.algorithm)} ${one === chosen ? "chosen" : "faint"}`,
      quiet: one !== chosen,
    })) });
}

/** The share still unfinished at some time; null beyond what was seen. */
function standing(points, time) {
  if (!points.length || time > points.at(-1).time) return null;
  return points.findLast((point) => point.time <= time)?.survival ?? 1;
}
