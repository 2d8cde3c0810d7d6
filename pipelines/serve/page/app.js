// The page: the list of streams, and one of them with its picture and its zones.

import { Refused, blob, forgetToken, json, ofStream, setToken } from "./api.js";
import * as zones from "./zones.js";

/** Milliseconds between two looks at the list, and at the picture. */
const LIST_PERIOD = 2000;
const PICTURE_PERIOD = 1000;

const $ = (id) => document.getElementById(id);
/** The name of the stream that is shown. */
let shown = null;
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

function row(stream) {
  const element = document.createElement("tr");
  element.setAttribute("aria-current", String(stream.name === shown));
  const cells = Array.from({ length: 4 }, () => document.createElement("td"));
  const open = document.createElement("button");
  open.type = "button";
  open.textContent = stream.name;
  open.dataset.stream = stream.name;
  open.addEventListener("click", () => attempt($("failure"), () => show(stream.name)));
  cells[0].append(open);
  cells[1].textContent = stream.state;
  cells[1].className = `state ${stream.state}`;
  cells[2].textContent = (stream["frames-per-second"] ?? 0).toFixed(1);
  cells[2].className = "number";
  cells[3].textContent = stream["last-error"] ?? "";
  cells[3].title = cells[3].textContent;
  element.append(...cells);
  return element;
}

async function refreshList() {
  const { streams } = await json("GET", "v1/streams");
  const focused = document.activeElement?.dataset?.stream;
  $("list").replaceChildren(...streams.map(row));
  if (focused) [...$("list").querySelectorAll("button")].find((b) => b.dataset.stream === focused)?.focus();
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
    if (pictureUrl) URL.revokeObjectURL(pictureUrl);
    pictureUrl = url;
    $("no-picture").textContent = "";
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    $("no-picture").textContent = error.message;
  }
}

async function show(name) {
  if (zones.changed() && shown !== null && !confirm("Discard the zones that are not saved?")) return;
  const [stream, read] = await Promise.all([json("GET", ofStream(name)), json("GET", ofStream(name, "/zones"))]);
  shown = name;
  $("stream-title").textContent = name;
  $("snapshot").removeAttribute("src");
  $("snapshot").alt = `Picture of ${name}`;
  $("zone-error").textContent = "";
  $("stream").hidden = false;
  await refreshPicture();
  zones.load(read.units === "pixels" ? inFractions(read.zones, stream.caps) : read.zones);
  await refreshList();
  $("stream").scrollIntoView({ block: "nearest" });
}

/** Zones in pixels as fractions of the frame: they are saved as such. */
function inFractions(list, caps) {
  const [width, height] = ["width", "height"].map((key) => Number(caps?.match(`\\b${key}=\\(int\\)(\\d+)`)?.[1]));
  if (list.length && !(width && height)) throw new Refused(0, "The zones are in pixels, and no frame has come yet that tells its size.");
  return list.map((zone) => ({ ...zone, points: zone.points.map(([x, y]) => [x / width, y / height]) }));
}

function hide() {
  shown = null;
  $("stream").hidden = true;
  zones.load([]);
}

$("save").addEventListener("click", () =>
  attempt($("zone-error"), async () => {
    const list = zones.current();
    await json("PUT", ofStream(shown, "/zones"), { units: "fraction", zones: list });
    zones.load(list);
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
  if (zones.changed()) event.preventDefault();
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
