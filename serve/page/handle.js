// A handle of a point on the picture, which is moved by mouse, finger or arrow keys. Points are fractions of the frame.

/** How far an arrow key moves a point, and with Shift. */
const STEP = 0.01;
const LARGE_STEP = 0.05;

export const clamp = (value) => Math.round(Math.min(1, Math.max(0, value)) * 10000) / 10000;

/** Where on `canvas` an event is. */
export function position(canvas, event) {
  const box = canvas.getBoundingClientRect();
  return [clamp((event.clientX - box.left) / box.width), clamp((event.clientY - box.top) / box.height)];
}

/** A button over `canvas` at the point that `get` gives; `label` names it, and `moved` is called with where it is moved to. */
export function handle(canvas, get, label, moved) {
  const element = document.createElement("button");
  element.type = "button";
  const place = () => {
    const [x, y] = get();
    element.style.setProperty("left", `${x * 100}%`);
    element.style.setProperty("top", `${y * 100}%`);
    element.setAttribute("aria-label", `${label}: ${Math.round(x * 100)} %, ${Math.round(y * 100)} %`);
  };
  const move = (point) => {
    moved(point);
    place();
  };
  place();
  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture(event.pointerId);
    event.stopPropagation();
  });
  element.addEventListener("pointermove", (event) => {
    if (element.hasPointerCapture(event.pointerId)) move(position(canvas, event));
  });
  element.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? LARGE_STEP : STEP;
    const by = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] }[event.key];
    if (!by) return;
    const [x, y] = get();
    move([clamp(x + by[0]), clamp(y + by[1])]);
    event.preventDefault();
  });
  return element;
}
