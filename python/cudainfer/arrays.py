"""Numbers of the pipeline as arrays of NumPy, and of torch, CuPy and others, without a copy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, byref, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p, py_object
from functools import cache, cached_property
from typing import Any

import numpy as np

from cudainfer import gst

HOST, GPU = 1, 2  # kDLCPU, kDLCUDA


class Array:
    """Numbers in memory of the pipeline, on the host or on a GPU; they may be kept longer than their frame.

    `numpy()` is a view that cannot be written to; numbers on the GPU are copied to the host once for it. `torch.from_dlpack(array)`
    and `cupy.from_dlpack(array)` are views where the numbers lie; `torch.as_tensor(array, device="cuda")` and `cupy.asarray(array)`
    as well, through `__cuda_array_interface__`. Write to none of them: other elements, and other frames of a batch, read the same
    memory. Only NumPy, and DLPack's consumers where NumPy is 2.1 or newer, know that the view is read-only. The pipeline gets the
    memory back when the last view is gone.
    """

    def __init__(self, data: gst.Data, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self.dtype, self.shape = np.dtype(dtype), shape
        self._data = data

    def __repr__(self) -> str:
        return f"<{self.dtype} array of shape {self.shape} on the {'GPU' if self.is_on_gpu else 'host'}>"

    @property
    def is_on_gpu(self) -> bool:
        return self._data.is_on_gpu

    def numpy(self) -> np.ndarray[Any, Any]:
        """The numbers as an array of NumPy."""
        return np.asarray(Viewed(self._mapped(gst.MAP_READ), self.dtype, self.shape))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        found = self.numpy()
        if dtype is not None and np.dtype(dtype) != self.dtype:
            return found.astype(dtype)
        return found.copy() if copy else found

    @cached_property
    def _device(self) -> tuple[int, int]:
        if not self.is_on_gpu:
            return HOST, 0
        mapped = gst.Mapped(self._data, gst.MAP_READ | gst.MAP_CUDA)
        return GPU, Driver.loaded().device_of(mapped.address)

    def _mapped(self, flags: int, before_unmap: Callable[[], None] | None = None) -> gst.Mapped:
        mapped = gst.Mapped(self._data, flags, before_unmap)
        wanted = self.dtype.itemsize * int(np.prod(self.shape, dtype=np.int64))
        if mapped.size < wanted:
            raise BufferError(f"the array has {mapped.size} bytes where its shape {self.shape} asks for {wanted}")
        return mapped

    def _on_gpu(self, stream: int | None) -> gst.Mapped:
        """The address on the GPU. What its reader has enqueued, in a stream if that is known, is waited for before the memory goes back."""
        device = self._device[1]
        return self._mapped(gst.MAP_READ | gst.MAP_CUDA, lambda: Driver.loaded().wait(device, stream))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        # https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html
        if not self.is_on_gpu:
            raise AttributeError("the numbers are on the host: use numpy()")
        # Whoever asks keeps the array, not what it returns. torch refuses what says that it is read-only
        # (https://github.com/pytorch/pytorch/issues/32868), CuPy does not look.
        self._mapped_for_interface = self._on_gpu(None)
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._mapped_for_interface.address, False),
            "strides": None,
            "version": 3,
            "stream": None,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        # https://dmlc.github.io/dlpack/latest/python_spec.html
        if dl_device not in (None, self._device):
            raise BufferError(f"the array is on the device {self._device} of DLPack, and is not copied to {dl_device}")
        if copy:
            raise BufferError("the array is not copied: copy what from_dlpack returns")
        mapped = self._on_gpu(stream) if self.is_on_gpu else self._mapped(gst.MAP_READ)
        return capsule(mapped, self._device, self.dtype, self.shape, versioned=(max_version or (0, 0)) >= (1, 0))


class Viewed:
    """Mapped memory as NumPy takes it; its arrays keep it."""

    def __init__(self, mapped: gst.Mapped, dtype: np.dtype[Any], shape: tuple[int, ...], *, read_only: bool = True) -> None:
        self.mapped = mapped
        self.__array_interface__ = {
            "shape": shape,
            "typestr": dtype.str,
            # NumPy takes no address 0, which an array without elements may have.
            "data": (mapped.address or 1, read_only),
            "version": 3,
        }


class Driver:
    """What is needed of CUDA's driver."""

    ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    LEGACY = 1  # CU_STREAM_LEGACY

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")

    @staticmethod
    @cache
    def loaded() -> Driver:
        return Driver()

    def call(self, function: str, *arguments: Any) -> None:
        if error := getattr(self.library, function)(*arguments):
            raise RuntimeError(f"CUDA's {function} failed with error {error}")

    def device_of(self, pointer: int) -> int:
        device = c_int()
        self.call("cuPointerGetAttribute", byref(device), self.ORDINAL, c_uint64(pointer))
        return device.value

    def wait(self, device: int, stream: int | None) -> None:
        """Waits for a stream of the GPU's primary context as DLPack numbers them, or where it is not known for the whole context."""
        context, before = c_void_p(), c_void_p()
        self.call("cuDevicePrimaryCtxRetain", byref(context), device)
        try:
            self.call("cuCtxPushCurrent_v2", context)
            if stream is None or stream < 0:
                self.call("cuCtxSynchronize")
            else:
                self.call("cuStreamSynchronize", c_void_p(stream or self.LEGACY))
            self.call("cuCtxPopCurrent_v2", byref(before))
        finally:
            self.call("cuDevicePrimaryCtxRelease_v2", device)


class TensorStruct(ctypes.Structure):
    """DLTensor of dlpack.h."""

    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


# DLManagedTensorVersioned begins with its version, the manager's context, the deleter and flags; DLManagedTensor with the tensor.
_BEFORE_TENSOR = {b"dltensor": 0, b"dltensor_versioned": 32}
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
_NUMPY_HAS_VERSIONS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


def capsule(mapped: gst.Mapped, device: tuple[int, int], dtype: np.dtype[Any], shape: tuple[int, ...], *, versioned: bool) -> Any:
    """The PyCapsule of DLPack for mapped memory, which it keeps.

    NumPy makes it, as that of an array which is never read, and what NumPy cannot know is filled in. A deleter by ctypes would lose
    the exception that is being raised when it is called, and could not be called while Python ends; NumPy's is in C.
    """
    versioned = versioned and _NUMPY_HAS_VERSIONS
    # Without versions there is no word for what is read-only, and NumPy refuses to export it.
    array = np.asarray(Viewed(mapped, np.dtype(f"u{dtype.itemsize}"), shape, read_only=versioned))
    made = array.__dlpack__(max_version=(1, 0)) if versioned else array.__dlpack__()
    name = b"dltensor_versioned" if versioned else b"dltensor"
    get = gst.declare(ctypes.pythonapi.PyCapsule_GetPointer, c_void_p, py_object, ctypes.c_char_p)
    tensor = TensorStruct.from_address(get(made, name) + _BEFORE_TENSOR[name])
    tensor.device_type, tensor.device_id = device
    tensor.code = _CODES[dtype.kind]
    return made
