// Which view is shown: the part of the address after #, as in #/camera/door.

import { $ } from "./dom.js";

/** The views by name: `show(argument)`, `hide()`, `title(argument)`, and `mayLeave()` where something may be unsaved. */
const views = new Map();
let current = null;

export function addView(name, view) {
  views.set(name, view);
}

/** The address of a view. */
export function addressOf(name, argument) {
  return argument === undefined ? `#/${name}` : `#/${name}/${encodeURIComponent(argument)}`;
}

/** Shows a view. */
export function open(name, argument) {
  const address = addressOf(name, argument);
  if (location.hash === address) return follow();
  location.hash = address;
}

/** Changes the address to that of another view with the same content; what is shown stays. */
export function rename(name, argument) {
  history.replaceState(null, "", addressOf(name, argument));
  current = { ...read(), address: location.hash };
}

function read() {
  const [, name, argument] = location.hash.split("/");
  const known = views.has(name) ? name : "wall";
  try {
    return { name: known, argument: argument === undefined ? undefined : decodeURIComponent(argument) };
  } catch {
    return { name: "wall", argument: undefined };
  }
}

/** Whether this view is the one that is shown. */
export function isShown(name) {
  return current?.name === name;
}

/** Shows the view again, unless that would lose what is not saved in it. */
export function again() {
  if (!views.get(current?.name)?.unsaved?.()) follow();
}

/** Shows what the address says. */
export function follow() {
  const next = { ...read(), address: location.hash };
  const left = current && views.get(current.name);
  if (current && left.mayLeave && current.address !== next.address && !left.mayLeave()) {
    history.replaceState(null, "", current.address || "#/wall");
    return;
  }
  left?.hide();
  const first = current === null;
  current = next;
  const view = views.get(next.name);
  for (const section of document.querySelectorAll("[data-view]")) section.hidden = section.dataset.view !== (view.section ?? next.name);
  for (const link of $("navigation").querySelectorAll("a")) {
    if (link.dataset.for.split(" ").includes(next.name)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${view.title(next.argument)} – cudainfer`;
  if (!first) {
    const heading = document.querySelector(`[data-view="${view.section ?? next.name}"] h2`);
    heading.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  view.show(next.argument);
}

/** Leaves the view without a question, because what it showed is gone. */
export function leave() {
  location.hash = "#/wall";
}

addEventListener("hashchange", () => current && follow());
