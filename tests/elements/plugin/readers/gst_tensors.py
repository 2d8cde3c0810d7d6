"""gst_tensors.py DETECTOR: GStreamer's own tensors, read where they lie."""

import gc
import sys

import cudainfer
import gi
import numpy as np

gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
from gi.repository import Gst, GstApp  # noqa: F401

cudainfer.init()


def last(form):
    """The last frame with tensors of this form."""
    line = f"videotestsrc num-buffers=2 pattern=red ! fusedpreproc ! trtinfer model={sys.argv[1]} tensors={form} ! appsink name=out sync=false"
    pipeline = Gst.parse_launch(line)
    pipeline.set_state(Gst.State.PLAYING)
    out, buffer = pipeline.get_by_name("out"), None
    while sample := out.pull_sample():
        buffer = sample.get_buffer()
    pipeline.set_state(Gst.State.NULL)
    return buffer


(ours,), (theirs,) = (cudainfer.tensors(last(form)) for form in ("ours", "gst"))
assert ours.input_size and theirs.input_size is None
assert list(theirs.by_name) == list(ours.by_name) == ["detections"], theirs
array = theirs["detections"]
assert array.dtype == np.float32 and array.shape == ours["detections"].shape == (1, 6, 84)
assert np.array_equal(array.numpy(), ours["detections"].numpy()) and array.numpy().any()
assert not array.numpy().flags.writeable and not array.numpy().flags.owndata
# The same memory, also when the frame is gone.
both = last("both")
address = lambda array: array.numpy().__array_interface__["data"][0]
from cudainfer import gst_tensors

seen = gst_tensors.arrays(both)["detections"]
assert address(seen) == address(cudainfer.tensors(both)[0]["detections"])
del both
gc.collect()
assert np.array_equal(seen.numpy(), array.numpy())
assert gst_tensors.arrays(Gst.Buffer()) is None and cudainfer.tensors(Gst.Buffer()) == []
print("as it must be")
