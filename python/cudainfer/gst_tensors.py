"""GStreamer's own tensors, GstTensorMeta, which 1.26 and newer have: those of onnxinference, and of trtinfer with tensors=gst."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import POINTER, byref, c_int, c_size_t, c_uint32, c_void_p
from functools import cache
from typing import Any

import numpy as np

from cudainfer import gst
from cudainfer.analytics import LIBRARY
from cudainfer.arrays import Array

# GstTensorDataType, as far as NumPy has it.
TYPES = {
    1: "int8",
    2: "int16",
    3: "int32",
    4: "int64",
    6: "uint8",
    7: "uint16",
    8: "uint32",
    9: "uint64",
    10: "float16",
    11: "float32",
    12: "float64",
    15: "bool",
}
DENSE, MOST_TENSORS, MOST_DIMS = 0, 256, 16


class TensorStruct(ctypes.Structure):
    """GstTensor; its dimensions follow it."""

    _fields_ = [
        ("id", c_uint32),
        ("layout", c_int),
        ("data_type", c_int),
        ("data", c_void_p),
        ("dims_order", c_int),
        ("num_dims", c_size_t),
    ]


class MetaStruct(ctypes.Structure):
    """GstTensorMeta."""

    _fields_ = [("flags", c_int), ("info", c_void_p), ("num_tensors", c_size_t), ("tensors", POINTER(POINTER(TensorStruct)))]


@cache
def api() -> int | None:
    """The meta's type; None where GStreamer has none."""
    try:
        return gst.declare(ctypes.CDLL(LIBRARY).gst_tensor_meta_api_get_type, c_size_t)()
    except (OSError, AttributeError):
        return None


def arrays(buffer: Any) -> dict[str, Array] | None:
    """The tensors of a frame by their identifiers, the first of each; None without such a meta."""
    kind = api()
    if not kind:
        return None
    found: dict[str, Array] = {}
    of, state, pointer, is_there = gst.functions(), c_void_p(), gst.address(buffer), False
    while meta := of.iterate_metas(pointer, byref(state), kind):
        is_there = True
        for index, tensor in enumerate(_tensors(MetaStruct.from_address(meta))):
            name = gst.text(of.quark_to_string(tensor.id)) or f"tensor-{index}"
            array = _array(tensor)
            if array is not None:
                found.setdefault(name, array)
    return found if is_there else None


def _tensors(meta: MetaStruct) -> Iterator[TensorStruct]:
    for index in range(min(meta.num_tensors, MOST_TENSORS) if meta.tensors else 0):
        if meta.tensors[index]:
            yield meta.tensors[index].contents


def _array(tensor: TensorStruct) -> Array | None:
    """None for what NumPy has no type for, and for what is not dense or not whole."""
    if tensor.data_type not in TYPES or tensor.layout != DENSE or not tensor.data or tensor.num_dims > MOST_DIMS:
        return None
    start = ctypes.addressof(tensor) + ctypes.sizeof(TensorStruct)
    shape = tuple((c_size_t * tensor.num_dims).from_address(start))
    dtype, size = np.dtype(TYPES[tensor.data_type]), 1
    for side in (dtype.itemsize, *shape):
        size *= side
    if size > gst.functions().get_size(tensor.data):
        return None
    return Array(gst.Data(tensor.data), dtype, shape)
