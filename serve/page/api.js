// Requests to the service. The token is kept for this tab only.

import { Patience } from "./patience.js";

const KEY = "cudainfer-token";
/** Milliseconds without a byte of what the service answers at once. A network that swallows packets would hold a request for minutes. */
const SILENCE = 15000;

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

/** The service's answer, also 304 where `headers` ask for what has changed. */
export async function ask(method, path, { body, sdp, headers = {}, signal, keepalive = false } = {}) {
  const sent = { ...headers };
  const token = sessionStorage.getItem(KEY);
  if (token) sent.authorization = `Bearer ${token}`;
  if (body !== undefined) sent["content-type"] = "application/json";
  if (sdp !== undefined) sent["content-type"] = "application/sdp";
  const text = body === undefined ? sdp : JSON.stringify(body);
  const options = { method, headers: sent, body: text, cache: "no-store", signal, keepalive };
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

/** Reads an answer's body, which may break off, and be no JSON where a proxy has answered. */
async function body(answer, read) {
  try {
    return await read(answer);
  } catch {
    throw new Refused(0, "The service's answer has broken off.");
  }
}

/** An answer that comes at once, with its whole body, which may take long as long as something comes. */
async function whole(method, path, { signal, ...options } = {}) {
  const patience = new Patience(SILENCE, signal);
  try {
    const answer = await ask(method, path, { ...options, signal: patience.signal });
    const parts = [];
    const read = async ({ body }) => {
      const reader = body?.getReader();
      for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
        patience.lives();
        parts.push(part.value);
      }
    };
    await body(answer, read);
    return { answer, blob: new Blob(parts, { type: answer.headers.get("content-type") ?? "" }) };
  } finally {
    patience.end();
  }
}

/** The answer's JSON, or null if it has no body. What changes something may take long. */
export async function json(method, path, sent, { signal } = {}) {
  if (method === "GET") return body((await whole(method, path, { signal })).blob, async (blob) => JSON.parse(await blob.text()));
  const answer = await ask(method, path, { body: sent, signal });
  return answer.status === 204 ? null : body(answer, (answer) => answer.json());
}

/** The answer's bytes. */
export async function blob(path, { method = "GET", sent, signal } = {}) {
  return body(await ask(method, path, { body: sent, signal }), (answer) => answer.blob());
}

/** A picture and its tag; null if it is still the one with `tag`. */
export async function picture(path, tag, signal) {
  const { answer, blob } = await whole("GET", path, { headers: tag ? { "if-none-match": tag } : {}, signal });
  return answer.status === 304 ? null : { blob, tag: answer.headers.get("etag") };
}

/**
 * The pictures of several streams: for each `{ stream, tag }` one `{ tag, jpeg }` with bytes, `{ tag }` if it is still the one with that tag,
 * or `{ status, error }`. The answer is a line of JSON, and after it the pictures in its order.
 */
export async function pictures(wanted, width, signal) {
  const names = wanted.map(({ stream, tag }) => (tag ? `${stream}:${tag}` : stream)).join(",");
  const { blob } = await whole("GET", withQuery("v1/live", { width, pictures: names }), { signal });
  const bytes = await blob.arrayBuffer();
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
  const { answer, blob } = await whole("POST", path, { sdp, signal });
  return { answer: await blob.text(), session: new URL(answer.headers.get("location"), answer.url).href };
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
