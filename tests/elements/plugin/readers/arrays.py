"""arrays.py MASKS MAP DETECTOR: arrays of the readers, with these models."""

import ctypes
import gc
import sys
import warnings

import cudainfer
import gi
import numpy as np

gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
from cudainfer import arrays, gst
from gi.repository import Gst, GstApp

# GLib's GValueArray, which is GStreamer's here, counts as deprecated.
warnings.simplefilter("ignore", DeprecationWarning)
cudainfer.init()
MASKS, MAP, DETECTOR = sys.argv[1:]
HALVES = (
    "compositor name=mix background=black sink_1::xpos=12 ! video/x-raw,format=RGB,width=24,height=16 ! identity name=mixed "
    "videotestsrc num-buffers=3 pattern=red ! video/x-raw,format=RGB,width=12,height=16 ! mix.sink_0 "
    "videotestsrc num-buffers=3 pattern=blue ! video/x-raw,format=RGB,width=12,height=16 ! mix.sink_1  mixed."
)


def frames(line):
    """The frames' buffers."""
    pipeline = Gst.parse_launch(f"{line} ! appsink name=out sync=false")
    pipeline.set_state(Gst.State.PLAYING)
    out = pipeline.get_by_name("out")
    while sample := out.pull_sample():
        yield sample.get_buffer()
    pipeline.set_state(Gst.State.NULL)


def mapped():
    return [kept for kept in gc.get_objects() if isinstance(kept, gst.Mapped)]


def address_of(buffer, meta, field):
    """Where C finds the field `data` of the first structure in an array of a meta."""
    array = buffer.get_custom_meta(meta).get_structure().get_array(field)[1]
    data, info = array.get_nth(0).get_value("data"), gst.MapStruct()
    core, pointer = ctypes.CDLL("libgstreamer-1.0.so.0"), ctypes.c_void_p(hash(data))
    assert core.gst_buffer_map(pointer, ctypes.byref(info), 1)
    found = info.data  # GStreamer 1.28 clears it when it unmaps.
    core.gst_buffer_unmap(pointer, ctypes.byref(info))
    return found


def refused(kind, part, call):
    try:
        call()
    except kind as error:
        assert part in str(error), error
    else:
        raise AssertionError(f"no {kind.__name__}")


kept = []
for buffer in frames(f"{HALVES} ! fusedpreproc ! trtinfer model={MASKS} ! segmask"):
    (mask,) = cudainfer.masks(buffer)
    assert (mask.kind, mask.labels, mask.background, mask.object) == ("classes", ["red", "green", "blue"], None, None)
    assert mask.box == (0, 0, 24, 16)
    samples = mask.numpy()
    assert samples.shape == (16, 24) and samples.dtype == np.uint8
    assert (samples[:, :12] == 0).all() and (samples[:, 12:] == 2).all(), samples
    assert samples.ctypes.data == address_of(buffer, "GstCudaInferMaskMeta", "masks")
    refused(ValueError, "read-only", lambda: samples.fill(1))
    kept.append(samples)
del buffer, mask, samples
gc.collect()
# Nobody but the arrays has the masks any more; each has its own.
assert len({samples.ctypes.data for samples in kept}) == len(kept) == 3
assert all((samples[:, 12:] == 2).all() for samples in kept)

for buffer in frames(f"videotestsrc num-buffers=2 pattern=red ! fusedpreproc ! trtinfer model={MAP} ! tensormap"):
    (found,) = cudainfer.maps(buffer)
    numbers = found.numpy()
    assert numbers.dtype == np.float32 and numbers.shape == found.data.shape
    assert np.isclose(numbers.max(), found.max) and np.isclose(numbers.min(), found.min)
    assert numbers.ctypes.data == address_of(buffer, "GstCudaInferMapMeta", "maps")

mapped_before = mapped()
for buffer in frames(f"videotestsrc num-buffers=2 pattern=red ! fusedpreproc ! trtinfer model={DETECTOR}"):
    (tensors,) = cudainfer.tensors(buffer)
    assert tensors.object is None and tensors.region is None
    (tensor,) = tensors.by_name.values()
    assert tensors["detections"] is tensor and tensor.shape == (1, 6, 84) and not tensor.is_on_gpu
    numbers = tensor.numpy()
    address = address_of(buffer, "GstCudaInferTensorMeta", "tensors")
    assert numbers.ctypes.data == address and numbers.dtype == np.float32
    assert np.asarray(tensor).ctypes.data == address and np.asarray(tensor, np.float64).dtype == np.float64
    corner = tensors.to_frame([[0, 0], tensors.input_size])
    assert np.allclose(corner[1], [320, 240]) and np.allclose(corner[0], 0), corner
    # DLPack, as torch and CuPy take it.
    view = np.from_dlpack(tensor)
    assert view.ctypes.data == address and not view.flags.writeable and np.array_equal(view, numbers)
    assert tensor.__dlpack_device__() == (1, 0)
    versioned, older = tensor.__dlpack__(max_version=(1, 0)), tensor.__dlpack__()
    assert ("dltensor_versioned" in repr(versioned)) == (np.lib.NumpyVersion(np.__version__) >= "2.1.0")
    assert "dltensor" in repr(older) and "dltensor_versioned" not in repr(older)
    refused(BufferError, "not copied", lambda: tensor.__dlpack__(copy=True))
    refused(BufferError, "not copied to (2, 0)", lambda: tensor.__dlpack__(dl_device=(2, 0)))
    refused(AttributeError, "on the host", lambda: tensor.__cuda_array_interface__)
    assert not hasattr(tensor, "__cuda_array_interface__")
    del versioned, older
    # What a view gives back while an exception is raised does not lose it.
    refused(ValueError, "invalid literal", lambda: [np.from_dlpack(tensor), int("none")])
    # Too few bytes for the shape.
    refused(BufferError, "asks for 8064", lambda: arrays.Array(tensor._data, np.dtype("f8"), (1, 12, 84)).numpy())
    assert cudainfer.objects(buffer) == cudainfer.masks(buffer) == cudainfer.zones(buffer) == []
numbers_before = numbers.copy()
del buffer, tensors, tensor, numbers
gc.collect()
assert np.array_equal(view, numbers_before)
del view
gc.collect()
assert {*map(id, mapped())} <= {*map(id, mapped_before)}

refused(TypeError, "a Gst.Buffer is wanted, not NoneType", lambda: cudainfer.objects(None))
refused(TypeError, "not Sample", lambda: cudainfer.masks(Gst.Sample.new(None, None, None, None)))
refused(AttributeError, "no tensor_sets", lambda: cudainfer.tensor_sets)
print("as it must be")
