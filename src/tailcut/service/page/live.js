// The live stream of a project, read with fetch: EventSource cannot send the token in a header.

import { of, open, Refused, Unreachable } from "./api.js";

const SILENCE = 40; // seconds without a byte, not even a heartbeat: the connection is dead
const PAUSES = [0.5, 1, 2, 4, 5]; // seconds before it is tried again, the last one for ever

/**
 * Follow a project until `signal` says to stop. `take` gets statistics; `tell` gets how the connection is:
 * ("live"), ("connecting"), or ("lost", seconds until the next try, why). What does not get better by
 * trying again (a token that is not valid any more, a project that is gone) is raised.
 */
export async function follow(project, { take, tell, signal }) {
  let failures = 0;
  while (!signal.aborted) {
    let why = "the server has stopped";
    try {
      await read(project, signal, (content) => {
        failures = 0;
        tell("live");
        take(content);
      });
    } catch (error) {
      if (signal.aborted) return;
      const hopeless = error instanceof Refused && error.status < 500 && error.status !== 429;
      if (hopeless || !(error instanceof Refused || error instanceof Unreachable)) throw error;
      why = error.message;
    }
    if (signal.aborted) return;
    const pause = PAUSES[Math.min(failures, PAUSES.length - 1)];
    failures += 1;
    tell("lost", pause, why);
    await wait(pause, signal);
    if (!signal.aborted) tell("connecting");
  }
}

async function read(project, signal, take) {
  const own = new AbortController();
  const stop = () => own.abort();
  signal.addEventListener("abort", stop);
  let timer = setTimeout(stop, 1000 * SILENCE);
  try {
    const answer = await open(of(project, "/live"), { signal: own.signal });
    for await (const [kind, data] of events(answer.body, () => {
      clearTimeout(timer);
      timer = setTimeout(stop, 1000 * SILENCE);
    })) {
      if (kind === "end") return;
      if (kind === "statistics") take(JSON.parse(data));
    }
  } catch (error) {
    if (error.name !== "AbortError" && error.name !== "TypeError") throw error;
    if (!signal.aborted) throw new Unreachable("the connection was lost");
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    own.abort();
  }
}

/** Server-sent events out of a stream of bytes; `heard` is called whenever some have come. */
async function* events(body, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) yield event(block);
  }
}

function event(block) {
  const fields = { event: "", data: "" };
  for (const line of block.split("\n")) {
    const colon = line.indexOf(": ");
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
  }
  return [fields.event, fields.data];
}

/** Wait some seconds, less if asked to stop or if the browser is online again. */
export function wait(seconds, signal) {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      removeEventListener("online", finish);
      resolve();
    };
    const timer = setTimeout(finish, 1000 * seconds);
    signal.addEventListener("abort", finish);
    addEventListener("online", finish);
  });
}
