// The ground of one stream on its picture: four points whose places are known, and the grid of metres that follows from them.

import { handle, position } from "./handle.js";
import { gridLines, placesOf } from "./plane.js";

const SVG = "http://www.w3.org/2000/svg";
/** Where Enter sets the four points. */
const BY_KEYBOARD = [[0.4, 0.4], [0.6, 0.4], [0.8, 0.8], [0.2, 0.8]];

const $ = (id) => document.getElementById(id);
const canvas = $("ground-canvas");
const picture = $("picture");
const sides = ["ground-width", "ground-length"].map($);

/** As the service has it: points and metres; null if there is none. */
let ground = null;
let saved = "null";
/** Whether its points can be moved. */
let edited = false;
/** The points that have been set, while they are. */
let drawing = null;
let report = () => {};

/** Shows the ground that the service has; null for none. */
export function load(from) {
  ground = structuredClone(from);
  saved = JSON.stringify(ground);
  drawing = null;
  edited = false;
  const rectangle = ground && !Array.isArray(ground.metres[0]);
  sides.forEach((input, index) => (input.value = rectangle ? ground.metres[index] : ""));
  render();
}

/** The ground as it is now; null for none. */
export function current() {
  return structuredClone(ground);
}

/** The service has this ground by now. */
export function keep(plane) {
  saved = JSON.stringify(plane);
  report();
}

/** Whether points are being set. */
export function isDrawing() {
  return drawing !== null;
}

/** Whether something was changed and not saved. */
export function changed() {
  return drawing !== null || JSON.stringify(ground) !== saved;
}

/** Runs this after each change. */
export function onChange(run) {
  report = run;
}

/** Whether zones are being drawn, so that nothing else can be. */
export function setBusy(busy) {
  $("new-ground").disabled = busy || drawing !== null;
  $("edit-ground").disabled = $("remove-ground").disabled = busy || ground === null;
}

function begin() {
  drawing = [];
  edited = false;
  canvas.focus();
  render();
}

/** Takes a point; the fourth is the last. */
function add(point) {
  drawing.push(point);
  if (drawing.length === 4) {
    ground = { ...ground, points: drawing, metres: typed() ?? ground?.metres ?? [1, 1] };
    if (!typed() && !Array.isArray(ground.metres[0])) sides.forEach((input, index) => (input.value = ground.metres[index]));
    drawing = null;
    edited = true;
  }
  render();
}

/** Width and length as they are typed; null where they are no lengths. */
function typed() {
  const values = sides.map((input) => (input.value.trim() === "" ? NaN : Number(input.value)));
  return values.every((value) => Number.isFinite(value) && value > 0) ? values : null;
}

canvas.addEventListener("pointerdown", (event) => {
  if (!drawing || event.button !== 0) return;
  event.preventDefault();
  add(position(canvas, event));
});

canvas.tabIndex = 0;
canvas.addEventListener("keydown", (event) => {
  if (!drawing) return;
  if (event.key === "Enter") add(BY_KEYBOARD[drawing.length]);
  else if (event.key === "Escape") cancel();
  else return;
  event.preventDefault();
});

function cancel() {
  drawing = null;
  render();
}

$("new-ground").addEventListener("click", begin);
$("cancel-ground").addEventListener("click", cancel);
$("edit-ground").addEventListener("click", () => {
  edited = !edited;
  render();
});
$("remove-ground").addEventListener("click", () => {
  ground = null;
  edited = false;
  sides.forEach((input) => (input.value = ""));
  render();
});
for (const input of sides) {
  input.addEventListener("input", () => {
    if (ground && typed()) ground.metres = typed();
    drawGrid();
    report();
  });
}

function line(points, name) {
  const element = document.createElementNS(SVG, "polyline");
  element.setAttribute("points", points.map((point) => point.join(",")).join(" "));
  element.classList.add(name);
  canvas.append(element);
}

/** Draws the grid, and says what it shows or why it cannot be drawn. */
function drawGrid() {
  canvas.replaceChildren();
  const hint = $("ground-hint");
  if (drawing) {
    line(drawing, "edge");
    hint.textContent =
      `Set point ${drawing.length + 1} of 4 on the picture, or press Enter: the corners of a rectangle on the ground, one after the ` +
      "other around it. The first side is its width.";
    return;
  }
  hint.textContent = "";
  if (!ground) return;
  line([...ground.points, ground.points[0]], "edge");
  const grid = gridLines(ground.points, placesOf(ground.metres));
  if (!grid) {
    hint.textContent = "No ground looks like this. Set the points in order around the rectangle, no three of them on a line.";
    return;
  }
  for (const ends of grid.lines) line(ends, "grid");
  const incomplete = sides.some((input) => input.value.trim() !== "") && !typed();
  hint.textContent = incomplete ? "Width and length are numbers of metres above 0." : `The lines are ${grid.step} m apart.`;
}

/** A corner that is moved by mouse, finger or arrow keys. */
function corner(index) {
  const moved = (point) => {
    ground.points[index] = point;
    drawGrid();
    report();
  };
  const element = handle(canvas, () => ground.points[index], `Point ${index + 1} of the ground`, moved);
  element.className = "corner";
  element.textContent = index + 1;
  return element;
}

function render() {
  canvas.setAttribute("viewBox", "0 0 1 1");
  drawGrid();
  picture.querySelectorAll(".corner").forEach((element) => element.remove());
  if (edited && ground) picture.append(...ground.points.map((_, index) => corner(index)));
  const busy = drawing !== null;
  $("new-ground").hidden = $("edit-ground").hidden = $("remove-ground").hidden = busy;
  $("cancel-ground").hidden = !busy;
  canvas.classList.toggle("drawing", busy);
  report();
}
