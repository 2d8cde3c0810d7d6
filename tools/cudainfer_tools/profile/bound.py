"""What bounds a pipeline, said in two sentences: what it is, by which figures, and what to try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cudainfer_tools.profile import measures
from cudainfer_tools.profile.trace import Trace

# Share of the time from which on a thread, or a worker, counts as busy: the rest is what the system takes to wake it.
BUSY = 0.8
# Share of the time that a copy may take of a frame's before it is what one looks at first.
COPIES = 0.15
# Bytes a second between host and device: pageable memory over PCI Express 4 x16.
TRANSFER = 12e9
# A mean batch that is below this share of the largest one has room.
FULL = 0.6


@dataclass
class Bound:
    """`kind` is a key; `what` and `remedy` are a sentence each."""

    kind: str
    what: str
    remedy: str


@dataclass
class Facts:
    """What the rules look at."""

    trace: Trace
    elements: list[measures.Element]
    threads: list[measures.Thread]
    workers: list[measures.Worker]
    # Buffers a second at the sinks.
    rate: float
    # CPU seconds of the process a second, and the machine's cores; none where the pipeline ran in an application.
    cores_used: float | None
    cores: int
    # The system's load before the pipeline started.
    load_before: float | None = None
    # Whether the machine has an NVIDIA GPU.
    has_gpu: bool = True

    @classmethod
    def of(
        cls, trace: Trace, cpu_seconds: float | None, cores: int, load_before: float | None = None, *, has_gpu: bool = True
    ) -> Facts:
        """The facts of a trace."""
        used = cpu_seconds / trace.seconds if cpu_seconds is not None and trace.seconds else None
        return cls(
            trace,
            measures.elements(trace),
            measures.threads(trace),
            measures.workers(trace),
            measures.rate(trace),
            used,
            cores,
            load_before,
            has_gpu,
        )

    def stat(self, name: str, key: str) -> int:
        """A counter of an element."""
        return (self.trace.row(name) or {}).get("stats", {}).get(key, 0)

    def a_frame(self, name: str, key: str) -> float:
        """A counter of an element, divided by its frames."""
        return self.stat(name, key) / max(self.stat(name, "frames"), 1)


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def failed(facts: Facts) -> Bound | None:
    """The pipeline did not come to its end."""
    if facts.trace.ended != "error":
        return None
    return Bound(
        "error", "The pipeline failed, so its figures are those until then.", "Correct what log.txt says, and profile again."
    )


def copies(facts: Facts) -> Bound | None:
    """Tensors or frames go to the host and back between stages."""
    keys = {"device-to-host-bytes": "from the GPU", "host-to-device-bytes": "to the GPU"}
    costs = [(facts.a_frame(element.name, key) / TRANSFER * facts.rate, element, key) for element in facts.elements for key in keys]
    share, element, key = max(costs, key=lambda cost: cost[0], default=(0.0, None, ""))
    if element is None or share < COPIES:
        return None
    kilobytes = facts.a_frame(element.name, key) / 1e3
    remedies = {
        "cudainferdownload": "Remove it where nothing downstream needs frames in system memory",
        "cudainferupload": "Decode on the GPU (nvh264dec and the like), or upload once only",
        "fusedpreproc": "Put cudainferupload, or a decoder on the GPU, before it",
    }
    remedy = remedies.get(
        element.factory,
        f"Give the elements downstream of trtinfer the same device as trtinfer has, and drop device=cpu from {element.name}",
    )
    return Bound(
        "copies",
        f"{element.name} copies {kilobytes:,.0f} KB a frame {keys[key]}, which takes about {percent(share)} of the time of a frame.",
        f"{remedy}.",
    )


def network(facts: Facts) -> Bound | None:
    """The network's workers, or the GPU that they give it to, have no time left."""
    for worker in sorted(facts.workers, key=lambda worker: -worker.taken):
        if worker.taken < BUSY:
            continue
        if worker.gpu >= worker.busy:
            what = f"the GPU worked on {worker.called} {percent(min(worker.gpu, 1))} of the time, {worker.gpu_p50:.2f} ms a run"
        else:
            a_run = f", {worker.p50:.2f} ms a run" if worker.runs and worker.p50 else ""
            what = f"{worker.called} was in the network {percent(min(worker.busy, 1))} of the time{a_run}"
        what += f" of {worker.batch:.1f} frames on average"
        waits = sum(facts.stat(name, "host-waits") for name in worker.elements)
        if worker.gpu and worker.busy >= BUSY and waits >= 0.9 * worker.runs:
            # A graph is enqueued in no time. Between kernels the GPU may wait: its time is from the first to the last.
            return Bound(
                "launches",
                f"The network's kernels are launched one by one, and each run is waited for: {what}.",
                f"Remove cuda-graphs=false from {worker.element}; if the model cannot be recorded as a graph, the log says why.",
            )
        if worker.limit > 1 and worker.batch < FULL * worker.limit:
            return Bound(
                "batches",
                f"{what[0].upper()}{what[1:]}, where batches may have {worker.limit}.",
                f"Bring more frames at once: more streams with the same instance=NAME, a larger max-in-flight, or batch-timeout on {worker.element}.",
            )
        return Bound(
            "network",
            f"The network bounds the pipeline: {what}.",
            "Try scripts/autotune with this model (batch-size, provider, threads), a smaller input (width, height of fusedpreproc) or scripts/quantize.",
        )
    return None


def clock(facts: Facts) -> Bound | None:
    """A sink waits for the clock, and no network is busy all the time."""
    if any(worker.taken >= BUSY for worker in facts.workers):
        return None
    feeds = facts.trace.links
    sinks = [element for element in facts.elements if not feeds.get(element.name)]
    waiting = [(element.busy - element.computing, element) for element in sinks]
    share, sink = max(waiting, key=lambda one: one[0], default=(0.0, None))
    if sink is None or share < 0.5:
        return None
    return Bound(
        "clock",
        f"Nothing bounds the pipeline: {sink.name} waited for the clock {percent(share)} of the time.",
        f"Set sync=false on {sink.name} to see how fast the pipeline could be.",
    )


REMEDIES: list[tuple[tuple[str, ...], str]] = [
    (
        ("dec",),
        "Decode on the GPU (nvh264dec and the like, gst-plugins-bad), give the decoder more threads, or read a smaller stream",
    ),
    (("enc",), "Put a queue before it so that it has a thread of its own, and choose a faster preset or an encoder on the GPU"),
    (
        ("videoconvert", "videoscale", "videoconvertscale"),
        "Remove it: fusedpreproc and inferoverlay take the decoder's formats as they are",
    ),
    (
        (
            "tracker",
            "inferoverlay",
            "gpunms",
            "peakfind",
            "segmask",
            "classify",
            "zonecount",
            "inferpublish",
            "tensormap",
            "embed",
            "identify",
        ),
        "Put a queue before it, so that it works in a thread of its own while the elements before it take the next frame",
    ),
]


def remedy_for(factory: str) -> str:
    """What helps where this kind of element takes a thread's time."""
    for parts, remedy in REMEDIES:
        if any(factory == part or (part in ("dec", "enc") and (factory.endswith(part) or f"{part}_" in factory)) for part in parts):
            return remedy
    return "Put a queue before it, so that it works in a thread of its own"


def thread(facts: Facts) -> Bound | None:
    """One thread computes all the time."""
    busiest = next(iter(facts.threads), None)
    if busiest is None or busiest.computing < BUSY:
        return None
    inside = [element for element in facts.elements if element.name in busiest.elements]
    most = max(inside, key=lambda element: element.computing, default=None)
    if most is None:
        return None
    kind = "decoder" if remedy_for(most.factory) == REMEDIES[0][1] else "thread"
    others = len(inside) - 1
    return Bound(
        kind,
        f"One thread bounds the pipeline: it computes {percent(busiest.computing)} of the time, {percent(most.computing)} in "
        f"{most.name} ({most.cpu:.2f} ms a frame), and has {others} other element{'s' if others != 1 else ''}.",
        f"{remedy_for(most.factory)}.",
    )


def hardware(facts: Facts) -> Bound | None:
    """A decoder waits for the GPU's decoder all the time."""
    slowest = max(facts.elements, key=lambda element: element.busy, default=None)
    if slowest is None or slowest.busy < BUSY or not slowest.factory.endswith("dec"):
        return None
    return Bound(
        "decoder",
        f"{slowest.name} waits for its decoder {percent(slowest.busy - slowest.computing)} of the time, {slowest.waiting:.2f} ms a frame.",
        "The decoder in the hardware gives no more: read smaller or fewer streams, or decode some of them on the CPU.",
    )


def batch(facts: Facts) -> Bound | None:
    """Frames wait for a batch to fill, while the network is idle."""
    for worker in facts.workers:
        waited, run = wait_in(facts.trace, worker.element), max(worker.p50, worker.gpu_p50)
        if worker.limit > 1 and worker.batch < FULL * worker.limit and waited is not None and waited > 2 * run > 0:
            idle = max(1 - worker.taken, 0.0)
            return Bound(
                "batches",
                f"{worker.element} waits for batches: frames spend {waited:.1f} ms in it at the median, a run takes {run:.1f} ms "
                f"and has {worker.batch:.1f} of {worker.limit} frames, and the network is idle {percent(idle)} of the time.",
                "Lower batch-timeout or batch-size, set min-batch-size, or bring more streams with the same instance=NAME.",
            )
    return None


def wait_in(trace: Trace, name: str) -> float | None:
    """From a frame's arrival at this element until the element after it gets it: the median in ms."""
    downstream = set(trace.links.get(name, []))
    arrived = {call.pts: call.start for call in trace.calls if call.element == name and call.pts is not None}
    times = [1e3 * (call.start - arrived[call.pts]) for call in trace.calls if call.element in downstream and call.pts in arrived]
    return measures.quantile(times, 0.5) if times else None


def processor(facts: Facts) -> Bound | None:
    """All cores compute."""
    if facts.cores_used is None or facts.cores_used < 0.9 * facts.cores:
        return None
    most = max(facts.elements, key=lambda element: element.computing, default=None)
    worker = max(facts.workers, key=lambda worker: worker.busy, default=None)
    inside = f"; the network takes part of {percent(min(worker.busy, 1))} of the time" if worker else ""
    own = f", and of the other elements {most.name} takes most ({most.cpu:.2f} ms a frame)" if most else ""
    return Bound(
        "processor",
        f"The processor bounds the pipeline: the process used {facts.cores_used:.1f} of {facts.cores} cores{inside}{own}.",
        "Run on a GPU, use a smaller model or scripts/quantize, or leave frames out (videorate, leaky of trtinfer).",
    )


def source(facts: Facts) -> Bound:
    """Nobody is busy: frames come no faster."""
    busiest = max([thread.computing for thread in facts.threads] + [worker.taken for worker in facts.workers], default=0.0)
    slowest = max(facts.elements, key=lambda element: element.busy - element.computing, default=None)
    waits = f", and {slowest.name} waits most, {slowest.waiting:.2f} ms a frame" if slowest else ""
    return Bound(
        "source",
        f"Nothing is busy for more than {percent(min(busiest, 1))} of the time{waits}: frames arrive no faster, or wait for something outside.",
        "Look at report.html for where frames wait; a live source gives no more frames than its frame rate.",
    )


# In this order: the first that holds is what one looks at.
RULES: list[Callable[[Facts], Bound | None]] = [failed, clock, copies, network, thread, hardware, batch, processor]


def of(facts: Facts) -> Bound:
    """What bounds the pipeline."""
    if not facts.elements:
        return Bound("nothing", "No frame flowed through any element.", "Look at log.txt for what the pipeline said.")
    return next((found for found in (rule(facts) for rule in RULES) if found), None) or source(facts)


def notes(facts: Facts) -> list[str]:
    """What else is worth a look, a sentence each."""
    found = []
    if facts.load_before is not None and facts.load_before > facts.cores / 2:
        found.append(
            f"Other processes kept {facts.load_before:.1f} of {facts.cores} cores busy when the pipeline started, so its figures are too low."
        )
    for element in facts.elements:
        # Without a GPU, the CPU is the only path, and elements that looked for a GPU count that once.
        fallbacks = facts.stat(element.name, "fallbacks")
        if fallbacks > (0 if facts.has_gpu else 1):
            found.append(f"{element.name} took a slower path for {fallbacks:,} of its frames (GST_DEBUG=cudainfer*:4 says why).")
        if (waits := facts.a_frame(element.name, "host-waits")) > 1.5:
            found.append(f"{element.name} waits for the GPU {waits:.1f} times a frame.")
        if dropped := facts.stat(element.name, "dropped"):
            found.append(f"{element.name} dropped {dropped:,} frames.")
    for worker in facts.workers:
        if worker.limit > 1 and worker.batch < FULL * worker.limit:
            found.append(f"{worker.element}'s batches have {worker.batch:.1f} of {worker.limit} frames on average.")
        if down := sum(facts.stat(name, "step-downs") for name in worker.elements):
            found.append(f"{worker.element} made its batches smaller {down} times for want of device memory.")
    return found
