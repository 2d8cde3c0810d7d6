// The best pictures of a camera's tracks.

import { json, ofStream } from "./api.js";
import { attempt } from "./attempt.js";
import { $, make, setText } from "./dom.js";
import { thumbnail } from "./thumbnail.js";
import { timeText } from "./time.js";

/** How many are shown. */
const MOST = 48;

let shown = null;
const details = $("snapshots");

/** Shows the pictures of a camera once the part is opened; null shows none. */
export function load(name) {
  shown = name;
  $("snapshot-list").replaceChildren();
  setText($("snapshots-error"), "");
  if (name !== null && details.open) read();
}

function read() {
  const name = shown;
  if (name === null) return;
  attempt($("snapshots-error"), async () => {
    const { snapshots } = await json("GET", ofStream(name, "/snapshots"));
    if (shown !== name) return;
    $("snapshot-list").replaceChildren(...snapshots.slice(0, MOST).map((each) => item(name, each)));
    setText($("snapshots-status"), snapshots.length ? `${Math.min(MOST, snapshots.length)} of ${snapshots.length}` : "There are none yet.");
  }, () => shown === name);
}

function item(name, snapshot) {
  const text = [snapshot.class, snapshot.track === null || snapshot.track === undefined ? null : `track ${snapshot.track}`, timeText(snapshot.time)];
  const caption = text.filter(Boolean).join(", ");
  const path = ofStream(name, `/snapshots/${encodeURIComponent(snapshot.file)}`);
  return make("li", {}, make("figure", {}, thumbnail(path, "Best picture"), make("figcaption", { textContent: caption })));
}

details.addEventListener("toggle", () => details.open && read());
