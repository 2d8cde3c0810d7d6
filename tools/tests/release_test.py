"""Tests of what scripts/release packs: that everything that is named exists, and that versions agree."""

import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
import zipfile
from contextlib import redirect_stdout
from hashlib import sha256
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import ClassVar
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
DEBIAN = ROOT / "deploy/debian"
SETUP = ROOT / "deploy/onnxruntime/cudainfer-setup-onnxruntime"
# What scripts/release makes.
BUILT = {
    "libgstcudainfer.so",
    "cudainfer-batch",
    "cudainfer-inspect",
    "cudainfer-serve",
    "THIRD-PARTY-LICENSES",
    "THIRD-PARTY-LICENSES.batch",
    "THIRD-PARTY-LICENSES.serve",
}


def script(path: Path):
    """A Python script without an ending, as a module."""
    loader = SourceFileLoader(path.name.replace("-", "_"), str(path))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    with mock.patch.object(sys, "dont_write_bytecode", True):
        loader.exec_module(module)
    return module


def read_list(name: str) -> list[str]:
    """The lines of a list of debhelper's."""
    return (DEBIAN / name).read_text().splitlines()


def installed_files(package: str) -> dict[str, Path]:
    """The places where debhelper's lists put what is in the repository, and what is put there."""
    documents = f"usr/share/doc/{package}"
    placed = [(name, documents) for name in read_list(f"{package}.docs")]
    placed += [(name, f"{documents}/examples") for name in read_list(f"{package}.examples")]
    placed += [(source, to) for source, to in map(str.split, read_list(f"{package}.install"))]
    found = {f"{to}/{path.name}": path for source, to in placed for path in ROOT.glob(source)}
    for to, folder in [(to, path) for to, path in found.items() if path.is_dir()]:
        found |= {f"{to}/{path.relative_to(folder)}": path for path in folder.rglob("*")}
    for target, link in map(str.split, read_list(f"{package}.links")):
        found |= {path.replace(target, link, 1): file for path, file in found.items() if f"{path}/".startswith(f"{target}/")}
    return found


def packages() -> list[str]:
    return re.findall(r"^Package: (\S+)", (DEBIAN / "control").read_text(), re.MULTILINE)


class DebianPackages(unittest.TestCase):
    maxDiff = None

    def test_everything_that_is_packed_exists(self):
        lists = [path for kind in ("install", "docs", "examples", "manpages") for path in DEBIAN.glob(f"*.{kind}")]
        self.assertGreaterEqual(len(lists), 4)
        for path in lists:
            for line in path.read_text().splitlines():
                source = line.split()[0]
                if source.startswith("build/"):
                    self.assertIn(source.removeprefix("build/"), BUILT, path)
                else:
                    source = f"deploy/{source}" if source.startswith("debian/") else source
                    self.assertTrue(list(ROOT.glob(source)), f"{path.name}: {source}")

    def test_every_file_belongs_to_a_package(self):
        for path in DEBIAN.iterdir():
            if "." in path.name:
                self.assertIn(path.name.rpartition(".")[0], packages())

    def test_links_of_the_installed_documentation_lead_to_what_is_installed(self):
        installed = installed_files("gstreamer1.0-cudainfer")
        there = installed.keys() | {str(parent) for path in installed for parent in Path(path).parents}
        pages = {
            path: file.read_text() for path, file in installed.items() if path.startswith("usr/share/doc/") and path.endswith(".md")
        }
        self.assertGreater(len(pages), 30)
        links = [(path, link) for path, text in pages.items() for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)]
        lost = [f"{path}: {link}" for path, link in links if os.path.normpath(f"{Path(path).parent}/{link}") not in there]
        self.assertEqual(lost, [])

    def test_what_runs_a_pipeline_is_packed_with_all_that_it_imports(self):
        listed = [line.split() for line in read_list("gstreamer1.0-cudainfer.install")]
        packed = [source for source, to in listed if source.endswith(".py") and to == f"usr/share/cudainfer/{Path(source).parent}"]
        with tempfile.TemporaryDirectory() as folder:
            for source in packed:
                Path(folder, source).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, Path(folder, source))
            shutil.copytree(ROOT / "pipelines", Path(folder, "pipelines"))
            started = [sys.executable, "-B", f"{folder}/tools", "run", "--print", "detect-track", "video=a.mp4", "model=b.onnx"]
            done = subprocess.run(started, capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        self.assertIn("a.mp4", done.stdout)
        self.assertIn("/usr/share/cudainfer/tools run ", (DEBIAN / "bin/cudainfer-run").read_text())

    def test_the_command_for_models_is_packed_with_all_that_it_imports_and_its_sums_are_those_of_scripts_setup(self):
        setup = (ROOT / "scripts/setup").read_text()
        listed = [line.split() for line in read_list("gstreamer1.0-cudainfer.install")]
        with tempfile.TemporaryDirectory() as folder:
            for source, to in listed:
                if to.startswith("usr/share/cudainfer/tools"):
                    place = Path(folder, to.removeprefix("usr/share/cudainfer/"), Path(source).name)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(ROOT / source, place)
            shutil.copytree(ROOT / "pipelines", Path(folder, "pipelines"))

            def started(module: str, *words: str) -> str:
                command = [sys.executable, "-B", f"{folder}/tools", module, *words]
                environment = {**os.environ, "XDG_DATA_HOME": folder}
                done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
                return done.stdout + done.stderr

            listing = started("setup_models", "--list")
            sums = re.findall(r"^ +([0-9a-f]{64})  (\S+)$", listing, re.MULTILINE)
            self.assertEqual(len(sums), 8, listing)
            for digest, name in sums:
                self.assertIn(digest, setup, name)
            self.assertEqual(listing.count("MB to download"), 3)
            pinned = (ROOT / "tools/requirements.txt").read_text().splitlines()
            taken = tomllib.loads((ROOT / "tools/cudainfer_tools/setup_models/sources.toml").read_text())["converter"]["packages"]
            self.assertLessEqual(set(taken), set(pinned))
            # A file with another sum is refused.
            damaged = Path(folder, "damaged")
            damaged.mkdir()
            for _, name in sums:
                (damaged / name).write_bytes(b"")
            self.assertIn("SHA-256", started("setup_models", "--from", str(damaged)))
            self.assertIn("has no file", started("setup_models", "--from", folder))
            # The package's own defaults: what is installed, and otherwise how to install it.
            self.assertIn("model=...", started("run", "--help", "detect"))
            self.assertIn("cudainfer-setup-models", started("run", "--help", "detect"))
            self.assertIn("cudainfer-setup-models", started("run", "--print", "detect"))
            model = Path(folder, "cudainfer/models/nanodet.onnx")
            model.parent.mkdir(parents=True, exist_ok=True)
            model.write_bytes(b"")
            self.assertIn(f"model={model}", started("run", "--help", "detect"))
            self.assertIn("output=./detect.mp4", started("run", "--help", "detect"))
        self.assertIn("/usr/share/cudainfer/tools setup_models ", (DEBIAN / "bin/cudainfer-setup-models").read_text())

    def test_the_python_module_has_the_packages_version(self):
        version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
        self.assertIn(f'\n__version__ = "{version}"\n', (ROOT / "python/cudainfer/__init__.py").read_text())

    def test_manual_pages_name_every_option(self):
        page = (DEBIAN / "man/cudainfer-setup-onnxruntime.8").read_text().replace("\\", "")
        reported = subprocess.run([sys.executable, SETUP, "--help"], capture_output=True, text=True, check=True).stdout
        for option in set(re.findall(r"--[a-z]+", reported)) - {"--help"}:
            self.assertIn(option, page)


def settings(unit: str, key: str) -> list[str]:
    """What a unit sets, in all its lines."""
    return [word for line in re.findall(rf"^{key}=(.*)$", unit, re.MULTILINE) for word in line.split()]


class Service(unittest.TestCase):
    unit = (ROOT / "deploy/cudainfer-serve.service").read_text()
    command: ClassVar = ["/usr/bin/cudainfer-serve", "/etc/cudainfer/serve.toml"]

    def test_the_unit_starts_what_is_packed(self):
        packed = (DEBIAN / "cudainfer-serve.install").read_text().splitlines()
        installed = {f"/{to}/{source.rpartition('/')[2]}" for source, to in map(str.split, packed)}
        self.assertLessEqual(set(self.command), installed)
        self.assertEqual(settings(self.unit, "ExecStart"), self.command)

    def test_the_unit_names_pages_that_are_packed(self):
        pages = settings(self.unit, "Documentation")
        self.assertTrue(pages)
        for page in pages:
            manual = re.fullmatch(r"man:([\w-]+)\((\d)\)", page)
            name = (
                f"deploy/debian/man/{manual[1]}.{manual[2]}"
                if manual
                else page.removeprefix("file:/usr/share/doc/gstreamer1.0-cudainfer/")
            )
            self.assertTrue((ROOT / name).is_file(), page)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "needs systemd-analyze")
    def test_systemd_knows_every_setting_of_the_unit(self):
        with tempfile.TemporaryDirectory() as folder:
            # Neither the program nor its manual page is installed here.
            unit = re.sub(r"^Documentation=.*\n", "", self.unit, flags=re.MULTILINE).replace(self.command[0], "/bin/true")
            path = Path(folder, "cudainfer-serve.service")
            path.write_text(unit)
            reported = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True)
        self.assertEqual((reported.returncode, reported.stdout + reported.stderr), (0, ""))

    @unittest.skipUnless(shutil.which("systemd-analyze"), "needs systemd-analyze")
    def test_the_unit_gives_the_service_little_that_it_does_not_need(self):
        unit = ROOT / "deploy/cudainfer-serve.service"
        # In tenths; the service has the network and GPUs, which most of what is left is for.
        analyse = ["systemd-analyze", "security", "--offline=yes", "--threshold=20", "--no-pager", unit]
        reported = subprocess.run(analyse, capture_output=True, text=True)
        self.assertEqual(reported.returncode, 0, reported.stdout[-200:] + reported.stderr)

    def test_systemd_and_compose_wait_longer_than_the_service_takes_to_stop(self):
        source = (ROOT / "serve/src/config/server.rs").read_text()
        limit = float(re.search(r"stop_timeout: ([\d.]+)", source)[1])
        self.assertGreater(float(settings(self.unit, "TimeoutStopSec")[0]), limit)
        compose = (ROOT / "deploy/compose.yaml").read_text()
        self.assertGreater(float(re.search(r"stop_grace_period: (\d+)s", compose)[1]), limit)

    def test_images_run_the_same_and_keep_what_it_writes_in_volumes(self):
        images = (ROOT / "deploy/Containerfile").read_text()
        self.assertIn(f'CMD ["cudainfer-serve", "{self.command[1]}"]', images)
        self.assertRegex(images, r"(?m)^USER 10001:10001$")
        volumes = set(json.loads(re.search(r"^VOLUME (.*)$", images, re.MULTILINE)[1]))
        self.assertIn(tomllib.loads((ROOT / "deploy/serve.toml").read_text())["server"]["state"], volumes)
        named = set(re.findall(r"- (?:state|cache):(\S+)", (ROOT / "deploy/compose.yaml").read_text()))
        self.assertEqual(named, volumes)


class OnnxRuntime(unittest.TestCase):
    def test_the_version_is_the_one_that_everything_is_tested_with(self):
        wheels = tomllib.loads(SETUP.with_name("wheels.toml").read_text())
        self.assertIn(f"onnxruntime=={wheels['version']}\n", (ROOT / "tools/requirements.txt").read_text())
        self.assertIn(f"/onnxruntime-{wheels['version']}-", wheels["cpu"][0]["url"])
        self.assertIn(f"/onnxruntime_gpu-{wheels['version']}-", wheels["gpu"][0]["url"])
        self.assertIn(f"version {wheels['version']}", (ROOT / "docs/install.md").read_text())

    def setUp(self):
        self.setup = script(SETUP)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def install(self, version: str, damaged: bool = False) -> None:
        """Installs a wheel that has what ONNX Runtime's has, in small."""
        wheel = self.folder / f"onnxruntime-{version}.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            for name in (f"libonnxruntime.so.{version}", "onnxruntime_pybind11_state.so", "../../../../escaped.so"):
                archive.writestr(f"onnxruntime/capi/{name}", version)
            archive.writestr("onnxruntime/LICENSE", "MIT")
        listed = {
            "url": f"https://nowhere.invalid/{wheel.name}",
            "sha256": sha256(b"" if damaged else wheel.read_bytes()).hexdigest(),
        }
        with mock.patch.object(self.setup, "wheels", return_value=(version, [listed])), redirect_stdout(io.StringIO()):
            self.setup.install(False, self.folder, self.folder / "to")

    def test_a_newer_version_takes_the_place_of_an_older_one_and_nothing_else_is_touched(self):
        self.install("1.0")
        (self.folder / "to/mine").mkdir()
        self.install("2.0")
        capi = self.folder / "to/current/onnxruntime/capi"
        self.assertEqual([path.name for path in capi.iterdir()], ["libonnxruntime.so.2.0"])
        self.assertEqual({path.name for path in (self.folder / "to").iterdir()}, {"2.0", "current", "mine"})
        self.assertFalse(list(self.folder.rglob("escaped.so")))
        with redirect_stdout(io.StringIO()):
            self.setup.remove(self.folder / "to")
        self.assertEqual([path.name for path in (self.folder / "to").iterdir()], ["mine"])

    def test_a_damaged_wheel_leaves_what_is_there(self):
        self.install("1.0")
        with self.assertRaisesRegex(self.setup.SetupError, "SHA-256.*Nothing was installed"):
            self.install("2.0", damaged=True)
        self.assertEqual({path.name for path in (self.folder / "to").iterdir()}, {"1.0", "current"})


if __name__ == "__main__":
    unittest.main()
