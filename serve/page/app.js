// The page: the list of streams, and one of them with its picture and its zones.

import { Refused, blob, forgetToken, json, ofStream, setToken } from "./api.js";
import * as ground from "./ground.js";
import * as zones from "./zones.js";

/** Milliseconds between two looks at the list, and at the picture. */
const LIST_PERIOD = 2000;
const PICTURE_PERIOD = 1000;

const $ = (id) => document.getElementById(id);
/** The name of the stream that is shown. */
let shown = null;
/** The name of the stream that the page shows once the streams have been read. */
let wanted = null;
let pictureUrl = null;

/** Runs something that asks the service, and puts what it refuses into `place`. */
async function attempt(place, run) {
  try {
    await run();
    place.textContent = "";
    return true;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 401 && error.late) return false;
    if (error.status === 401) askForToken(error.message);
    place.textContent = error.message;
    return false;
  }
}

function askForToken(sentence) {
  forgetToken();
  $("login").hidden = false;
  $("streams").hidden = true;
  $("stream").hidden = true;
  $("login").querySelector(".error").textContent = sentence;
  $("token").focus();
}

$("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  setToken($("token").value.trim());
  $("token").value = "";
  if (await attempt($("login").querySelector(".error"), start)) $("login").hidden = true;
});

/** The rows of the list by the streams' names. They stay: a button that is replaced while it is pressed is not clicked. */
const rows = new Map();

function newRow(name) {
  const element = document.createElement("tr");
  const cells = Array.from({ length: 4 }, () => document.createElement("td"));
  const open = document.createElement("button");
  open.type = "button";
  open.textContent = name;
  open.dataset.stream = name;
  open.addEventListener("click", () => attempt($("failure"), () => show(name)));
  cells[0].append(open);
  cells[2].className = "number";
  element.append(...cells);
  return element;
}

function updateRow(element, stream) {
  element.setAttribute("aria-current", String(stream.name === shown));
  const [, state, rate, error] = element.cells;
  state.textContent = stream.state;
  state.className = `state ${stream.state}`;
  rate.textContent = (stream["frames-per-second"] ?? 0).toFixed(1);
  error.textContent = error.title = stream["last-error"] ?? "";
}

function listStreams(streams) {
  const names = new Set(streams.map((stream) => stream.name));
  for (const [name, element] of rows) {
    if (names.has(name)) continue;
    element.remove();
    rows.delete(name);
  }
  streams.forEach((stream, index) => {
    if (!rows.has(stream.name)) rows.set(stream.name, newRow(stream.name));
    const element = rows.get(stream.name);
    updateRow(element, stream);
    if ($("list").rows[index] !== element) $("list").insertBefore(element, $("list").rows[index] ?? null);
  });
}

async function refreshList() {
  const { streams } = await json("GET", "v1/streams");
  listStreams(streams);
  const playing = streams.filter((stream) => stream.state === "playing").length;
  $("summary").textContent = `${playing} of ${streams.length} streams play`;
  if (shown !== null && !streams.some((stream) => stream.name === shown)) hide();
}

async function refreshPicture() {
  if (shown === null || document.hidden) return;
  const name = shown;
  const overlay = $("overlay").checked;
  try {
    const bytes = await blob(ofStream(name, `/snapshot.jpg?width=1280&overlay=${overlay}`));
    if (shown !== name) return;
    const url = URL.createObjectURL(bytes);
    await new Promise((done) => {
      $("snapshot").onload = $("snapshot").onerror = done;
      $("snapshot").src = url;
    });
    $("picture").style.aspectRatio = "";
    if (pictureUrl) URL.revokeObjectURL(pictureUrl);
    pictureUrl = url;
    $("no-picture").textContent = "";
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    $("no-picture").textContent = error.message;
  }
}

async function show(name) {
  if (unsaved() && shown !== null && !confirm("Discard the zones that are not saved?")) return;
  wanted = name;
  const [stream, read] = await Promise.all([json("GET", ofStream(name)), json("GET", ofStream(name, "/zones"))]);
  if (wanted !== name) return;
  const size = frameSize(stream.caps);
  const inFraction = read.units === "pixels" ? inFractions(read, size) : read;
  shown = name;
  $("stream-title").textContent = name;
  $("snapshot").removeAttribute("src");
  $("snapshot").alt = `Picture of ${name}`;
  $("zone-error").textContent = "";
  // All is in its place before the picture comes: nothing moves under a finger.
  $("picture").style.aspectRatio = size ? (size[0] / size[1]) * pixelAspect(stream.caps) : "";
  $("stream").hidden = false;
  zones.load(inFraction.zones);
  ground.load(inFraction.ground ?? null);
  $("stream").scrollIntoView({ block: "nearest" });
  await refreshPicture();
  await refreshList();
}

/** Width and height in caps. */
function frameSize(caps) {
  const size = ["width", "height"].map((key) => Number(caps?.match(`\\b${key}=\\(int\\)(\\d+)`)?.[1]));
  return size.every((length) => length > 0) ? size : null;
}

/** How many times as wide as high a pixel is. */
function pixelAspect(caps) {
  const [, width, height] = caps.match(/\bpixel-aspect-ratio=\(fraction\)(\d+)\/(\d+)/) ?? [null, 1, 1];
  return width / height || 1;
}

/** Zones and ground in pixels as fractions of the frame: they are saved as such. */
function inFractions(read, size) {
  if ((read.zones.length || read.ground) && !size)
    throw new Refused(0, "The zones are in pixels, and no frame has come yet that tells its size.");
  const scaled = (points) => points.map(([x, y]) => [x / size[0], y / size[1]]);
  return {
    zones: read.zones.map((zone) => {
      const holes = zone.holes ? { holes: zone.holes.map(scaled) } : {};
      return { ...zone, points: scaled(zone.points), ...holes };
    }),
    ground: read.ground && { ...read.ground, points: scaled(read.ground.points) },
  };
}

/** Whether something was drawn or typed that is not saved. */
function unsaved() {
  return zones.changed() || ground.changed();
}

function hide() {
  shown = wanted = null;
  $("stream").hidden = true;
  zones.load([]);
  ground.load(null);
}

$("save").addEventListener("click", () =>
  attempt($("zone-error"), async () => {
    const list = zones.current();
    const plane = ground.current();
    await json("PUT", ofStream(shown, "/zones"), { units: "fraction", zones: list, ...(plane ? { ground: plane } : {}) });
    zones.load(list);
    ground.load(plane);
    $("hint").textContent = "Saved.";
  }),
);

$("restart").addEventListener("click", () => attempt($("zone-error"), () => json("POST", ofStream(shown, "/restart"), {})));

$("remove").addEventListener("click", () => {
  if (!confirm(`Remove the stream ${shown}?`)) return;
  attempt($("zone-error"), async () => {
    await json("DELETE", ofStream(shown));
    hide();
    await refreshList();
  });
});

$("overlay").addEventListener("change", refreshPicture);

$("add").addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  attempt(form.querySelector(".error"), async () => {
    const source = Object.fromEntries(new FormData(form));
    await json("POST", "v1/streams", source);
    form.reset();
    await refreshList();
  });
});

addEventListener("beforeunload", (event) => {
  if (unsaved()) event.preventDefault();
});

/** Runs again and again, each time after the last one has ended. */
function repeat(run, period) {
  const again = async () => {
    try {
      await run();
    } finally {
      setTimeout(again, period);
    }
  };
  setTimeout(again, period);
}

let started = false;

async function start() {
  await refreshList();
  const { pipelines } = await json("GET", "v1/pipelines");
  const options = pipelines.map(({ name }) => new Option(name, name));
  $("add").elements.pipeline.replaceChildren(...options);
  $("streams").hidden = false;
  if (started) return;
  started = true;
  repeat(() => $("login").hidden && attempt($("failure"), refreshList), LIST_PERIOD);
  repeat(() => $("login").hidden && refreshPicture(), PICTURE_PERIOD);
}

attempt($("failure"), start);
