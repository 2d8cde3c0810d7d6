// A chart of several series over time, as SVG, with the same numbers as a table.

import { make } from "./dom.js";
import { axisText } from "./time.js";

const SVG = "http://www.w3.org/2000/svg";
/** Series that have a colour and a dash pattern of their own; the table has all. */
const MOST = 8;
const [WIDTH, HEIGHT] = [1000, 200];
/** The length of the line that a value alone is. */
const ALONE = 6;

/** The end of an axis: 1, 2 or 5 times a power of ten. */
export function niceEnd(most) {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((times) => times * power).find((end) => end >= most * 0.999999);
}

/** The paths of a line, interrupted where nothing is known. A value alone is a short line, which is seen in every pattern. */
export function pathOf(values, end) {
  const x = (index) => (values.length > 1 ? (index / (values.length - 1)) * WIDTH : 0);
  const y = (value) => HEIGHT - (value / end) * HEIGHT;
  const isKnown = (value) => value !== null && value !== undefined;
  let path = "";
  values.forEach((value, index) => {
    if (!isKnown(value)) return;
    const [hasLast, hasNext] = [isKnown(values[index - 1]), isKnown(values[index + 1])];
    const isAlone = !hasLast && !hasNext;
    path += `${hasLast ? "L" : "M"}${(x(index) - (isAlone ? ALONE / 2 : 0)).toFixed(1)} ${y(value).toFixed(1)}${isAlone ? `h${ALONE}` : ""}`;
  });
  return path;
}

const sum = (values) => values.reduce((total, value) => total + (value ?? 0), 0);
const most = (values) => values.reduce((largest, value) => Math.max(largest, value ?? 0), 0);
const text = (value) => (value === null || value === undefined ? "–" : String(Math.round(value * 100) / 100));

/**
 * A figure. `from` is when the series begin, `step` the seconds between two values, `unit` what they are; `total` says that the sum of a
 * series means something (counts), and not its greatest value.
 */
export function chart({ title, unit, from, step, series, total = false }) {
  const begin = Date.parse(from);
  const weight = total ? sum : most;
  const sorted = series.toSorted((a, b) => weight(b.values) - weight(a.values));
  const drawn = sorted.slice(0, MOST);
  const figure = make("figure", { className: "chart" }, make("figcaption", {}, make("h3", { textContent: title })));
  const steps = Math.max(0, ...series.map(({ values }) => values.length));
  if (!steps) {
    figure.append(make("p", { textContent: "Nothing has been counted in this time." }));
    return figure;
  }
  const end = niceEnd(Math.max(...drawn.map(({ values }) => most(values))));
  const plot = document.createElementNS(SVG, "svg");
  plot.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  plot.setAttribute("preserveAspectRatio", "none");
  plot.setAttribute("role", "img");
  const summary = drawn.map(({ name, values }) => `${name}: ${total ? `${text(sum(values))} in all` : `${text(most(values))} at most`}`);
  plot.setAttribute("aria-label", `${title}. ${summary.join("; ")}. The table has the numbers.`);
  for (const part of [0.25, 0.5, 0.75]) line(plot, `M0 ${HEIGHT * part}H${WIDTH}`, "rule");
  drawn.forEach(({ values }, index) => line(plot, pathOf(values, end), `series s${index}`));
  const at = (index) => new Date(begin + index * step * 1000);
  const axis = [0, 0.25, 0.5, 0.75, 1].map((part) => make("span", { textContent: axisText(at(part * steps), steps * step) }));
  figure.append(
    make("p", { className: "axis-end", textContent: `${text(end)} ${unit}` }),
    plot,
    make("p", { className: "axis", aria: { hidden: "true" } }, ...axis),
    legend(drawn, summary, series.length),
    table({ title, unit, series: sorted, steps, at, span: steps * step }),
  );
  return figure;
}

function line(plot, path, name) {
  const element = document.createElementNS(SVG, "path");
  element.setAttribute("d", path);
  element.setAttribute("class", name);
  plot.append(element);
}

function legend(drawn, summary, count) {
  const items = drawn.map((_, index) => {
    const key = document.createElementNS(SVG, "svg");
    key.setAttribute("viewBox", "0 0 30 10");
    key.setAttribute("aria-hidden", "true");
    line(key, "M0 5H30", `series s${index}`);
    return make("li", {}, key, ` ${summary[index]}`);
  });
  const list = make("ul", { className: "legend" }, ...items);
  if (count > drawn.length) list.append(make("li", { textContent: `${count - drawn.length} more are in the table.` }));
  return list;
}

/** The numbers, written when somebody opens them. */
function table({ title, unit, series, steps, at, span }) {
  const details = make("details", {}, make("summary", { textContent: "As a table" }));
  const fill = () => {
    if (!details.open || details.children.length > 1) return;
    const head = make("tr", {}, ...["Time", ...series.map(({ name }) => name)].map((name) => make("th", { textContent: name, scope: "col" })));
    const row = (index) => {
      const cells = series.map(({ values }) => make("td", { className: "number", textContent: text(values[index]) }));
      return make("tr", {}, make("th", { textContent: axisText(at(index), span), scope: "row" }), ...cells);
    };
    const isKnown = (index) => series.some(({ values }) => values[index] !== null && values[index] !== undefined);
    const known = Array.from({ length: steps }, (_, index) => index).filter(isKnown);
    const body = make("tbody", {}, ...known.map(row));
    const caption = make("caption", { textContent: `${title}, ${unit}` });
    // Whoever has no mouse scrolls it with the arrow keys.
    const region = { className: "scroll", tabIndex: 0, role: "region", aria: { label: `${title}, table` } };
    details.append(make("div", region, make("table", {}, caption, make("thead", {}, head), body)));
  };
  details.addEventListener("toggle", fill);
  return details;
}
