// Stands in for the events and the history of a service with `state`: runs in the page before its scripts.
const hostile = "<img src=x onerror=\"window.hit=1\">";
const picture = new Blob([Uint8Array.from(atob(
  "R0lGODlhAQABAIAAAAUEBAAAACwAAAAAAQABAAACAkQBADs="), (c) => c.charCodeAt(0))], { type: "image/gif" });
const event = (id, more) => ({
  id, time: `2026-11-29T13:00:${String(id % 60).padStart(2, "0")}.000Z`, stream: "door", kind: "entry", zone: "gate", class: "person",
  track: id, confidence: 0.91, snapshot: `v1/streams/door/snapshots/${id}.jpg`, recording: null, offset: null,
  description: null, "description-error": null, ...more,
});
window.stored = [
  event(3, { recording: "v1/streams/door/recordings/a.mp4", offset: 4.8 }),
  event(2, { class: hostile, zone: hostile, snapshot: null }),
  event(1, { kind: "track", zone: null, stream: "yard", description: "A person with a bag." }),
];
window.asked = [];
window.push = () => {};
window.see = (seen) => {
  Object.defineProperty(document, "hidden", { get: () => !seen, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
};
const values = [null, 1, 2, 4];
const history = {
  from: "2026-11-29T12:00:00.000Z", to: "2026-11-29T12:20:00.000Z", step: 300, times: 4,
  streams: { door: { frames: [null, 3000, 4500, 4500], dropped: values, lag: [null, 0.1, 0.2, null] } },
  counts: [{ stream: "door", zone: hostile, kind: "entry", class: "person", counts: values }],
  process: { elapsed: [null, 300, 300, 150], cpu: values, memory: [null, 2 ** 30, 2 ** 30, 2 ** 31], gpu: [null, null, null, null] },
};
const answers = {
  "v1/events": async (query) => {
    if (window.isLate) await window.late;
    const fits = (each) => ["stream", "zone", "class", "kind"].every((key) => !query.get(key) || each[key] === query.get(key));
    const before = Number(query.get("before") ?? Infinity);
    const all = window.stored.filter((each) => fits(each) && each.id < before);
    const found = all.slice(0, Number(query.get("limit")));
    return Response.json({ events: found, next: found.length < all.length ? found.at(-1).id : null });
  },
  "v1/events/live": (query, { headers, signal }) => {
    window.lastId = headers["last-event-id"] ?? null;
    window.connection = signal;
    const body = new ReadableStream({
      start(controller) {
        const encoder = new TextEncoder();
        // In two pieces: a network cuts where it likes.
        window.push = (kind, each) => {
          const text = `: still here\n\nid: ${each.id}\nevent: ${kind}\ndata: ${JSON.stringify(each)}\n\n`;
          controller.enqueue(encoder.encode(text.slice(0, 40)));
          controller.enqueue(encoder.encode(text.slice(40)));
        };
        window.cut = () => controller.error(new Error("the connection is gone"));
        signal.addEventListener("abort", window.cut);
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  },
  "v1/history": () => Response.json(history),
  "v1/streams/door/snapshots": () => Response.json({ snapshots: [{ file: "1.jpg", time: "2026-11-29T13:00:00.000Z", class: hostile, track: 1, bytes: 10 }] }),
};
const ask = window.fetch;
window.fetch = async (path, options) => {
  const [place, query] = path.split("?");
  window.asked.push(path);
  if (window.refuse) {
    const sentence = "There is no history: set state in [server].";
    if (place.startsWith("v1/events") || place === "v1/history") return Response.json({ error: sentence }, { status: 409 });
  }
  if (answers[place]) return answers[place](new URLSearchParams(query), options);
  if (/snapshots\/.*jpg$/.test(place)) return new Response(picture);
  return ask(path, options);
};
