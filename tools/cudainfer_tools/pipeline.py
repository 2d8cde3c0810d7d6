"""The pipelines of pipelines/: reading, filling in and starting them. Used by run, demo, evaluate, bench, quantize and
autotune.

A pipelines/NAME.launch file is a header of lines that begin with '#', then one pipeline that may be broken anywhere.
The header's first line tells what the pipeline does. A line of it such as

    # key=default  what the key is for

declares a placeholder, `{key}` in the pipeline; with nothing after the '=' a value must be given. A default that
begins with './' is a path in the repository; where the pipelines are installed, one in ./out is a file of that name in the
working directory, one in ./.cache is what cudainfer-setup-models has installed, and any other must be given. Braces around anything else are left alone: caps lists need them.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from cudainfer_tools.repository import ROOT

# In the Debian package, pipelines lie in /usr/share/cudainfer; there is nothing else of the repository.
INSTALLED = not (ROOT / "Cargo.toml").exists()
PIPELINES = ROOT / "pipelines"
# Where cudainfer-setup-models installs models and videos, with the folders of .cache.
DATA = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "cudainfer"
KEY = re.compile(r"#\s+([a-z][a-z0-9-]*)=(\S*)\s+(\S.*)")
# What cudainfer-setup-models installs there.
FETCHED = [f"models/{name}.onnx" for name in ("nanodet", "posenet", "selfie")] + ["video/vtest.avi", "video/carphone.mp4"]
# What gst-launch-1.0 prints.
ENDED = re.compile(r"^Execution ended after (\d+):(\d+):([\d.]+)", re.MULTILINE)
ERROR = re.compile(r"^(?:ERROR: from element \S*?(\w+)|WARNING: (erroneous pipeline)): (.*)$", re.MULTILINE)
PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9-]*)\}")
# Seconds in which gst-launch-1.0 ends after an error. An error that comes before its main loop runs ends a loop that has not begun
# (bus_sync_handler, at least up to 1.28), and it waits for good.
PATIENCE_S = 10.0


class PipelineError(Exception):
    """The pipeline cannot be started as asked; the message says what to do."""


@dataclass(frozen=True)
class Key:
    """A placeholder of a pipeline; `default` is None where a value must be given."""

    default: str | None
    help: str

    @property
    def present(self) -> str | None:
        """The default here: in the repository, or where the pipelines are installed."""
        return installed_default(self.default) if INSTALLED else self.default

    @property
    def is_fetched(self) -> bool:
        """Whether cudainfer-setup-models installs the default."""
        return INSTALLED and (self.default or "").removeprefix("./.cache/") in FETCHED


@dataclass(frozen=True)
class Pipeline:
    """A launch file: its header's first line, its keys, and the pipeline's text with placeholders."""

    name: str
    summary: str
    keys: dict[str, Key]
    line: str

    def arguments(self, values: dict[str, str]) -> list[str]:
        """The pipeline with `values` and defaults filled in, as gst-launch-1.0's arguments."""
        unknown = sorted(values.keys() - self.keys.keys())
        if unknown:
            known = ", ".join(self.keys)
            raise PipelineError(f"{self.name} has no key '{unknown[0]}'; its keys are: {known}")
        filled = {}
        for name, key in self.keys.items():
            value = values.get(name, key.present)
            if value is None:
                remedy = ". cudainfer-setup-models installs models and videos to begin with" if key.is_fetched else ""
                raise PipelineError(f"{self.name} needs {name}=...: {key.help}{remedy}")
            if name not in values and value.startswith("./") and not INSTALLED:
                path = ROOT / value
                path.parent.mkdir(parents=True, exist_ok=True)
                value = os.path.relpath(path)
            # gst-launch reads a backslash as an escape, keeps an argument's spaces and quotes by itself, and takes the next
            # argument for the value of a property where there is none.
            filled[name] = value.replace("\\", "\\\\") or '""'
        return [PLACEHOLDER.sub(lambda m: filled[m[1]], word) for word in shlex.split(self.line)]


def installed_default(default: str | None) -> str | None:
    """What a default means away from the repository."""
    if default is None or not default.startswith("./"):
        return default
    if default.startswith("./out/"):
        return "./" + Path(default).name
    fetched = DATA / default.removeprefix("./.cache/")
    return str(fetched) if default.startswith("./.cache/") and fetched.exists() else None


def names() -> list[str]:
    """The pipelines there are: in folders, with the folder's name."""
    found = (path.relative_to(PIPELINES).with_suffix("").as_posix() for path in PIPELINES.rglob("*.launch"))
    return sorted(found, key=lambda name: ("/" in name, name))


def read(name: str) -> Pipeline:
    """The pipeline called `name`."""
    path = PIPELINES / f"{name}.launch"
    if not path.is_file():
        raise PipelineError(f"there is no pipeline '{name}'; there are: {', '.join(names())}")
    lines = path.read_text().splitlines()
    header = [line for line in lines if line.startswith("#")]
    keys = {m[1]: Key(m[2] or None, m[3]) for m in map(KEY.fullmatch, header) if m}
    line = " ".join(line.strip() for line in lines if not line.startswith("#")).strip()
    undeclared = sorted({m[1] for m in PLACEHOLDER.finditer(line)} - keys.keys())
    if undeclared:
        raise PipelineError(f"{path}: the header lacks a line '# {undeclared[0]}=default  what it is for'")
    return Pipeline(name, header[0].lstrip("# "), keys, line)


def values(words: list[str]) -> dict[str, str]:
    """What KEY=VALUE words give to which key."""
    wrong = next((word for word in words if "=" not in word), None)
    if wrong is not None:
        raise PipelineError(f"'{wrong}' is not of the form KEY=VALUE")
    return dict(word.split("=", 1) for word in words)


def command(arguments: list[str], *options: str) -> list[str]:
    """gst-launch-1.0 with `options` and a pipeline's arguments."""
    return ["gst-launch-1.0", *options, *arguments]


def printable(command: list[str]) -> str:
    """The command as one can paste it into a shell, broken at the links."""
    words = [word if word == "!" else shlex.quote(word) for word in command]
    return " ".join(words).replace(" ! ", " \\\n  ! ")


def built() -> Path:
    """The folder of the release build, or of the programs in a bundle of scripts/gpu-bundle."""
    if "CUDAINFER_BUILT" in os.environ:
        return Path(os.environ["CUDAINFER_BUILT"])
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"


def environment() -> dict[str, str]:
    """The environment in which GStreamer finds the plugin: the release build, where there is no GST_PLUGIN_PATH. An installed one
    is where GStreamer looks."""
    if INSTALLED or "GST_PLUGIN_PATH" in os.environ:
        return dict(os.environ)
    folder = built()
    if not (folder / "libgstcudainfer.so").is_file():
        raise PipelineError("the plugin is not built: run cargo build --release, or set GST_PLUGIN_PATH to its folder")
    return {**os.environ, "GST_PLUGIN_PATH": str(folder)}


def find_openvino() -> None:
    """Has pipelines that are started from now on find the OpenVINO of .cache, unless another one is named. Others keep what
    provider=auto takes without it."""
    libraries = sorted((ROOT / ".cache/openvino/openvino/libs").glob("libopenvino_c.so*"))
    if libraries:
        os.environ.setdefault("CUDAINFER_OPENVINO", str(libraries[0]))


def played(text: str) -> float | None:
    """The seconds from PLAYING to the end that gst-launch-1.0 names in its output, or in a line of it; none where it has not ended by itself.
    Its words are those of LC_ALL=C.UTF-8."""
    ended = ENDED.search(text)
    return None if ended is None else int(ended[1]) * 3600 + int(ended[2]) * 60 + float(ended[3])


def launched(arguments: list[str], *options: str, limit_s: float = math.inf) -> subprocess.CompletedProcess[str]:
    """Runs a pipeline to its end and returns what it printed, in English. A gst-launch-1.0 that does not end after an error, or within the
    limit, is killed."""
    started = command(arguments, *options)
    process = subprocess.Popen(
        started,
        env=environment() | {"LC_ALL": "C.UTF-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    ends_by = time.monotonic() + limit_s
    while True:
        try:
            stdout, stderr = process.communicate(timeout=1.0)
            return subprocess.CompletedProcess(started, process.returncode, stdout, stderr)
        except subprocess.TimeoutExpired as waiting:
            now = time.monotonic()
            # Bytes also of a process whose output is text.
            if b"ERROR: from element" in (waiting.stderr or b""):
                ends_by = min(ends_by, now + PATIENCE_S)
            if now > ends_by:
                process.kill()
        except BaseException:
            process.kill()
            raise


def run(arguments: list[str], option: str = "-q") -> str:
    """Runs a pipeline to its end, in silence, and returns what it printed; what goes wrong is raised as the first error's sentence."""
    done = launched(arguments, option)
    if done.returncode != 0:
        error = ERROR.search(done.stdout + done.stderr)
        if not error:
            raise PipelineError(f"{printable(command(arguments))} failed: {done.stderr.strip()}")
        # Our elements' sentences begin with their names.
        raise PipelineError(error[3] if error[1] and error[3].startswith(error[1]) else f"{error[1] or error[2]}: {error[3]}")
    return done.stdout


def start(tool: str, main: Callable[[], int | None]) -> NoReturn:
    """Runs a tool in the repository's folder and ends with its exit code; what is wrong with a pipeline is the sentence it ends with."""
    os.chdir(ROOT)
    try:
        sys.exit(main())
    except PipelineError as error:
        sys.exit(f"{tool}: {error}")
