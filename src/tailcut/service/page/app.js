// The frame of the page: logging in and out, which view is shown, how the connection is.

import { get, Refused, token, Unreachable } from "./api.js";
import { el, say } from "./dom.js";
import { showProject } from "./project.js";
import { showProjects } from "./projects.js";

const main = document.getElementById("main");
const crumbs = document.getElementById("crumbs");
const logout = document.getElementById("logout");
const connection = document.getElementById("connection");
let leave = () => {};

/** Which view the address asks for. */
function wanted() {
  const [, kind, name] = location.hash.match(/^#\/(project)\/(.+)$/) ?? [];
  try {
    return kind ? { project: decodeURIComponent(name) } : {};
  } catch {
    return {};
  }
}

function show(focus = true) {
  leave();
  const stop = new AbortController();
  leave = () => stop.abort();
  tell(null);
  const known = token.get() !== null;
  logout.hidden = !known;
  const { project } = wanted();
  document.title = known && project ? `${project} · Tailcut` : "Tailcut";
  crumbs.replaceChildren(...(known ? trail(project) : []));
  const view = !known ? showLogin : project ? showProject : showProjects;
  view(main, { project, signal: stop.signal, tell, announce, fail: (error) => fail(error, stop.signal) });
  if (focus) (main.querySelector("[data-first]") ?? main).focus({ preventScroll: true });
}

function trail(project) {
  if (!project) return [el("span", { "aria-current": "page" }, "Projects")];
  const here = el("bdi", { "aria-current": "page", class: "name", title: project }, project);
  return [el("a", { href: "#/" }, "Projects"), el("span", { "aria-hidden": "true" }, "/"), here];
}

/** Say how the connection is: null for nothing, or { state: live | connecting | lost, text }. */
function tell(how) {
  connection.hidden = how === null;
  if (how === null) return;
  connection.className = `connection ${how.state}`;
  say(connection, how.text);
}

/** Say something to those who cannot see the page change. */
function announce(text) {
  say(document.getElementById("announcer"), text);
}

/** What to do about an error that no view could help. */
function fail(error, signal) {
  if (signal.aborted || error.name === "AbortError") return;
  if (error instanceof Refused && error.status === 401) {
    token.forget();
    show();
    const note = main.querySelector("[role=alert]");
    if (note) say(note, "This token is no longer valid. Log in with another one.");
    return;
  }
  const known = error instanceof Refused || error instanceof Unreachable;
  main.replaceChildren(
    el("h1", {}, error.status === 404 ? "Not found" : "Something went wrong"),
    el("p", { role: "alert", class: "problem" }, known ? `${sentence(error.message)}.` : "This page has a bug; the browser console has details."),
    el("p", {}, el("a", { href: "#/" }, "All projects")),
  );
  if (!known) throw error;
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function showLogin(place) {
  const field = el("input", {
    id: "token", type: "password", required: true, "data-first": true, autocomplete: "off", spellcheck: "false",
    "aria-describedby": "token-help token-problem",
  });
  const problem = el("p", { id: "token-problem", role: "alert", class: "problem" });
  const button = el("button", { type: "submit" }, "Log in");
  const form = el("form", { class: "login", onsubmit: (event) => enter(event, field, problem, button) },
    el("h1", {}, "Log in"),
    el("label", { for: "token" }, "Token"), field, problem, button,
    el("div", { id: "token-help", class: "note" },
      el("p", {}, "The server printed one when it first started. To create a read-only token:"),
      el("pre", {}, "tailcut token create STATE_FILE dashboard --scope read"),
      el("p", {}, "The token stays in this tab and is forgotten when you close it.")),
  );
  place.replaceChildren(form);
}

async function enter(event, field, problem, button) {
  event.preventDefault();
  const given = field.value.trim();
  button.disabled = true;
  try {
    // what cannot stand in a header is no token either, and must not look like a server that is gone
    if (!/^[\x21-\x7e]+$/.test(given)) throw new Refused(401, "");
    await get("projects", { using: given });
    token.keep(given);
    show();
  } catch (error) {
    say(problem, complaint(error));
    field.setAttribute("aria-invalid", "true");
    field.select();
  } finally {
    button.disabled = false;
  }
}

function complaint(error) {
  if (error instanceof Unreachable) return "The server does not answer. Is it running?";
  if (error.status === 401) return "The server does not accept this token.";
  if (error.status === 403) return "This token cannot read. The dashboard needs one with the scope “read”.";
  return `${sentence(error.message)}.`;
}

logout.addEventListener("click", () => {
  token.forget();
  show();
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address says which view is shown, and must not change
  main.focus();
});
addEventListener("hashchange", () => show());
show(false);
main.querySelector("[data-first]")?.focus();
