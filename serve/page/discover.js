// Cameras of this network: they are looked for, one is asked for its videos, and the one that is chosen goes into the form for adding a
// camera. What cameras say of themselves is text.

import { json } from "./api.js";
import { attempt } from "./attempt.js";
import { $, button, make, setText } from "./dom.js";

const [status, list, login, profiles] = [$("find-status"), $("found"), $("camera-login"), $("profiles")];
/** The camera whose videos are asked for. */
let camera = null;

/** What a camera calls itself, with its model, if it says either. */
const nameOf = ({ name, hardware, address }) => [...new Set([name, hardware].filter(Boolean))].join(", ") || address;

function item(found) {
  const place = [found.address, found.location].filter(Boolean).join(", ");
  const ask = button("Show videos", () => choose(found), `of ${nameOf(found)} at ${found.address}`);
  return make("li", {}, make("span", {}, make("strong", { textContent: nameOf(found) }), ` ${place}`), ask);
}

/** What a search has come to, in one sentence or several. */
function summary({ cameras, asked, unusable, more }) {
  const count = cameras.length === 1 ? "1 camera has" : `${cameras.length || "No"} cameras have`;
  const sentences = [`${count} answered on ${asked.join(", ")}.`];
  if (!cameras.length) sentences.push("Cameras answer only within one network, and only with ONVIF switched on.");
  for (const { address, why } of unusable) sentences.push(`The answer of ${address} is of no use: ${why}.`);
  if (more) sentences.push("There were more answers than are listed.");
  return sentences.join(" ");
}

async function find() {
  $("find").disabled = true;
  leave();
  list.replaceChildren();
  setText(status, "Looking for cameras, for 3 s …");
  const found = await attempt($("find-error"), async () => {
    const answer = await json("POST", "v1/discover");
    list.replaceChildren(...answer.cameras.map(item));
    setText(status, summary(answer));
  });
  if (!found) setText(status, "");
  $("find").disabled = false;
}

/** Asks for the login of a camera. */
function choose(found) {
  camera = found;
  profiles.replaceChildren();
  setText($("login-status"), "");
  setText($("login-title"), `Videos of ${nameOf(found)} at ${found.address}`);
  setText(login.querySelector(".error"), "");
  login.elements.password.value = "";
  login.hidden = false;
  login.elements.user.focus();
}

/** Forgets the chosen camera with its login. */
function leave() {
  camera = null;
  login.reset();
  login.hidden = true;
  profiles.replaceChildren();
  setText($("login-status"), "");
}

/** Forgets all that was found. */
export function forgetFound() {
  leave();
  list.replaceChildren();
  setText(status, "");
  setText($("find-error"), "");
}

function profileItem(profile, take) {
  const { name, encoding, width, height, rate, uri } = profile;
  const size = width && height ? `${width} × ${height}` : "";
  const about = [size, encoding, rate ? `${rate} frames/s` : ""].filter(Boolean).join(", ");
  const use = button("Use", () => take(uri), `the video ${name}`);
  return make("li", {}, make("span", {}, make("strong", { textContent: name }), ` ${about} `, make("code", { textContent: uri })), use);
}

async function show(form) {
  const asked = camera;
  const [user, password] = [login.elements.user.value, login.elements.password.value];
  const ask = login.querySelector("button");
  ask.disabled = true;
  profiles.replaceChildren();
  setText($("login-status"), "Asking the camera …");
  await attempt(login.querySelector(".error"), async () => {
    const answer = await json("POST", "v1/discover/profiles", { xaddr: asked.xaddr, user, password });
    // Another camera may have been chosen meanwhile.
    if (camera !== asked) return;
    const take = (uri) => {
      form.elements.uri.value = uri;
      form.elements.user.value = user;
      form.elements.password.value = password;
      leave();
      form.elements.name.focus();
    };
    profiles.replaceChildren(...answer.profiles.map((profile) => profileItem(profile, take)));
  });
  if (camera === asked) setText($("login-status"), profiles.children.length ? "Choose a video for the form below." : "");
  ask.disabled = false;
}

/** Has cameras put their address and login into `form`. */
export function fillFromCameras(form) {
  $("find").addEventListener("click", find);
  login.addEventListener("submit", (event) => {
    event.preventDefault();
    show(form);
  });
}
