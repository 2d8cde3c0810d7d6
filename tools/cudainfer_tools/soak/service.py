"""cudainfer-serve with sixteen streams of four kinds, to which something is done every few seconds, drawn from a seed."""

from __future__ import annotations

import json
import random
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from cudainfer_tools import pipeline
from cudainfer_tools.repository import ROOT
from cudainfer_tools.soak.demo import video
from cudainfer_tools.soak.process import Watched

STREAMS = 16
PATIENCE_S = 120
# What is freed in the background after a stream has ended: pictures of events, records, connections.
SETTLING_S = 10

LINES = {
    # A detector of people in every fifth frame, with tracks, counts and a picture.
    "count": "fusedpreproc interval=4 ! trtinfer model={model} ! gpunms classes=person ! tracker ! zonecount units=fraction zones={zones} ! inferoverlay",
    # A network that finds colours.
    "colours": "fusedpreproc ! trtinfer model={model} batch-size=4 ! gpunms ! tracker ! zonecount units=fraction zones={zones}",
}
ZONES = [
    [{"name": "middle", "kind": "line", "points": [[0, 0.5], [1, 0.5]]}],
    [{"name": "all", "kind": "polygon", "points": [[0, 0], [1, 0], [1, 1], [0, 1]]}],
]


def source(number: int) -> dict:
    """A stream's source: files, which are decoded, and test pictures of other sizes and rates."""
    name = f"s{number:02}"
    if number % 4 == 0:
        return {"name": name, "uri": video().resolve().as_uri(), "loop": True, "pipeline": "count"}
    size = [(320, 240, 10), (640, 480, 5), (128, 96, 15)][number % 3]
    uri = "test://ball?width={}&height={}&rate={}".format(*size)
    return {"name": name, "uri": uri, "pipeline": "colours"}


def configuration(port: int) -> str:
    models = {"count": ROOT / ".cache/models/nanodet.onnx", "colours": ROOT / ".cache/test-models/detector-batch.onnx"}
    text = f'[server]\nlisten = "127.0.0.1:{port}"\nstate = "state"\nmodels = "{ROOT / ".cache/test-models"}"\n'
    text += '[[publish]]\nlocation = "results-{name}.jsonl"\nmax-size = 1000000\nmax-files = 2\n'
    for name, line in LINES.items():
        text += f'[pipeline.{name}]\nline = "{line}"\nset = {{ model = "{models[name]}", zones = "middle=line:0,0.5,1,0.5" }}\n'
    for number in range(STREAMS):
        rows = [f"{key} = {json.dumps(value)}" for key, value in source(number).items()]
        text += "\n".join(["[[source]]", *rows, ""])
    return text


class Service:
    """The running service."""

    def __init__(self, folder: Path, environment: dict[str, str], port: int, seed: int) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "serve.toml").write_text(configuration(port))
        self.url = f"http://127.0.0.1:{port}"
        self.dice = random.Random(seed)
        self.done: dict[str, int] = {}
        program = str(pipeline.built() / "cudainfer-serve")
        checked = subprocess.run([program, "--check", "serve.toml"], cwd=folder, env=environment, capture_output=True, text=True)
        if checked.returncode != 0:
            raise pipeline.PipelineError(checked.stderr.strip())
        self.watched = Watched("serve", [program, "serve.toml"], folder, environment)

    def ask(self, method: str, path: str, body: dict | None = None) -> bytes:
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return answer.read()

    def frames(self) -> int:
        """Frames of all streams so far, of those that are there."""
        return sum(stream["frames"] for stream in json.loads(self.ask("GET", "/status"))["streams"])

    def status(self) -> dict:
        """Frames and states for a sample; neither where a busy machine has no answer in time, which is counted."""
        try:
            return {"frames": self.frames(), "states": self.states()}
        except OSError:
            self.done["status without an answer"] = self.done.get("status without an answer", 0) + 1
            return {"frames": None, "states": None}

    def states(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for stream in json.loads(self.ask("GET", "/status"))["streams"]:
            counts[stream["state"]] = counts.get(stream["state"], 0) + 1
        return counts

    def rest(self) -> None:
        """Removes all streams, and waits until what they have held is given back."""
        for stream in json.loads(self.ask_until_answered("GET", "/status"))["streams"]:
            self.ask_until_answered("DELETE", f"/v1/streams/{stream['name']}")
        time.sleep(SETTLING_S)

    def begin_again(self) -> None:
        """Adds all streams, as the configuration has them."""
        for number in range(STREAMS):
            self.ask_until_answered("POST", "/v1/streams", source(number))
        self.done["rests"] = self.done.get("rests", 0) + 1

    def ask_until_answered(self, method: str, path: str, body: dict | None = None) -> bytes:
        """Asks again where a busy machine has no answer in time. What was done by then is refused the second time, which is right."""
        asked_before = False
        while True:
            try:
                return self.ask(method, path, body)
            except urllib.error.HTTPError:
                if not asked_before:
                    raise
                return b""
            except OSError:
                asked_before = True
                self.done["asked again"] = self.done.get("asked again", 0) + 1
                # It may have ended, which is an error.
                self.watched.sample()

    def change(self) -> None:
        """Does one thing to one stream. What is refused is counted by its status."""
        number = self.dice.randrange(STREAMS)
        stream = f"/v1/streams/{source(number)['name']}"
        name = self.dice.choice(["threshold", "zones", "restart", "again", "size", "model", "picture"])
        try:
            match name:
                case "threshold":
                    self.ask("PATCH", stream, {"override": {"gpunms.confidence": self.dice.choice([0.3, 0.4, 0.5])}})
                case "zones":
                    self.ask("PUT", f"{stream}/zones", {"units": "fraction", "zones": self.dice.choice(ZONES)})
                case "restart":
                    self.ask("POST", f"{stream}/restart")
                case "again":
                    self.ask("DELETE", stream)
                    self.ask("POST", "/v1/streams", source(number))
                case "size" if number % 4:
                    width, height = self.dice.choice([(320, 240), (160, 120), (96, 64)])
                    self.ask("PATCH", stream, {"uri": f"test://ball?width={width}&height={height}&rate=10"})
                case "model":
                    file = self.dice.choice(["detector-batch.onnx", "detector-retrained.onnx"])
                    self.ask("PUT", "/v1/pipelines/colours/model", {"model": str(ROOT / ".cache/test-models" / file)})
                case _:
                    self.ask("GET", f"{stream}/snapshot.jpg")
        except urllib.error.HTTPError as error:
            # There is no picture of a stream that has just been started.
            name = f"{name}: {error.code}"
        except OSError:
            name = f"{name} without an answer"
        self.done[name] = self.done.get(name, 0) + 1
