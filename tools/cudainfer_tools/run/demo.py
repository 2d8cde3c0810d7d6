"""Runs one of the pipelines on a video, showing progress and a closing table. Started by scripts/demo.

python3 tools run.demo detect|pose|segment [VIDEO]
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from cudainfer_tools import pipeline

# What is shown: the pipeline, what its files in out/ are called, and the video.
DEMOS = {
    "detect": ("detect-track", "demo", ".cache/video/vtest.avi"),
    "pose": ("pose-topdown", "demo-pose", ".cache/video/vtest.avi"),
    "segment": ("segment", "demo-segment", ".cache/video/carphone.mp4"),
}
POSITION = re.compile(r"([\d:.]+) / ([\d:.]+) \(\s*([\d.]+) ?%\)")


class Launch:
    """A running gst-launch-1.0. Its output goes to the log; its position, warnings and errors are kept."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path):
        self.share = 0.0
        self.log = log
        self.complaints: list[str] = []
        self.failed_at: float | None = None
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment
        )
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        keep = 0
        with self.log.open("w") as log:
            # Universal newlines also split at the carriage returns of the position.
            assert self.process.stdout is not None
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
        if self.failed_at and time.monotonic() - self.failed_at > pipeline.PATIENCE_S:
            self.process.kill()
        return True


class Progress:
    """One updating line on a terminal, a line now and then elsewhere."""

    def __init__(self) -> None:
        self.terminal = sys.stdout.isatty()
        self.next = 0.0
        self.start: float | None = None

    def show(self, share: float) -> None:
        now = time.monotonic()
        if share == 0 or now < self.next:
            return
        self.start = self.start or now
        self.next = now + (0.5 if self.terminal else 5.0)
        text = f"{share:.0%}, {clock((now - self.start) * (1 - share) / share)} left"
        print(f"\r{text:<70}" if self.terminal else text, end="" if self.terminal else "\n", flush=True)

    def close(self) -> None:
        if self.terminal:
            print("\r" + " " * 70 + "\r", end="")


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def frames_of(trace: dict) -> int:
    """How many frames went through the model, of the tracer's report: its own count is of the file's pieces."""
    return next((element["frames"] for element in trace["elements"] if element["factory"] == "fusedpreproc"), 0)


def table(trace: dict) -> None:
    """The closing table: milliseconds a frame by element, from the tracer's report."""
    print(f"\n{'frames':<24}{frames_of(trace):>10}")
    print(f"{'frames/s':<24}{frames_of(trace) / trace['seconds']:>10.1f}")
    print(f"\n{'element':<24}{'ms a frame':>10}")
    for element in trace["elements"]:
        print(f"{element['factory']:<24}{element['ms_per_frame']:>10.2f}")


def main(what: str, video: str | None = None) -> int:
    name, stem, own = DEMOS[what]
    chosen, video = pipeline.read(name), video or own
    files = {key: Path("out", stem + end) for key, end in (("output", ".mp4"), ("json", ".jsonl")) if key in chosen.keys}
    log, report = (Path("out", stem + end) for end in (".log", ".trace.json"))
    values = {"video": video} | {key: str(path) for key, path in files.items()}
    command = pipeline.command(chosen.arguments(values), "-e", "--force-position")
    print(pipeline.printable(command), flush=True)
    for stale in (*files.values(), report):
        stale.unlink(missing_ok=True)
    tracing = {"GST_TRACERS": f"cudainfertracer(json={report.absolute()})", "LC_ALL": "C.UTF-8"}
    launch, progress = Launch(command, pipeline.environment() | tracing, log), Progress()
    # Ctrl-C reaches gst-launch too, which closes the video properly (-e) and ends.
    signal.signal(signal.SIGINT, lambda *_: None)
    while launch.running():
        progress.show(launch.share)
        time.sleep(0.1)
    progress.close()
    for complaint in launch.complaints:
        print(complaint, file=sys.stderr)
    if launch.process.returncode != 0 or launch.failed_at:
        print(f"demo: gst-launch-1.0 failed, see above and {log}", file=sys.stderr)
        return launch.process.returncode if launch.process.returncode > 0 else 1
    trace = json.loads(report.read_text()) if report.exists() else {"elements": []}
    if frames_of(trace) == 0:
        print(f"demo: no frame came out of {video}: has it a video stream? See {log}", file=sys.stderr)
        return 1
    table(trace)
    print("", *files.values(), sep="\n")
    return 0


if __name__ == "__main__":
    pipeline.start("demo", lambda: main(*sys.argv[1:]))
