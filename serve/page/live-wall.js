// The pictures of the wall. One request brings those of all cameras that are in view, and they are shown together: sixteen requests and
// sixteen paints a second would cost the browser six times as much.

import { Refused, pictures } from "./api.js";
import { pause } from "./pace.js";
import { timeText } from "./time.js";

/** Milliseconds until the service is asked again that has refused. */
const RETRY = 3000;
/** The most pictures that the service gives at a time. */
const MOST = 64;

export class LiveWall {
  /** What is shown of each camera, by its canvas. */
  #cameras = new Map();
  #timer = 0;
  #abort = null;
  #observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) if (this.#cameras.has(target)) this.#cameras.get(target).isInView = isIntersecting;
    this.#wake();
  });

  constructor() {
    document.addEventListener("visibilitychange", () => this.#wake());
  }

  /** Shows a camera on a canvas; `failed` is called with a sentence, and with "" after each picture. The last picture stays, dimmed. */
  add(canvas, stream, failed) {
    const lacks = (sentence) => {
      canvas.classList.toggle("old", sentence !== "");
      failed(sentence);
    };
    this.#cameras.set(canvas, { canvas, stream, lacks, isInView: false, tag: null, width: 0, last: null });
    this.#observer.observe(canvas);
  }

  remove(canvas) {
    this.#observer.unobserve(canvas);
    this.#cameras.delete(canvas);
    if (this.#cameras.size) return;
    clearTimeout(this.#timer);
    this.#abort?.abort();
  }

  #wake() {
    clearTimeout(this.#timer);
    this.#turn();
  }

  async #turn() {
    const seen = [...this.#cameras.values()].filter((camera) => camera.isInView).slice(0, MOST);
    if (this.#abort || !seen.length || document.hidden) return;
    const abort = (this.#abort = new AbortController());
    const begun = performance.now();
    let wait = RETRY;
    try {
      await this.#renew(seen, abort.signal);
      wait = pause(seen.length, performance.now() - begun);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (!abort.signal.aborted) seen.forEach((camera) => camera.lacks(error.message));
    } finally {
      this.#abort = null;
    }
    if (this.#cameras.size) this.#timer = setTimeout(() => this.#turn(), wait);
  }

  async #renew(seen, signal) {
    const width = widthOf(seen);
    // A picture of another size is another picture.
    const wanted = seen.map(({ stream, tag, width: last }) => ({ stream, tag: last === width ? tag : null }));
    const read = await pictures(wanted, width, signal);
    const decoded = await Promise.all(read.map(({ jpeg }) => jpeg && decode(jpeg)));
    // Nobody sees what comes after the wall was left.
    if (signal.aborted) return decoded.forEach((bitmap) => bitmap?.close());
    seen.forEach((camera, index) => {
      const { tag, error, status } = read[index];
      if (decoded[index]) {
        draw(camera.canvas, decoded[index]);
        Object.assign(camera, { tag, width, last: new Date() });
      }
      // Why there is none, the state of the camera says.
      const none = camera.last ? `No picture since ${timeText(camera.last)}.` : "No picture yet.";
      camera.lacks(status === 503 ? none : (error ?? ""));
    });
  }
}

/** The width that all have: that of the widest, in pixels of the screen, in steps that the service shares. */
function widthOf(seen) {
  const widest = Math.max(...seen.map(({ canvas }) => canvas.clientWidth)) * Math.min(2, devicePixelRatio);
  return Math.min(640, Math.max(160, Math.ceil(widest / 160) * 160));
}

/** A picture, or null if it is none. */
async function decode(jpeg) {
  try {
    return await createImageBitmap(jpeg, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
  } catch {
    return null;
  }
}

function draw(canvas, bitmap) {
  if (canvas.width !== bitmap.width || canvas.height !== bitmap.height) [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
  canvas.getContext("2d", { alpha: false }).drawImage(bitmap, 0, 0);
  bitmap.close();
}
