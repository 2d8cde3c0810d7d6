"""Where the plugin and ONNX Runtime are installed, and how GStreamer gets to know them."""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import os
import platform
from pathlib import Path

# In a wheel. The Debian package has the plugin where GStreamer looks.
PLUGIN = Path(__file__).resolve().with_name("plugin") / "libgstcudainfer.so"
GSTREAMER_NEEDED = (1, 22)


class InstallError(Exception):
    """Something that the elements need is not installed; the message says what, and how to get it."""


def onnxruntime() -> Path | None:
    """The library of the Python package onnxruntime or onnxruntime-gpu, wherever this Python finds it."""
    found = importlib.util.find_spec("onnxruntime")
    for folder in found.submodule_search_locations or () if found else ():
        if libraries := sorted(Path(folder, "capi").glob("libonnxruntime.so*")):
            return libraries[0]
    return None


def missing_onnxruntime() -> str:
    """What is wrong with the Python packages of ONNX Runtime, as a sentence; empty if nothing is.

    The Debian package's plugin does not need them.
    """
    if not PLUGIN.is_file():
        return ""
    found = {name for name in ("onnxruntime", "onnxruntime-gpu") if installed(name)}
    if len(found) == 2:
        return (
            "the packages onnxruntime and onnxruntime-gpu are both installed and overwrite each other's library: pip uninstall both, "
            "then install one of them"
        )
    if not onnxruntime():
        return "this Python has no ONNX Runtime: pip install 'cudainfer[cpu]', or 'cudainfer[gpu]' for an NVIDIA GPU"
    return ""


def installed(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def gstreamer_version(library: str = "libgstreamer-1.0.so.0") -> tuple[int, int]:
    """The version of the GStreamer that this process has or would get."""
    try:
        gstreamer = ctypes.CDLL(library)
    except OSError as error:
        raise InstallError(
            "GStreamer is not installed (libgstreamer-1.0.so.0 is missing): install 1.22 or newer with its tools and plugins, on "
            "Debian and Ubuntu by 'apt install gstreamer1.0-tools gstreamer1.0-plugins-good gstreamer1.0-libav'"
        ) from error
    numbers = [ctypes.c_uint() for _ in range(4)]
    gstreamer.gst_version(*map(ctypes.byref, numbers))
    return numbers[0].value, numbers[1].value


def check() -> None:
    """Raises an InstallError if the elements cannot run here."""
    version = gstreamer_version()
    if version < GSTREAMER_NEEDED:
        raise InstallError(
            f"GStreamer is version {version[0]}.{version[1]} here, and 1.22 or newer is needed: use Debian 12, Ubuntu 24.04 or newer"
        )
    if platform.libc_ver()[0] != "glibc":
        raise InstallError("the C library is not glibc: use a distribution that has it; Debian and Ubuntu do")


def environment() -> dict[str, str]:
    """What a program needs in its environment to find the elements, besides what is there already.

    GST_PLUGIN_PATH and GST_PRESET_PATH keep the folders that they have. ORT_DYLIB_PATH is left out if it is set, or if this Python has no package
    onnxruntime: trtinfer then searches for the library itself.
    """
    wanted = {}
    if PLUGIN.is_file():
        for name, folder in (("GST_PLUGIN_PATH", PLUGIN.parent), ("GST_PRESET_PATH", PLUGIN.with_name("presets"))):
            folders = [str(folder), *filter(None, os.environ.get(name, "").split(os.pathsep))]
            wanted[name] = os.pathsep.join(dict.fromkeys(folders))
    if not os.environ.get("ORT_DYLIB_PATH") and (library := onnxruntime()):
        wanted["ORT_DYLIB_PATH"] = str(library)
    return wanted


def init() -> None:
    """Initialises GStreamer, if nobody has, and makes the elements known to this process.

    Raises an InstallError if they cannot be loaded; the message says why.
    """
    check()
    try:
        import gi
    except ImportError as error:
        raise InstallError(
            "Python's bindings of GStreamer are not installed: 'apt install python3-gst-1.0' for the system's Python and for virtual "
            "environments made with --system-site-packages, or 'pip install PyGObject'"
        ) from error

    gi.require_version("Gst", "1.0")
    from gi.repository import Gst

    # For this process and its children: gst-plugin-scanner, or processes of the program's own.
    os.environ.update(environment())
    if not Gst.is_initialized():
        Gst.init(None)
    registry = Gst.Registry.get()
    if PLUGIN.is_file():
        registry.scan_path(str(PLUGIN.parent))
    if not registry.find_feature("trtinfer", Gst.ElementFactory.__gtype__):
        raise InstallError(
            "GStreamer does not load cudainfer's plugin: 'gst-inspect-1.0 -b' lists the plugins that it has given up, "
            "GST_DEBUG=GST_PLUGIN_LOADING:4 says why"
        )
