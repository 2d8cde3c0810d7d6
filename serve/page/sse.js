// Server-sent events, read by fetch: EventSource cannot send the token.

import { Refused, ask } from "./api.js";
import { Patience } from "./patience.js";

/** Milliseconds until the connection is made again, the first time and at most. */
const FIRST = 1000;
const LONGEST = 30000;
/** Milliseconds without a byte after which the connection is taken for dead: the service sends something every 15 s. */
const SILENCE = 40000;

/** Takes a text apart, in pieces as they come, and calls `found({ id, event, data })` for each event. */
export class Parser {
  #rest = "";
  #event = {};

  constructor(found) {
    this.found = found;
  }

  push(text) {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop();
    lines.forEach((line) => this.#line(line));
  }

  #line(line) {
    if (line === "") {
      if (this.#event.data !== undefined) this.found({ event: "message", ...this.#event });
      this.#event = {};
      return;
    }
    const [, key, value] = line.match(/^([^:]*):? ?(.*)$/s);
    if (key === "data") this.#event.data = this.#event.data === undefined ? value : `${this.#event.data}\n${value}`;
    else if (key === "id" || key === "event") this.#event[key] = value;
  }
}

/**
 * Calls `found` with each event at `path` until the signal is aborted, and connects again after the last one. `state` is called with ""
 * each time that it is connected and with a sentence when it is not. What the service refuses for good (4xx) ends it. A page that
 * nobody sees has no connection: browsers allow six for all pages of a service.
 */
export async function listen(path, { found, state, signal }) {
  let last = null;
  let wait = FIRST;
  const parser = () =>
    new Parser((event) => {
      last = event.id ?? last;
      found(event);
    });
  while (!signal.aborted) {
    await shown(signal);
    if (signal.aborted) return;
    const connection = new Patience(SILENCE, signal);
    const hide = () => document.hidden && connection.end();
    document.addEventListener("visibilitychange", hide);
    try {
      const answer = await ask("GET", path, { headers: last === null ? {} : { "last-event-id": last }, signal: connection.signal });
      state("");
      wait = FIRST;
      await read(answer, parser(), connection);
    } catch (error) {
      if (signal.aborted) return;
      if (document.hidden) continue;
      if (!(error instanceof Refused)) throw error;
      state(error.message, error.status);
      if (isFinal(error.status)) return;
    } finally {
      document.removeEventListener("visibilitychange", hide);
      connection.end();
    }
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(LONGEST, 2 * wait);
  }
}

/** Whether a refusal is for good: it would be the same at once again. */
export function isFinal(status) {
  return status >= 400 && status < 500 && status !== 429;
}

/** Waits until the page is seen, or the signal is aborted. */
async function shown(signal) {
  while (document.hidden && !signal.aborted) {
    await new Promise((done) => {
      document.addEventListener("visibilitychange", done, { once: true });
      signal.addEventListener("abort", done, { once: true });
    });
  }
}

async function read(answer, parser, connection) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  const next = () =>
    reader.read().catch(() => {
      throw new Refused(0, "The connection for new events has broken off. It is made again.");
    });
  for (let part = await next(); !part.done; part = await next()) {
    connection.lives();
    parser.push(part.value);
  }
}
