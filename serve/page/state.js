// The streams and the counts of their zones, which several views show: read once for all of them.

import { json } from "./api.js";
import { $, setText } from "./dom.js";

export let streams = [];
/** Whether the service sends video by WebRTC. */
export let hasVideo = false;
/** The counts of each stream's zones, by the stream's name. */
export let counts = {};
const listeners = new Set();

/** Runs this with each new state. */
export function onState(run) {
  listeners.add(run);
}

export async function refresh() {
  const [read, counted] = await Promise.all([json("GET", "v1/streams"), json("GET", "v1/counts")]);
  streams = read.streams;
  hasVideo = Boolean(read.webrtc?.encoders);
  counts = counted.streams;
  const playing = streams.filter((stream) => stream.state === "playing").length;
  setText($("summary"), `${playing} of ${streams.length} cameras play`);
  for (const run of listeners) run();
}

/** One stream; undefined if there is none. */
export function streamOf(name) {
  return streams.find((stream) => stream.name === name);
}

/** The counts of a zone in words. */
export function countText(zone) {
  const parts = [
    ["occupancy", "inside"],
    ["entered", "entered"],
    ["left", "left"],
    ["in", "in"],
    ["out", "out"],
  ];
  const known = parts.filter(([key]) => zone[key] !== undefined);
  return `${zone.zone}: ${known.map(([key, word]) => `${zone[key]} ${word}`).join(", ")}`;
}

/** The figures of a stream that every view has, as pairs of a name and a text. */
export function figures(stream) {
  return [
    ["Frames/s", (stream["frames-per-second"] ?? 0).toFixed(1)],
    ["Lag", stream.lag === null || stream.lag === undefined ? "–" : `${stream.lag.toFixed(2)} s`],
    ["Dropped", String(stream.dropped ?? 0)],
  ];
}
