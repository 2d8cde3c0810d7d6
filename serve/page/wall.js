// The wall: the picture, the state and the figures of every camera.

import { $, keyed, make, setText } from "./dom.js";
import { LiveWall } from "./live-wall.js";
import { addressOf, isShown } from "./router.js";
import { countText, counts, figures, onState, streams } from "./state.js";

const pictures = new LiveWall();

function card(stream) {
  const canvas = make("canvas");
  const sentence = make("span", { className: "no-picture" });
  const frame = make("span", { className: "picture" }, canvas, sentence);
  const name = make("span", { className: "name", textContent: stream.name });
  const link = make("a", { href: addressOf("camera", stream.name), className: "open", data: { stream: stream.name } }, frame, name);
  const element = make(
    "li",
    { className: "card" },
    link,
    make("p", { className: "state" }),
    make("dl", { className: "figures" }),
    make("ul", { className: "counts" }),
    make("p", { className: "error" }),
  );
  pictures.add(canvas, stream.name, (message) => setText(sentence, message));
  return element;
}

/** Figures as a list of terms. */
export function showFigures(list, pairs) {
  keyed(
    list,
    pairs,
    ([name]) => name,
    ([name]) => make("div", {}, make("dt", { textContent: name }), make("dd")),
    (element, [, text]) => setText(element.lastChild, text),
  );
}

function update(element, stream) {
  const [, state, list, zones, error] = element.children;
  setText(state, stream.state);
  state.className = `state ${stream.state}`;
  showFigures(list, figures(stream));
  keyed(
    zones,
    counts[stream.name] ?? [],
    (zone) => zone.zone,
    () => make("li"),
    (item, zone) => setText(item, countText(zone)),
  );
  setText(error, stream["last-error"] ?? "");
}

function stop(card) {
  pictures.remove(card.querySelector("canvas"));
}

function render() {
  if (!isShown("wall")) return;
  const gone = keyed($("list"), streams, (stream) => stream.name, card, update);
  gone.forEach(stop);
  $("no-cameras").hidden = streams.length > 0;
}

onState(render);

export const view = {
  title: () => "Cameras",
  show: render,
  hide: () => keyed($("list"), [], () => "", null, null).forEach(stop),
};
