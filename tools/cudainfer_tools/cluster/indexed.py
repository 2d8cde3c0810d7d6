"""Runs 60 clips, 6 of them broken, as the Indexed Job of deploy/cluster/kubernetes in podman, and meanwhile kills and evicts
containers at random. What Kubernetes would do with an exit code is done as the manifest's podFailurePolicy says. At the end the
results must be those of a serial run, byte for byte.

python3 tools cluster.indexed FOLDER MODEL.onnx IMAGE [SEED]      in a Python with PyYAML; see tools/try-indexed-job

Containers have the manifest's user, read-only root and lack of privileges, no network and no GPU. Volumes, limits and nodes are
Kubernetes' own, and not tried.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import yaml

from cudainfer_tools.cluster import clips
from cudainfer_tools.repository import ROOT

CLIPS, BROKEN, AT_ONCE, FAULTS = 60, 6, 2, 25
# Seconds after which something hangs.
LIMIT = 900
# As on other machines: a signal's number above 128.
KILLED = 137


class Job:
    """The Indexed Job: its containers, and what is done with their exit codes."""

    def __init__(self, folder: Path, image: str, words: list[str]) -> None:
        spec = yaml.safe_load((ROOT / "deploy/cluster/kubernetes/job.yaml").read_text())["spec"]
        pod = spec["template"]["spec"]
        (container,) = pod["containers"]
        self.completions: int = spec["completions"]
        self.rules: list[dict] = spec["podFailurePolicy"]["rules"]
        self.retries: int = spec["backoffLimitPerIndex"]
        user = pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsGroup"]
        secure = container["securityContext"]
        self.podman = os.environ.get("PODMAN", "podman").split()
        self.options = ["--rm", "--network=none", "--no-healthcheck", f"--user={user[0]}:{user[1]}", "--tmpfs=/tmp"]
        self.options += ["--ulimit=nofile=20000:20000", "--ulimit=nproc=4096:4096"]
        self.options += ["--read-only"] if secure["readOnlyRootFilesystem"] else []
        self.options += [f"--cap-drop={name}" for name in secure["capabilities"]["drop"]]
        self.options += [] if secure["allowPrivilegeEscalation"] else ["--security-opt=no-new-privileges"]
        self.options += [f"--env={each['name']}={each['value']}" for each in container["env"]]
        mounts = {"/videos": "ro", "/models": "ro", "/manifest": "ro", "/labels": "rw", "/var/cache/cudainfer": "rw"}
        for place, mode in mounts.items():
            here = folder / place.rsplit("/", 1)[-1]
            here.mkdir(exist_ok=True)
            os.chown(here, *user)
            self.options.append(f"--volume={here}:{place}:{mode}")
        self.command = [*container["command"], *words]
        self.image = image

    def start(self, name: str, *options: str) -> subprocess.Popen[str]:
        """A container of this name."""
        command = [*self.podman, "run", f"--name={name}", *self.options, *options, self.image, *self.command]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def signal(self, name: str, signal: str) -> bool:
        """Sends a signal, if the container runs."""
        done = subprocess.run([*self.podman, "kill", f"--signal={signal}", name], check=False, capture_output=True)
        return done.returncode == 0

    def action(self, code: int) -> str:
        """What the policy says about an exit code."""
        for rule in self.rules:
            if code in rule.get("onExitCodes", {}).get("values", []):
                return str(rule["action"])
        return "Count"


def work(job: Job, chance: random.Random) -> dict[str, int]:
    """Runs all indexes, some at a time, and disturbs them. Returns how often what happened."""
    waiting = list(range(job.completions))
    running: dict[int, tuple[str, subprocess.Popen[str]]] = {}
    failures = dict.fromkeys(waiting, 0)
    counts: dict[str, int] = {}

    def count(what: str) -> None:
        counts[what] = counts.get(what, 0) + 1

    begin, started = time.monotonic(), 0
    while waiting or running:
        if time.monotonic() - begin > LIMIT:
            sys.exit(f"try-indexed-job: not within {LIMIT} s: all indexes end")
        while waiting and len(running) < AT_ONCE:
            index, started = waiting.pop(0), started + 1
            name = f"labels-{os.getpid()}-{started}"
            running[index] = (name, job.start(name, f"--env=JOB_COMPLETION_INDEX={index}"))
        time.sleep(chance.uniform(0.2, 1.5))
        if sum(counts.get(what, 0) for what in ("kill", "evict")) < FAULTS:
            name, _ = chance.choice(list(running.values()))
            what, signal = chance.choice([("kill", "KILL"), ("evict", "TERM")])
            if job.signal(name, signal):
                count(what)
        for index, (_, process) in list(running.items()):
            if (code := process.poll()) is None:
                continue
            del running[index]
            action = job.action(code) if code else "complete"
            count(f"exit {code}: {action}")
            if action == "FailJob":
                sys.exit(f"try-indexed-job: index {index} ended with {code}: {process.stderr.read() if process.stderr else ''}")
            # A container that this trial killed is a pod that is gone: a disruption, which is ignored.
            failures[index] += action == "Count" and code != KILLED
            if failures[index] > job.retries:
                sys.exit(f"try-indexed-job: index {index} has failed {failures[index]} times, the last with {code}")
            if action in ("Ignore", "Count"):
                waiting.append(index)
    return counts


def main(words: list[str]) -> None:
    if len(words) not in (3, 4):
        sys.exit(__doc__)
    folder, model, image = Path(words[0]), Path(words[1]), words[2]
    seed = int(words[3]) if len(words) == 4 else random.randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    for name in ("videos", "models", "manifest"):
        (folder / name).mkdir(parents=True)
    for file in [model, *model.parent.glob(f"{model.stem}.toml")]:
        (folder / "models" / file.name).write_bytes(file.read_bytes())
    videos = clips.make(folder / "videos", CLIPS, BROKEN)
    (folder / "manifest/p.launch").write_text(clips.PIPELINE)
    (folder / "manifest/videos.txt").write_text("".join(f"/videos/{video.name}\n" for video in videos))
    given = ["--pipeline", "/manifest/p.launch", "--set", f"model=/models/{model.name}", "--jobs", "1"]
    for kind, pace in ("serial", "0"), ("job", "20000"):
        # Two runs in folders of their own, both of which containers see as /labels.
        root = folder / kind
        root.mkdir()
        for name in ("videos", "models", "manifest"):
            (root / name).symlink_to(folder / name)
        job = Job(root, image, [*given, "--set", f"pace={pace}", "/manifest/videos.txt"])
        if kind == "job":
            counts = work(job, random.Random(seed))
        last = job.start(f"labels-{os.getpid()}-{kind}", "--env=JOB_COMPLETION_INDEX=0", "--env=JOB_COMPLETIONS=1")
        log = last.communicate()[1]
        print(log.splitlines()[-1], flush=True)
        if last.returncode != 65:
            sys.exit(f"try-indexed-job: the {kind}'s last run ended with {last.returncode}, expected 65: {log}")
    serial = folder / "serial/labels"
    wrong = clips.wrong(folder / "job/labels", serial, log, CLIPS, BROKEN)
    happened = ", ".join(f"{what}: {times}" for what, times in sorted(counts.items()))
    print(f"{len(clips.results(serial))} results of {CLIPS - BROKEN} videos, {len(clips.errors(serial))} errors; {happened}")
    sys.exit("try-indexed-job: " + "; ".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
