// One camera: its picture, large, with the zones and the ground that are drawn on it, its figures and its settings.

import { Refused, json, ofStream, withQuery } from "./api.js";
import { attempt } from "./attempt.js";
import { $, setText } from "./dom.js";
import * as elements from "./elements.js";
import { frameAspect, frameSize, inFractions } from "./frame.js";
import * as ground from "./ground.js";
import { LivePicture } from "./live.js";
import { LiveVideo } from "./live-video.js";
import { repeat } from "./repeat.js";
import { isShown, leave } from "./router.js";
import * as snapshots from "./snapshots.js";
import { countText, counts, figures, hasVideo, onState, refresh, streamOf } from "./state.js";
import { showFigures } from "./wall.js";
import * as zones from "./zones.js";

/** Milliseconds between two looks at the zones that the service has. */
const ZONES_PERIOD = 5000;

/** The name of the camera that is shown. */
let shown = null;
/** Its state when the page last looked. */
let state = null;
/** The zones and the ground that the editor began with, as the service has them, and as JSON; null until they have been read. */
let known = null;
/** What the service has by now, if somebody else has changed it while something here is not saved. */
let elsewhere = null;
/** The camera whose zones are being saved. */
let saving = null;

/** Zones, ground and thresholds: seen once the zones are there, which move what is below them. */
const settings = document.querySelector(".camera-settings");

/** Whether the service draws zones in the picture that is shown. */
let drawsZones = false;
/** What the service draws. The page draws the zones that can be moved itself, and not those of the pipeline. */
const drawn = () => ({ overlay: $("overlay").checked, zones: hasZonesOfPipeline() });

/** Whether what counts are the zones of the pipeline or of a file, because the stream has none of its own. */
function hasZonesOfPipeline() {
  return known !== null && !known.zones.length && !known.ground && (counts[shown] ?? []).length > 0;
}

/** Gives the picture the shape of the frames: what is drawn on it is in fractions of them. */
const setAspect = (aspect) => $("picture").style.setProperty("--aspect", aspect);
$("snapshot").addEventListener("load", ({ target }) => setAspect(target.naturalWidth / target.naturalHeight));
$("live-video").addEventListener("resize", ({ target }) => target.videoHeight && setAspect(target.videoWidth / target.videoHeight));

const path = () => {
  const width = Math.min(1920, Math.round($("picture").clientWidth * Math.min(2, devicePixelRatio)));
  return withQuery(ofStream(shown, "/live.jpg"), { width: Math.max(160, Math.ceil(width / 160) * 160), ...drawn() });
};
const picture = new LivePicture($("snapshot"), path, (message) => {
  setText($("no-picture"), message);
  $("snapshot").classList.toggle("old", message !== "");
});
/** Whether the video of the shown camera has been asked for. */
let isVideoAsked = false;
const video = new LiveVideo(
  $("live-video"),
  () => withQuery(ofStream(shown, "/whep"), drawn()),
  (plays) => {
    $("live-video").hidden = !plays;
    $("snapshot").hidden = plays;
    if (plays) {
      picture.stop();
      setText($("no-picture"), "");
    } else if (shown !== null) picture.start();
  },
  () => state === "playing" && (streamOf(shown)?.["frames-per-second"] ?? 0) >= 1,
);

function render() {
  if (shown === null || !isShown("camera")) return;
  const stream = streamOf(shown);
  if (!stream) return leaveQuietly();
  setText($("camera-state"), stream.state);
  $("camera-state").className = `state ${stream.state}`;
  // Elements are there, and know their models, when it plays; what was not there is read again.
  if (stream.state === "playing" && (state !== "playing" || elements.isEmpty())) elements.load(shown);
  state = stream.state;
  // Before it plays, there is no frame that could be encoded.
  if (hasVideo && state === "playing" && !isVideoAsked) {
    isVideoAsked = true;
    video.start();
  }
  const size = frameSize(stream.caps);
  const restarts = Object.values(stream.restarts).reduce((sum, count) => sum + count, 0);
  showFigures($("camera-figures"), [
    ...figures(stream),
    ["Frames", size ? `${size[0]} × ${size[1]}` : "–"],
    ["Pipeline", stream.pipeline],
    ["Source", stream.uri],
    ["Restarts", String(restarts)],
  ]);
  setText($("camera-error"), stream["last-error"] ?? "");
  setText($("camera-counts"), (counts[shown] ?? []).map(countText).join("; "));
  if (drawsZones !== hasZonesOfPipeline()) renewPicture();
  const names = drawsZones ? counts[shown].map(({ zone }) => zone).join(", ") : "";
  setText($("pipeline-zones"), names && `The pipeline has zones of its own: ${names}. Zones that are saved here take their place, and without any here they count again.`);
}

/** The zones and the ground that the service has, as fractions of the frame. */
async function read(name) {
  const [stream, read] = await Promise.all([json("GET", ofStream(name)), json("GET", ofStream(name, "/zones"))]);
  const { zones, ground } = inFractions(read, frameSize(stream.caps));
  return { zones, ground: ground ?? null, text: JSON.stringify([read.zones, read.ground ?? null, read.units]) };
}

/** Has the editor show what the service has. */
function edit(now) {
  known = now;
  zones.load(now.zones);
  ground.load(now.ground);
  $("zones-editor").hidden = false;
  setText($("zone-error"), "");
  overtaken(null);
}

/** Notes what somebody else has saved while something here is not saved; null for nothing. */
function overtaken(now) {
  elsewhere = now;
  setText(
    $("zones-elsewhere"),
    now ? "Somebody else has changed the zones of this camera meanwhile. Discard changes shows theirs, Save zones replaces them." : "",
  );
}

/** Reads the zones; those that somebody else has changed are shown unless something is being drawn here. */
async function readZones() {
  const name = shown;
  const now = await read(name);
  if (shown !== name) return;
  if (now.text === known?.text) overtaken(null);
  else if (known === null || !unsaved()) edit(now);
  else overtaken(now);
}

/** Saves what the editor has, unless somebody else has changed it and is not to be overruled. */
async function save(name) {
  const began = known;
  const now = await read(name);
  if (known !== began) return;
  if (now.text !== began.text) {
    overtaken(now);
    if (!confirm("Somebody else has changed the zones of this camera meanwhile. Replace them?")) return;
  }
  const [list, plane] = [zones.current(), ground.current()];
  await json("PUT", ofStream(name, "/zones"), { units: "fraction", zones: list, ...(plane ? { ground: plane } : {}) });
  // The editor shows another camera, or this one anew.
  if (known !== began) return;
  // What was drawn meanwhile stays, and is not saved.
  zones.keep(list);
  ground.keep(plane);
  overtaken(null);
  if (!unsaved()) setText($("hint"), "Saved.");
  const after = await read(name);
  if (known === began) known = after;
}

/** Whether a camera is still the one that is shown. */
const of = (name) => () => shown === name;

/** Whether something was drawn or typed that is not saved. */
function unsaved() {
  return zones.changed() || ground.changed();
}

function forget() {
  known = null;
  zones.load([]);
  ground.load(null);
  overtaken(null);
}

function leaveQuietly() {
  forget();
  leave();
}

export const view = {
  title: (name) => name ?? "Camera",
  unsaved,
  mayLeave: () => !unsaved() || confirm("Discard the zones that are not saved?"),
  show(name = "") {
    shown = name;
    forget();
    drawsZones = false;
    $("camera-title").textContent = shown;
    $("snapshot").removeAttribute("src");
    $("snapshot").alt = `Picture of ${shown}`;
    $("live-video").setAttribute("aria-label", `Picture of ${shown}`);
    for (const id of ["zone-error", "camera-failure", "no-picture", "hint", "pipeline-zones"]) $(id).textContent = "";
    // All is in its place before the picture comes: nothing moves under a finger.
    setAspect(frameAspect(streamOf(shown)?.caps));
    state = streamOf(shown)?.state ?? null;
    picture.start();
    render();
    settings.classList.add("coming");
    // Whoever drew without knowing what is there would replace it.
    $("zones-editor").hidden = true;
    attempt($("zone-error"), readZones, of(name)).finally(() => name === shown && settings.classList.remove("coming"));
    elements.load(shown);
    snapshots.load(shown);
  },
  hide() {
    shown = null;
    video.stop();
    isVideoAsked = false;
    picture.stop();
    forget();
    elements.load(null);
    snapshots.load(null);
  },
};

onState(render);
repeat(
  async () => {
    // What is refused once there is an editor, is shown when somebody saves.
    if (known === null) await attempt($("zone-error"), readZones, of(shown));
    else await readZones().catch((error) => { if (!(error instanceof Refused)) throw error; });
  },
  ZONES_PERIOD,
  () => shown !== null && saving !== shown,
);

$("save").addEventListener("click", async () => {
  const name = shown;
  if (saving === name) return;
  saving = name;
  await attempt($("zone-error"), () => save(name), of(name)).finally(() => {
    if (saving === name) saving = null;
  });
});
$("revert").addEventListener("click", () => edit(elsewhere ?? known));

const act = (run) => () => attempt($("camera-failure"), run, of(shown));

$("restart").addEventListener("click", act(() => json("POST", ofStream(shown, "/restart"), {})));

$("record").addEventListener("click", act(async () => {
  const name = shown;
  await json("POST", ofStream(name, "/record"), {});
  if (shown === name) setText($("hint"), "A recording has begun.");
}));

$("remove").addEventListener("click", () => {
  const name = shown;
  if (!confirm(`Remove the camera ${name}?`)) return;
  const remove = async () => {
    await json("DELETE", ofStream(name));
    if (shown === name) forget();
    await refresh();
    if (shown === name && isShown("camera")) leaveQuietly();
  };
  attempt($("camera-failure"), remove, of(name));
});

/** Asks for the picture again, with what is to be drawn now. */
function renewPicture() {
  drawsZones = hasZonesOfPipeline();
  if (isVideoAsked) video.renew();
  picture.wake();
}

$("overlay").addEventListener("change", renewPicture);

addEventListener("beforeunload", (event) => {
  if (unsaved()) event.preventDefault();
});
