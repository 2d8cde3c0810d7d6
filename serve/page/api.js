// Requests to the service. The token is kept for this tab only.

const KEY = "cudainfer-token";

/**
 * An answer that says that something was wrong. `message` is the service's sentence; `late` says that the request had a token that is
 * not the present one any more, so that what it says of that is over.
 */
export class Refused extends Error {
  constructor(status, message, late = false) {
    super(message);
    this.status = status;
    this.late = late;
  }
}

export function setToken(token) {
  sessionStorage.setItem(KEY, token);
}

export function forgetToken() {
  sessionStorage.removeItem(KEY);
}

async function request(method, path, body) {
  const headers = {};
  const token = sessionStorage.getItem(KEY);
  if (token) headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  const options = { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store" };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Refused(0, "The service does not answer.");
  }
  if (answer.ok) return answer;
  let sentence = `${answer.status} ${answer.statusText}`;
  try {
    sentence = (await answer.json()).error ?? sentence;
  } catch {
    // No JSON: the status has to do.
  }
  throw new Refused(answer.status, sentence, token !== sessionStorage.getItem(KEY));
}

/** The answer's JSON, or null if it has no body. */
export async function json(method, path, body) {
  const answer = await request(method, path, body);
  return answer.status === 204 ? null : answer.json();
}

/** The answer's bytes. */
export async function blob(path) {
  return (await request("GET", path)).blob();
}

/** The path of a stream, or of what belongs to it. */
export function ofStream(name, rest = "") {
  return `v1/streams/${encodeURIComponent(name)}${rest}`;
}
