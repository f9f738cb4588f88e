// Asking the service. The token stays in this tab: sessionStorage is gone when the tab is.

const KEY = "tailcut-token";

/** The service answered, but not with what was asked for. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The service did not answer. */
export class Unreachable extends Error {}

export const token = {
  get: () => sessionStorage.getItem(KEY),
  keep: (text) => sessionStorage.setItem(KEY, text),
  forget: () => sessionStorage.removeItem(KEY),
};

/** The path of something that belongs to a project. */
export function of(project, rest = "") {
  return `projects/${encodeURIComponent(project)}${rest}`;
}

/** Return the answer to a request as it comes; raise Refused, Unreachable, or AbortError. */
export async function open(path, { signal, using = token.get() } = {}) {
  let answer;
  try {
    answer = await fetch(`v1/${path}`, {
      headers: { Authorization: `Bearer ${using}` },
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable("the server does not answer");
  }
  if (!answer.ok) throw new Refused(answer.status, await reason(answer));
  return answer;
}

/** Return the JSON that a path holds. */
export async function get(path, options) {
  const answer = await open(path, options);
  try {
    return await answer.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable("the server's response was cut short");
  }
}

async function reason(answer) {
  try {
    return (await answer.json()).message;
  } catch {
    return `the server answered ${answer.status}`;
  }
}
