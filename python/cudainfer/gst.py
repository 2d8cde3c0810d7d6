"""What the readers need of GStreamer's C libraries: PyGObject cannot iterate over metas.

Buffers are PyGObject's, or the address of a GstBuffer.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterator
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_size_t, c_uint, c_uint32, c_uint64, c_void_p
from functools import cache
from typing import Any

MAP_READ = 1
# GST_MAP_CUDA of gst/cuda/gstcudamemory.h: the address on the GPU instead of the bytes on the host.
MAP_CUDA = 1 << 17


class MetaStruct(ctypes.Structure):
    """GstMeta."""

    _fields_ = [("flags", c_int), ("info", c_void_p)]


class RegionStruct(ctypes.Structure):
    """GstVideoRegionOfInterestMeta."""

    _fields_ = [
        ("meta", MetaStruct),
        ("roi_type", c_uint32),
        ("id", c_int),
        ("parent_id", c_int),
        ("x", c_uint),
        ("y", c_uint),
        ("w", c_uint),
        ("h", c_uint),
        ("params", c_void_p),
    ]


class ListStruct(ctypes.Structure):
    """GList."""


ListStruct._fields_ = [("data", c_void_p), ("next", POINTER(ListStruct)), ("prev", POINTER(ListStruct))]


class MapStruct(ctypes.Structure):
    """GstMapInfo."""

    _fields_ = [
        ("memory", c_void_p),
        ("flags", c_int),
        ("data", c_void_p),
        ("size", c_size_t),
        ("maxsize", c_size_t),
        ("user_data", c_void_p * 4),
        ("reserved", c_void_p * 4),
    ]


class Functions:
    """The functions that are called, by their names without the prefix of their library."""

    def __init__(self) -> None:
        # The process has one of each, whoever loaded it first.
        core, video, gobject = (
            ctypes.CDLL(f"lib{name}.so.0") for name in ("gstreamer-1.0", "gstvideo-1.0", "gobject-2.0")
        )
        self.quark_to_string = declare(gobject.g_quark_to_string, c_char_p, c_uint32)
        self.meta_get_info = declare(core.gst_meta_get_info, c_void_p, c_char_p)
        self.iterate_metas = declare(
            core.gst_buffer_iterate_meta_filtered, c_void_p, c_void_p, POINTER(c_void_p), c_size_t
        )
        self.get_custom_meta = declare(core.gst_buffer_get_custom_meta, c_void_p, c_void_p, c_char_p)
        self.custom_meta_structure = declare(core.gst_custom_meta_get_structure, c_void_p, c_void_p)
        self.structure_name = declare(core.gst_structure_get_name, c_char_p, c_void_p)
        self.structure_value = declare(core.gst_structure_get_value, c_void_p, c_void_p, c_char_p)
        self.array_size = declare(core.gst_value_array_get_size, c_uint, c_void_p)
        self.array_value = declare(core.gst_value_array_get_value, c_void_p, c_void_p, c_uint)
        self.ref = declare(core.gst_mini_object_ref, c_void_p, c_void_p)
        self.unref = declare(core.gst_mini_object_unref, None, c_void_p)
        self.map = declare(core.gst_buffer_map, c_int, c_void_p, POINTER(MapStruct), c_int)
        self.unmap = declare(core.gst_buffer_unmap, None, c_void_p, POINTER(MapStruct))
        self.get_size = declare(core.gst_buffer_get_size, c_size_t, c_void_p)
        self.n_memory = declare(core.gst_buffer_n_memory, c_uint, c_void_p)
        self.peek_memory = declare(core.gst_buffer_peek_memory, c_void_p, c_void_p, c_uint)
        self.memory_is_type = declare(core.gst_memory_is_type, c_int, c_void_p, c_char_p)

        def type_of(function: Any) -> int:
            return declare(function, c_size_t)()

        def boxed(value: int) -> int | None:
            return get_boxed(value)

        get_boxed = declare(gobject.g_value_get_boxed, c_void_p, c_void_p)
        get_string = declare(gobject.g_value_get_string, c_char_p, c_void_p)
        self.region_type = type_of(video.gst_video_region_of_interest_meta_api_get_type)
        # By GType; those of numbers are constants of GObject.
        self.readers: dict[int, Callable[[int], Any]] = {
            5 << 2: declare(gobject.g_value_get_boolean, c_bool, c_void_p),
            6 << 2: declare(gobject.g_value_get_int, c_int, c_void_p),
            7 << 2: declare(gobject.g_value_get_uint, c_uint, c_void_p),
            11 << 2: declare(gobject.g_value_get_uint64, c_uint64, c_void_p),
            15 << 2: declare(gobject.g_value_get_double, c_double, c_void_p),
            16 << 2: lambda value: text(get_string(value)),
            type_of(core.gst_value_array_get_type): self.array,
            type_of(core.gst_structure_get_type): lambda value: Structure(boxed(value)),
            type_of(core.gst_buffer_get_type): lambda value: Data(boxed(value)),
        }

    def array(self, value: int) -> list[Any]:
        return [self.read(self.array_value(value, i)) for i in range(self.array_size(value))]

    def read(self, value: int) -> Any:
        """What a GValue holds; None for types that no reader here needs."""
        reader = self.readers.get(c_size_t.from_address(value).value)
        return reader(value) if reader else None


def declare(function: Any, returned: Any, *arguments: Any) -> Any:
    function.restype, function.argtypes = returned, arguments
    return function


def text(characters: bytes | None) -> str:
    return (characters or b"").decode(errors="replace")


@cache
def functions() -> Functions:
    """Loads the libraries."""
    return Functions()


def address(buffer: Any) -> int:
    """Where the GstBuffer lies."""
    if isinstance(buffer, int):
        return buffer
    kind = getattr(type(buffer), "__gtype__", None)
    if getattr(kind, "name", None) != "GstBuffer":
        raise TypeError(f"a Gst.Buffer is wanted, not {type(buffer).__name__}")
    # PyGObject's hash of a boxed value is its address.
    return hash(buffer)


class Structure:
    """A GstStructure, which its owner must keep."""

    def __init__(self, pointer: int) -> None:
        self.pointer = pointer

    @property
    def name(self) -> str:
        return text(functions().structure_name(self.pointer))

    def get(self, field: str, default: Any = None) -> Any:
        value = functions().structure_value(self.pointer, field.encode())
        found = functions().read(value) if value else None
        return default if found is None else found

    def __getitem__(self, field: str) -> Any:
        found = self.get(field)
        if found is None:
            raise KeyError(f"the structure {self.name} has no field {field} of a type that is read here")
        return found


class Data:
    """A GstBuffer that a meta refers to, kept as long as this is."""

    def __init__(self, pointer: int) -> None:
        self.pointer = functions().ref(pointer)
        weakref.finalize(self, functions().unref, self.pointer)

    @property
    def is_on_gpu(self) -> bool:
        of = functions()
        return of.n_memory(self.pointer) == 1 and bool(
            of.memory_is_type(of.peek_memory(self.pointer, 0), b"CudaInferTensorMemory")
        )


class Mapped:
    """The bytes of a buffer, mapped for reading until this is gone: at `address`, on the GPU with MAP_CUDA."""

    def __init__(self, data: Data, flags: int = MAP_READ, before_unmap: Callable[[], None] | None = None) -> None:
        info = MapStruct()
        if not functions().map(data.pointer, byref(info), flags):
            raise BufferError("GStreamer does not map the buffer for reading; GST_DEBUG=2 says why")
        self.address, self.size = info.data or 0, info.size
        weakref.finalize(self, unmap, data, info, before_unmap)


def unmap(data: Data, info: MapStruct, before: Callable[[], None] | None) -> None:
    if before:
        before()
    functions().unmap(data.pointer, byref(info))


def regions(buffer: Any) -> Iterator[tuple[RegionStruct, list[Structure]]]:
    """The regions of interest of a buffer, with their parameters."""
    of, state, pointer = functions(), c_void_p(), address(buffer)
    while meta := of.iterate_metas(pointer, byref(state), of.region_type):
        region = RegionStruct.from_address(meta)
        parameters, entry = [], region.params and ListStruct.from_address(region.params)
        while entry:
            parameters.append(Structure(entry.data))
            entry = entry.next.contents if entry.next else None
        yield region, parameters


def custom_meta(buffer: Any, name: str) -> Structure | None:
    """The structure of a GstCustomMeta; None if the buffer has none of this name."""
    of = functions()
    # GStreamer complains about names that nobody has registered.
    if not of.meta_get_info(name.encode()):
        return None
    meta = of.get_custom_meta(address(buffer), name.encode())
    return Structure(of.custom_meta_structure(meta)) if meta else None
