"""Runs cudainfer-serve as it is installed, for tools/try-packages, which starts this in the Debian or Ubuntu that it tries:

    python3 try_service.py CONFIG.toml playing|ended SECONDS

Checks the configuration, runs it and waits until its streams are in that state, with frames. For SECONDS it must stay so and /livez must
answer; then SIGTERM must end it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request

URL = "http://127.0.0.1:8080"
GENEROUS = 120


def get(path: str) -> dict:
    with urllib.request.urlopen(URL + path, timeout=10) as answer:
        return json.load(answer)


def all_are(state: str) -> bool:
    streams = get("/status")["streams"]
    return bool(streams) and all(stream["state"] == state and stream["frames"] for stream in streams)


def wait_until_all_are(state: str, service: subprocess.Popen) -> None:
    give_up = time.monotonic() + GENEROUS
    while time.monotonic() < give_up:
        if service.poll() is not None:
            sys.exit(f"cudainfer-serve has ended by itself, with {service.returncode}")
        try:
            if all_are(state):
                return
        except OSError:
            pass  # It does not listen yet.
        time.sleep(0.1)
    sys.exit(f"after {GENEROUS} s not all streams are {state}: {json.dumps(get('/status'))}")


def main(config: str, state: str, seconds: float) -> None:
    subprocess.run(["cudainfer-serve", "--check", config], check=True)
    service = subprocess.Popen(["cudainfer-serve", config])
    try:
        wait_until_all_are(state, service)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if (answer := get("/livez")) != {"status": "ok"}:
                sys.exit(f"/livez says {answer}")
            time.sleep(0.5)
        streams = get("/status")["streams"]
        print(", ".join(f"{stream['name']}: {stream['state']}, {stream['frames']} frames" for stream in streams))
        if not all_are(state):
            sys.exit(f"they are not {state} any more: {json.dumps(streams)}")
        service.terminate()
        if code := service.wait(GENEROUS):
            sys.exit(f"SIGTERM has ended it with {code}")
    finally:
        service.kill()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
