// A picture of a source before it is a camera.

import { blob } from "./api.js";
import { attempt } from "./attempt.js";
import { $, setText } from "./dom.js";
import { show } from "./live.js";

const [image, status] = [$("test-picture"), $("test-status")];

/** Shows nothing. */
export function forget() {
  image.hidden = true;
  image.removeAttribute("src");
  setText(status, "");
}

/** Asks for the first picture of the source in `field`, with the `keys` of its login; what is wrong is shown in `place`. */
export async function tryIt(field, keys, place) {
  if (!field.reportValidity()) return;
  forget();
  $("try").disabled = true;
  setText(status, "Waiting for the first picture, for 15 s at most …");
  await attempt(place, async () => {
    await show(image, await blob("v1/test-picture", { method: "POST", sent: { uri: field.value.trim(), ...keys } }));
    image.hidden = false;
    setText(status, "This is the first picture.");
  });
  if (image.hidden) setText(status, "");
  $("try").disabled = false;
}
