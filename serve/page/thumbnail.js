// Small pictures of files, which are read when they come into view, one after the other.

import { Refused, blob } from "./api.js";
import { make } from "./dom.js";
import { show } from "./live.js";

const waiting = [];
let busy = false;

const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    observer.unobserve(target);
    waiting.push(target);
  }
  read();
});

async function read() {
  if (busy) return;
  busy = true;
  try {
    // One that has left the page meanwhile is not read.
    for (let image = waiting.shift(); image; image = waiting.shift()) if (image.isConnected) await fill(image);
  } finally {
    busy = false;
  }
}

async function fill(image) {
  try {
    await show(image, await blob(image.dataset.path));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    image.alt = `${image.alt} (${error.message})`;
  }
}

/** An image of a file of the service. */
export function thumbnail(path, alt) {
  const image = make("img", { alt, className: "thumbnail", data: { path } });
  observer.observe(image);
  return image;
}
