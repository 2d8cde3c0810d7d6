// The events of all cameras: those that have been, and new ones as they happen.

import { Refused, json, withQuery } from "./api.js";
import { attempt } from "./attempt.js";
import { $, keyed, setText } from "./dom.js";
import { eventItem, updateItem } from "./event-item.js";
import { play, update } from "./playback.js";
import { rename } from "./router.js";
import { isFinal, listen } from "./sse.js";
import { counts, streams } from "./state.js";
import { fromField } from "./time.js";

/** Events that are read at a time, and the most that are shown. */
const PART = 50;
const MOST = 500;

const form = $("event-filter");
const place = $("events-error");
let events = [];
let next = null;
let abort = null;

/** The filter as the service takes it. Keyboards of phones add a space to what they complete. */
function filter() {
  const values = Object.fromEntries([...new FormData(form)].map(([key, value]) => [key, value.trim()]));
  return { ...values, from: fromField(values.from), to: fromField(values.to) };
}

/** Whether an event that has just come is one of those that the filter lets through. */
export function matches(event, { stream, zone, class: label, kind, from, to }) {
  const same = (wanted, found) => !wanted || wanted === found;
  const time = Date.parse(event.time);
  return (
    same(stream, event.stream) && same(zone, event.zone) && same(label, event.class) && same(kind, event.kind) &&
    (!from || time >= Date.parse(from)) && (!to || time < Date.parse(to))
  );
}

function render() {
  keyed($("event-list"), events, (event) => event.id, (event) => eventItem(event, play), updateItem);
  const isFull = events.length >= MOST;
  $("more-events").hidden = next === null || isFull;
  setText($("events-limit"), isFull ? `The newest ${MOST} are shown: From and To lead to others.` : "");
  $("no-events").hidden = events.length > 0 || place.textContent !== "";
  suggest();
}

let isDue = false;

/** Renders once, however many events have come until the browser paints. */
function renderSoon() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    render();
  });
}

/** Zones and classes that are known, for the fields. */
function suggest() {
  const zones = [...Object.values(counts).flat().map((each) => each.zone), ...events.map((event) => event.zone)];
  const lists = { "known-zones": zones, "known-classes": events.map((event) => event.class), "known-kinds": events.map((event) => event.kind) };
  for (const [id, names] of Object.entries(lists)) {
    const wanted = [...new Set(names.filter(Boolean))].sort();
    offer($(id), wanted);
  }
  offer(form.elements.stream, ["", ...streams.map((stream) => stream.name)]);
}

/** Has a list offer these words; one that does already is left alone. */
function offer(list, words) {
  keyed(list, words, (word) => word, (word) => new Option(word || "all", word), () => {});
}

/** Reads the newest events, or those before one, for the filter that `signal` belongs to. `known` are those that the list had before new ones came. */
async function read(signal, { before = "", known = new Set() } = {}) {
  const run = async () => {
    const answer = await json("GET", withQuery("v1/events", { ...filter(), limit: PART, before }), undefined, { signal }).catch((error) => {
      if (!signal.aborted) throw error;
    });
    // The filter is another one by now.
    if (signal.aborted) return;
    const answered = new Set(answer.events.map((event) => event.id));
    // Where more have happened than were read, those between are not known: the list begins anew.
    const isAnew = before === "" && !answer.events.some((event) => known.has(event.id));
    const oldest = isAnew ? (answer.events.at(-1)?.id ?? 0) : 0;
    if (before !== "" || isAnew) next = answer.next;
    const others = events.filter((event) => event.id > oldest && !answered.has(event.id));
    events = [...others, ...answer.events].sort((a, b) => b.id - a.id).slice(0, MOST);
    // What became known of an event while nobody listened.
    answer.events.forEach(update);
  };
  await attempt(place, run, () => !signal.aborted);
  if (!signal.aborted) render();
}

/** Reads the newest again: some may be missing between them and those that are known. */
function readAgain(signal) {
  return read(signal, { known: new Set(events.map((event) => event.id)) });
}

function begin() {
  abort?.abort();
  abort = new AbortController();
  events = [];
  next = null;
  render();
  // Until the answer is there, nobody knows.
  $("no-events").hidden = true;
  setText($("events-status"), "");
  const { signal } = abort;
  const first = read(signal);
  const state = async (sentence, status) => {
    // What refuses the list as well is said once.
    if (isFinal(status)) await first;
    if (signal.aborted) return;
    if (!isFinal(status) || place.textContent === "") setText($("events-status"), sentence || "New events are added as they happen.");
    // The list may be from before the connection.
    if (sentence === "") readAgain(signal);
  };
  listen("v1/events/live", { signal, found: (message) => take(message, signal), state });
}

/** Takes an event that has just come, or one of which more is known now. */
function take(message, signal) {
  // The service could not send all.
  if (message.event === "lost") return readAgain(signal);
  let event;
  try {
    event = JSON.parse(message.data);
  } catch {
    return;
  }
  const index = events.findIndex((each) => each.id === event.id);
  update(event);
  if (index >= 0) events[index] = event;
  else if (message.event === "event" && matches(event, filter())) events = [event, ...events].slice(0, MOST);
  else return;
  renderSoon();
}

form.addEventListener("change", begin);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  begin();
});
form.addEventListener("reset", () => setTimeout(begin));
$("more-events").addEventListener("click", () => read(abort.signal, { before: next }));

export const view = {
  title: () => "Events",
  show() {
    suggest();
    begin();
  },
  hide() {
    abort?.abort();
    abort = null;
    events = [];
    $("event-list").replaceChildren();
    if ($("playback").open) $("playback").close();
  },
};

/** One event, as a link leads to it: the list with its recording. */
export const one = {
  ...view,
  section: "events",
  async show(id) {
    view.show();
    try {
      const { events } = await json("GET", withQuery("v1/events", { before: Number(id) + 1, limit: 1 }));
      if (String(events[0]?.id) === id) play(events[0]);
      else setText($("events-status"), "This event is not kept any more.");
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      setText(place, error.message);
    }
    $("playback").addEventListener("close", () => location.hash.startsWith("#/event/") && rename("events"), { once: true });
  },
};
