// The recording of an event, from its moment on.

import { Refused, ask, blob, hasToken } from "./api.js";
import { attempt } from "./attempt.js";
import { $, setText } from "./dom.js";
import { download } from "./download.js";
import { descriptionText, eventText } from "./event-item.js";
import { show } from "./live.js";
import { addressOf } from "./router.js";

const dialog = $("playback");
const video = $("playback-video");
const picture = $("playback-picture");
const place = $("playback-error");
/** Milliseconds after an event in which its recording may still be going on. */
const RECENT = 180000;
let url = null;
let shown = null;

/** Plays the recording of an event; one without a recording has its picture, as large as it is. */
export function play(event) {
  stop();
  shown = event;
  $("playback-title").textContent = eventText(event);
  describe(event);
  setText(place, "");
  setText($("playback-status"), "");
  $("playback-download").disabled = video.hidden = !event.recording;
  picture.hidden = true;
  if (!dialog.open) dialog.showModal();
  if (!event.recording) return showPicture(event);
  attempt(place, async () => {
    // Without a token, the video reads the parts that it plays; it cannot send one.
    const read = hasToken() ? await blob(event.recording) : null;
    if (shown !== event) return;
    if (read) url = URL.createObjectURL(read);
    video.src = url ?? event.recording;
    video.currentTime = event.offset ?? 0;
    // A browser may want a click first.
    await video.play().catch(() => {});
  });
}

/** Shows what has become known of an event, if it is the one that is shown. */
export function update(event) {
  if (shown === null || shown.id !== event.id) return;
  const hasMore = !shown.recording && (event.recording || (!shown.snapshot && event.snapshot));
  if (hasMore) play(event);
  else describe(event);
}

function describe(event) {
  const place = $("playback-description");
  setText(place, descriptionText(event));
  place.classList.toggle("missing", !event.description);
  place.hidden = place.textContent === "";
}

async function showPicture(event) {
  const isRecent = Date.now() - Date.parse(event.time) < RECENT;
  setText($("playback-status"), `There is no recording of this event${isRecent ? " yet" : ""}.`);
  if (!event.snapshot) return;
  await attempt(place, async () => {
    const read = await blob(event.snapshot);
    if (shown !== event) return;
    await show(picture, read);
    if (shown === event) picture.hidden = false;
  });
}

video.addEventListener("error", () => {
  if (!video.getAttribute("src")) return;
  const { recording } = shown;
  attempt(place, async () => {
    // Only the service knows whether there still is one.
    if (!url) (await ask("GET", recording, { headers: { range: "bytes=0-0" } })).body?.cancel();
    if (shown?.recording === recording) throw new Refused(0, "The browser cannot play this recording. Download it for another player.");
  });
});

/** Lets go of what is shown. */
function stop() {
  shown = null;
  video.removeAttribute("src");
  video.load();
  if (url) URL.revokeObjectURL(url);
  url = null;
}

// The browser says it later: by then, the dialog may show another event.
dialog.addEventListener("close", () => dialog.open || stop());

$("playback-close").addEventListener("click", () => dialog.close());

$("playback-download").addEventListener("click", () =>
  attempt(place, () => download(shown.recording, decodeURIComponent(shown.recording.split("/").pop()))),
);

$("playback-link").addEventListener("click", async () => {
  const link = new URL(addressOf("event", shown.id), location.href).href;
  try {
    await navigator.clipboard.writeText(link);
    setText($("playback-status"), "The link is in the clipboard.");
  } catch {
    // Browsers give the clipboard to pages by HTTPS and of this machine only.
    setText($("playback-status"), link);
  }
});
