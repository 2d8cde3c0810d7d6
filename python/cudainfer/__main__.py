"""python -m cudainfer env: prints what a shell exports so that programs find the elements.

    eval "$(python -m cudainfer env)"
    gst-inspect-1.0 trtinfer
"""

from __future__ import annotations

import shlex
import sys

from cudainfer.install import InstallError, check, environment, missing_onnxruntime


def main(words: list[str]) -> None:
    if words != ["env"]:
        asked = words in ([], ["-h"], ["--help"])
        print(__doc__, end="", file=sys.stdout if asked else sys.stderr)
        sys.exit(0 if asked else 2)
    check()
    for name, value in environment().items():
        print(f"export {name}={shlex.quote(value)}")
    if sentence := missing_onnxruntime():
        print(f"cudainfer: {sentence}", file=sys.stderr)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InstallError as error:
        sys.exit(f"cudainfer: {error}")
