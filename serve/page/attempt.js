// What is done with what the service refuses: its sentence is shown next to the form or button that asked.

import { Refused } from "./api.js";
import { setText } from "./dom.js";
import { askForToken } from "./login.js";

/**
 * Runs something that asks the service, and puts what it refuses into `place`, unless that shows something else by now (`isCurrent`). Returns
 * whether all went well.
 */
export async function attempt(place, run, isCurrent = () => true) {
  const show = (text) => isCurrent() && setText(place, text);
  try {
    await run();
    show("");
    return true;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 401 && error.late) return false;
    show(error.status === 401 ? "" : error.message);
    if (error.status === 401) askForToken(error.message);
    return false;
  }
}
