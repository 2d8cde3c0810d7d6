"""Runs a pipeline and writes the masks of its objects. Started by zoo with a Python that has GStreamer's bindings.

    python3 tools zoo.masks OUT ARGUMENT...

The arguments are a pipeline's. OUT.jsonl gets a line for each frame: for each mask its object, the rectangle of the frame that
it covers, and its width and height in samples. OUT.bin gets the samples, a byte each, one mask after the other.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402 (the version comes first)


def masks(buffer: Gst.Buffer) -> Iterator[Gst.Structure]:
    """The structures are the array's: each is valid until the next."""
    meta = buffer.get_custom_meta("GstCudaInferMaskMeta")
    if meta is not None:
        found = meta.get_structure().get_array("masks")[1]
        for i in range(found.n_values):
            yield found.get_nth(i)


def main() -> int:
    Gst.init(None)
    out, line = sys.argv[1], sys.argv[2:]
    made = Gst.parse_launchv([*line, "!", "fakesink", "name=masks", "signal-handoffs=true", "sync=false"])
    with open(f"{out}.jsonl", "w", encoding="utf-8") as places, open(f"{out}.bin", "wb") as samples:

        def frame(_sink: Gst.Element, buffer: Gst.Buffer, _pad: Gst.Pad) -> None:
            listed = []
            for mask in masks(buffer):
                if mask.has_field("object"):
                    data = mask.get_value("data")
                    samples.write(data.extract_dup(0, data.get_size()))
                    place = {name: mask.get_int(name)[1] for name in ("object", "width", "height")}
                    listed.append(place | {name: mask.get_double(name)[1] for name in ("x", "y", "w", "h")})
            places.write(json.dumps(listed) + "\n")

        made.get_by_name("masks").connect("handoff", frame)
        made.set_state(Gst.State.PLAYING)
        message = made.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
        made.set_state(Gst.State.NULL)
    if message.type == Gst.MessageType.ERROR:
        # As gst-launch-1.0 says it, which pipeline.run reads.
        print(f"ERROR: from element {message.src.get_path_string()}: {message.parse_error()[0].message}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
