"""Runs a pipeline of pipelines/ with gst-launch-1.0, after printing it.

scripts/run                         lists the pipelines
scripts/run NAME KEY=VALUE...       runs one
scripts/run --print NAME KEY=...    only prints it
scripts/run --watch NAME KEY=...    runs it and shows a line for each stream: frames per second, time from source to sink,
                                    frames dropped, objects a frame
scripts/run --help NAME             explains its keys
"""

import os
import sys

from cudainfer_tools import pipeline
from cudainfer_tools.run import watch


def main(words: list[str]) -> None:
    if not words:
        for name in pipeline.names():
            print(f"{name:<26}{pipeline.read(name).summary}")
        return
    options = [word for word in words if word in ("--print", "--help", "--watch")]
    words = [word for word in words if word not in options]
    option = options[0] if options else ""
    if not words:
        print(__doc__.replace("scripts/run", "cudainfer-run") if pipeline.INSTALLED else __doc__, end="")
        return
    chosen = pipeline.read(words[0])
    if option == "--help":
        print(chosen.summary)
        for name, key in chosen.keys.items():
            absent = ": cudainfer-setup-models installs one" if key.is_fetched and key.present is None else ""
            print(f"  {name + '=' + (key.present or '...'):<38}{key.help}{absent}")
        return
    arguments = chosen.arguments(pipeline.values(words[1:]))
    command = pipeline.command(arguments, "-e")
    print(pipeline.printable(command), flush=True)
    if option == "--watch":
        sys.exit(watch.run(command, pipeline.environment()))
    if option != "--print":
        os.execvpe(command[0], command, pipeline.environment())


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except pipeline.PipelineError as error:
        sys.exit(f"run: {error}")
    except FileNotFoundError:
        remedy = "install gstreamer1.0-tools" if pipeline.INSTALLED else "start scripts/setup"
        sys.exit(f"run: gst-launch-1.0 is not installed: {remedy}")
