// A picture that is renewed while it can be seen. It is asked for again only when the last one has come.

import { Refused, picture } from "./api.js";
import { pause } from "./pace.js";

/** Milliseconds until a picture is asked for again that the service has refused. */
const RETRY = 3000;

/** Those that are started. */
const started = new Set();

const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) for (const each of started) if (each.image === target) each.see(isIntersecting);
});

document.addEventListener("visibilitychange", () => {
  for (const each of started) each.wake();
});

export class LivePicture {
  #path;
  #failed;
  #tag = null;
  #shownPath = null;
  #timer = 0;
  #abort = null;
  #isInView = false;

  /** `path` gives what is asked for now; `failed` is called with a sentence, and with "" after each picture. */
  constructor(image, path, failed) {
    this.image = image;
    this.#path = path;
    this.#failed = failed;
  }

  get isInView() {
    return this.#isInView;
  }

  start() {
    started.add(this);
    observer.observe(this.image);
  }

  stop() {
    started.delete(this);
    observer.unobserve(this.image);
    this.#isInView = false;
    clearTimeout(this.#timer);
    this.#abort?.abort();
  }

  see(isInView) {
    this.#isInView = isInView;
    this.wake();
  }

  /** Asks now. */
  wake() {
    clearTimeout(this.#timer);
    this.#turn();
  }

  async #turn() {
    if (this.#abort || !this.#isInView || document.hidden) return;
    const abort = (this.#abort = new AbortController());
    const begun = performance.now();
    let wait = RETRY;
    try {
      await this.#renew(abort.signal);
      const inView = [...started].filter((each) => each.isInView).length;
      wait = pause(inView, performance.now() - begun);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      // Why there is none, the state of the camera says.
      const none = this.#shownPath === null ? "No picture yet." : "No picture now.";
      if (!abort.signal.aborted) this.#failed(error.status === 503 ? none : error.message);
    } finally {
      this.#abort = null;
    }
    if (started.has(this)) this.#timer = setTimeout(() => this.#turn(), wait);
  }

  async #renew(signal) {
    const path = this.#path();
    const read = await picture(path, path === this.#shownPath ? this.#tag : null, signal);
    if (read && !signal.aborted) {
      await show(this.image, read.blob);
      [this.#shownPath, this.#tag] = [path, read.tag];
    }
    this.#failed("");
  }
}

/** Shows the picture. The image keeps it when its URL is gone. */
export async function show(image, blob) {
  const url = URL.createObjectURL(blob);
  try {
    image.src = url;
    await image.decode();
  } catch {
    // What is no picture leaves the last one.
  } finally {
    URL.revokeObjectURL(url);
  }
}
