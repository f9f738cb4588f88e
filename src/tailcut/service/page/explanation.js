// Why a decision fell as it did, in a window over the page.

import { algorithmName, look } from "./algorithms.js";
import { get, of } from "./api.js";
import { el, name, svg, table } from "./dom.js";
import { count, number, percent, plural, seconds } from "./format.js";
import { scale } from "./scale.js";

const MOST = 12; // algorithms of the table

export async function explain(project, decision, signal) {
  const content = el("div", {}, el("p", { class: "note", role: "status" }, "Loading…"));
  const close = el("button", { type: "button", class: "quiet", onclick: () => window.close() }, "Close");
  const title = el("h2", { id: "why" }, `Why decision ${decision}`);
  const window = el("dialog", { "aria-labelledby": "why", onclose: () => window.remove(),
    onclick: (event) => event.target === window && window.close() },
    el("div", { class: "inside" }, el("div", { class: "top" }, title, close), content));
  signal.addEventListener("abort", () => window.close());
  document.body.append(window);
  window.showModal();
  try {
    content.replaceChildren(...inWords(project, await get(of(project, `/decisions/${decision}/explanation`), { signal })));
  } catch (error) {
    if (error.name !== "AbortError") content.replaceChildren(el("p", { class: "problem", role: "alert" }, `No explanation is available: ${error.message}.`));
  }
}

function inWords(project, why) {
  const where = why.instance === null ? [] : [" on ", name(why.instance)];
  const since = why.outcomes_since;
  return [
    el("p", { class: "lead" }, algorithmName(project, why.algorithm), ` for at most ${seconds(why.budget)}`, ...where, `, ${because(why)}.`),
    since ? el("p", { class: "note" }, `As of now: ${plural(since, "outcome was", "outcomes were")} learned since this decision.`) : null,
    el("h3", {}, "What it expects of each algorithm"),
    el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Beliefs" }, beliefs(project, why)),
    el("p", { class: "note" }, `A lower score is better. The dotted line is the cutoff, ${seconds(why.cutoff)}.`),
    ...features(project, why),
  ].filter((part) => part !== null);
}

function because(why) {
  const judged = why.judged_by ? ` (${why.judged_by})` : "";
  const known = {
    "first run": "because it had not run before",
    exploration: "at random, to explore",
    "fail-over": "because the run before it failed",
    "lowest score": `because its score${judged} was lowest`,
  };
  return known[why.reason] ?? `because: ${why.reason}`;
}

function beliefs(project, why) {
  const rank = (one) => one.score ?? Infinity;
  const all = [...why.algorithms].sort((one, other) => rank(one) - rank(other));
  const shown = all.filter((one, index) => index < MOST || one.name === why.algorithm);
  const predicts = all.some((one) => one.predicted_runtime !== null);
  const heads = ["Algorithm", ">Score", ">Runs", ...(predicts ? ["Predicted runtime (90%)", ">Timeout", `>Expected PAR${why.penalty}`] : [])];
  const rows = shown.map((one) => [
    el("span", { class: one.name === why.algorithm ? "winner" : null }, algorithmName(project, one.name)),
    number(one.score), count(one.runs),
    ...(predicts ? [range(project, one, why, shown), percent(one.timeout_probability), seconds(one.expected_par)] : []),
  ]);
  const rest = all.length - shown.length;
  const whole = table("Beliefs", heads, rows, { class: "beliefs" });
  if (rest) whole.append(el("tfoot", {}, el("tr", {}, el("td", { colspan: heads.length }, `and ${count(rest)} more`))));
  return whole;
}

/** The interval of a prediction as a line and in words; times beyond ten cutoffs are all shown as that. */
function range(project, one, why, shown) {
  if (one.predicted_runtime === null) return "–";
  const most = 10 * why.cutoff;
  const lows = shown.map((other) => other.low).filter((low) => low > 0);
  const least = Math.min(Math.max(Math.min(...lows), why.cutoff / 1e5), why.cutoff / 10);
  const x = scale(least, most, 5, 115, true);
  const place = (value) => x(Math.min(value ?? most, most));
  const text = (value) => (value === null || value > most ? `>${number(most)}` : number(value));
  return el("span", { class: "range" },
    svg("svg", { viewBox: "0 0 120 14", width: 120, height: 14, "aria-hidden": "true" },
      svg("path", { class: "cutoff", d: `M${place(why.cutoff)} 0V14` }),
      svg("path", { class: `line ${look(project, one.name)}`, d: `M${place(one.low)} 7H${place(one.high)}` }),
      svg("circle", { class: `dot ${look(project, one.name)}`, cx: place(one.predicted_runtime), cy: 7, r: 4 })),
    el("span", {}, `${text(one.predicted_runtime)} s (${text(one.low)} to ${text(one.high)})`));
}

function features(project, why) {
  if (!why.features.length) return [];
  const largest = Math.max(...why.features.map((one) => Math.abs(one.effect ?? 0)), 1e-300);
  const rows = why.features.map((one) => {
    const width = (50 * Math.abs(one.effect ?? 0)) / largest;
    const bar = svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "bar both", "aria-hidden": "true" },
      svg("rect", { x: one.effect < 0 ? 50 - width : 50, width, height: 10, class: look(project, one.effect < 0 ? why.rival : why.algorithm) }),
      svg("path", { class: "middle", d: "M50 0V10" }));
    return [one.name === null ? `feature ${one.index}` : name(one.name), number(one.value), bar, effect(one.effect, why.unit)];
  });
  return [
    el("h3", {}, "Features that weigh most"),
    el("p", { class: "note" }, "Bars to the right favour ", name(why.algorithm), "; bars to the left favour its rival ", name(why.rival ?? "–"), "."),
    el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Features" },
      table("Features that weigh most", ["Feature", ">Value", "Weight", ">Effect"], rows, { class: "weights" })),
  ];
}

/** An effect with its sign; one on the logarithm of the runtime as the factor it stands for. */
function effect(value, unit) {
  if (value === null) return "–";
  if (unit === "log s") return `× ${number(Math.exp(Math.min(value, 700)))}`;
  const sign = value > 0 ? "+" : "";
  return `${sign}${number(value)}${unit ? ` ${unit}` : ""}`;
}
