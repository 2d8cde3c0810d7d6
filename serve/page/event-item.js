// One event in the list.

import { button, make, setText } from "./dom.js";
import { thumbnail } from "./thumbnail.js";
import { timeText } from "./time.js";

/** What has happened, in words. */
export function eventText(event) {
  const track = event.track === null || event.track === undefined ? null : `track ${event.track}`;
  const who = [event.class, track].filter(Boolean).join(" ");
  const what = event.kind === "track" ? "seen" : event.kind;
  return [who, what, event.zone && `at ${event.zone}`].filter(Boolean).join(" ");
}

/** The element of an event. `play` is called with the event as it is then. */
export function eventItem(event, play) {
  const element = make("li", { className: "event", data: { id: event.id } });
  element.append(
    make("span", { className: "event-picture" }),
    make("p", { className: "event-text" }),
    make("p", { className: "event-place" }),
    button("Play", () => play(element.event), ""),
  );
  return element;
}

/** Shows an event, also when its picture or its recording have come later. */
export function updateItem(element, event) {
  element.event = event;
  const [picture, text, place, open] = element.children;
  setText(text, eventText(event));
  const confidence = event.confidence === null || event.confidence === undefined ? null : `${Math.round(event.confidence * 100)} %`;
  setText(place, [event.stream, timeText(event.time), confidence].filter(Boolean).join(", "));
  if (event.snapshot && !picture.firstChild) picture.append(thumbnail(event.snapshot, `Picture: ${eventText(event)}`));
  setText(open, event.recording ? "Play" : "Details");
  open.setAttribute("aria-label", `${open.textContent}: ${eventText(event)}, ${event.stream}`);
}
