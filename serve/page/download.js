// A file of the service on the user's disk.

import { blob } from "./api.js";
import { make } from "./dom.js";

/** Reads a file with the token, and has the browser save it as `name`. */
export async function download(path, name) {
  const url = URL.createObjectURL(await blob(path));
  make("a", { href: url, download: name }).click();
  // The browser reads it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}
