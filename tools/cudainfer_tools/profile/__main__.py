"""Started by scripts/profile, whose head says how."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path

from cudainfer_tools import pipeline
from cudainfer_tools.profile import compare, launch, networks, scenarios, summary
from cudainfer_tools.profile.trace import TraceError


def arguments(words: list[str]) -> tuple[str, list[str]]:
    """A name for the run, and the pipeline's words: those of a file in pipelines/ with its keys, or what is given."""
    if " ! " in words[0]:
        if words[1:]:
            raise pipeline.PipelineError(f"'{words[1]}' follows the pipeline. Give options before it")
        words = shlex.split(words[0])
    if "!" in words:
        return "pipeline", words
    return words[0].replace("/", "-"), pipeline.read(words[0]).arguments(pipeline.values(words[1:]))


def made(folder: Path) -> Path:
    """The folder, which is new or empty: nobody's profile is overwritten."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise pipeline.PipelineError(f"'{folder}' is not empty. Give --output a new folder")
    return folder


def written(folder: Path) -> summary.Profile:
    """Reads a folder and writes summary.txt, report.json and report.html into it."""
    # Not above: a machine that only measures need not have what draws.
    from cudainfer_tools.profile import page

    profile = summary.read(folder)
    summary.write(profile)
    (folder / "report.html").write_text(page.report(profile))
    return profile


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/profile", description=__doc__, add_help=False)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--environment", type=Path, metavar="FOLDER")
    parser.add_argument("--read", type=Path, metavar="FOLDER")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"))
    parser.add_argument("--scenarios", type=Path, metavar="FOLDER")
    parser.add_argument("--networks", type=Path, metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("words", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.environment:
        folder = made(options.environment)
        print(f"export GST_TRACERS={shlex.quote(launch.tracers(folder))}")
        return 0
    if options.compare:
        from cudainfer_tools.profile import page

        before, after = map(summary.read, options.compare)
        output = options.output or Path("out", "compare.html")
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(page.compared(before, after, compare.rows(before, after)))
        print(compare.text(before, after), output, sep="\n")
        return 0
    if options.scenarios:
        values = pipeline.values([word for word in options.words if "=" in word])
        only = [word for word in options.words if "=" not in word]
        if unknown := next((name for name in only if name not in scenarios.names()), None):
            raise pipeline.PipelineError(f"there is no scenario '{unknown}'; there are: {', '.join(scenarios.names())}")
        scenarios.run(made(options.scenarios), values, options.rounds, options.seconds, only)
        return 0
    if options.networks:
        chosen = {downstream: Path(model) for downstream, model in pipeline.values(options.words).items()}
        networks.run(made(options.networks), chosen, options.seconds)
        return 0
    if options.read:
        print(summary.text(written(options.read)), options.read / "report.html", sep="\n")
        return 0
    if not options.words:
        raise pipeline.PipelineError(
            "no pipeline is given. Give one as gst-launch-1.0 takes it, or a name of scripts/run with its keys"
        )
    name, words = arguments(options.words)
    pipeline.environment()
    folder = made(options.output or Path("out", f"profile-{name}-{time.strftime('%Y%m%d-%H%M%S')}"))
    print(pipeline.printable(pipeline.command(words)), flush=True)
    status = launch.launch(words, folder, options.seconds)
    try:
        profile = written(folder)
    except TraceError as error:
        said = launch.failure(folder)
        raise pipeline.PipelineError(
            f"the pipeline failed before any frame flowed: {said}" if said else f"{error}; see {folder / 'log.txt'}"
        ) from None
    print(f"\n{summary.text(profile)}", folder / "report.html", sep="\n")
    if status != 0:
        print(f"profile: the pipeline failed: {launch.failure(folder) or folder / 'log.txt'}", file=sys.stderr)
        return status if status > 0 else 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (pipeline.PipelineError, TraceError) as error:
        sys.exit(f"profile: {error}")
    except FileNotFoundError as error:
        sys.exit(f"profile: {error}. Is gst-launch-1.0 installed? scripts/setup installs it")
