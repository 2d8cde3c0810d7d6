"""Measures pipelines with trtinfer with the program `load` (benches/load.rs). Used by bench and autotune."""

from __future__ import annotations

import json
import subprocess

from cudainfer_tools import pipeline

# Beyond the time that is measured: models are loaded, engines are built.
PATIENCE_S = 600


def element(model: str, settings: dict[str, object]) -> str:
    """trtinfer with its properties, as in a pipeline's text."""
    return " ".join([f'trtinfer model="{model}"', *(f"{name}={value}" for name, value in settings.items())])


def load(source: str, line: str, **options: float) -> dict:
    """What `load` prints of a source and a line; its options by name: streams, keep, rate, warm_up, seconds."""
    words = [str(word) for name, value in options.items() for word in ("--" + name.replace("_", "-"), value)]
    command = [str(pipeline.built() / "load"), *words, source, line]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired as error:
        raise pipeline.PipelineError(f"'{line}' did not end in {PATIENCE_S} s") from error
    if done.returncode != 0:
        said = done.stderr.strip() or f"load ended with status {done.returncode}"
        raise pipeline.PipelineError(said)
    return json.loads(done.stdout.splitlines()[-1])


def mean_batch(reported: dict) -> float | None:
    """Frames in a batch, on average; None where trtinfer does not count them."""
    return reported["batched_frames"] / reported["batches"] if reported.get("batches") else None
