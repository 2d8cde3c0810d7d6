//! Galleries with mistakes in them, and numbers that no cosine can meet.

use std::path::Path;

use cudainfer_tests::{Report, model, run, scratch};
use gstcudainfer::model::Array;

/// Runs a pipeline in which two colours have embeddings of two numbers, of the model `attributes`.
fn with(properties: &str) -> Report {
    run(&format!(
        "videotestsrc num-buffers=3 pattern=red ! video/x-raw,width=64,height=64 ! fusedpreproc ! trtinfer model={} ! embed \
         ! identify name=who {properties} ! fakesink",
        model("attributes")
    ))
}

fn write(path: &Path, arrays: &[(&str, Array)]) {
    let bytes = Array::archive(arrays.iter().map(|(name, array)| (*name, array))).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn floats(dims: &[usize], values: &[f32]) -> Array {
    Array::of_floats(dims.to_vec(), values)
}

#[test]
fn numbers_that_no_cosine_can_meet_are_named_with_what_can() {
    for (properties, parts) in [
        ("threshold=50", &["who: threshold is 50", "-1 to 1", "threshold=0.5"][..]),
        ("threshold=-1.5", &["threshold is -1.5"]),
        ("margin=-0.1", &["who: margin is -0.1", "0 to 2"]),
        ("margin=3", &["margin is 3"]),
    ] {
        with(properties).fails_with(parts);
    }
}

#[test]
fn a_number_that_is_set_later_and_cannot_be_met_leaves_the_one_before() {
    use gst::prelude::*;
    let pipeline = cudainfer_tests::TestPipeline::new(
        "videotestsrc num-buffers=3 ! identify name=who ! fakesink name=out",
    );
    let who = pipeline.element("who");
    let out = pipeline.element("out").static_pad("sink").unwrap();
    let set = std::sync::Once::new();
    out.add_probe(gst::PadProbeType::BUFFER, move |_, _| {
        set.call_once(|| who.set_property("threshold", 7.0));
        gst::PadProbeReturn::Ok
    });
    pipeline.play();
    let warnings = pipeline.wait().succeeds().warnings;
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.contains("threshold is 7") && warning.contains("before stay in use"), "{warning}");
}

#[test]
fn what_is_no_gallery_is_named_with_its_file() {
    let folder = scratch("gallery-wrong");
    let path = folder.join("people.npz");
    let gallery = |parts: &[&str]| {
        let report = with(&format!("gallery={}", path.display()));
        let error =
            report.fails_with(&[&["who: the gallery", "people.npz' cannot be used"][..], parts].concat());
        assert!(error.matches(". ").count() <= 2, "at most three sentences: {error}");
    };
    gallery(&["No such file"]);
    std::fs::write(&path, "text").unwrap();
    gallery(&["no .npz"]);
    let ann = floats(&[1, 2], &[1.0, 0.0]);
    for (arrays, parts) in [
        (vec![], &["it has no names"][..]),
        (vec![("__model__", Array::of_text("m"))], &["it has no names"]),
        (vec![("Ann", floats(&[0, 2], &[]))], &["'Ann' has no embeddings"]),
        (
            vec![("Ann", ann.clone()), ("Bob", floats(&[1, 3], &[1.0; 3]))],
            &["'Bob' have 3 numbers", "'Ann' have 2"],
        ),
        (
            vec![("Ann", ann.clone()), ("Bob", floats(&[2], &[2.0, 0.0]))],
            &["under two names, 'Ann' and 'Bob'"],
        ),
        (vec![("Ann", floats(&[1, 2], &[f32::NAN, 0.0]))], &["embedding 1 of 'Ann' has no direction"]),
        (vec![("Ann", floats(&[1, 1, 2], &[1.0, 0.0]))], &["'Ann' is 1x1x2 float32", "[N,D]"]),
        (vec![("Ann", Array::of_text("12"))], &["'Ann' is 2 uint8", "float16"]),
        (vec![("", ann.clone())], &["without a name"]),
    ] {
        write(&path, &arrays);
        gallery(parts);
    }
}

#[test]
fn a_gallery_that_lies_about_its_size_is_refused_before_there_is_room_for_it() {
    let path = scratch("gallery-lies").join("people.npz");
    write(&path, &[("Ann", floats(&[1, 2], &[1.0, 0.0]))]);
    let good = std::fs::read(&path).unwrap();
    let table = good.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    // The size that the table of contents states, and the one in the array's own header.
    let lie = |at: usize, bytes: &[u8]| {
        let mut bad = good.clone();
        bad[at..at + bytes.len()].copy_from_slice(bytes);
        bad
    };
    let shape = good.windows(5).position(|five| five == b"(1,2,").unwrap();
    for (bytes, part) in [
        (lie(table + 24, &0x6fff_ffff_u32.to_le_bytes()), "which the file of"),
        (lie(table + 24, &0xfff0_0000_u32.to_le_bytes()), "are read at most"),
        (lie(shape, b"(9,9,"), "its header says 9x9 float32"),
        (lie(table + 42, &0x7fff_ffff_u32.to_le_bytes()), "which the file of"),
        (good[..good.len() - 30].to_vec(), "no whole archive"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        with(&format!("gallery={}", path.display())).fails_with(&["the gallery", part]);
    }
}

#[test]
fn folders_that_are_empty_or_hold_pictures_are_refused_with_what_makes_a_gallery() {
    let folder = scratch("gallery-folder");
    let gallery = |parts: &[&str]| {
        with(&format!("gallery={}", folder.display())).fails_with(parts);
    };
    gallery(&["it has no names", "scripts/gallery"]);
    std::fs::create_dir(folder.join("Ann")).unwrap();
    gallery(&["'Ann' has no embeddings"]);
    std::fs::write(folder.join("Ann/1.jpg"), "").unwrap();
    gallery(&["1 files, none of which is a .npy", "scripts/gallery"]);
    std::fs::write(folder.join("Ann/1.npy"), "").unwrap();
    gallery(&["Ann/1.npy'", "neither a .npy nor"]);
}

#[test]
fn a_gallery_of_another_model_is_an_error_by_its_length_and_a_warning_by_its_name() {
    let path = scratch("gallery-model").join("people.npz");
    write(&path, &[("Ann", floats(&[1, 3], &[1.0, 0.0, 0.0]))]);
    let properties = format!("gallery={}", path.display());
    let report = with(&properties);
    report.fails_with(&[
        "who: the model 'attributes' makes embeddings of 2 numbers",
        "people.npz' have 3",
        "scripts/gallery",
    ]);
    write(&path, &[("Ann", floats(&[1, 2], &[0.6, -0.8])), ("__model__", Array::of_text("other"))]);
    let warnings = with(&properties).succeeds().warnings;
    let warnings: Vec<_> = warnings.iter().filter(|warning| warning.contains("who")).collect();
    assert!(warnings.len() == 1 && warnings[0].contains("was built with the model 'other'"), "{warnings:?}");
}

#[test]
fn a_file_of_unknowns_that_cannot_be_used_is_an_error() {
    let folder = scratch("gallery-unknowns");
    let path = folder.join("unknowns.npz");
    let unknowns = |parts: &[&str]| {
        with(&format!("unknowns={}", path.display()))
            .fails_with(&[&["who: the file of unknowns"][..], parts].concat());
    };
    with("unknowns=unknowns.txt").fails_with(&["does not end in .npz"]);
    write(&path, &[("Ann", floats(&[1, 2], &[1.0, 0.0]))]);
    unknowns(&["it has the name 'Ann'", "unknown-1"]);
    write(&path, &[("unknown-1", floats(&[1, 2], &[1.0, 0.0])), ("unknown-2", floats(&[1, 3], &[1.0; 3]))]);
    unknowns(&["unknown-2 have 3 numbers"]);
    std::fs::write(&path, "text").unwrap();
    unknowns(&["no .npz"]);
    write(&path, &[("unknown-1", floats(&[1, 3], &[1.0; 3]))]);
    with(&format!("unknowns={}", path.display()))
        .fails_with(&["'attributes' makes embeddings of 2", "have 3"]);
    let people = folder.join("people.npz");
    write(&people, &[("Ann", floats(&[1, 2], &[1.0, 0.0]))]);
    with(&format!("unknowns={} gallery={}", path.display(), people.display()))
        .fails_with(&["embeddings of 2 numbers", "those of the unknowns have 3"]);
    std::fs::remove_file(&path).unwrap();
    let two = format!(
        "videotestsrc num-buffers=1 ! identify name=a unknowns={0} ! identify name=b unknowns={0} ! fakesink",
        path.display()
    );
    run(&two).fails_with(&["cannot be used: it is in use by another part of this process"]);
}

#[test]
fn objects_without_embeddings_are_warned_about() {
    let warned = |elements: &str| {
        let report = run(&format!(
            "videotestsrc num-buffers=3 pattern=red ! video/x-raw,width=64,height=64 ! fusedpreproc ! trtinfer model={} ! gpunms \
             ! {elements} ! fakesink",
            model("detector")
        ));
        let warnings = report.succeeds().warnings;
        warnings.into_iter().filter(|warning| warning.contains("who")).collect::<Vec<_>>()
    };
    let warnings = warned("identify name=who");
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.contains("no object has had an embedding. Put fusedpreproc roi=objects"), "{warning}");
    let embedded = format!("fusedpreproc roi=objects ! trtinfer model={} ! embed", model("attributes"));
    let warnings = warned(&format!("{embedded} ! identify name=who embedding-output=face"));
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.contains("of the output 'face', but of vector"), "{warning}");
    assert_eq!(warned(&format!("{embedded} ! identify name=who")), [""; 0]);
}
