// What is done with what the service refuses: its sentence is shown next to the form or button that asked.

import { Refused } from "./api.js";
import { setText } from "./dom.js";
import { askForToken } from "./login.js";

/** Runs something that asks the service, and puts what it refuses into `place`. Returns whether all went well. */
export async function attempt(place, run) {
  try {
    await run();
    setText(place, "");
    return true;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 401 && error.late) return false;
    if (error.status === 401) askForToken(error.message);
    setText(place, error.message);
    return false;
  }
}
