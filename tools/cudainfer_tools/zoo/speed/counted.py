"""Runs a case's pipeline on frames that lie in memory, again and again, and prints its frame rates. Started by zoo.speed.cpu with a Python
that has GStreamer's bindings.

    python3 tools zoo.speed.counted FRAMES WIDTH HEIGHT ARGUMENT...

FRAMES is a file of RGB frames without padding; the arguments are a pipeline's, downstream of the source. Prints the frames per second of
three windows as JSON. A window is 1.5 s long at least, and has 4 frames at least; 5 frames pass before the first.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
import time
from pathlib import Path

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
from gi.repository import Gst, GstApp  # noqa: E402, F401 (the version comes first; GstApp gives appsrc its methods)

WARM_UP = 5
WINDOWS = 3
SECONDS, FRAMES = 1.5, 4
RATE = 25


class Windows:
    """Counts the frames of one window after the other."""

    def __init__(self) -> None:
        self.rates: list[float] = []
        self.seen = 0
        self.start = 0.0
        self.full = threading.Event()

    def frame(self, *_: object) -> None:
        """Takes a frame's arrival."""
        now = time.monotonic()
        self.seen += 1
        if self.seen == WARM_UP:
            self.start = now
        counted, seconds = self.seen - WARM_UP, now - self.start
        if self.full.is_set() or counted < FRAMES or seconds < SECONDS:
            return
        self.rates.append(counted / seconds)
        self.seen, self.start = WARM_UP, now
        if len(self.rates) == WINDOWS:
            self.full.set()


def frames(file: Path, width: int, height: int) -> list[Gst.Buffer]:
    """The frames as buffers, whose rows are padded to multiples of 4 bytes as GStreamer expects."""
    data, row = file.read_bytes(), width * 3
    padding = bytes(-row % 4)
    if padding:
        data = b"".join(data[at : at + row] + padding for at in range(0, len(data), row))
    size = (row + len(padding)) * height
    return [Gst.Buffer.new_wrapped(data[at : at + size]) for at in range(0, len(data), size)]


def main() -> int:
    Gst.init(None)
    file, width, height, *line = sys.argv[1:]
    source = ["appsrc", "name=frames", "block=true", "max-buffers=4", "max-bytes=0", "format=time", "!"]
    pipeline = Gst.parse_launchv([*source, *line, "!", "fakesink", "name=end", "signal-handoffs=true", "sync=false"])
    given, windows = frames(Path(file), int(width), int(height)), Windows()
    source = pipeline.get_by_name("frames")
    source.set_property("caps", Gst.Caps(f"video/x-raw,format=RGB,width={width},height={height},framerate={RATE}/1"))
    pipeline.get_by_name("end").connect("handoff", windows.frame)

    def push() -> None:
        for number, frame in enumerate(itertools.cycle(given)):
            buffer = frame.copy()
            buffer.pts, buffer.duration = number * Gst.SECOND // RATE, Gst.SECOND // RATE
            if source.push_buffer(buffer) != Gst.FlowReturn.OK:
                return

    pipeline.set_state(Gst.State.PLAYING)
    threading.Thread(target=push, daemon=True).start()
    bus, message = pipeline.get_bus(), None
    while message is None and not windows.full.wait(0.05):
        message = bus.pop_filtered(Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    if message is not None:
        # As gst-launch-1.0 says it, which pipeline.run reads.
        text = message.parse_error()[0].message if message.type == Gst.MessageType.ERROR else "the pipeline ended"
        print(f"ERROR: from element {message.src.get_path_string()}: {text}", file=sys.stderr)
        return 1
    print(json.dumps(windows.rates))
    return 0


if __name__ == "__main__":
    sys.exit(main())
