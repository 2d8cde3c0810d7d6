"""The pairs in pipelines/scenarios, a pipeline with one fault each and the same without it, profiled in turns."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

from cudainfer_tools import pipeline
from cudainfer_tools.gpu import clip
from cudainfer_tools.profile import launch, summary
from cudainfer_tools.repository import ROOT

MENDED = "-mended"


def names() -> list[str]:
    """The scenarios there are."""
    folder = pipeline.PIPELINES / "scenarios"
    return sorted(path.stem.removesuffix(MENDED) for path in folder.glob(f"*{MENDED}.launch"))


def prepare() -> None:
    """Makes what the scenarios read besides what scripts/setup fetches: PoseNet with an open batch, and a clip in H.264."""
    cache = ROOT / ".cache"
    model = cache / "models" / "posenet-batch.onnx"
    if not model.is_file():
        open_batch(cache / "models" / "posenet.onnx", model)
    clip.make()


def open_batch(source: Path, target: Path) -> None:
    """The network of a file with any number of frames a run: its layers say nothing about the first dimension."""
    import onnx

    model = onnx.load(source)
    for value in [*model.graph.input, *model.graph.output]:
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    del model.graph.value_info[:]
    onnx.save(model, target)
    target.with_suffix(".toml").write_bytes(source.with_suffix(".toml").read_bytes())


def run(folder: Path, values: dict[str, str], rounds: int, seconds: float | None, only: list[str]) -> dict:
    """Profiles every scenario that many times, the one with the fault and the mended one in turns; each finds the keys that it
    has among `values`. The last round's profiles stay in folders of their own."""
    prepare()
    results = {}
    for name in only or names():
        rates: dict[str, list[float]] = {"before": [], "after": []}
        found = {}
        for number in range(rounds):
            for which, stem in (("before", name), ("after", name + MENDED)):
                chosen = pipeline.read(f"scenarios/{stem}")
                arguments = chosen.arguments({key: value for key, value in values.items() if key in chosen.keys})
                place = folder / name / which if number == rounds - 1 else folder / name / f"{which}-{number + 1}"
                place.mkdir(parents=True)
                status = launch.launch(arguments, place, seconds)
                if status != 0:
                    raise pipeline.PipelineError(f"the scenario {stem} failed: see {place / 'log.txt'}")
                profile = summary.read(place)
                summary.write(profile)
                rates[which].append(profile.facts.rate)
                found[which] = profile
        row: dict = {
            which: {
                "frames_per_second": statistics.median(rates[which]),
                "rounds": rates[which],
                "bound": profile.bound.kind,
                "what": profile.bound.what,
                "remedy": profile.bound.remedy,
            }
            for which, profile in found.items()
        }
        row["gain"] = row["after"]["frames_per_second"] / row["before"]["frames_per_second"]
        results[name] = row
        print(
            f"{name:<10} {row['before']['frames_per_second']:>8.1f} -> {row['after']['frames_per_second']:>8.1f} frames a second, "
            f"{row['gain']:.2f} times; {row['before']['bound']} -> {row['after']['bound']}",
            flush=True,
        )
    first = next(iter(found.values())).run if results else {}
    reported = {
        "processor": first.get("processor"),
        "cores": first.get("cores"),
        "gpu": first.get("gpu"),
        "rounds": rounds,
        "values": values,
        "scenarios": results,
    }
    (folder / "scenarios.json").write_text(json.dumps(reported, indent=1) + "\n")
    return reported
