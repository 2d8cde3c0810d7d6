// How a camera's models are read, and its thresholds, which take effect while it plays.

import { json, ofStream } from "./api.js";
import { attempt } from "./attempt.js";
import { $, make, setText } from "./dom.js";

/** Milliseconds from the last turn of a slider to its request. */
const SETTLED = 200;

/** What the zones editor sets. */
const OF_ZONES = ["zones", "units", "anchor"];

let shown = null;
/** The last time that the settings were asked for, and whether they have not come yet. */
let latest = 0;
let isLoading = false;

/** Shows the settings of a camera, which are read now; null shows none. Whoever sets something is not disturbed. */
export async function load(name) {
  if (name !== shown) {
    $("elements").replaceChildren();
    $("elements-error").textContent = "";
  }
  shown = name;
  const turn = ++latest;
  isLoading = name !== null;
  if (name === null) return;
  let elements, models;
  const read = await attempt($("elements-error"), async () => {
    ({ elements } = await json("GET", ofStream(name, "/elements")));
    models = await knownModels();
  }, () => turn === latest).finally(() => {
    if (turn === latest) isLoading = false;
  });
  if (turn !== latest || !read || $("elements").contains(document.activeElement)) return;
  $("elements").replaceChildren(...elements.map((element) => panel(name, element, models)));
  if (!elements.length) setText($("elements-error"), "The camera has no pipeline now, so that there is nothing to set.");
}

/** Whether no settings are shown nor on their way: there were none, or the service has refused them. */
export function isEmpty() {
  return !isLoading && !$("elements").hasChildNodes();
}

/** The models that pipelines run now. */
export async function knownModels() {
  const { pipelines } = await json("GET", "v1/pipelines");
  return [...new Set(pipelines.flatMap(({ models }) => Object.values(models).flat()))].sort();
}

function panel(name, element, models) {
  const settings = element.properties.filter((each) => !(element.factory === "zonecount" && OF_ZONES.includes(each.name)));
  const fields = (live) => settings.filter((setting) => setting.live === live).map((setting) => field(name, element, setting, models));
  const fieldset = make("fieldset", {}, make("legend", { textContent: element.name }));
  if (element.reading) fieldset.append(make("p", { className: "reading", textContent: element.reading }));
  fieldset.append(...fields(true));
  const others = fields(false);
  if (others.length) fieldset.append(make("details", {}, make("summary", { textContent: "Settings that start the camera again" }), ...others));
  return fieldset;
}

/** A property with its control. */
function field(name, element, setting, models) {
  const id = `set-${element.name}-${setting.name}`;
  const label = make("label", { htmlFor: id, textContent: setting.name });
  const note = make("p", { className: "note", id: `${id}-note`, textContent: setting.blurb });
  const answer = make("p", { className: "answer" });
  answer.setAttribute("role", "status");
  const send = async (value) => {
    let change;
    const patch = { override: { [`${element.name}.${setting.name}`]: value } };
    const done = await attempt(answer, async () => (change = await json("PATCH", ofStream(name), patch)));
    if (done) setText(answer, { live: "In use.", restart: "The camera starts again.", nothing: "As it was." }[change.applied]);
  };
  const refuse = (sentence) => setText(answer, sentence);
  const control = { switch: toggle, choice, text, number, integer: number }[setting.kind](setting, send, id, refuse);
  if (setting.name === "model") suggest(control, models, id);
  control.querySelector(`[id="${CSS.escape(id)}"]`)?.setAttribute("aria-describedby", note.id);
  return make("div", { className: "setting" }, label, control, answer, note);
}

/** Sends a value when no other one has come for a while, nor `cancel` was called. */
function settled(send) {
  let timer = 0;
  const cancel = () => clearTimeout(timer);
  const later = (value) => {
    cancel();
    timer = setTimeout(() => send(value), SETTLED);
  };
  return Object.assign(later, { cancel });
}

function toggle(setting, send, id) {
  const input = make("input", { type: "checkbox", id, checked: setting.value === true });
  input.addEventListener("change", () => send(input.checked));
  return make("span", {}, input);
}

function choice(setting, send, id) {
  const select = make("select", { id }, ...setting.choices.map((word) => new Option(word, word)));
  select.value = setting.value;
  select.addEventListener("change", () => send(select.value));
  return make("span", {}, select);
}

function text(setting, send, id) {
  const input = make("input", { id, value: setting.value, autocomplete: "off" });
  input.addEventListener("change", () => send(input.value));
  return make("span", {}, input);
}

/** A number; one between two near limits has a slider as well. What is none, or beyond the limits, is refused with the browser's sentence. */
function number(setting, send, id, refuse) {
  const later = settled(send);
  const limits = { min: setting.minimum, max: setting.maximum, step: setting.kind === "integer" ? 1 : "any" };
  const input = make("input", { type: "number", id, ...limits, value: setting.value ?? "" });
  const parts = [input];
  input.addEventListener("input", () => {
    if (!input.validity.valid || input.value === "") {
      later.cancel();
      return refuse(input.validationMessage);
    }
    parts.slice(1).forEach((slider) => (slider.value = input.value));
    later(Number(input.value));
  });
  if (setting.kind === "number" && setting.maximum - setting.minimum <= 1) {
    const slider = make("input", { type: "range", ...limits, step: 0.01, value: setting.value, aria: { label: `${setting.name}, slider` } });
    slider.addEventListener("input", () => {
      input.value = slider.value;
      later(Number(slider.value));
    });
    parts.push(slider);
  }
  return make("span", {}, ...parts);
}

/** Lists models below a field; others can be typed. */
function suggest(control, models, id) {
  const list = make("datalist", { id: `${id}-models` }, ...models.map((model) => new Option(model)));
  control.querySelector("input").setAttribute("list", list.id);
  control.append(list);
}

// Somebody else may have set something meanwhile.
$("thresholds").addEventListener("toggle", () => $("thresholds").open && shown !== null && load(shown));
