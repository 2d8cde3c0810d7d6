// Server-sent events, read by fetch: EventSource cannot send the token.

import { Refused, ask } from "./api.js";

/** Milliseconds until the connection is made again, the first time and at most. */
const FIRST = 1000;
const LONGEST = 30000;

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
 * when it is connected and with a sentence when it is not. What the service refuses for good (4xx) ends it.
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
    try {
      const answer = await ask("GET", path, { headers: last === null ? {} : { "last-event-id": last }, signal });
      state("");
      wait = FIRST;
      await read(answer, parser());
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Refused)) throw error;
      state(error.message, error.status);
      if (error.status >= 400 && error.status < 500) return;
    }
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(LONGEST, 2 * wait);
  }
}

async function read(answer, parser) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) parser.push(part.value);
  } catch {
    throw new Refused(0, "The connection for new events has broken off. It is made again.");
  }
}
