// The list of projects with their key figures, refreshed every few seconds.

import { get, Refused, Unreachable } from "./api.js";
import { arrange, el, name, say, svg } from "./dom.js";
import { count, day, percent, plural, seconds } from "./format.js";
import { wait } from "./live.js";

const PAUSE = 3; // seconds

export async function showProjects(place, { signal, tell, fail }) {
  const list = el("ul", { class: "cards" });
  const empty = el("div", { class: "empty", hidden: true }, ...howToCreate());
  const summary = el("p", { class: "note" }, "Loading…");
  place.replaceChildren(el("h1", {}, "Projects"), summary, empty, list);
  try {
    while (!signal.aborted) {
      if (!document.hidden) await look(list, empty, summary, signal, tell);
      await wait(PAUSE, signal);
    }
  } catch (error) {
    fail(error);
  }
}

async function look(list, empty, summary, signal, tell) {
  try {
    const { projects } = await get("projects", { signal });
    tell({ state: "live", text: "Live" });
    empty.hidden = projects.length > 0;
    const waiting = projects.reduce((sum, one) => sum + one.pending, 0);
    const text = `${plural(projects.length, "project")}, ${plural(waiting, "decision")} waiting for an outcome`;
    say(summary, projects.length ? text : "There are no projects yet.");
    arrange(list, projects, (one) => one.name, card, change);
  } catch (error) {
    const passing = error instanceof Unreachable || (error instanceof Refused && error.status >= 500);
    if (!passing) throw error;
    tell({ state: "lost", text: "Not reachable, trying again" });
  }
}

function card(project) {
  const figure = (key, label) => el("div", {}, el("dt", {}, label), el("dd", { "data-figure": key }));
  const bar = svg("rect", { height: 4, class: "solved" });
  return el("li", {},
    el("a", { href: `#/project/${encodeURIComponent(project.name)}`, class: "card" },
      el("h2", {}, name(project.name)),
      el("p", { class: "note" }, name(project.selector), el("span", { "data-figure": "algorithms" })),
      svg("svg", { viewBox: "0 0 100 4", preserveAspectRatio: "none", class: "gauge", "aria-hidden": "true" },
        svg("rect", { width: 100, height: 4, class: "back" }), bar),
      el("dl", {}, figure("solved", "solved"), figure("par10", "PAR10"), figure("decisions", "decisions"), figure("pending", "waiting"))));
}

function change(row, project) {
  const set = (key, text) => say(row.querySelector(`[data-figure=${key}]`), text);
  const share = project.instances ? project.solved / project.instances : null;
  set("algorithms", ` · ${plural(project.algorithms.length, "algorithm")} · cutoff ${seconds(project.cutoff)} · since ${day(project.created)}`);
  set("solved", percent(share));
  set("par10", seconds(project.par10));
  set("decisions", count(project.decisions));
  set("pending", count(project.pending));
  row.querySelector("rect.solved").setAttribute("width", 100 * (share ?? 0));
}

function howToCreate() {
  const lines = [
    `curl -H "Authorization: Bearer $TOKEN" ${address()}v1/projects \\`,
    `  --json '{"name": "sat", "algorithms": ["kissat", "minisat"], "cutoff": 300}'`,
  ];
  return [
    el("p", {}, "Create one with a token that has the scope “write”. It appears here automatically:"),
    el("pre", { tabindex: "0" }, lines.join("\n")),
  ];
}

/** Where this page is served, with a slash at the end. */
export function address() {
  return new URL(".", location.href.split("#")[0]).href;
}
