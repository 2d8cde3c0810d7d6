// Setting up: a camera is tried and added, a pipeline gets another model, the configuration is downloaded.

import { json } from "./api.js";
import { attempt } from "./attempt.js";
import { $, button, make, setText } from "./dom.js";
import { fillFromCameras, forgetFound } from "./discover.js";
import { download } from "./download.js";
import { open } from "./router.js";
import { refresh } from "./state.js";
import { forget, tryIt } from "./test-picture.js";

const form = $("add");
const place = form.querySelector(".error");
let pipelines = [];

/** The pipeline that is chosen. */
const chosen = () => pipelines.find(({ name }) => name === form.elements.pipeline.value);

function showPipeline() {
  const pipeline = chosen();
  setText($("add-line"), pipeline?.line ?? "");
  const hasModel = /\btrtinfer\b/.test(pipeline?.line ?? "");
  $("add-model").hidden = !hasModel;
  form.elements.model.placeholder = Object.values(pipeline?.models ?? {}).flat()[0] ?? "that of the pipeline";
}

/** The keys of the source that the form describes. */
function source() {
  const { name, uri, pipeline, model, user, password } = Object.fromEntries(new FormData(form));
  const line = chosen()?.line ?? "";
  const wanted = model?.trim() && !$("add-model").hidden ? model.trim() : null;
  // A model that the pipeline leaves open is a value of its own; in others it is a property.
  const key = line.includes("{model}") ? { set: { model: wanted } } : { override: { "trtinfer.model": wanted } };
  return { name, uri: uri.trim(), pipeline, ...login(user, password), ...(wanted ? key : {}) };
}

/** The keys of a source that logs in: not in its URI, where a password with an @ would have to be escaped. */
function login(user, password) {
  return user ? { source: { "user-id": user, "user-pw": password } } : {};
}

function row(pipeline) {
  const models = Object.entries(pipeline.models);
  const cell = make("td");
  for (const [element, names] of models) cell.append(modelForm(pipeline, element, names, models.length > 1));
  if (!models.length) cell.append("none in use");
  return make(
    "tr",
    {},
    make("th", { scope: "row", textContent: pipeline.name }),
    make("td", {}, make("code", { textContent: pipeline.line })),
    cell,
    make("td", { textContent: pipeline.streams.join(", ") || "none" }),
  );
}

/** The field for another model of a pipeline. */
function modelForm(pipeline, element, names, several) {
  const path = `v1/pipelines/${encodeURIComponent(several ? `${pipeline.name}/${element}` : pipeline.name)}/model`;
  const input = make("input", { value: names[0] ?? "", required: true, autocomplete: "off", aria: { label: `Model of ${element} in ${pipeline.name}` } });
  input.setAttribute("list", "known-models");
  const answer = make("p", { className: "answer" });
  answer.setAttribute("role", "status");
  const change = button("Change", async () => {
    change.disabled = true;
    setText(answer, "The model is being loaded, which may take minutes.");
    let done = null;
    if (await attempt(answer, async () => (done = await json("PUT", path, { model: input.value.trim() })))) {
      setText(answer, `In use by ${done.streams.length} cameras after ${done.took.toFixed(1)} s.`);
    }
    change.disabled = false;
  }, `the model of ${element} in ${pipeline.name}`);
  return make("div", { className: "model" }, input, change, answer);
}

/** A model as a suggestion: its path, and next to it what is known of it. */
function option({ model, size, sidecar, reading, streams }) {
  const bytes = size === null ? "no such file" : `${(size / 1e6).toFixed(1)} MB`;
  const use = streams.length ? `in use by ${streams.length} cameras` : "";
  return make("option", { value: model, label: [bytes, reading ?? (sidecar ? "with a sidecar" : ""), use].filter(Boolean).join(", ") });
}

async function read() {
  await attempt($("setup-error"), async () => {
    ({ pipelines } = await json("GET", "v1/pipelines"));
    const before = form.elements.pipeline.value;
    form.elements.pipeline.replaceChildren(...pipelines.map(({ name }) => new Option(name, name)));
    if (pipelines.some(({ name }) => name === before)) form.elements.pipeline.value = before;
    const { models } = await json("GET", "v1/models");
    $("known-models").replaceChildren(...models.map(option));
    $("pipelines").replaceChildren(...pipelines.map(row));
    showPipeline();
  }).finally(() => $("setup-parts").classList.remove("coming"));
}

form.elements.pipeline.addEventListener("change", showPipeline);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(place, async () => {
    const wanted = source();
    await json("POST", "v1/streams", wanted);
    form.reset();
    forget();
    showPipeline();
    await refresh();
    // There are its picture, how its model is read, and its thresholds.
    $("thresholds").open = true;
    open("camera", wanted.name);
  });
});
$("try").addEventListener("click", () => {
  const { user, password } = form.elements;
  tryIt(form.elements.uri, login(user.value, password.value), place);
});
fillFromCameras(form);
$("download").addEventListener("click", () => attempt($("setup-error"), () => download("v1/configuration.toml", "cudainfer-serve.toml")));

export const view = {
  title: () => "Setup",
  show: read,
  hide: () => {
    forget();
    forgetFound();
  },
};
