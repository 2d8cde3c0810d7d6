//! scripts/gallery, which builds galleries of pictures, and pipelines that recognise what is in them.

use std::path::PathBuf;
use std::process::Output;

use cudainfer_tests::{buffers, model, root, run, scratch};

use super::*;
use crate::plugin::processes::{text, tool};

/// Runs the program of scripts/gallery.
fn gallery(arguments: &[&str]) -> Output {
    let tools = root().join("tools").display().to_string();
    // Debian's Python has NumPy.
    tool(&[&["/usr/bin/python3", &tools, "gallery"], arguments].concat(), &[])
}

/// A picture of this colour.
fn picture(path: &Path, colour: u32) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let encoder =
        if path.extension().is_some_and(|extension| extension == "png") { "pngenc" } else { "jpegenc" };
    run(&format!(
        "videotestsrc num-buffers=1 pattern=solid-color foreground-color={colour} \
         ! video/x-raw,format=RGB,width=64,height=64 ! videoconvert ! {encoder} ! filesink location=\"{}\"",
        path.display()
    ))
    .succeeds();
}

/// Red and blue things, in pictures.
fn things() -> PathBuf {
    let folder = scratch("gallery").join("things");
    picture(&folder.join("Red Thing/1.png"), 0xffff_0000);
    picture(&folder.join("Red Thing/2.jpg"), 0xffe0_1000);
    picture(&folder.join("blue/1.png"), 0xff00_00ff);
    folder
}

#[test]
fn what_is_in_the_pictures_is_recognised_in_a_pipeline_with_the_same_models() {
    let (folder, embedder) = (things(), model("attributes"));
    let name = folder.display().to_string();
    let built = gallery(&[&name, "--model", &embedder]);
    assert!(built.status.success(), "{built:?}");
    let said = text(&built.stdout);
    assert!(said.contains("2 names, 3 embeddings of 2 numbers, of the model 'attributes'"), "{said}");
    let path = folder.with_extension("npz").display().to_string();
    let names = |elements: &str| {
        let frames = buffers(&format!(
            "{elements} ! trtinfer model={embedder} batch-size=2 ! embed ! identify gallery={path} threshold=0.9 ! fakesink name=out"
        ));
        let names = |frame: &gst::Buffer| identities(frame).into_values().map(|found| found.name).collect();
        frames.iter().map(names).collect::<Vec<Vec<String>>>()
    };
    for (colour, name) in [(0xffff_0000_u32, "Red Thing"), (0xff00_00ff, "blue")] {
        let source = format!(
            "videotestsrc num-buffers=2 pattern=solid-color foreground-color={colour} ! fusedpreproc"
        );
        assert_eq!(names(&source), [[name], [name]], "the whole frame");
    }
    let shown = gallery(&["show", &path]);
    assert!(text(&shown.stdout).contains("Red Thing"), "{shown:?}");
}

#[test]
fn objects_that_a_detector_finds_in_the_pictures_are_those_of_the_gallery() {
    let (folder, embedder, detector) = (things(), model("attributes"), model("detector"));
    let name = folder.display().to_string();
    let output = folder.with_file_name("objects.npz").display().to_string();
    let built = gallery(&[&name, "--model", &embedder, "--detector", &detector, "--output", &output]);
    assert!(built.status.success(), "{built:?}");
    let read = Array::read_all(Path::new(&output), 1 << 20).unwrap();
    assert!(read.iter().any(|(name, array)| name == "Red Thing" && array.dims == [2, 2]), "{read:?}");
    let frames = buffers(&format!(
        "videotestsrc num-buffers=2 pattern=red ! fusedpreproc ! trtinfer model={detector} ! gpunms ! fusedpreproc roi=objects \
         ! trtinfer model={embedder} ! embed ! identify gallery={output} threshold=0.9 ! fakesink name=out"
    ));
    for frame in &frames {
        let found = identities(frame);
        assert!(!found.is_empty() && found.values().all(|found| found.name == "Red Thing"), "{found:?}");
    }
}

#[test]
fn pictures_are_added_and_what_cannot_be_used_is_named() {
    let (folder, embedder) = (things(), model("attributes"));
    let path = folder.with_file_name("new.npz").display().to_string();
    let blue = folder.join("blue/1.png").display().to_string();
    let broken = folder.join("blue/broken.jpg").display().to_string();
    std::fs::write(&broken, "no picture").unwrap();
    let added = gallery(&["add", &path, "Sea", &blue, &broken, "--model", &embedder]);
    assert!(added.status.success(), "{added:?}");
    let said = text(&added.stderr);
    assert!(said.contains("broken.jpg' is left out: "), "{said}");
    assert_eq!(Array::read(Path::new(&path), "Sea").unwrap().dims, [1, 2]);
    let fails = |arguments: &[&str], parts: &[&str]| {
        let output = gallery(arguments);
        let said = text(&output.stderr);
        assert!(
            !output.status.success() && parts.iter().all(|part| said.contains(part)),
            "{parts:?}: {said}"
        );
        assert!(!said.contains("Traceback"), "{said}");
    };
    fails(&["add", &path, "Sea", &broken, "--model", &embedder], &["'Sea' has no picture with an embedding"]);
    fails(&["add", &path, "Sea", &blue, "--model", "/nowhere/a.onnx"], &["'/nowhere/a.onnx' does not exist"]);
    fails(&["/nowhere", "--model", &embedder], &["'/nowhere' is no folder"]);
    fails(&["show", "/nowhere/a.npz"], &["'/nowhere/a.npz' does not exist"]);
    fails(&["show", &blue], &["is no gallery: it is no .npz"]);
    std::fs::create_dir(folder.join("empty")).unwrap();
    let name = folder.display().to_string();
    fails(&[&name, "--model", &embedder], &["empty' has no pictures"]);
}
