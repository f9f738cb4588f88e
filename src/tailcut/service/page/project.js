// One project, live: key figures, charts, algorithms, decisions.

import { algorithmsPart } from "./algorithms.js";
import { get, of, Refused, Unreachable } from "./api.js";
import { chart } from "./chart.js";
import { decisionsPart } from "./decisions.js";
import { el, name, say, table } from "./dom.js";
import { clock, count, day, milliseconds, number, percent, plural, seconds, signed } from "./format.js";
import { follow } from "./live.js";
import { address } from "./projects.js";

const QUIET = 10; // seconds between two announcements of new figures at least

export async function showProject(place, context) {
  const { project, signal } = context;
  const estimate = estimatePart();
  const shown = tiles();
  const parts = [shown, charts(estimate.element), algorithmsPart(context, refresher), decisionsPart(context, refresher)];
  const about = el("p", { class: "note" }, "Loading…");
  const empty = howToAsk(project);
  place.replaceChildren(el("h1", {}, name(project)), about, empty.element, ...parts.map((part) => part.element));
  const describe = refresher(5, context, async () => {
    const info = await get(of(project), { signal });
    say(about, description(info));
    empty.describe(info);
  });
  const estimated = refresher(5, context, async () => {
    const found = await get(`${of(project)}/estimate`, { signal });
    shown.take(found);
    estimate.take(found);
    if (found.under_way) estimated();
  });
  const announced = { at: 0 };
  const take = (statistics) => {
    describe();
    estimated();
    empty.element.hidden = statistics.decisions > 0;
    for (const part of parts) part.update(statistics);
    announce(statistics, announced, context);
  };
  let latest = null;
  const tell = (state, _pause, why) => {
    if (state === "live") {
      latest = Date.now() / 1000;
      context.tell({ state, text: "Live" });
    } else if (state === "lost") {
      const since = latest === null ? "" : `, figures of ${clock(latest)}`;
      context.tell({ state, text: `Not reachable${since}: ${why}; trying again` });
      if (latest === null) say(about, "Waiting for the server…");
    }
  };
  await whileVisible(signal, context.fail, (inner) => follow(project, { take, tell, signal: inner }));
}

/** Work while the tab is seen: streams are limited, and nobody looks at this one. */
function whileVisible(signal, fail, work) {
  let current = null;
  const change = () => {
    if (document.hidden || signal.aborted) current?.abort();
    if (document.hidden || signal.aborted || (current && !current.signal.aborted)) return;
    current = new AbortController();
    work(current.signal).catch(fail);
  };
  document.addEventListener("visibilitychange", change, { signal });
  signal.addEventListener("abort", change);
  change();
}

/** Return a function that does some work soon, but not more often than every so many seconds. */
function refresher(pause, { signal, fail }, work) {
  let timer = null;
  let last = -Infinity;
  let busy = false;
  let again = false;
  const run = async () => {
    timer = null;
    again = busy; // asked for while under way: what is on its way may be too old already
    if (signal.aborted || busy) return;
    busy = true;
    last = performance.now();
    try {
      await work();
    } catch (error) {
      // what passes is reported by the live stream, which tries again and then calls here again
      const passes = error instanceof Unreachable || (error instanceof Refused && error.status >= 500);
      if (!passes) fail(error);
    } finally {
      busy = false;
      if (again) soon();
    }
  };
  const soon = () => {
    timer ??= setTimeout(run, Math.max(0, last + 1000 * pause - performance.now()));
  };
  return soon;
}

function description(info) {
  const features = info.n_features === null ? null : plural(info.n_features, "feature");
  const facts = [
    `selector ${info.selector}`,
    plural(info.algorithms.length, "algorithm"),
    info.needs_features ? features : "no features needed",
    `cutoff ${seconds(info.cutoff)}`,
    `seed ${info.seed}`,
    `since ${day(info.created)}`,
  ];
  return facts.filter(Boolean).join(" · ");
}

function announce(statistics, announced, context) {
  const now = performance.now() / 1000;
  if (announced.text !== undefined && now - announced.at < QUIET) return;
  const solved = `${count(statistics.solved)} of ${count(statistics.instances)} instances solved`;
  const text = `${plural(statistics.decisions, "decision")}, ${solved}, PAR10 ${seconds(statistics.par10)}`;
  if (text === announced.text) return;
  Object.assign(announced, { at: now, text });
  context.announce(text);
}

function howToAsk(project) {
  const lines = el("pre", { tabindex: "0" });
  const element = el("div", { class: "empty", hidden: true },
    el("p", {}, "No decisions yet. Request one, run the algorithm, and report the outcome. This page updates by itself:"), lines);
  const describe = (info) => {
    const features = JSON.stringify(info.feature_names === null ? [0.3, 120.0] : info.feature_names.map(() => 1.0));
    const base = `${address()}v1/${of(project)}`;
    const body = info.needs_features ? `{"features": ${features}, "instance": "i1"}` : `{"instance": "i1"}`;
    const text = [
      `curl -H "Authorization: Bearer $TOKEN" ${base}/select \\`,
      `  --json '${body}'`,
      `curl -H "Authorization: Bearer $TOKEN" ${base}/observe \\`,
      `  --json '{"decision": 0, "runtime": 12.3}'`,
    ];
    say(lines, text.join("\n"));
  };
  return { element, describe };
}

function tiles() {
  const values = new Map();
  const tile = (key, label) => {
    const [value, more] = [el("span", { class: "value" }), el("span", { class: "more" })];
    values.set(key, [value, more]);
    return el("div", { class: "tile", "data-tile": key }, el("dt", {}, label), el("dd", {}, value, more));
  };
  const element = el("dl", { class: "tiles" },
    tile("decisions", "Decisions"), tile("solved", "Solved"), tile("par10", "PAR10 so far"),
    tile("saved", "Saved, estimate"), tile("pending", "Waiting"), tile("latency", "Decision latency"));
  const set = (key, value, more) => {
    say(values.get(key)[0], value);
    say(values.get(key)[1], more);
  };
  return {
    element,
    take({ estimate, under_way: busy }) {
      if (!estimate?.saved) return set("saved", "–", busy ? "being estimated" : "not enough data yet");
      const { estimate: middle, low, high } = estimate.saved;
      set("saved", signed(middle), `${signed(low)} to ${signed(high)} per instance vs ${estimate.best}: ${verdict(low, high)}`);
    },
    update(now) {
      const share = now.instances ? now.solved / now.instances : null;
      const { p50, p99 } = now.latency_ms;
      set("decisions", count(now.decisions), `${plural(now.outcomes, "outcome")} known`);
      set("solved", percent(share), `${count(now.solved)} of ${plural(now.instances, "instance")}`);
      set("par10", seconds(now.par10), "per instance");
      set("pending", count(now.pending), now.given_up ? `${count(now.given_up)} dropped` : "for an outcome");
      set("latency", milliseconds(p50), p99 === null ? "none since the start" : `99% below ${milliseconds(p99)}`);
    },
  };
}

/** Whether picking paid, in words that claim no more than the interval does. */
function verdict(low, high) {
  if (low > 0) return "choosing pays off";
  return high < 0 ? "choosing costs more" : "not clear yet";
}

/** What each algorithm alone would have cost: a row each, the interval as a bar. */
function estimatePart() {
  const rows = el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Estimates, table" });
  const about = el("p", { class: "note" }, "No estimate yet. It is computed soon after the first outcome.");
  const element = el("section", { class: "panel estimate" },
    el("h3", {}, "What each algorithm alone would have cost (estimate)"), about, rows);
  return {
    element,
    take({ estimate }) {
      if (!estimate) return;
      say(about, `PAR10 per instance over the latest ${plural(estimate.instances, "instance")}, which cost ${seconds(estimate.par10)}. ` +
        `Intervals should contain the truth in ${percent(estimate.level)} of cases; an algorithm whose costs are all known is exact.`);
      const kind = (one) => (one.exact ? "exact" : one.par10 === null ? "never ran" : "estimate");
      const cells = (one) => [one.name, one.par10 === null ? "–" : seconds(one.par10), seconds(one.low), seconds(one.high),
        `${count(one.known)} of ${count(estimate.instances)}`, kind(one)];
      rows.replaceChildren(table("Estimates", ["Algorithm", ">PAR10", ">From", ">To", ">Known", "Kind"], estimate.solvers.map(cells)));
    },
  };
}

const OVER_INSTANCES = {
  xName: "completed instances",
  x: (value) => `after ${plural(value, "instance")}`,
  xTick: (value) => (Number.isInteger(value) ? number(value) : ""),
  tick: number,
  empty: "No outcome yet",
};

/** Charts in a grid, the estimate among them. */
function charts(estimate) {
  const par10 = chart({ ...OVER_INSTANCES, title: "PAR10", y: seconds,
    note: "Mean seconds per instance; an unsolved one counts ten times its cutoff. Lower is better." });
  const solved = chart({ ...OVER_INSTANCES, title: "Solved and timeouts", y: count,
    note: "Timeouts are all instances that ended without an answer, including failed runs." });
  const latency = chart({ title: "Decision latency", xName: "latest decisions since the server started",
    x: (value) => `decision ${count(value)}`, xTick: OVER_INSTANCES.xTick, y: milliseconds, tick: number, empty: "No decision since the server started",
    note: "Milliseconds from a request's arrival until its decision was on disk." });
  return {
    element: el("section", { "aria-label": "Charts", class: "charts" }, par10.element, solved.element, estimate, latency.element),
    update(now) {
      const curve = upToNow(now);
      const x = curve.map((point) => point.instances);
      const span = Math.max(10, Math.round(now.instances / 8));
      const line = (label, values, look, mark = "line") => ({ name: label, values, look, mark });
      par10.update({ x, series: [
        line("so far", curve.map((point) => point.par10), "ours"),
        line(`last ${span} instances`, latest(curve, span), "recent"),
      ] });
      solved.update({ x, series: [
        line("solved", curve.map((point) => point.solved), "solved", "area"),
        line("timeouts", curve.map((point) => point.unsolved), "timeout", "area"),
      ] });
      latency.update(latencies(now));
    },
  };
}

/** The curve and where things stand now, which may be a few instances behind its last point. */
function upToNow(now) {
  const last = now.curve.at(-1);
  if (!now.instances || last?.instances === now.instances) return now.curve;
  const { instances, par10, solved, unsolved } = now;
  return [...now.curve, { instances, par10, solved, unsolved }];
}

/** PAR10 of the last `span` instances or so, at each point; null where there were not as many yet. */
function latest(curve, span) {
  const total = (point) => point.par10 * point.instances;
  let from = 0;
  return curve.map((point) => {
    if (point.instances < span) return null;
    while (from + 1 < curve.length && curve[from + 1].instances <= point.instances - span) from += 1;
    const before = curve[from];
    if (before.instances > point.instances - span) return point.par10;
    return (total(point) - total(before)) / (point.instances - before.instances);
  });
}

function latencies(now) {
  const { latest: values, p50, p99, count: all } = now.latency_ms;
  const rules = [{ value: p50, name: "median", look: "main" }, { value: p99, name: "99%", look: "timeout" }];
  const first = all - values.length;
  return {
    x: values.map((_, index) => first + index + 1),
    series: [{ name: "latency", values, mark: "dots", look: "recent" }],
    rules: p50 === null ? [] : rules,
  };
}
