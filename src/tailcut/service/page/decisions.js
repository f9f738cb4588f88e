// The latest decisions with what came of them, and those that wait.

import { algorithmName } from "./algorithms.js";
import { get, of } from "./api.js";
import { arrange, el, name, say } from "./dom.js";
import { explain } from "./explanation.js";
import { clock, count, duration, plural, seconds } from "./format.js";

const PAGE = 15;
const MOST = 150; // decisions on the page; the rest is for /history
const OLDEST = 8; // of those that wait
const TICK = 5; // seconds after which they are seen to have waited longer

export function decisionsPart(context, refresher) {
  const { project, signal } = context;
  const state = { shown: PAGE, waiting: [], ahead: 0 };
  const age = () => arrange(waiting.body, state.waiting, (one) => one.id, (one) => open(one, project),
    (row, one) => aged(row, one, Date.now() / 1000 + state.ahead));
  const clockwork = setInterval(age, 1000 * TICK);
  signal.addEventListener("abort", () => clearInterval(clockwork));
  const past = grid("Latest decisions", ["Decision", "Time", "Instance", "Algorithm", "Because", "Outcome", ""]);
  const waiting = grid("Decisions that wait for an outcome, the longest first", ["Decision", "Instance", "Algorithm", "Budget", "Waits for"], "cards open");
  const never = el("p", { class: "note", hidden: true }, "None yet.");
  const none = el("p", { class: "note" }, "None.");
  const rest = el("p", { class: "note" });
  const refresh = refresher(2, context, async () => {
    const pending = await get(of(project, `/pending?limit=${OLDEST}`), { signal });
    const { decisions, next } = await get(of(project, `/decisions?limit=${state.shown}`), { signal });
    if (document.querySelector("dialog[open]")) return refresh(); // nothing moves behind an explanation
    arrange(past.body, decisions, (one) => one.id, (one) => made(one, project, signal), ended);
    state.waiting = pending.decisions;
    age();
    past.element.hidden = decisions.length === 0;
    never.hidden = decisions.length > 0;
    waiting.element.hidden = pending.count === 0;
    say(rest, pending.count > OLDEST ? `and ${plural(pending.count - OLDEST, "more", "more")}, younger` : "");
    none.hidden = pending.count > 0;
    older.hidden = next === null || state.shown >= MOST;
    return null;
  });
  const older = el("button", { type: "button", class: "quiet", hidden: true, onclick: () => {
    state.shown = Math.min(MOST, state.shown + 2 * PAGE);
    refresh();
  } }, "Show older ones");
  const element = el("div", { class: "lists" },
    el("section", { "aria-labelledby": "latest" }, el("h2", { id: "latest" }, "Latest decisions"), never, past.element, older),
    el("section", { "aria-labelledby": "waiting" }, el("h2", { id: "waiting" }, "Waiting for an outcome"), none, waiting.element, rest));
  return {
    element,
    update(now) {
      state.ahead = now.at - Date.now() / 1000; // the server's clock may differ
      refresh();
    },
  };
}

/** A table that becomes a list of cards where there is little room; the roles keep it a table. */
function grid(caption, heads, kind = "cards") {
  const body = el("tbody", { role: "rowgroup" });
  const columns = heads.map((one) => el("th", { scope: "col", role: "columnheader" }, one || el("span", { class: "unseen" }, "Explanation")));
  const table = el("table", { class: kind, role: "table" }, el("caption", { class: "unseen" }, caption),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ...columns)), body);
  return { body, element: el("div", { class: "scroll", role: "group", "aria-label": caption, tabindex: "0" }, table) };
}

function cell(kind, ...content) {
  return el("td", { role: "cell", class: kind }, ...content);
}

function named(instance) {
  return instance === null ? el("span", { class: "note" }, "unnamed") : name(instance);
}

function made(one, project, signal) {
  const why = el("button", { type: "button", class: "small", "aria-label": `Why decision ${one.id}`, "aria-haspopup": "dialog",
    onclick: () => explain(project, one.id, signal) }, "Why?");
  const stage = one.stage ? `, run ${one.stage + 1}` : "";
  return el("tr", { role: "row" },
    el("th", { scope: "row", role: "rowheader", class: "id" }, `#${one.id}`),
    cell("time", el("time", { datetime: new Date(1000 * one.at).toISOString() }, clock(one.at))),
    cell("instance", named(one.instance)), cell("picked", algorithmName(project, one.algorithm)),
    cell("because", one.reason + stage), cell("outcome"), cell("why", why));
}

const ENDS = { solved: ["✓", "solved"], censored: ["◷", "timeout"], failed: ["✕", "failed"] };

function ended(row, one) {
  const place = row.querySelector(".outcome");
  const [sign, word] = one.outcome === null ? ["…", "waiting"] : ENDS[one.outcome.status];
  const time = one.outcome?.time ?? null;
  const text = `${sign} ${word}${time === null ? "" : ` ${seconds(time)}`}`;
  if (place.textContent !== text) place.replaceChildren(el("span", { class: `end ${word}` }, text));
}

function open(one, project) {
  return el("tr", { role: "row" },
    el("th", { scope: "row", role: "rowheader", class: "id" }, `#${count(one.id)}`),
    cell("instance", named(one.instance)), cell("picked", algorithmName(project, one.algorithm)),
    cell("budget", seconds(one.budget)), cell("outcome"));
}

/** How long one has waited by the server's clock; longer than its run may take is worth a word. */
function aged(row, one, now) {
  const age = Math.max(0, now - one.at);
  const late = age > one.budget;
  const text = duration(age) + (late ? ", overdue" : "");
  const place = row.querySelector(".outcome");
  if (place.textContent !== text) place.replaceChildren(el("span", { class: late ? "end timeout" : "" }, text));
}
