// The form for the token.

import { forgetToken } from "./api.js";
import { $ } from "./dom.js";

export const place = $("login").querySelector(".error");

/** Whether the page waits for the token. */
export function isAsked() {
  return !$("login").hidden;
}

export function askForToken(sentence) {
  forgetToken();
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  $("login").hidden = false;
  $("views").hidden = true;
  $("navigation").hidden = true;
  place.textContent = sentence;
  $("token").focus();
}

/** Shows the page again. */
export function close() {
  $("login").hidden = true;
  $("views").hidden = false;
  $("navigation").hidden = false;
}
