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

/** The event in the words of a model, which nobody has checked, or why there are none; "" if nobody has asked for any. */
export function descriptionText(event) {
  if (event.description) return event.description;
  return event["description-error"] ? `No description: ${event["description-error"]}` : "";
}

/** The element of an event. `play` is called with the event as it is then. */
export function eventItem(event, play) {
  const element = make("li", { className: "event", data: { id: event.id } });
  element.append(
    make("span", { className: "event-picture" }),
    make("p", { className: "event-text" }),
    make("p", { className: "event-place" }),
    button("Play", () => play(element.event), ""),
    make("p", { className: "event-description" }),
  );
  return element;
}

/** Shows an event, also when its picture or its recording have come later. */
export function updateItem(element, event) {
  element.event = event;
  const [picture, text, place, open, description] = element.children;
  setText(text, eventText(event));
  const confidence = event.confidence === null || event.confidence === undefined ? null : `${Math.round(event.confidence * 100)} %`;
  setText(description, descriptionText(event));
  description.classList.toggle("missing", !event.description);
  description.hidden = description.textContent === "";
  setText(place, [event.stream, timeText(event.time), confidence].filter(Boolean).join(", "));
  // The picture of the event's frame makes room for the best one of its track.
  if (event.snapshot && picture.firstChild?.dataset.path !== event.snapshot) picture.replaceChildren(thumbnail(event.snapshot, `Picture: ${eventText(event)}`));
  setText(open, event.recording ? "Play" : "Details");
  open.setAttribute("aria-label", `${open.textContent}: ${eventText(event)}, ${event.stream}`);
}
