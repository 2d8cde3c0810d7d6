"""cudainfer: GStreamer elements for video inference.

    import cudainfer
    cudainfer.init()                            # as Gst.init, with the elements
    pipeline = Gst.parse_launch("... ! fusedpreproc ! trtinfer model=model.onnx ! gpunms ! tracker ! ...")

    for found in cudainfer.objects(buffer):     # a Gst.Buffer from a pad probe or an appsink
        print(found.label, found.confidence, found.box, found.track and found.track.id)

`masks`, `maps`, `zones`, `zone_events` and `tensors` read the rest. Programs that do not call `init`, such as gst-launch-1.0,
find the elements by the environment: `python -m cudainfer env`.
"""

from __future__ import annotations

from typing import Any

from cudainfer.install import InstallError, environment, init

__all__ = ["InstallError", "__version__", "environment", "init", "maps", "masks", "objects", "tensors", "zone_events", "zones"]

# A test compares it with Cargo.toml.
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # The readers need NumPy, which `init` and `env` do without.
    if name in __all__:
        from cudainfer import results
        from cudainfer.tensor import tensors

        return tensors if name == "tensors" else getattr(results, name)
    raise AttributeError(f"the module cudainfer has no {name}")
