"""Tests of the Python module in python/, without GStreamer."""

import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from cudainfer import install


class Environment(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.plugin = Path(folder.name, "libgstcudainfer.so")
        for patch in (
            mock.patch.object(install, "PLUGIN", self.plugin),
            mock.patch.object(install, "onnxruntime", return_value=Path("/x/libonnxruntime.so.1.31.1")),
            mock.patch.dict(os.environ, {"GST_PLUGIN_PATH": "/mine:/other"}),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        os.environ.pop("ORT_DYLIB_PATH", None)
        os.environ.pop("GST_PRESET_PATH", None)

    def test_the_plugins_folder_goes_before_those_that_are_set(self):
        self.plugin.touch()
        wanted = install.environment()
        self.assertEqual(wanted["GST_PLUGIN_PATH"], f"{self.plugin.parent}:/mine:/other")
        self.assertEqual(wanted["GST_PRESET_PATH"], f"{self.plugin.parent}/presets")
        self.assertEqual(wanted["ORT_DYLIB_PATH"], "/x/libonnxruntime.so.1.31.1")
        os.environ.update(wanted)
        del wanted["ORT_DYLIB_PATH"]
        self.assertEqual(install.environment(), wanted)

    def test_an_installed_plugin_needs_no_path_and_a_library_that_is_named_stays(self):
        os.environ["ORT_DYLIB_PATH"] = "/named.so"
        self.assertEqual(install.environment(), {})


class Missing(unittest.TestCase):
    def test_a_missing_gstreamer_says_how_to_get_it(self):
        with self.assertRaisesRegex(install.InstallError, "GStreamer is not installed.*apt install"):
            install.gstreamer_version("libnot-there.so.0")

    def test_an_old_gstreamer_says_which_is_needed(self):
        with (
            mock.patch.object(install, "gstreamer_version", return_value=(1, 20)),
            self.assertRaisesRegex(install.InstallError, r"version 1\.20 here, and 1\.22"),
        ):
            install.check()

    def test_both_packages_of_onnx_runtime_are_one_too_many(self):
        self.assertEqual(install.missing_onnxruntime(), "")  # without a plugin of its own, as on Debian
        with tempfile.NamedTemporaryFile() as plugin, mock.patch.object(install, "PLUGIN", Path(plugin.name)):
            self.check_packages()

    def check_packages(self):
        with mock.patch.object(install, "installed", return_value=True):
            self.assertIn("overwrite each other", install.missing_onnxruntime())
        with (
            mock.patch.object(install, "installed", return_value=False),
            mock.patch.object(install, "onnxruntime", return_value=None),
        ):
            self.assertIn("cudainfer[cpu]", install.missing_onnxruntime())


if __name__ == "__main__":
    unittest.main()
