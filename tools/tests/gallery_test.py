"""Tests of gallery/. What the elements do with pictures is tested in tests/elements/identify."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

from cudainfer_tools.gallery import __main__ as program
from cudainfer_tools.gallery import embeddings, file, pictures
from cudainfer_tools.gallery.embeddings import Embedding, Models
from cudainfer_tools.gallery.file import Gallery
from cudainfer_tools.pipeline import PipelineError


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.notes: list[str] = []

    def put(self, path: str, content: bytes) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return file


class Pictures(InFolder):
    def by_name(self) -> dict[str, list[Path]]:
        return pictures.by_name(self.folder / "people", self.notes.append)

    def refused(self) -> str:
        with self.assertRaises(PipelineError) as caught:
            self.by_name()
        return str(caught.exception)

    def test_each_folder_is_a_name_and_what_is_no_picture_is_named(self):
        ann = [self.put("people/Ann B/1.jpg", b"1"), self.put("people/Ann B/2.PNG", b"2")]
        zoe = [self.put("people/Zoë/1.webp", b"3")]
        self.put("people/Zoë/.hidden.jpg", b"4")
        self.put("people/Zoë/notes.txt", b"5")
        self.put("people/stray.jpg", b"6")
        self.assertEqual(self.by_name(), {"Ann B": ann, "Zoë": zoe})
        self.assertEqual(len(self.notes), 2)
        self.assertTrue(any("notes.txt" in note for note in self.notes) and any("stray.jpg" in note for note in self.notes))

    def test_a_folder_without_names_or_pictures_is_refused(self):
        self.assertIn("is no folder", self.refused())
        self.put("people/1.jpg", b"1")
        self.assertIn("has no folders", self.refused())
        (self.folder / "people/Ann").mkdir()
        self.assertIn("has no pictures", self.refused())

    def test_a_picture_under_two_names_is_refused_and_one_that_is_there_twice_counts_once(self):
        first = self.put("people/Ann/1.jpg", b"same")
        self.put("people/Ann/copy.jpg", b"same")
        self.assertEqual(self.by_name(), {"Ann": [first]})
        self.assertIn("copy of", self.notes[0])
        self.put("people/Bob/1.jpg", b"same")
        error = self.refused()
        self.assertTrue("under two names" in error and "Ann/1.jpg" in error and "Bob/1.jpg" in error, error)


class Files(InFolder):
    def test_a_gallery_is_read_as_it_was_written_whatever_the_names_are(self):
        gallery = Gallery()
        for i, name in enumerate(["Ann", "file", "Zoë", "a/b"]):
            gallery.add(name, np.full((i + 1, 3), i + 0.5, np.float32), "reid")
        path = self.folder / "new/people.npz"
        file.write(path, gallery)
        self.assertEqual([path.name], [found.name for found in path.parent.iterdir()])
        read = file.read(path)
        self.assertEqual((read.model, set(read.names)), ("reid", {"Ann", "file", "Zoë", "a/b"}))
        for name, vectors in gallery.names.items():
            np.testing.assert_array_equal(read.names[name], vectors)

    def test_embeddings_of_another_model_are_refused(self):
        gallery = Gallery()
        gallery.add("Ann", np.ones((1, 3), np.float32), "reid")
        gallery.add("Ann", np.zeros((2, 3), np.float32), None)
        self.assertEqual(gallery.names["Ann"].shape, (3, 3))
        for name, length, model, why in [("Bob", 4, "reid", "4"), ("Bob", 3, "faces", "'faces'"), ("", 3, "reid", "name")]:
            with self.assertRaises(PipelineError) as caught:
                gallery.add(name, np.ones((1, length), np.float32), model)
            self.assertIn(why, str(caught.exception))

    def test_what_is_no_gallery_is_refused(self):
        other = self.folder / "other.npz"
        for content in (b"", b"PK\x03\x04nothing", b"text"):
            other.write_bytes(content)
            with self.assertRaises(PipelineError) as caught:
                file.read(other)
            self.assertIn("other.npz", str(caught.exception))
        np.savez(other, Ann=np.ones((1, 2, 3)))
        with self.assertRaises(PipelineError) as caught:
            file.read(other)
        self.assertIn("(1, 2, 3)", str(caught.exception))


class Records(unittest.TestCase):
    def test_the_largest_object_with_an_embedding_counts(self):
        def found(width: float, values: list[float]) -> dict[str, object]:
            vectors = [{"model": "m", "values": values}] if values else []
            return {"box": {"x": 0, "y": 0, "w": width, "h": 2.0}, "embeddings": vectors}

        record = {"objects": [found(3, [1.0, 2.0]), found(9, []), found(5, [3.0, 4.0])]}
        embedding, count = embeddings.largest(record)
        assert embedding
        self.assertEqual((embedding.vector.tolist(), embedding.model, count), ([3.0, 4.0], "m", 2))
        self.assertEqual(embeddings.largest({"objects": []}), (None, 0))
        whole, _ = embeddings.largest({"objects": [{"embeddings": [{"model": "m", "values": [1.0]}]}]})
        self.assertIsNotNone(whole)

    def test_a_picture_that_fails_is_left_out_and_the_others_are_not(self):
        paths = [Path(f"{i}.jpg") for i in range(3)]

        def run(some, folder, models):
            if paths[1] in some:
                return "it cannot be decoded"
            for number, _ in enumerate(some):
                (folder / f"{number}.jsonl").write_text('{"objects": [{"embeddings": [{"model": "m", "values": [1, 0]}]}]}\n')
            return None

        notes: list[str] = []
        with mock.patch.object(embeddings, "run", run):
            found = embeddings.of_pictures(paths, Models(Path("m.onnx")), notes.append)
        self.assertEqual(list(found), [paths[0], paths[2]])
        self.assertEqual(notes, ["'1.jpg' is left out: it cannot be decoded"])


class Commands(InFolder):
    def unknowns(self) -> Path:
        unknowns = Gallery("m", {"unknown-1": np.ones((2, 3), np.float32), "unknown-2": np.eye(3, dtype=np.float32)})
        file.write(self.folder / "unknowns.npz", unknowns)
        return self.folder / "unknowns.npz"

    def test_unknowns_get_names_in_a_new_gallery_and_in_one_that_exists(self):
        unknowns, people = self.unknowns(), self.folder / "people.npz"
        for pair in ("unknown-1=Ann", "unknown-2=Ann"):
            with mock.patch("builtins.print"):
                program.main(["name", str(unknowns), pair, "--into", str(people)])
        read = file.read(people)
        self.assertEqual((read.model, {name: len(of) for name, of in read.names.items()}), ("m", {"Ann": 5}))
        for pair in ("unknown-9=Bob", "unknown-1", "unknown-1="):
            with self.assertRaises(PipelineError) as caught:
                program.main(["name", str(unknowns), pair, "--into", str(people)])
            self.assertIn("unknown-1, unknown-2", str(caught.exception))

    def test_a_name_without_any_embedding_leaves_the_gallery_as_it_was(self):
        picture, model = self.put("a.jpg", b"1"), self.put("m.onnx", b"")
        gallery = self.folder / "people.npz"
        words = ["add", str(gallery), "Ann", str(picture), "--model", str(model)]
        with mock.patch.object(embeddings, "of_pictures", lambda *_: {}), self.assertRaises(PipelineError) as caught:
            program.main(words)
        self.assertIn("'Ann' has no picture", str(caught.exception))
        self.assertFalse(gallery.exists())
        made = Embedding(np.array([1, 0], np.float32), "m")
        with mock.patch.object(embeddings, "of_pictures", lambda *_: {picture: made}), mock.patch("builtins.print"):
            program.main(words)
        self.assertEqual(file.read(gallery).names["Ann"].tolist(), [[1, 0]])

    def test_the_list_shows_who_is_like_whom(self):
        vectors = {"Ann": [[1, 0], [0.6, 0.8]], "Bob": [[0.8, 0.6]]}
        gallery = Gallery("m", {name: np.array(of, np.float32) for name, of in vectors.items()})
        _, ann, bob = program.similarities(gallery)
        self.assertEqual(ann.split(), ["Ann", "2", "0.600", "Bob", "0.960"])
        self.assertEqual(bob.split(), ["Bob", "1", "-", "Ann", "0.960"])


if __name__ == "__main__":
    unittest.main()
