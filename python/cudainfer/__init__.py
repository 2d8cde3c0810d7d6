"""cudainfer: GStreamer elements for video inference.

    import cudainfer
    cudainfer.init()                            # as Gst.init, with the elements
    pipeline = Gst.parse_launch("... ! fusedpreproc ! trtinfer model=model.onnx ! ...")

Programs that do not call `init`, such as gst-launch-1.0, find the elements by the environment: `python -m cudainfer env`.
"""

from __future__ import annotations

from cudainfer.install import InstallError, environment, init

__all__ = ["InstallError", "environment", "init"]
