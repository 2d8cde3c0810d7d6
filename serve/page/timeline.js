// Charts of the last hours: counts by zone and class, frames a second, lag, processors.

import { json, withQuery } from "./api.js";
import { attempt } from "./attempt.js";
import { chart } from "./chart.js";
import { $, keyed } from "./dom.js";
import { repeat } from "./repeat.js";
import { isShown } from "./router.js";
import { streams } from "./state.js";

/** Milliseconds between two looks. */
const PERIOD = 60000;
/** The step in seconds for each number of hours. */
const STEPS = { 1: 60, 6: 60, 24: 300, 168: 3600 };
const GIBIBYTE = 2 ** 30;

const form = $("timeline-filter");
/** The number of the last request: late answers to others are not shown. */
let latest = 0;

/** What the charts show, by the service's answer. */
export function chartsOf(history) {
  const { from, step } = history;
  const each = Object.entries(history.streams);
  const changed = (values, change) => (values ?? []).map((value, index) => (value === null ? null : change(value, index)));
  const of = (key, change = (value) => value) => each.map(([name, values]) => ({ name, values: changed(values[key], change) }));
  const counts = history.counts.map(({ stream, zone, kind, class: label, counts: values }) => ({
    name: [stream, zone, label, kind].filter(Boolean).join(" "),
    values,
  }));
  const own = (name, values, change) => ({ name, values: changed(values, change) });
  const { elapsed, cpu, memory, gpu } = history.process ?? {};
  // The service did not run all the time, and the last step is not over.
  const rate = (frames, index) => frames / (elapsed?.[index] || step);
  const charts = [
    { title: "Counts by zone and class", unit: `in ${step / 60} min`, series: counts, total: true },
    { title: "Frames per second", unit: "frames/s", series: of("frames", rate) },
    { title: "Lag", unit: "s", series: of("lag") },
    { title: "Dropped frames", unit: "frames", series: of("dropped"), total: true },
    { title: "Processor", unit: "cores", series: [own("cores in use", cpu, (value) => value)] },
    { title: "GPU", unit: "%", series: [own("GPU in use", gpu, (value) => value * 100)] },
    { title: "Memory", unit: "GiB", series: [own("memory", memory, (value) => value / GIBIBYTE)] },
  ];
  const isKnown = ({ values }) => values.some((value) => value !== null && value !== undefined);
  return charts.map((each) => ({ ...each, from, step, series: each.series.filter(isKnown) }));
}

async function render() {
  const names = streams.map((stream) => stream.name);
  const chosen = form.elements.stream.value;
  keyed(form.elements.stream, ["", ...names], (name) => name, (name) => new Option(name || "all", name), () => {});
  form.elements.stream.value = names.includes(chosen) ? chosen : "";
  const { stream, hours } = Object.fromEntries(new FormData(form));
  const to = new Date();
  const from = new Date(to - hours * 3600000);
  const titleOf = (figure) => figure.querySelector("h3").textContent;
  const open = new Set([...$("charts").querySelectorAll("figure:has(details[open])")].map(titleOf));
  const turn = ++latest;
  const read = await attempt($("timeline-error"), async () => {
    const history = await json("GET", withQuery("v1/history", { stream, step: STEPS[hours], from: from.toISOString(), to: to.toISOString() }));
    if (turn !== latest || !isShown("timeline")) return;
    const charts = chartsOf(history).map(chart);
    // Tables that were open stay open.
    charts.filter((figure) => open.has(titleOf(figure))).forEach((figure) => figure.querySelector("details")?.setAttribute("open", ""));
    $("charts").replaceChildren(...charts);
  }, () => turn === latest);
  if (!read && turn === latest) $("charts").replaceChildren();
}

form.addEventListener("change", render);
form.addEventListener("submit", (event) => event.preventDefault());
repeat(render, PERIOD, () => isShown("timeline"));

export const view = {
  title: () => "Timeline",
  show: render,
  hide: () => $("charts").replaceChildren(),
};
