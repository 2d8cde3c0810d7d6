"""Runs the tasks of docs/agents.md as they are written there, each in an empty folder, and checks their answers; and the commands of
docs/your-own-decoder.md for C and Python:

    python3 tools agent_tasks [NUMBER|decoder...]

Each pipeline ends after 12 frames of its file. GST_PLUGIN_PATH names the plugin's folder, in which the programs are as well; without it, it is the
release build. The camera of task 6 is a process of this machine, and so is its broker, mosquitto.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from cudainfer_tools import pipeline
from cudainfer_tools.repository import ROOT

PAGE = ROOT / "docs/agents.md"
FRAMES = 12
LIMIT = 300


class WrongAnswer(Exception):
    """A task has not the answer that the page gives."""


def tasks() -> dict[int, str]:
    """The commands of each task, as a script for the shell."""
    text = PAGE.read_text()
    sections = re.split(r"^### (\d+)\. .*$", text, flags=re.MULTILINE)[1:]
    scripts = {}
    for number, section in zip(sections[::2], sections[1::2], strict=True):
        lines = [line[4:] for line in section.splitlines() if line.startswith("    ")]
        scripts[int(number)] = "\n".join(lines) + "\n"
    return scripts


def shortened(script: str) -> str:
    """The same for a few frames."""
    return script.replace("videoconvert ! fusedpreproc", f"videoconvert ! identity eos-after={FRAMES} ! fusedpreproc", 1).replace(
        "videoconvert \\\n  ! fusedpreproc", f"videoconvert ! identity eos-after={FRAMES} \\\n  ! fusedpreproc", 1
    )


def records(folder: Path, name: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (folder / name).read_text().splitlines()]
    # eos-after counts buffers, and the last one is not passed on.
    if not FRAMES - 2 <= len(found) <= FRAMES:
        raise WrongAnswer(f"{name} has {len(found)} records, not one for each of {FRAMES} frames")
    return found


def objects(folder: Path, name: str) -> list[dict[str, Any]]:
    found = [one for record in records(folder, name) for one in record["objects"]]
    if not found:
        raise WrongAnswer(f"{name} has no objects")
    return found


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise WrongAnswer(what)


def is_playable(path: Path) -> None:
    command = ["gst-launch-1.0", "-q", "filesrc", f"location={path}", "!", "decodebin", "!", "fakesink"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    expect(done.returncode == 0, f"{path.name} cannot be played: {done.stderr}")


def detected(folder: Path, _output: str) -> None:
    expect(
        all(one["label"] == "person" and {"confidence", "box"} <= one.keys() for one in objects(folder, "people.jsonl")), "people"
    )


def counted(folder: Path, _output: str) -> None:
    zones = [record["zones"] for record in records(folder, "count.jsonl")]
    expect(all(zone[0]["name"] == "road" and {"in", "out"} <= zone[0].keys() for zone in zones), f"zones: {zones[0]}")


def blurred(folder: Path, _output: str) -> None:
    is_playable(folder / "blurred.mp4")


def posed(folder: Path, _output: str) -> None:
    expect(all(one["keypoints"] for one in objects(folder, "poses.jsonl")), "poses without keypoints")
    is_playable(folder / "poses.mp4")


def both(folder: Path, _output: str) -> None:
    kinds = {"keypoints" in one for one in objects(folder, "both.jsonl")}
    expect(kinds == {True, False}, "the objects of one model alone")


def published(_folder: Path, _output: str) -> None:
    """The publications were counted while the task ran."""


def named(folder: Path, _output: str) -> None:
    expect({one["label"] for one in objects(folder, "own.jsonl")} == {"human"}, "the labels are not the sidecar's")


def checked(_folder: Path, output: str) -> None:
    expect("right (sources: 2, pipelines: 1)" in output, output)


ANSWERS: dict[int, Callable[[Path, str], None]] = {
    1: detected,
    2: counted,
    3: blurred,
    4: posed,
    5: both,
    6: published,
    7: named,
    8: checked,
}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def running(command: list[str], **more: Any) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **more)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def answers(port: int) -> None:
    """Waits until something accepts connections at a port."""
    end = time.monotonic() + LIMIT
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            expect(time.monotonic() < end, f"nothing answers at port {port}")
            time.sleep(0.1)


def camera_and_broker(stack: ExitStack, script: str, folder: Path) -> tuple[str, subprocess.Popen[str]]:
    """Starts both at free ports; the task's script with these, and a client that prints the publications."""
    broker = shutil.which("mosquitto", path=os.environ.get("PATH", "") + ":/usr/sbin")
    client = ROOT / "tools/cudainfer_tools/agent_tasks/subscribe.py"
    if broker is None:
        raise WrongAnswer("there is no mosquitto: run scripts/setup brokers")
    rtsp, mqtt = free_port(), free_port()
    settings = folder / "mosquitto.conf"
    settings.write_text(f"listener {mqtt} 127.0.0.1\nallow_anonymous true\n")
    stack.enter_context(running([broker, "-c", str(settings)]))
    camera = stack.enter_context(running(["/usr/bin/python3", str(ROOT / "serve/tests/cameras/camera.py"), str(rtsp)]))
    answers(mqtt)
    assert camera.stdout is not None
    expect(camera.stdout.readline() == "ready\n", "the camera does not start")
    listener = stack.enter_context(running([sys.executable, str(client), str(mqtt), "cams/door", str(FRAMES - 2)]))
    assert listener.stdout is not None
    expect(listener.stdout.readline() == "ready\n", "the broker has no subscriber")
    return script.replace(":8554", f":{rtsp}").replace(":1883", f":{mqtt}"), listener


def run(number: int, script: str) -> None:
    with tempfile.TemporaryDirectory(prefix=f"cudainfer-task-{number}-") as name, ExitStack() as stack:
        folder = Path(name)
        (folder / ".cache").symlink_to(ROOT / ".cache")
        (folder / ".venv").symlink_to(ROOT / ".venv")
        environment = pipeline.environment()
        # Of cargo's tests the plugin is in deps, and the programs are above it.
        plugin = environment["GST_PLUGIN_PATH"]
        environment["PATH"] = f"{plugin}:{plugin}/..:{environment['PATH']}"
        listener = None
        if number == 6:
            script, listener = camera_and_broker(stack, script, folder)
        if number == 8:
            config = f'[server]\\nlisten = "127.0.0.1:{free_port()}"\\n'
            script = script.replace("printf '[pipeline", f"printf '{config}[pipeline", 1)
        # What a stranger types, in one shell.
        done = subprocess.run(
            ["bash", "-euc", shortened(script)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            errors="replace",
            timeout=LIMIT,
        )
        output = done.stdout + done.stderr
        expect(done.returncode == 0, f"exit code {done.returncode}: {output}")
        if listener is not None:
            expect(listener.wait(timeout=LIMIT) == 0, "too few publications")
        ANSWERS[number](folder, output)


def decoder() -> None:
    """Runs the commands of docs/your-own-decoder.md for C and Python, for a few frames and without a window."""
    sections = re.split(r"^## (.+)$", (ROOT / "docs/your-own-decoder.md").read_text(), flags=re.MULTILINE)
    plugin = pipeline.environment()["GST_PLUGIN_PATH"]
    for name in ("C", "Python"):
        section = re.sub(r"^```.*?^```", "", sections[sections.index(name) + 1], flags=re.MULTILINE | re.DOTALL)
        script = "\n".join(line[4:] for line in section.splitlines() if line.startswith("    "))
        expect(script.count("gst-launch-1.0") == 1 and script.count("autovideosink") == 1, f"{name}: {script}")
        script = script.replace("target/release", plugin).replace("autovideosink", "fakesink")
        with tempfile.TemporaryDirectory(prefix="cudainfer-decoder-") as folder:
            for there in (".cache", ".venv", "examples"):
                Path(folder, there).symlink_to(ROOT / there)
            # Another Python on PATH would hide gst-python from its loader.
            environment = {**os.environ, "PATH": f"/usr/bin:{os.environ['PATH']}", "GST_REGISTRY": f"{folder}/registry.bin"}
            done = subprocess.run(
                ["bash", "-euc", shortened(script)],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                errors="replace",
                timeout=LIMIT,
            )
        expect(done.returncode == 0, f"{name}: {done.stdout}{done.stderr}")
        print(f"decoder in {name}: right", flush=True)


def main(words: list[str]) -> int:
    found, failed = tasks(), 0
    expect(found.keys() == ANSWERS.keys(), f"{PAGE} has the tasks {sorted(found)}")
    for number in words or [*map(str, sorted(found)), "decoder"]:
        try:
            if number == "decoder":
                decoder()
                continue
            run(int(number), found[int(number)])
            print(f"task {number}: right", flush=True)
        except (WrongAnswer, subprocess.TimeoutExpired, OSError, KeyError) as error:
            failed += 1
            print(f"task {number}: {error}", file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
