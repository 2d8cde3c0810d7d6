"""Runs pipelines/detect-track.launch on a video, showing progress and a closing table. Started by scripts/demo."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pipeline

VIDEO = Path("out/demo.mp4")
RESULTS = Path("out/demo.jsonl")
LOG = Path("out/demo.log")
TRACE = Path("out/demo.trace.json")
POSITION = re.compile(r"([\d:.]+) / ([\d:.]+) \(\s*([\d.]+) ?%\)")
PATIENCE_S = 20.0


class Lines:
    """How many lines a growing file has; reads only what is new."""

    def __init__(self, path: Path):
        self.path, self.offset, self.count = path, 0, 0

    def update(self) -> int:
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self.offset)
                new = file.read()
            self.offset += len(new)
            self.count += new.count(b"\n")
        return self.count


class Launch:
    """A running gst-launch-1.0. Its output goes to the log; its position, warnings and errors are kept."""

    def __init__(self, command: list[str], environment: dict[str, str]):
        self.share = 0.0
        self.complaints: list[str] = []
        self.failed_at: float | None = None
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment
        )
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        keep = 0
        with LOG.open("w") as log:
            # Universal newlines also split at the carriage returns of the position.
            for line in self.process.stdout:
                if position := POSITION.search(line):
                    self.share = float(position[3]) / 100
                    continue
                log.write(line)
                if line.startswith(("ERROR", "WARNING", "erroneous pipeline")):
                    keep = 4  # the message, "Additional debug info:" and its lines
                    if not line.startswith("WARNING"):
                        self.failed_at = self.failed_at or time.monotonic()
                if keep and line.strip():
                    self.complaints.append(line.rstrip())
                    keep -= 1

    def running(self) -> bool:
        if self.process.poll() is not None:
            self.reader.join()
            return False
        # An element that failed while it starts can keep gst-launch from ending.
        if self.failed_at and time.monotonic() - self.failed_at > PATIENCE_S:
            self.process.kill()
        return True


class Progress:
    """One updating line on a terminal, a line now and then elsewhere."""

    def __init__(self):
        self.terminal = sys.stdout.isatty()
        self.next = 0.0
        self.start: float | None = None

    def show(self, frames: int, share: float) -> None:
        now = time.monotonic()
        if frames == 0 or now < self.next:
            return
        self.start = self.start or now
        self.next = now + (0.5 if self.terminal else 5.0)
        spent = now - self.start
        text = f"{frames} frames"
        if spent > 0:
            text += f", {frames / spent:.1f} frames/s"
        if share > 0:
            text += f", {share:.0%}, {clock(spent * (1 - share) / share)} left"
        print(f"\r{text:<70}" if self.terminal else text, end="" if self.terminal else "\n", flush=True)

    def close(self) -> None:
        if self.terminal:
            print("\r" + " " * 70 + "\r", end="")


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def table(frames: int, seconds: float) -> None:
    """The closing table: milliseconds a frame by element, from the tracer."""
    trace = json.loads(TRACE.read_text()) if TRACE.exists() else {}
    seconds = trace.get("seconds", seconds)
    print(f"\n{'frames':<24}{frames:>10}")
    print(f"{'frames/s':<24}{frames / seconds:>10.1f}")
    print(f"\n{'element':<24}{'ms a frame':>10}")
    for element in trace.get("elements", []):
        print(f"{element['factory']:<24}{element['ms_per_frame']:>10.2f}")


def main(video: str) -> int:
    values = {"video": video, "json": str(RESULTS), "output": str(VIDEO)}
    command = pipeline.command(pipeline.read("detect-track").arguments(values), "-e", "--force-position")
    print(pipeline.printable(command), flush=True)
    for stale in (VIDEO, RESULTS, TRACE):
        stale.unlink(missing_ok=True)
    tracing = {"GST_TRACERS": f"cudainfer(json={TRACE.absolute()})", "LC_ALL": "C.UTF-8"}
    launch = Launch(command, pipeline.environment() | tracing)
    # Ctrl-C reaches gst-launch too, which closes the video properly (-e) and ends.
    signal.signal(signal.SIGINT, lambda *_: None)
    lines, progress, start = Lines(RESULTS), Progress(), time.monotonic()
    while launch.running():
        progress.show(lines.update(), launch.share)
        time.sleep(0.1)
    seconds = time.monotonic() - start
    progress.close()
    for complaint in launch.complaints:
        print(complaint, file=sys.stderr)
    frames = lines.update()
    if launch.process.returncode != 0 or launch.failed_at:
        print(f"demo: gst-launch-1.0 failed, see above and {LOG}", file=sys.stderr)
        return launch.process.returncode if launch.process.returncode > 0 else 1
    if frames == 0:
        print(f"demo: no frame came out of {video}: has it a video stream? See {LOG}", file=sys.stderr)
        return 1
    table(frames, seconds)
    print(f"\n{VIDEO}\n{RESULTS}")
    return 0


if __name__ == "__main__":
    os.chdir(pipeline.ROOT)
    try:
        sys.exit(main(sys.argv[1]))
    except pipeline.PipelineError as error:
        sys.exit(f"demo: {error}")
