"""readers.py MODEL: tensors on the GPU in torch and CuPy. Without PyGObject, which a GPU machine may not have: the pipeline is played
through GStreamer's C functions.
"""

import ctypes
import gc
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_void_p

import cudainfer
import cupy
import numpy as np
import torch
from cudainfer.gst import Mapped, declare

core, app = (ctypes.CDLL(f"lib{name}.so.0") for name in ("gstreamer-1.0", "gstapp-1.0"))
declare(core.gst_init, None, c_void_p, c_void_p)(None, None)
parse = declare(core.gst_parse_launch, c_void_p, c_char_p, POINTER(c_void_p))
by_name = declare(core.gst_bin_get_by_name, c_void_p, c_void_p, c_char_p)
set_state = declare(core.gst_element_set_state, c_int, c_void_p, c_int)
pull = declare(app.gst_app_sink_pull_sample, c_void_p, c_void_p)
buffer_of = declare(core.gst_sample_get_buffer, c_void_p, c_void_p)
unref = declare(core.gst_mini_object_unref, None, c_void_p)
NULL, PLAYING = 1, 4

pipeline = parse(
    b"videotestsrc num-buffers=4 pattern=red ! video/x-raw,width=320,height=240 ! cudainferupload ! fusedpreproc device=cuda "
    b"! trtinfer provider=cuda model=" + sys.argv[1].encode() + b" ! appsink name=out sync=false",
    byref(c_void_p()),
)
assert pipeline, "the line cannot be parsed"
out = by_name(pipeline, b"out")
set_state(pipeline, PLAYING)
kept = []
while sample := pull(out):
    (tensors,) = cudainfer.tensors(buffer_of(sample))
    (tensor,) = tensors.by_name.values()
    assert tensor.is_on_gpu and tensor.__dlpack_device__() == (2, 0), tensor
    host = tensor.numpy().copy()
    interface = tensor.__cuda_array_interface__
    views = {
        "torch.from_dlpack": torch.from_dlpack(tensor),
        "torch.as_tensor": torch.as_tensor(tensor, device="cuda"),
        "cupy.from_dlpack": cupy.from_dlpack(tensor),
        "cupy.asarray": cupy.asarray(tensor),
    }
    for name, view in views.items():
        address = view.data_ptr() if isinstance(view, torch.Tensor) else view.data.ptr
        assert address == interface["data"][0], f"{name} copied"
        there = view.cpu().numpy() if isinstance(view, torch.Tensor) else cupy.asnumpy(view)
        assert there.dtype == host.dtype and np.array_equal(there, host), name
    kept.append((views["torch.from_dlpack"], host))
    unref(sample)
    del tensors, tensor, views, view, interface
gc.collect()
set_state(pipeline, NULL)
assert len(kept) == 4, len(kept)
# The frames are gone, the tensors are not, and none was overwritten.
assert len({view.data_ptr() for view, _ in kept}) == 4
for view, host in kept:
    assert np.array_equal(view.cpu().numpy(), host)
del kept, view
gc.collect()
assert not [kept for kept in gc.get_objects() if isinstance(kept, Mapped)]
print("as it must be")
