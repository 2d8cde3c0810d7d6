"""The bare session loop: the model alone, as often as it runs on the CPU. `scripts/bench --streams` compares pipelines with it.

    python3 tools bench.session MODEL BATCH SESSIONS THREADS SECONDS [--beside LINE FRAME STREAMS]

Each of SESSIONS threads has a session of THREADS threads and runs it on random values. With --beside, decoding runs
along: each frame of a batch is first read from one of STREAMS gst-launch processes that write decoded frames by LINE (it
ends in fdsink) as fast as they are read; LINE is words in JSON, FRAME the bytes of a frame. Prints {"frames", "seconds"}.
"""

from __future__ import annotations

import argparse
import io
import json
import queue
import subprocess
import threading
import time

import numpy as np
import onnxruntime

WARM_UP_S = 1.0


def values(session: onnxruntime.InferenceSession, batch: int) -> dict[str, np.ndarray]:
    """Random values like those of a normalised picture, for each input."""
    random = np.random.default_rng(1)
    feeds = {}
    for given in session.get_inputs():
        first, *others = given.shape
        dims = [first if isinstance(first, int) else batch, *others]
        feeds[given.name] = random.standard_normal(dims).astype(np.float16 if "float16" in given.type else np.float32)
    return feeds


class Decoders:
    """Processes that write decoded frames; `take` hands out one of whichever has one, or None when the video has ended."""

    def __init__(self, command: list[str], size: int, streams: int):
        self.size = size
        self.ready: queue.Queue[bool] = queue.Queue(maxsize=2 * streams)
        self.running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(streams)]
        for process in self.running:
            threading.Thread(target=self.read, args=(process,), daemon=True).start()

    def read(self, process: subprocess.Popen) -> None:
        frame = bytearray(self.size)
        assert isinstance(process.stdout, io.BufferedReader)
        while process.stdout.readinto(frame) == self.size:
            self.ready.put(True)
        self.ready.put(False)

    def take(self) -> bool:
        return self.ready.get()

    def stop(self) -> None:
        for process in self.running:
            process.kill()
            process.wait()


class Loop:
    """Sessions that run at the same time."""

    def __init__(self, given: argparse.Namespace, decoders: Decoders | None):
        self.batch, self.decoders, self.going = given.batch, decoders, True
        self.done: list[float] = []
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = given.threads
        sessions = [onnxruntime.InferenceSession(given.model, options, ["CPUExecutionProvider"]) for _ in range(given.sessions)]
        self.threads = [threading.Thread(target=self.work, args=(session,)) for session in sessions]

    def work(self, session: onnxruntime.InferenceSession) -> None:
        feeds = values(session, self.batch)
        while self.going:
            if self.decoders and not all(self.decoders.take() for _ in range(self.batch)):
                self.going = False
                return
            session.run(None, feeds)
            self.done.append(time.perf_counter())

    def run(self, seconds: float) -> dict[str, float]:
        for thread in self.threads:
            thread.start()
        start = time.perf_counter() + WARM_UP_S
        while self.going and time.perf_counter() < start + seconds:
            time.sleep(0.01)
        stop = min(time.perf_counter(), self.done[-1])
        self.going = False
        for thread in self.threads:
            thread.join()
        return {"frames": self.batch * sum(start <= at <= stop for at in self.done), "seconds": stop - start}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    for name in ("batch", "sessions", "threads"):
        parser.add_argument(name, type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--beside", nargs=3, metavar=("LINE", "FRAME", "STREAMS"))
    given = parser.parse_args()
    decoders = None
    if given.beside:
        line, size, streams = given.beside
        decoders = Decoders(json.loads(line), int(size), int(streams))
    try:
        print(json.dumps(Loop(given, decoders).run(given.seconds)))
    finally:
        if decoders:
            decoders.stop()


if __name__ == "__main__":
    main()
