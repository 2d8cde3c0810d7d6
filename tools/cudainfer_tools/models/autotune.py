"""Measures settings of trtinfer on this machine. Started by scripts/autotune.

First every setting of a small grid is fed as fast as it takes frames: frames a second. Then the best of them, each with
some batch timeouts, are fed live at LOAD of what they reached: the delay from a frame's arrival at trtinfer to the
pipeline's end after it. Frames are decoded beforehand, so decoding takes no part; what is downstream of trtinfer takes none either.
Of a detector, the objects that each provider and precision finds are compared with those of ONNX Runtime on the CPU in the model's
own numbers: what is lost.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import onnx

from cudainfer_tools import pipeline
from cudainfer_tools.bench import serving
from cudainfer_tools.models import agreement
from cudainfer_tools.repository import ROOT

LOAD = 0.8
WARM_UP_S = 0.5
# Loading the model and decoding frames, beside what is measured. GPU engines that are built the first time take longer.
START_S = 2.0
KEEP = 32
GPU_PROVIDERS = ("tensorrt", "tensorrt-rtx", "cuda", "fused")
CPU_PROVIDERS = ("cpu", "openvino")
# What is tried beside the model's own numbers; a machine that cannot compute in them is left out with its reason.
PRECISIONS = {"cuda": ("model", "tf32", "float16"), "fused": ("model", "float16"), "openvino": ("model", "bfloat16")}
# Frames whose objects are compared.
COMPARED = 100
# Batches beyond what all streams can have inside at once are not filled; these are tried of a model with an open one.
BATCHES = (1, 2, 4, 8, 16)
# Milliseconds that a batch which is not full waits.
TIMEOUTS = (0, 2, 10)
# Settings whose delay is measured: this many of the fastest.
FINALISTS = 3
# The balance: the shortest delay among those that reach so much of the most frames a second.
BALANCE = 0.9


@dataclass(frozen=True)
class Setting:
    """Properties of trtinfer; workers and threads count on the CPU only."""

    provider: str
    batch: int = 1
    timeout_ms: int = 0
    workers: int = 0
    threads: int = 0
    precision: str = "model"

    def properties(self) -> dict[str, object]:
        """As trtinfer wants them."""
        found: dict[str, object] = {"provider": self.provider}
        if self.precision != "model":
            found["precision"] = self.precision
        if self.batch > 1:
            found |= {"batch-size": self.batch, "batch-timeout": self.timeout_ms * 1_000_000}
        if self.workers:
            found |= {"workers": self.workers, "intra-threads": self.threads}
        return found


@dataclass
class Row:
    """A setting and what it reached: frames a second, then milliseconds at LOAD of that."""

    setting: Setting
    fps: float
    mean_batch: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None


@dataclass(frozen=True)
class Timed:
    """A row whose delay was measured, in milliseconds."""

    row: Row
    p50_ms: float
    p99_ms: float


def with_delay(rows: list[Row]) -> list[Timed]:
    return [Timed(row, row.p50_ms, row.p99_ms) for row in rows if row.p50_ms is not None and row.p99_ms is not None]


def has_gpu() -> bool:
    """Whether the machine shows one of NVIDIA's."""
    return any(Path(device).exists() for device in ("/dev/nvidiactl", "/dev/dxg"))


def shapes(cores: int) -> list[tuple[int, int]]:
    """Sessions and threads of each that use `cores`, and one that leaves a core to the rest of the line."""
    pairs = {(workers, max(1, cores // workers)) for workers in (1, 2, 4, cores) if workers <= min(cores, 8)}
    if cores > 2:
        pairs.add((1, cores - 1))
    return sorted(pairs)


def batches(model: Path, streams: int) -> list[int]:
    """Batches to try: the model's own if it is fixed."""
    graph = onnx.load(model, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    images = [given.type.tensor_type.shape for given in graph.input if given.name not in constants]
    first = next((shape.dim[0] for shape in images if len(shape.dim) == 4), None)
    if first is None:
        return [1]
    if first.HasField("dim_value"):
        return [first.dim_value]
    most = max(4, 2 * streams)
    return [batch for batch in BATCHES if batch <= most]


def grid(provider: str, sizes: list[int], cores: int) -> list[Setting]:
    """The settings that are tried first of a provider; those of a precision one after the other."""
    precisions = PRECISIONS.get(provider, ("model",))
    if provider not in CPU_PROVIDERS:
        return [Setting(provider, batch, precision=precision) for precision, batch in itertools.product(precisions, sizes)]
    # Large batches gain nothing on a CPU: a run's own cost is small there.
    tried = itertools.product(precisions, shapes(cores), sizes[:3])
    return [Setting(provider, batch, 0, *pair, precision) for precision, pair, batch in tried]


def finalists(rows: list[Row]) -> list[Setting]:
    """The fastest, and the fastest of batch 1, each with the timeouts that its batch can have."""
    ranked = sorted(rows, key=lambda row: -row.fps)
    chosen = [row.setting for row in ranked[:FINALISTS]]
    chosen += [row.setting for row in ranked if row.setting.batch == 1][:1]
    # Sessions that run at the same time make each other slower: for the delay one alone may be best.
    chosen += [row.setting for row in ranked if row.setting.workers == 1][:1]
    unique = list(dict.fromkeys(chosen))
    return [
        replace(setting, timeout_ms=timeout) for setting in unique for timeout in (TIMEOUTS if setting.batch > 1 else TIMEOUTS[:1])
    ]


def choose(rows: list[Row]) -> dict[str, Row]:
    """Of rows with a delay: most throughput, least delay, and the balance of both."""
    timed = with_delay(rows)
    most = max(timed, key=lambda one: (one.row.fps, -one.p99_ms))
    near = [one for one in timed if one.row.fps >= BALANCE * most.row.fps]
    return {
        "most frames a second": most.row,
        "shortest delay": min(timed, key=lambda one: one.p99_ms).row,
        "balance": min(near, key=lambda one: one.p99_ms).row,
    }


def table(rows: list[Row]) -> str:
    head = f"{'provider':<14}{'precision':<10}{'batch':>6}{'timeout ms':>12}{'workers':>9}{'threads':>9}{'frames/s':>10}"
    lines = [head + f"{'p50 ms':>9}{'p99 ms':>9}{'a batch':>9}"]
    for row in rows:
        setting = row.setting
        cells = [
            setting.batch,
            setting.timeout_ms if setting.batch > 1 else "",
            setting.workers or "",
            setting.threads or "",
        ]
        figures = ["" if value is None else f"{value:.1f}" for value in (row.fps, row.p50_ms, row.p99_ms, row.mean_batch)]
        widths = (6, 12, 9, 9, 10, 9, 9, 9)
        texts = [f"{text:>{width}}" for text, width in zip(map(str, [*cells, *figures]), widths, strict=True)]
        lines.append(f"{setting.provider:<14}{setting.precision:<10}" + "".join(texts))
    return "\n".join(lines)


def paste(row: Row, streams: int = 1) -> str:
    """The properties as one types them, the same in each of `streams` streams."""
    shared = {"instance": "shared"} if streams > 1 else {}
    return " ".join(f"{name}={value}" for name, value in (row.setting.properties() | shared).items())


def plot(rows: list[Row], chosen: dict[str, Row], model: str, file: Path) -> None:
    """Delay against throughput; a bar reaches from the median to p99."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 6))
    timed = with_delay(rows)
    for provider in dict.fromkeys(one.row.setting.provider for one in timed):
        mine = [one for one in timed if one.row.setting.provider == provider]
        spread = [[0.0] * len(mine), [one.p99_ms - one.p50_ms for one in mine]]
        axes.errorbar([one.row.fps for one in mine], [one.p50_ms for one in mine], spread, fmt="o", capsize=3, label=provider)
    # One setting may be chosen for several reasons.
    names: dict[Setting, list[str]] = {}
    for name, row in chosen.items():
        names.setdefault(row.setting, []).append(name)
    for one in timed:
        if one.row.setting in names:
            at = (one.row.fps, one.p50_ms)
            axes.annotate(", ".join(names[one.row.setting]), at, xytext=(6, 6), textcoords="offset points")
    axes.set(
        title=f"{model}: a bar reaches from the median to p99",
        xlabel="frames a second, fed as fast as they are taken",
        ylabel=f"delay in trtinfer at {LOAD:.0%} of that, ms",
    )
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
    file.parent.mkdir(parents=True, exist_ok=True)
    # Names reach over the edge.
    figure.savefig(file, bbox_inches="tight")


class Tuner:
    """Measures settings of a model on frames of a video."""

    def __init__(self, given: argparse.Namespace):
        self.given = given
        self.source = f'filesrc location="{given.video}" ! decodebin ! videoconvert'

    def load(self, setting: Setting, rate: float = 0.0) -> dict:
        shared = {"instance": "autotune"} if self.given.streams > 1 else {}
        # Measured as it runs in the long run.
        measured = setting.properties() | shared | {"warm-up": "complete"}
        inference = serving.element(str(self.given.model), measured)
        # On a GPU, frames lie where a decoder of NVIDIA's would have left them.
        source = self.source
        if setting.provider not in CPU_PROVIDERS and has_gpu():
            source += " ! cudainferupload ! video/x-raw(memory:CUDAMemory)"
        line = f"fusedpreproc ! {inference} ! fakesink sync=false"
        options = {"streams": self.given.streams, "keep": KEEP, "warm_up": WARM_UP_S, "seconds": self.given.seconds}
        return serving.load(source, line, **options, **({"rate": round(rate, 2)} if rate else {}))

    def throughput(self, setting: Setting) -> Row:
        reported = self.load(setting)
        return Row(setting, reported["fps"], serving.mean_batch(reported))

    def delay(self, setting: Setting, fps: float) -> Row:
        reported = self.load(setting, LOAD * fps)
        return Row(setting, fps, serving.mean_batch(reported), reported["p50_ms"], reported["p99_ms"])


def tune(tuner: Tuner, providers: list[str], sizes: list[int], cores: int, required: bool) -> list[Row]:
    """Measures all; settings that fail are reported and left out, a provider or a precision with its first one."""
    rows: list[Row] = []
    for provider in providers:
        refused = set()
        for setting in grid(provider, sizes, cores):
            if setting.precision in refused:
                continue
            try:
                rows.append(tuner.throughput(setting))
            except pipeline.PipelineError as error:
                is_models = setting.precision == "model"
                if provider == "cpu" or (required and is_models):
                    raise
                print(f"{provider}, precision {setting.precision}, batch {setting.batch}: left out: {error}", flush=True)
                if is_models:
                    break
                refused.add(setting.precision)
                continue
            print(f"{paste(rows[-1])}: {rows[-1].fps:.1f} frames/s", flush=True)
    fastest = {replace(row.setting, timeout_ms=0): row.fps for row in rows}
    timed = []
    for setting in finalists(rows):
        timed.append(tuner.delay(setting, fastest[replace(setting, timeout_ms=0)]))
        row = timed[-1]
        print(
            f"{paste(row)}: p50 {row.p50_ms:.1f} ms, p99 {row.p99_ms:.1f} ms at {LOAD:.0%} load",
            flush=True,
        )
    done = {row.setting for row in timed}
    return timed + [row for row in rows if row.setting not in done]


def losses(rows: list[Row], detect: Callable[..., list[list[dict]]]) -> dict[str, str]:
    """What each provider and precision of the rows loses: the agreement of its objects with those of the reference, by the properties
    that ask for it. Of a model whose outputs are no detections, why that is not known."""
    asked = list(dict.fromkeys((row.setting.provider, row.setting.precision) for row in rows))
    texts = {(provider, precision): f"provider={provider} precision={precision}" for provider, precision in asked}
    try:
        truth = detect("provider=cpu")
    except pipeline.PipelineError as error:
        why = next(iter(str(error).splitlines()), "gpunms does not read its outputs")
        return dict.fromkeys(texts.values(), f"not compared: {why}")
    found = {}
    for text in texts.values():
        try:
            reported = agreement.agreement(truth, detect(*text.split()))
        except pipeline.PipelineError as error:
            found[text] = f"not compared: {error}"
            continue
        found[text] = (
            f"F1 {reported.f1:.3f} of {reported.true} objects, mean IoU {reported.mean_iou:.3f}, "
            f"confidence {reported.mean_absolute_change:.4f} off"
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/autotune", description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("video", type=Path, nargs="?", default=ROOT / ".cache/video/vtest.avi")
    parser.add_argument("--provider", choices=[*GPU_PROVIDERS, *CPU_PROVIDERS])
    parser.add_argument("--streams", type=int, default=1, metavar="N")
    parser.add_argument("--seconds", type=float, default=4.0, metavar="S")
    given = parser.parse_args()
    for file in (given.model, given.video):
        if not file.is_file():
            raise pipeline.PipelineError(f"there is no file '{file}'")
    if given.streams < 1 or given.seconds <= 0:
        raise pipeline.PipelineError("--streams and --seconds want numbers above 0")
    pipeline.find_openvino()
    providers = [given.provider] if given.provider else [*(GPU_PROVIDERS if has_gpu() else ()), *CPU_PROVIDERS]
    cores = len(os.sched_getaffinity(0))
    try:
        sizes = batches(given.model, given.streams)
    except Exception as error:  # protobuf's own, which is no ValueError
        raise pipeline.PipelineError(f"'{given.model}' is no ONNX model: {error}") from error

    first = [setting for provider in providers for setting in grid(provider, sizes, cores)]
    # As if the first were the fastest: how many delays are measured depends on the batches of those that are.
    second = finalists([Row(setting, 0.0) for setting in reversed(first)])
    minutes = (len(first) + len(second)) * (START_S + WARM_UP_S + given.seconds) / 60
    print(
        f"{len(first)} settings as fast as they go ({', '.join(providers)}; batches {', '.join(map(str, sizes))}), "
        f"then about {len(second)} at {LOAD:.0%} load: some {minutes:.1f} minutes",
        flush=True,
    )
    rows = tune(Tuner(given), providers, sizes, cores, given.provider is not None)
    chosen = choose(rows)
    print(f"\n{table(rows)}\n")
    for name, row in chosen.items():
        print(f"{name + ':':<22}{paste(row, given.streams)}")
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "objects.jsonl"

        def detect(*properties: str) -> list[list[dict]]:
            results.unlink(missing_ok=True)
            return agreement.detect(given.model, given.video, COMPARED, results, "engine-cache=none", *properties)

        lost = losses(rows, detect)
    print(f"\nagainst ONNX Runtime on the CPU in the model's numbers, in {COMPARED} frames:")
    for text, loss in lost.items():
        print(f"  {text:<40}{loss}")
    out = ROOT / "out" / f"autotune-{given.model.stem}"
    plot(rows, chosen, given.model.name, out.with_name(out.name + ".svg"))
    result = {
        "model": str(given.model),
        "streams": given.streams,
        "cores": cores,
        "rows": [asdict(row) for row in rows],
        "lost": lost,
    }
    result |= {name: paste(row, given.streams) for name, row in chosen.items()}
    out.with_name(out.name + ".json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"\n{out}.svg\n{out}.json")


if __name__ == "__main__":
    try:
        main()
    except pipeline.PipelineError as error:
        sys.exit(f"autotune: {error}")
