"""Runs 200 clips, 20 of them broken, as an array of four tasks in a Slurm with two slots on this machine, and meanwhile kills, stops,
cancels and requeues what runs, at random. At the end the results must be those of a serial run, byte for byte.

python3 tools cluster.slurm FOLDER MODEL.onnx [SEED]      in a root folder with slurm-wlm and munge; see tools/try-cluster
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cudainfer_tools.cluster import clips, recipe
from cudainfer_tools.repository import ROOT

CLIPS, BROKEN, TASKS, FAULTS = 200, 20, 4, 40
# Seconds after which something hangs.
LIMIT = 900
CONFIGURATION = """ClusterName=trial
SlurmctldHost={host}
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
ReturnToService=2
MpiDefault=none
KillWait=5
SlurmdParameters=config_overrides
NodeName={host} CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def run(*command: str, check: bool = True) -> str:
    """A command's output."""
    return subprocess.run(command, check=check, capture_output=True, text=True).stdout


def start() -> None:
    """Starts Slurm, and waits until its node is idle."""
    host = os.uname().nodename.split(".")[0]
    # Another trial's daemons ended without tidying up.
    for folder in ("/var/spool/slurmctld", "/var/spool/slurmd", "/run/munge"):
        shutil.rmtree(folder, ignore_errors=True)
    for folder in ("/var/spool/slurmctld", "/var/spool/slurmd", "/run/munge", "/etc/slurm", "/var/log/munge"):
        Path(folder).mkdir(parents=True, exist_ok=True)
    Path("/etc/slurm/slurm.conf").write_text(CONFIGURATION.format(host=host))
    Path("/etc/slurm/cgroup.conf").write_text("CgroupPlugin=disabled\n")
    if host not in Path("/etc/hosts").read_text():
        with Path("/etc/hosts").open("a") as hosts:
            hosts.write(f"127.0.0.1 {host}\n")
    run("chown", "-R", "munge:munge", "/run/munge", "/var/log/munge", "/etc/munge", "/var/lib/munge")
    subprocess.run(["runuser", "-u", "munge", "--", "munged"], check=True)
    for daemon in ("slurmctld", "slurmd"):
        with Path(f"/var/log/{daemon}.log").open("w") as log:
            subprocess.Popen([daemon, "-D"], stdout=log, stderr=subprocess.STDOUT)
    until("the node is idle", lambda: "idle" in run("sinfo", "--noheader", "--format", "%t", check=False))


def until(what: str, done: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT
    while not done():
        if time.monotonic() > end:
            sys.exit(f"try-cluster: not within {LIMIT} s: {what}")
        time.sleep(0.2)


def processes() -> list[int]:
    """The processes of cudainfer-batch."""
    return [int(word) for word in run("pgrep", "-x", "cudainfer-batch", check=False).split()]


def running() -> list[str]:
    """The array's tasks that run, as ARRAY_TASK."""
    return run("squeue", "--noheader", "--states", "RUNNING", "--format", "%F_%K", check=False).split()


def disturb(chance: random.Random) -> str | None:
    """Does one thing that a cluster does to processes. Returns which, if there was anything to do it to."""
    what = chance.choice(["kill -9", "SIGSTOP", "scancel", "requeue"])
    if what in ("kill -9", "SIGSTOP"):
        found = processes()
        if not found:
            return None
        try:
            os.kill(process := chance.choice(found), signal.SIGKILL if what == "kill -9" else signal.SIGSTOP)
            if what == "SIGSTOP":
                time.sleep(chance.uniform(0.1, 2))
                os.kill(process, signal.SIGCONT)
        except ProcessLookupError:
            return None
        return what
    tasks = running()
    if not tasks:
        return None
    command = ["scancel"] if what == "scancel" else ["scontrol", "requeue"]
    run(*command, chance.choice(tasks), check=False)
    return what


def finished(out: Path) -> int:
    """How many videos have results or an error."""
    return sum(1 for ending in ("summary", "error") for _ in out.glob(f"*.{ending}.json"))


def main(words: list[str]) -> None:
    if len(words) not in (2, 3):
        sys.exit(__doc__)
    folder, model, seed = Path(words[0]), words[1], int(words[2]) if len(words) == 3 else random.randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    videos = clips.make(folder / "videos", CLIPS, BROKEN)
    (folder / "p.launch").write_text(clips.PIPELINE)
    manifest = folder / "videos.txt"
    manifest.write_text("".join(f"{video}\n" for video in videos))
    common = ["--pipeline", str(folder / "p.launch"), "--set", f"model={model}"]
    serial, out = folder / "serial", folder / "out"
    command = ["cudainfer-batch", "run", *common, "--out", str(serial), "--jobs", "1", str(manifest)]
    first = subprocess.run(command, check=False, capture_output=True, text=True)
    print(first.stderr.splitlines()[-1], flush=True)
    if first.returncode != 65:
        sys.exit(f"try-cluster: the serial run ended with {first.returncode}, expected 65")

    start()
    recipe.check(folder / "recipe")
    print("the script does with each exit code what it should", flush=True)
    script = ROOT / "deploy/cluster/slurm.sbatch"
    paced = [*common, "--set", "pace=20000", "--out", str(out), "--jobs", "2", str(manifest)]
    slots = ["--gres=none", "--mem=0", "--cpus-per-task=1", f"--output={folder}/task-%a.log", f"--chdir={folder}"]
    counts: dict[str, int] = {}
    submitted, begin = 0, time.monotonic()
    while finished(out) < CLIPS:
        if time.monotonic() - begin > LIMIT:
            sys.exit(f"try-cluster: {finished(out)} of {CLIPS} videos after {LIMIT} s")
        if not run("squeue", "--noheader", check=False).strip():
            run("sbatch", f"--array=0-{TASKS - 1}", *slots, str(script), *paced)
            submitted += 1
        # Slurm lets a task that was queued again wait two minutes.
        for task in run("squeue", "--noheader", "--states", "PENDING", "--format", "%F_%K", check=False).split():
            run("scontrol", "update", f"JobId={task}", "StartTime=now", check=False)
        time.sleep(chance.uniform(0.2, 1.2))
        if sum(counts.values()) < FAULTS and (done := disturb(chance)):
            counts[done] = counts.get(done, 0) + 1
    until("the queue is empty", lambda: not run("squeue", "--noheader", check=False).strip())

    whole = subprocess.run(["cudainfer-batch", "run", *paced], check=False, capture_output=True, text=True)
    print(whole.stderr.splitlines()[-1])
    wrong = []
    if whole.returncode != 65:
        wrong.append(f"the last run ended with {whole.returncode}, expected 65")
    wrong += clips.wrong(out, serial, whole.stderr, CLIPS, BROKEN)
    faults = ", ".join(f"{what}: {count}" for what, count in sorted(counts.items()))
    of_serial = f"{len(clips.results(serial))} results of {CLIPS - BROKEN} videos, {len(clips.errors(serial))} errors"
    print(f"{of_serial}; {faults}; arrays submitted: {submitted}")
    sys.exit("try-cluster: " + "; ".join(wrong) if wrong else 0)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except recipe.RecipeError as error:
        sys.exit(f"try-cluster: {error}")
