// Requests to the service. The token is kept for this tab only.

const KEY = "cudainfer-token";
/** Milliseconds for what the service answers at once. A network that swallows packets would hold a request for minutes. */
const PATIENCE = 15000;

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

export function hasToken() {
  return sessionStorage.getItem(KEY) !== null;
}

/** The service's answer, also 304 where `headers` ask for what has changed. `limit` is how many milliseconds all of it may take. */
export async function ask(method, path, { body, sdp, headers = {}, signal, limit, keepalive = false } = {}) {
  const sent = { ...headers };
  const token = sessionStorage.getItem(KEY);
  if (token) sent.authorization = `Bearer ${token}`;
  if (body !== undefined) sent["content-type"] = "application/json";
  if (sdp !== undefined) sent["content-type"] = "application/sdp";
  const text = body === undefined ? sdp : JSON.stringify(body);
  const ends = [signal, limit && AbortSignal.timeout(limit)].filter(Boolean);
  const options = { method, headers: sent, body: text, cache: "no-store", signal: AbortSignal.any(ends), keepalive };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Refused(0, "The service does not answer.");
  }
  if (answer.ok || answer.status === 304) return answer;
  let sentence = `${answer.status} ${answer.statusText}`;
  try {
    sentence = (await answer.json()).error ?? sentence;
  } catch {
    // No JSON: the status has to do.
  }
  throw new Refused(answer.status, sentence, token !== sessionStorage.getItem(KEY));
}

/** Reads an answer's body, which may break off. */
async function body(answer, read) {
  try {
    return await read(answer);
  } catch {
    throw new Refused(0, "The service's answer has broken off.");
  }
}

/** The answer's JSON, or null if it has no body. What changes something may take long. */
export async function json(method, path, sent, { signal } = {}) {
  const answer = await ask(method, path, { body: sent, signal, limit: method === "GET" && PATIENCE });
  return answer.status === 204 ? null : body(answer, (answer) => answer.json());
}

/** The answer's bytes. */
export async function blob(path, { method = "GET", sent, signal } = {}) {
  return body(await ask(method, path, { body: sent, signal }), (answer) => answer.blob());
}

/** A picture and its tag; null if it is still the one with `tag`. */
export async function picture(path, tag, signal) {
  const answer = await ask("GET", path, { headers: tag ? { "if-none-match": tag } : {}, signal, limit: PATIENCE });
  if (answer.status === 304) return null;
  return { blob: await body(answer, (answer) => answer.blob()), tag: answer.headers.get("etag") };
}

/**
 * The pictures of several streams: for each `{ stream, tag }` one `{ tag, jpeg }` with bytes, `{ tag }` if it is still the one with that tag,
 * or `{ status, error }`. The answer is a line of JSON, and after it the pictures in its order.
 */
export async function pictures(wanted, width, signal) {
  const names = wanted.map(({ stream, tag }) => (tag ? `${stream}:${tag}` : stream)).join(",");
  const answer = await ask("GET", withQuery("v1/live", { width, pictures: names }), { signal, limit: PATIENCE });
  const bytes = await body(answer, (answer) => answer.arrayBuffer());
  const end = new Uint8Array(bytes).indexOf(10);
  const list = JSON.parse(new TextDecoder().decode(bytes.slice(0, end)));
  let at = end + 1;
  return list.map(({ size, ...each }) => {
    if (!size) return each;
    at += size;
    return { ...each, jpeg: new Blob([bytes.slice(at - size, at)], { type: "image/jpeg" }) };
  });
}

/** Sends the offer of a connection for live video. Returns the service's answer, and the address of the session. */
export async function startSession(path, sdp, signal) {
  const answer = await ask("POST", path, { sdp, signal, limit: PATIENCE });
  const session = new URL(answer.headers.get("location"), answer.url).href;
  return { answer: await body(answer, (answer) => answer.text()), session };
}

/** Ends a session, also when the page is left. One that is gone already needs no end. */
export function endSession(session) {
  ask("DELETE", session, { keepalive: true }).catch((error) => {
    if (!(error instanceof Refused)) throw error;
  });
}

/** The path of a stream, or of what belongs to it. */
export function ofStream(name, rest = "") {
  return `v1/streams/${encodeURIComponent(name)}${rest}`;
}

/** A path with those values of a query that are not empty. */
export function withQuery(path, values) {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined));
  return query.size ? `${path}?${query}` : path;
}
