// The page: the token, the state of the streams, and the views.

import { Refused, setToken } from "./api.js";
import { attempt } from "./attempt.js";
import * as camera from "./camera.js";
import { $ } from "./dom.js";
import * as events from "./events.js";
import * as login from "./login.js";
import { repeat } from "./repeat.js";
import { addView, again } from "./router.js";
import * as setup from "./setup.js";
import { refresh } from "./state.js";
import { timeText } from "./time.js";
import * as timeline from "./timeline.js";
import * as wall from "./wall.js";

/** Milliseconds between two looks at the streams. */
const STATE_PERIOD = 3000;

addView("wall", wall.view);
addView("camera", camera.view);
addView("events", events.view);
addView("event", events.one);
addView("timeline", timeline.view);
addView("setup", setup.view);

let started = false;

async function start() {
  await refresh();
  login.close();
  again();
  if (started) return;
  started = true;
  let latest = new Date();
  const look = async () => {
    const isFresh = await attempt($("failure"), () =>
      refresh().catch((error) => {
        if (error instanceof Refused && error.status !== 401) error.message += ` What is shown is of ${timeText(latest)}.`;
        throw error;
      }),
    );
    document.body.classList.toggle("stale", !isFresh);
    if (isFresh) latest = new Date();
  };
  repeat(look, STATE_PERIOD, () => !login.isAsked());
}

$("login").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken($("token").value.trim());
  $("token").value = "";
  attempt(login.place, start);
});

attempt($("failure"), async () => {
  try {
    await start();
  } finally {
    // A service that does not answer yet is asked again.
    if (!started && !login.isAsked()) {
      const again = setInterval(async () => {
        if (login.isAsked() || started || (await attempt($("failure"), start))) clearInterval(again);
      }, STATE_PERIOD);
    }
  }
});
