// The zones of one stream on its picture: drawn, moved, named, deleted. Points are fractions of the frame.

import { make } from "./dom.js";
import * as ground from "./ground.js";
import { clamp, handle, position } from "./handle.js";

const SVG = "http://www.w3.org/2000/svg";

const canvas = document.getElementById("canvas");
const picture = document.getElementById("picture");
const list = document.getElementById("zones");
const hint = document.getElementById("hint");
const buttons = Object.fromEntries(
  ["new-polygon", "new-line", "finish", "cancel", "save", "revert"].map((id) => [id, document.getElementById(id)]),
);

let zones = [];
let saved = "[]";
let chosen = -1;
/** The zone that is being drawn. */
let drawing = null;

/** Shows the zones that the service has. */
export function load(from) {
  zones = structuredClone(from);
  saved = JSON.stringify(zones);
  chosen = -1;
  drawing = null;
  render();
}

/** The service has these zones by now, and goes on with what is drawn. */
export function keep(list) {
  saved = JSON.stringify(list);
  showButtons();
}

/** The zones as they are drawn now. */
export function current() {
  return structuredClone(zones);
}

/** Whether something was changed and not saved. */
export function changed() {
  return drawing !== null || JSON.stringify(zones) !== saved;
}

function begin(kind) {
  const taken = new Set(zones.map((zone) => zone.name));
  let number = 1;
  while (taken.has(`${kind}-${number}`)) number += 1;
  drawing = { name: `${kind}-${number}`, kind, points: [] };
  chosen = -1;
  canvas.focus();
  render();
}

function finish() {
  if (drawing && drawing.points.length >= (drawing.kind === "line" ? 2 : 3)) {
    zones.push(drawing);
    chosen = zones.length - 1;
  }
  drawing = null;
  render();
}

function cancel() {
  drawing = null;
  render();
}

/** Adds a point to the zone that is drawn. A line is complete with two. */
function add(point) {
  drawing.points.push(point);
  if (drawing.kind === "line" && drawing.points.length === 2) finish();
  else render();
}

canvas.addEventListener("pointerdown", (event) => {
  if (!drawing || event.button !== 0) return;
  event.preventDefault();
  add(position(canvas, event));
});

canvas.tabIndex = 0;
canvas.addEventListener("keydown", (event) => {
  if (!drawing) return;
  if (event.key === "Enter") {
    // By keyboard a point begins in the middle, from where the arrows move it.
    if (drawing.kind === "polygon" && drawing.points.length >= 3) finish();
    else add([0.5, clamp(0.3 + 0.2 * drawing.points.length)]);
  } else if (event.key === "Escape") cancel();
  else return;
  event.preventDefault();
});

buttons["new-polygon"].addEventListener("click", () => begin("polygon"));
buttons["new-line"].addEventListener("click", () => begin("line"));
buttons.finish.addEventListener("click", finish);
buttons.cancel.addEventListener("click", cancel);
ground.onChange(showButtons);

function shape(zone, isChosen) {
  const element = document.createElementNS(SVG, zone.kind === "polygon" ? "path" : "polyline");
  const text = (points) => points.map((point) => point.join(",")).join(" ");
  if (zone.kind === "polygon") element.setAttribute("d", [zone.points, ...(zone.holes ?? [])].map((points) => `M${text(points)}Z`).join(""));
  else element.setAttribute("points", text(zone.points));
  if (isChosen) element.classList.add("chosen");
  // Whoever clicks on a zone chooses it in the list as well.
  if (!drawing) {
    element.classList.add("open");
    element.addEventListener("click", () => choose(zones.indexOf(zone)));
  }
  canvas.append(element);
  if (zone.kind === "line" && zone.points.length === 2) canvas.append(arrow(zone, isChosen));
}

/** A zone's name: in the middle of a polygon, at a quarter of a line. It is read in the list, so that screen readers leave it out here. */
function label(zone) {
  const element = make("span", { className: "zone-label", textContent: zone.name, aria: { hidden: "true" } });
  const [x, y] = [0, 1].map((axis) => {
    const values = zone.points.map((point) => point[axis]);
    const place = zone.kind === "line" ? values[0] * 0.75 + values.at(-1) * 0.25 : (Math.min(...values) + Math.max(...values)) / 2;
    return `${place * 100}%`;
  });
  element.style.setProperty("left", x);
  element.style.setProperty("top", y);
  // At the right end of the picture it ends there, at the left one it begins there: all of it is in the picture.
  element.style.setProperty("transform", `translate(-${x}, -${y})`);
  return element;
}

/** Chooses a zone, so that its points can be moved, or none. */
function choose(index) {
  chosen = chosen === index ? -1 : index;
  render();
  list.querySelector(".chosen")?.scrollIntoView({ block: "nearest" });
}

/** An arrow across a line, to its right as one goes along it: the direction of "in". */
function arrow(zone, isChosen) {
  const [[ax, ay], [bx, by]] = zone.points;
  const box = canvas.getBoundingClientRect();
  const ratio = box.height > 0 ? box.width / box.height : 1;
  const along = [(bx - ax) * ratio, by - ay];
  const length = Math.hypot(...along) || 1;
  const size = 0.05 * Math.hypot(ratio, 1);
  const across = [-along[1] / length / ratio, along[0] / length].map((value) => value * size);
  const middle = [(ax + bx) / 2, (ay + by) / 2];
  const tip = [middle[0] + across[0], middle[1] + across[1]];
  const wing = (side) => [
    tip[0] - across[0] * 0.4 + side * 0.25 * size * (along[0] / length / ratio),
    tip[1] - across[1] * 0.4 + side * 0.25 * size * (along[1] / length),
  ];
  const element = document.createElementNS(SVG, "polyline");
  element.setAttribute("points", [middle, tip, wing(1), tip, wing(-1)].map((p) => p.join(",")).join(" "));
  element.classList.add("arrow");
  if (isChosen) element.classList.add("chosen");
  return element;
}

/** A point that is moved by mouse, finger or arrow keys, and deleted by Delete. */
function corner(zone, index) {
  const moved = (point) => {
    zone.points[index] = point;
    drawShapes();
    showButtons();
  };
  const element = handle(canvas, () => zone.points[index], `Point ${index + 1} of ${zone.name}`, moved);
  element.className = "handle";
  element.dataset.point = index;
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Delete" || zone.kind !== "polygon" || zone.points.length <= 3) return;
    zone.points.splice(index, 1);
    render();
    event.preventDefault();
  });
  return element;
}

function field(label, value, set, attributes = {}) {
  const outer = document.createElement("label");
  const input = document.createElement("input");
  Object.assign(input, attributes);
  input.value = value;
  input.addEventListener("input", () => {
    set(input.value);
    showButtons();
  });
  outer.append(`${label} `, input);
  return outer;
}

function action(text, run, name) {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = text;
  if (name) element.setAttribute("aria-label", `${text} ${name}`);
  element.addEventListener("click", run);
  return element;
}

/** The keys of a zone that are numbers, with what they are called, and whether lines have them as well. */
const OPTIONS = [
  ["inertia", "Inertia in frames", true],
  ["dwell", "Dwell in seconds", false],
  ["loitering", "Loitering in seconds", false],
  ["occupancy", "Occupancy", false],
  ["min-speed", "Minimum speed in m/s", false],
  ["max-speed", "Maximum speed in m/s", false],
];

/** Points of an object's box. */
const ANCHORS = [
  "top-left", "top-center", "top-right", "center-left", "center", "center-right", "bottom-left", "bottom-center", "bottom-right",
];

/** The point of an object's box that counts in a zone. */
function anchor(zone) {
  const select = make("select", { name: "anchor" }, new Option("as zonecount", ""), ...ANCHORS.map((word) => new Option(word, word)));
  select.value = zone.anchor ?? "";
  select.addEventListener("change", () => {
    if (select.value) zone.anchor = select.value;
    else delete zone.anchor;
    showButtons();
  });
  return make("label", {}, "Anchor ", select);
}

/** The numbers of a zone, of which an empty one is not set. */
function options(zone) {
  const element = document.createElement("details");
  const summary = document.createElement("summary");
  summary.textContent = "Options";
  const shown = OPTIONS.filter(([, , ofLines]) => ofLines || zone.kind === "polygon");
  element.open = shown.some(([key]) => zone[key] !== undefined);
  const fields = shown.map(([key, label]) => {
    const set = (text) => {
      if (text.trim() === "") delete zone[key];
      else zone[key] = Number(text);
    };
    return field(label, zone[key] ?? "", set, { type: "number", min: 0, step: "any", name: key });
  });
  element.append(summary, ...fields);
  return element;
}

function item(zone, index) {
  const element = document.createElement("li");
  if (index === chosen) element.classList.add("chosen");
  const classes = (zone.classes ?? []).join(", ");
  const setClasses = (text) => {
    const parts = text.split(",").map((part) => part.trim()).filter(Boolean);
    if (parts.length) zone.classes = parts.map((part) => (/^\d+$/.test(part) ? Number(part) : part));
    else delete zone.classes;
  };
  element.append(
    `${zone.kind} `,
    field("Name", zone.name, (text) => {
      zone.name = text.trim();
      drawShapes();
    }),
    field("Classes", classes, setClasses, { placeholder: "all" }),
    anchor(zone),
    options(zone),
    action("Edit points", () => choose(index), zone.name),
    action("Delete", () => { zones.splice(index, 1); chosen = -1; render(); }, zone.name),
  );
  return element;
}

function drawShapes() {
  canvas.replaceChildren();
  zones.forEach((zone, index) => shape(zone, index === chosen));
  if (drawing) shape(drawing, true);
  picture.querySelectorAll(".zone-label").forEach((element) => element.remove());
  picture.append(...zones.filter((zone) => zone.points.length).map(label));
}

function showButtons() {
  const busy = drawing !== null;
  ground.setBusy(busy);
  const elsewhere = ground.isDrawing();
  const nothing = busy || elsewhere || !(changed() || ground.changed());
  buttons["new-polygon"].hidden = buttons["new-line"].hidden = busy;
  buttons["new-polygon"].disabled = buttons["new-line"].disabled = elsewhere;
  buttons.finish.hidden = !busy || drawing.kind === "line";
  buttons.finish.disabled = busy && drawing.points.length < 3;
  buttons.cancel.hidden = !busy;
  buttons.save.disabled = nothing;
  buttons.revert.disabled = nothing;
  canvas.classList.toggle("drawing", busy);
  hint.textContent = !busy
    ? ""
    : drawing.kind === "line"
      ? "Set two points on the picture, or press Enter for each. The arrow shows the direction that counts as in."
      : "Set three points or more on the picture, or press Enter for each, then finish.";
}

function render() {
  canvas.setAttribute("viewBox", "0 0 1 1");
  drawShapes();
  picture.querySelectorAll(".handle").forEach((element) => element.remove());
  const edited = drawing ?? zones[chosen];
  if (edited) picture.append(...edited.points.map((_, index) => corner(edited, index)));
  list.replaceChildren(...zones.map(item));
  showButtons();
}
