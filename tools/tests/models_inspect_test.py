"""Tests of models/inspect_model.py, with lines as gst-launch-1.0 -m prints them."""

import unittest

from cudainfer_tools.models import inspect_model


def quoted(text: str) -> str:
    """A string as GstStructure writes it."""
    plain = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_+/:.")
    escaped = "".join(
        chr(byte) if byte in plain else f"\\{chr(byte)}" if 32 <= byte < 127 else f"\\{byte:03o}" for byte in text.encode()
    )
    return f'"{escaped}"'


def message(element: str, reading: str, sidecar: str) -> str:
    inner = f"cudainfer-reading, reading=(string){quoted(reading)}, sidecar=(string){quoted(sidecar)};"
    return (
        f'Got message #7 from element "{element}" (info): GstMessageInfo, gerror=(GError)NULL, debug=(string)"x\\ y", '
        f"details=(structure){quoted(inner)};\n"
    )


class Readings(unittest.TestCase):
    def test_strings_come_out_as_they_went_in(self) -> None:
        for text in ['it\'s "quoted", \\ and ü = (string)x;', '[output]\nlabels = ["a"]\n', "", "plain"]:
            self.assertEqual(inspect_model.unquoted(quoted(text)), text)
        self.assertEqual(inspect_model.unquoted("bare"), "bare")

    def test_each_element_says_its_own(self) -> None:
        sidecar = '[output]\ndecoder = "yolov8"\nlabels = ["it\'s", \'a "b"\']\n'
        output = (
            "Setting pipeline to PAUSED ...\n"
            + message("model", "64x64 rgb float32", "")
            + 'Got message #8 from element "model" (info): GstMessageInfo, debug=(string)"nothing\\ of\\ ours";\n'
            + message("outputs", "outputs: decoder yolov8, 2 classes", sidecar)
        )
        said = inspect_model.readings(output)
        self.assertEqual(said["model"], inspect_model.Reading("64x64 rgb float32", ""))
        self.assertEqual(said["outputs"], inspect_model.Reading("decoder yolov8, 2 classes", sidecar))
        self.assertEqual(inspect_model.readings("no message at all"), {})

    def test_the_element_is_the_one_whose_section_is_filled(self) -> None:
        for sidecar, element in [
            ("", "gpunms"),
            ('[classify]\nactivation = "none"\n', "classify"),
            ("[segment]\nbackground = 0\n", "segmask"),
            ("[map]\nrange-max = 10.0\n", "tensormap"),
            ('[output]\ndecoder = "yolo-seg"\n\n[segment]\nthreshold = 0.5\n', "gpunms"),
            ('[output]\nlabels = ["[classify]"]\n', "gpunms"),
            ("[peaks]\nthreshold = 0.2\n", "peakfind"),
        ]:
            self.assertEqual(inspect_model.chosen(sidecar), element, sidecar)

    def test_the_decoder_is_given_to_the_element_and_nothing_else(self) -> None:
        words = inspect_model.arguments(inspect_model.Path("a b.onnx"), "gpunms", "yolov5")
        self.assertIn("model=a b.onnx", words)
        self.assertEqual(words[-3:], ["decoder=yolov5", "!", "fakesink"])
        self.assertNotIn("gpunms", inspect_model.arguments(inspect_model.Path("a.onnx"), None, None))


if __name__ == "__main__":
    unittest.main()
