"""Measures what the page's wall takes of a processor, in the browser and in cudainfer-serve. Started by scripts/bench --page.

    python3 tools bench.page [--streams N] [--seconds N] [--rounds N]

Each round has the service with Chromium that shows an empty page, then with the same Chromium that shows the wall. The page's figures are
what the browser, with all its processes, and the service take more then. Chromium draws without a GPU here; a browser with one takes less.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cudainfer_tools import pipeline
from cudainfer_tools.machine import commit, processor
from cudainfer_tools.repository import ROOT

BROWSERS = ("chromium", "chromium-headless-shell", "google-chrome")
# A browser's start takes its time from the whole machine.
SETTLING_S = 15


def configuration(port: int, streams: int) -> str:
    model = ROOT / ".cache/test-models/detector-batch.onnx"
    line = f"fusedpreproc ! trtinfer model={model} batch-size=4 ! gpunms ! tracker ! inferoverlay"
    text = f'[server]\nlisten = "127.0.0.1:{port}"\n[pipeline.colours]\nline = "{line}"\n'
    for number in range(streams):
        text += f'[[source]]\nname = "camera-{number:02}"\nuri = "test://ball?width=640&height=480&rate=5"\npipeline = "colours"\n'
    return text


def cpu_seconds(root: int) -> float:
    """The CPU time of a process and of all that come from it, those that have ended too."""
    parents, ticks = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(") ")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    family = {root}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(ticks.get(pid, 0) for pid in family) / os.sysconf("SC_CLK_TCK")


def share(pids: dict[str, int], seconds: float) -> dict[str, float]:
    """What each takes of one core meanwhile, in percent."""
    before, begun = {name: cpu_seconds(pid) for name, pid in pids.items()}, time.monotonic()
    time.sleep(seconds)
    passed = time.monotonic() - begun
    return {name: 100 * (cpu_seconds(pid) - before[name]) / passed for name, pid in pids.items()}


class Browser:
    """Chromium with one page, asked over its pipe of the DevTools protocol."""

    session: str | None = None

    def __init__(self, program: str, folder: str) -> None:
        (read, to_browser), (from_browser, write) = os.pipe(), os.pipe()
        fixed = f'exec 3<&{read} 4>&{write}; exec "$@"'
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--window-size=1920,1080"]
        self.process = subprocess.Popen(
            ["bash", "-c", fixed, "browser", program, *arguments, f"--user-data-dir={folder}", "about:blank"],
            pass_fds=(read, write),
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(read)
        os.close(write)
        self.to, self.answers, self.number = os.fdopen(to_browser, "wb"), os.fdopen(from_browser, "rb"), 0
        page = next(target for target in self.call("Target.getTargets")["targetInfos"] if target["type"] == "page")
        attached = self.call("Target.attachToTarget", {"targetId": page["targetId"], "flatten": True})
        self.session = attached["sessionId"]

    def call(self, method: str, params: dict | None = None) -> dict:
        self.number += 1
        request = {"id": self.number, "method": method, "params": params or {}}
        if self.session:
            request["sessionId"] = self.session
        self.to.write(json.dumps(request).encode() + b"\0")
        self.to.flush()
        while True:
            answer = json.loads(self.message())
            if answer.get("id") == self.number:
                return answer["result"]

    def message(self) -> bytes:
        read = bytearray()
        while (byte := self.answers.read(1)) != b"\0":
            if not byte:
                raise pipeline.PipelineError(f"the browser has ended with {self.process.wait()}")
            read += byte
        return bytes(read)

    def evaluate(self, expression: str) -> int:
        return self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True})["result"].get("value")

    def stop(self) -> None:
        os.killpg(self.process.pid, 15)
        self.process.wait(30)


# Pictures drawn since it was asked first.
DRAWN = """(() => {
  if (window.drawn === undefined) {
    window.drawn = 0;
    const draw = CanvasRenderingContext2D.prototype.drawImage;
    CanvasRenderingContext2D.prototype.drawImage = function (...given) { window.drawn += 1; return draw.apply(this, given); };
  }
  return window.drawn;
})()"""


def round_of(program: str, streams: int, seconds: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        config = Path(folder) / "serve.toml"
        config.write_text(configuration(port, streams))
        command = [str(pipeline.built() / "cudainfer-serve"), str(config)]
        log = Path(folder) / "log"
        service = subprocess.Popen(command, env=pipeline.environment(), stderr=log.open("wb"))
        try:
            time.sleep(SETTLING_S)
            if (playing := log.read_text().count(": playing")) != streams:
                raise pipeline.PipelineError(f"{playing} of {streams} streams play:\n{log.read_text()[-1000:]}")
            browser = Browser(program, f"{folder}/profile")
            try:
                pids = {"service": service.pid, "browser": browser.process.pid}
                time.sleep(SETTLING_S)
                without = share(pids, seconds)
                browser.call("Page.navigate", {"url": f"http://127.0.0.1:{port}/"})
                time.sleep(SETTLING_S)
                drawn = browser.evaluate(DRAWN)
                measured = share(pids, seconds)
                drawn = browser.evaluate(DRAWN) - drawn
            finally:
                browser.stop()
        finally:
            service.terminate()
            service.wait(60)
    return {
        "page_in_browser_percent": round(measured["browser"] - without["browser"], 2),
        "page_in_service_percent": round(measured["service"] - without["service"], 2),
        "empty_browser_percent": round(without["browser"], 2),
        "service_alone_percent": round(without["service"], 2),
        "pictures_per_second_each": round(drawn / seconds / streams, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench --page", description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        sys.exit("There is no Chromium here. Install the package chromium.")
    header = {
        "processor": processor(),
        "cores": os.cpu_count(),
        "commit": commit(),
        "browser": subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip(),
        "streams": given.streams,
        "seconds": given.seconds,
        "load": os.getloadavg()[1],
    }
    file = ROOT / "benches" / "results" / f"page-{datetime.date.today().isoformat()}.jsonl"
    with file.open("w") as kept:
        print(json.dumps(header), file=kept)
        for _ in range(given.rounds):
            row = json.dumps(round_of(program, given.streams, given.seconds))
            print(row, flush=True)
            print(row, file=kept, flush=True)
    print(file.relative_to(ROOT))


if __name__ == "__main__":
    main()
