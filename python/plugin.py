"""Puts the plugin and its presets into the wheel: the plugin in the folder CUDAINFER_BUILT, with the licences of the crates that are
linked into it, or what cargo builds of this repository."""

import os
import platform
import subprocess
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Plugin(BuildHookInterface):
    def initialize(self, version: str, build_data: dict) -> None:
        if version == "editable":
            return
        built = Path(os.environ.get("CUDAINFER_BUILT") or self.build())
        for name in ("libgstcudainfer.so", "THIRD-PARTY-LICENSES"):
            if (built / name).is_file():
                build_data["force_include"][str(built / name)] = f"cudainfer/plugin/{name}"
        build_data["force_include"][str(Path(self.root).parent / "plugins/presets")] = "cudainfer/plugin/presets"
        build_data["pure_python"] = False
        # Not bound to one Python. scripts/release writes the C library that is needed into the tag.
        build_data["tag"] = f"py3-none-linux_{platform.machine()}"

    def build(self) -> Path:
        repository = Path(self.root).parent
        cargo = ["cargo", "build", "--release", "--locked", "--package", "gst-plugin-cudainfer"]
        subprocess.run(cargo, cwd=repository, check=True)
        return Path(os.environ.get("CARGO_TARGET_DIR", repository / "target"), "release")
