"""What deploy/cluster/slurm.sbatch does with each exit code, with a stand-in for cudainfer-batch, in a Slurm that runs."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from cudainfer_tools.repository import ROOT

SCRIPT = ROOT / "deploy/cluster/slurm.sbatch"
# Seconds until something that should happen has happened.
LIMIT = 120


class RecipeError(Exception):
    """The script has done something else than it should; the message says what."""


def run(*command: str, check: bool = True) -> str:
    """A command's output."""
    return subprocess.run(command, check=check, capture_output=True, text=True).stdout


def queued() -> list[str]:
    """The states of all tasks."""
    return run("squeue", "--noheader", "--array", "--format", "%T").split()


def until(what: str, done: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT
    while not done():
        if time.monotonic() > end:
            raise RecipeError(f"not within {LIMIT} s: {what}; the queue has {queued()}")
        for task in run("squeue", "--noheader", "--array", "--states", "PENDING", "--format", "%F_%K", check=False).split():
            # Slurm lets a task that was queued again wait two minutes.
            run("scontrol", "update", f"JobId={task}", "StartTime=now", check=False)
        time.sleep(0.2)


def submit(folder: Path, program: str, tasks: int) -> Path:
    """Submits the script with a program of its own, whose runs are lines of the file that is returned."""
    folder.mkdir()
    stand_in = folder / "cudainfer-batch"
    stand_in.write_text(f"#!/bin/bash\necho $SLURM_ARRAY_TASK_ID >>{folder}/runs\nruns=$(wc -l <{folder}/runs)\n{program}\n")
    stand_in.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    command = ["sbatch", f"--array=0-{tasks - 1}", "--gres=none", "--mem=0", "--cpus-per-task=1", f"--output={folder}/log-%a"]
    subprocess.run([*command, f"--chdir={folder}", str(SCRIPT)], check=True, capture_output=True, env=environment)
    return folder / "runs"


def count(runs: Path) -> int:
    return len(runs.read_text().splitlines()) if runs.exists() else 0


def expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise RecipeError(f"{what}: {found}, expected {wanted}")


def check(folder: Path) -> None:
    """Tries all exit codes. Raises what is wrong."""
    folder.mkdir()
    runs = submit(folder / "complete", "exit 0", 2)
    until("tasks that are complete end", lambda: count(runs) == 2 and not queued())

    runs = submit(folder / "failed", "exit 65", 2)
    until("tasks with videos that have failed end", lambda: count(runs) == 2 and not queued())

    runs = submit(folder / "interrupted", "[ $runs -gt 1 ] || exit 75", 1)
    until("an interrupted task is queued again", lambda: count(runs) == 2 and not queued())

    runs = submit(folder / "signalled", "trap 'exit 75' TERM; [ $runs -gt 1 ] || while :; do sleep 0.1; done", 1)
    until("it runs", lambda: count(runs) == 1)
    run("scancel", "--batch", "--signal=TERM", "--user=root")
    until("a task that Slurm warns of its end is queued again", lambda: count(runs) == 2 and not queued())

    runs = submit(folder / "cancelled", "trap 'exit 75' TERM; while :; do sleep 0.1; done", 1)
    until("it runs", lambda: count(runs) == 1)
    run("scancel", "--user=root")
    until("a task that was cancelled ends", lambda: not queued())
    time.sleep(3)
    expect("states after scancel", queued(), [])
    expect("runs of a task that was cancelled", count(runs), 1)

    runs = submit(folder / "configuration", "[ $SLURM_ARRAY_TASK_ID = 0 ] && exit 78; sleep 20", 4)
    until("a wrong configuration cancels all tasks", lambda: count(runs) > 0 and not queued())
    expect("tasks that have run with a wrong configuration", count(runs) < 4, True)

    runs = submit(folder / "sick", "exit 70", 1)
    host = os.uname().nodename.split(".")[0]
    until("the sick machine is left out", lambda: f"ExcNodeList={host}" in run("scontrol", "show", "job", "--oneliner"))
    until("the task waits for another machine", lambda: queued() == ["PENDING"])
    expect("runs on a sick machine", count(runs), 1)
    run("scancel", "--user=root")
    until("the queue is empty", lambda: not queued())
