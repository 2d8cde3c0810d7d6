//! The readers of results for C and Python: plugins/include/cudainfer.h and python/cudainfer. The programs of docs/embedding.md
//! print the same in all languages, and what the readers give is what inferpublish writes.

use std::process::Command;

use cudainfer_tests::{model, root, scratch};
use gstcudainfer::meta::analytics::{Contents, Metadata};
use gstcudainfer::meta::object::objects;

use crate::plugin::processes::{text, tool};
use crate::video;

/// The code of this language in a section of docs/embedding.md.
fn documented(section: &str, language: &str) -> String {
    let page = std::fs::read_to_string(root().join("docs/embedding.md")).unwrap();
    let section = page.split("\n## ").find(|text| text.starts_with(&format!("{section}\n"))).unwrap();
    let (_, code) = section.split_once(&format!("```{language}\n")).unwrap();
    code.split_once("```").unwrap().0.to_owned()
}

/// Runs a program in Python that finds the module and the plugin that was built.
#[track_caller]
fn python(arguments: &[&str]) -> String {
    let path = root().join("python").display().to_string();
    let output = tool(&[&["/usr/bin/python3"], arguments].concat(), &[("PYTHONPATH", &path)]);
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout)
}

/// Builds a program with each of these compilers, without a warning, and runs the last one's.
#[track_caller]
fn c(compilers: &[&str], source: &str, arguments: &[&str]) -> String {
    let folder = scratch("readers");
    let flags =
        Command::new("pkg-config").args(["--cflags", "--libs", "gstreamer-video-1.0"]).output().unwrap();
    let program = folder.join("program").display().to_string();
    for compiler in compilers {
        let file = folder.join(if *compiler == "cc" { "program.c" } else { "program.cc" });
        std::fs::write(&file, source).unwrap();
        let built = Command::new(compiler)
            .args(["-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-o", &program])
            .arg(&file)
            .arg(format!("-I{}", root().join("plugins/include").display()))
            .args(text(&flags.stdout).split_whitespace())
            .output();
        let built = built.unwrap();
        assert!(built.status.success(), "{compiler}: {}", text(&built.stderr));
    }
    let output = tool(&[&[program.as_str()], arguments].concat(), &[]);
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout)
}

/// What the program of docs/embedding.md prints of a frame.
fn printed(buffer: &gst::BufferRef) -> String {
    let mut lines = String::new();
    let mut println = |line: String| lines.extend([line, "\n".into()]);
    let seconds = buffer.pts().map_or(0.0, |pts| pts.seconds_f64());
    for object in objects(buffer) {
        let track = object.tracking.as_ref().map(|t| format!(" track {}", t.id)).unwrap_or_default();
        if let Some(found) = &object.detection {
            let (label, confidence, rect) = (&object.label, found.confidence, found.rect);
            let place = format!("{:.1},{:.1} size {:.1}x{:.1}", rect.x, rect.y, rect.w, rect.h);
            println(format!("{seconds:.3} {label} {confidence:.2} at {place}{track}"));
        }
        if let Some(points) = &object.keypoints {
            for ((name, x), y) in points.names.iter().zip(&points.x).zip(&points.y) {
                println(format!("{name} at {x:.1},{y:.1}"));
            }
        }
    }
    lines
}

/// Objects that are tracked, and points that no detector gave.
fn lines() -> [String; 2] {
    let film = format!("filesrc location={} ! matroskademux ! videoconvert ! fusedpreproc", video());
    [
        format!(
            "{film} ! trtinfer model={} ! gpunms ! tracker ! fakesink name=out",
            cudainfer_tests::fetched("models/nanodet.onnx")
        ),
        format!(
            "videotestsrc num-buffers=3 pattern=red ! fusedpreproc ! trtinfer model={} ! gpunms ! fusedpreproc \
             ! trtinfer model={} ! peakfind ! fakesink name=out",
            model("detector"),
            model("heat-maps")
        ),
    ]
}

#[test]
fn the_documented_programs_print_the_same_in_all_languages() {
    let own = std::fs::read_to_string(root().join("tests/elements/plugin/readers/mod.rs")).unwrap();
    let plain = |code: &str| code.split_whitespace().collect::<String>();
    let rust = documented("Rust", "rust");
    let (_, body) = rust.split_once("let seconds").unwrap();
    let (body, _) = body.split_once("gst::PadProbeReturn::Ok").unwrap();
    let own = plain(&own).replace("println(format!(", "println!(").replace("{track}\"))", "{track}\")");
    let body = plain(body).replace("{x:.1},{y:.1}\");", "{x:.1},{y:.1}\"));");
    let body = body.trim_end_matches('}');
    assert!(own.contains(body), "write the same code to docs/embedding.md: {body}");

    let program = scratch("readers").join("people.py");
    std::fs::write(&program, documented("Python", "python")).unwrap();
    let mut all = String::new();
    for line in lines() {
        let frames = cudainfer_tests::buffers(&line);
        let wanted: String = frames.iter().map(|buffer| printed(buffer)).collect();
        assert!(frames.len() >= 3 && wanted.lines().count() >= 3, "{wanted}");
        assert_eq!(python(&[&program.display().to_string(), &line]), wanted);
        assert_eq!(c(&["cc"], &documented("C", "c"), &[&line]), wanted);
        all += &wanted;
    }
    assert!(all.contains(" track ") && all.lines().any(|line| !line.contains("size")), "{all}");
}

/// A file of zones in which the frame's lower half is a ground on which everybody's speed is an event.
fn ground() -> std::path::PathBuf {
    let path = scratch("readers-ground").join("zones.toml");
    let text = "[ground]\npoints = [[0.4, 0.1], [0.6, 0.1], [1, 1], [0, 1]]\nmetres = [8, 40]\n\
                [[zone]]\nname = \"all\"\nkind = \"polygon\"\npoints = [[0, 0], [1, 0], [1, 1], [0, 1]]\n\
                holes = [[[0.1, 0.1], [0.2, 0.1], [0.2, 0.2]]]\nmax-speed = 50\nloitering = 0.2\n";
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn the_reader_in_python_gives_what_inferpublish_writes() {
    let test = root().join("tests/elements/plugin/readers/records.py").display().to_string();
    let film = format!("filesrc location={} ! matroskademux ! videoconvert ! fusedpreproc", video());
    let few = "videotestsrc num-buffers=3 pattern=red ! fusedpreproc";
    let blue = "videotestsrc num-buffers=3 pattern=solid-color foreground-color=0xffff00ff \
                ! video/x-raw,format=RGB,width=128,height=64 ! fusedpreproc";
    for (line, fields) in [
        (
            format!(
                "{film} ! trtinfer model={} ! gpunms ! tracker publish-lost=true ! zonecount units=fraction \
                 zones=all=polygon:0,0,1,0,1,1,0,1:dwell=1:occupancy=2;left=line:0.5,1,0.5,0",
                cudainfer_tests::fetched("models/nanodet.onnx")
            ),
            "box,confidence,events,label_id,track,zones",
        ),
        (
            format!(
                "{film} ! trtinfer model={} ! gpunms ! tracker ! zonecount units=fraction zones-file={}",
                cudainfer_tests::fetched("models/nanodet.onnx"),
                ground().display()
            ),
            "box,confidence,events,label_id,nearest,speed,track,world,zones",
        ),
        (
            format!(
                "{few} interval=2 ! trtinfer model={} ! gpunms ! tracker between=motion",
                model("detector")
            ),
            "box,confidence,label_id,track",
        ),
        (
            format!(
                "{few} ! trtinfer model={} ! gpunms ! fusedpreproc roi=objects ! trtinfer model={} \
                 ! classify output=colour ! classify output=traits ! embed",
                model("detector"),
                model("attributes")
            ),
            "box,classification,classifications,confidence,embeddings,label_id",
        ),
        (
            format!(
                "{few} ! trtinfer model={} ! gpunms ! fusedpreproc roi=objects ! trtinfer model={} ! classify",
                model("detector"),
                model("people-named")
            ),
            "box,classification,confidence,label_id,values",
        ),
        (
            format!(
                "{few} ! trtinfer model={} ! gpunms ! fusedpreproc roi=objects ! trtinfer model={} ! embed ! identify",
                model("detector"),
                model("attributes")
            ),
            "box,confidence,embeddings,identity,label_id",
        ),
        (format!("{blue} ! trtinfer model={} ! gpunms", model("rotated")), "angle,box,confidence,label_id"),
        (
            format!(
                "{few} ! trtinfer model={} ! gpunms ! tracker ! fusedpreproc roi=objects ! trtinfer model={} ! gpunms",
                model("detector"),
                model("pose")
            ),
            "box,confidence,edges,keypoints,label_id,parent,track",
        ),
        (
            format!("{film} ! trtinfer model={} ! peakfind", cudainfer_tests::fetched("models/posenet.onnx")),
            "edges,keypoints,pose_score",
        ),
        (
            format!("{few} ! trtinfer model={} ! tensormap output=gray16 range=frame", model("map-depth")),
            "maps",
        ),
    ] {
        let file = scratch("readers").join("records.jsonl").display().to_string();
        let printed = python(&[&test, &line, &file]);
        assert_eq!(printed.trim(), fields, "the fields of the records of {line}");
    }
}

#[test]
fn the_reader_in_python_gives_what_inferpublish_writes_of_analytics_metadata() {
    if let Err(why) = Metadata::Both.forms(Contents::Objects) {
        eprintln!("left out: {why}");
        return;
    }
    let test = root().join("tests/elements/plugin/readers/records.py").display().to_string();
    let detector = format!("trtinfer model={} ! gpunms metadata=analytics", model("detector"));
    let film = format!("videotestsrc num-buffers=3 pattern=red ! fusedpreproc ! {detector}");
    let classes = format!(
        "fusedpreproc roi=objects ! trtinfer model={} ! classify metadata=analytics",
        model("colours")
    );
    for (line, fields) in [
        (format!("{film} ! tracker metadata=analytics"), "box,confidence,label_id,track"),
        (format!("{film} ! {classes}"), "box,classification,confidence,label_id"),
        (
            format!("{film} ! tracker metadata=analytics ! fusedpreproc roi=objects ! {detector}"),
            "box,confidence,label_id,parent,track",
        ),
        (
            format!("{film} ! tracker metadata=both ! {classes}"),
            "box,classification,confidence,label_id,track",
        ),
    ] {
        let file = scratch("readers").join("records.jsonl").display().to_string();
        let printed = python(&[&test, &line, &file]);
        assert_eq!(printed.trim(), fields, "the fields of the records of {line}");
    }
}

#[test]
fn numpy_sees_masks_maps_and_tensors_where_they_lie_also_when_their_frame_is_gone() {
    let test = root().join("tests/elements/plugin/readers/arrays.py").display().to_string();
    let models = ["masks-colours", "map-depth", "detector"].map(model);
    let said = python(&[&test, &models[0], &models[1], &models[2]]);
    assert_eq!(said, "as it must be\n");
}

/// What readers/analytics.c prints of a frame.
fn described(buffer: &gst::BufferRef) -> String {
    let mut text = String::new();
    for object in objects(buffer) {
        let found = object.detection.unwrap();
        let rect = found.rect;
        text += &format!(
            "{} {} {} at {:.0},{:.0} {:.0}x{:.0} {:.2} conf {:.3}",
            object.id,
            object.label,
            found.label_id,
            rect.x,
            rect.y,
            rect.w,
            rect.h,
            object.angle,
            found.confidence
        );
        if let Some(track) = object.tracking {
            text += &format!(" track {}{}", track.id, if track.state == "lost" { " lost" } else { "" });
        }
        if let Some(parent) = object.parent {
            text += &format!(" of {parent}");
        }
        for classes in object.classifications {
            for ((label, id), confidence) in
                classes.labels.iter().zip(&classes.label_ids).zip(&classes.confidence)
            {
                text += &format!(" {label} {id} {confidence:.3}");
            }
        }
        text += "\n";
    }
    text + "frame\n"
}

#[test]
fn the_header_reads_objects_that_only_analytics_metadata_describe_and_none_twice() {
    let test = std::fs::read_to_string(root().join("tests/elements/plugin/readers/analytics.c")).unwrap();
    let has_analytics = Metadata::Both.forms(Contents::Objects).is_ok();
    let classes = format!("fusedpreproc roi=objects ! trtinfer model={} ! classify", model("colours"));
    let blue = "videotestsrc num-buffers=3 pattern=solid-color foreground-color=0xffff00ff \
                ! video/x-raw,format=RGB,width=128,height=64 ! fusedpreproc";
    for metadata in ["roi", "both", "analytics"] {
        if metadata != "roi" && !has_analytics {
            eprintln!("left out: this GStreamer has no analytics metadata");
            continue;
        }
        let written = format!("metadata={metadata}");
        for line in [
            format!(
                "videotestsrc num-buffers=3 pattern=red ! fusedpreproc ! trtinfer model={} ! gpunms {written} ! tracker {written} \
                 ! {classes} {written} ! fakesink name=out",
                model("detector")
            ),
            format!("{blue} ! trtinfer model={} ! gpunms {written} ! fakesink name=out", model("rotated")),
            // Objects within objects.
            format!(
                "videotestsrc num-buffers=3 pattern=red ! fusedpreproc ! trtinfer model={} ! gpunms {written} ! fusedpreproc roi=objects \
                 ! trtinfer model={} ! gpunms {written} ! fakesink name=out",
                model("detector"),
                model("detector")
            ),
            // Boxes of a second detector, after those with regions.
            format!(
                "videotestsrc num-buffers=3 pattern=red ! fusedpreproc ! trtinfer model={} ! gpunms metadata=roi ! fusedpreproc \
                 ! trtinfer model={} ! gpunms {written} ! fakesink name=out",
                model("detector"),
                model("detector-fractions")
            ),
        ] {
            let frames = cudainfer_tests::buffers(&line);
            let wanted: String = frames.iter().map(|frame| described(frame)).collect();
            assert!(frames.len() == 3 && wanted.lines().count() >= 6, "{wanted}");
            assert_eq!(c(&["c++", "cc"], &test, &[&line]), wanted, "{line}");
        }
    }
}

/// Whether GStreamer has tensors of its own; if not, it prints that a test is left out.
fn has_gst_tensors() -> bool {
    cudainfer_tests::init();
    let (_, minor, ..) = gst::version();
    if minor < 26 {
        eprintln!("left out: this is GStreamer 1.{minor}, and tensors are of 1.26");
    }
    minor >= 26
}

#[test]
fn numpy_sees_gstreamers_own_tensors_where_they_lie() {
    if has_gst_tensors() {
        let test = root().join("tests/elements/plugin/readers/gst_tensors.py").display().to_string();
        assert_eq!(python(&[&test, &model("detector")]), "as it must be\n");
    }
}

#[test]
fn the_header_reads_gstreamers_own_tensors() {
    if has_gst_tensors() {
        let test =
            std::fs::read_to_string(root().join("tests/elements/plugin/readers/gst_tensors.c")).unwrap();
        assert_eq!(c(&["cc"], &test, &[&model("detector")]), "as it must be\n");
    }
}

#[test]
fn the_header_reads_masks_tensors_classes_and_embeddings_and_leaves_regions_of_others_alone() {
    let test = std::fs::read_to_string(root().join("tests/elements/plugin/readers/test.c")).unwrap();
    let models = ["masks-colours", "detector", "attributes", "people-named"].map(model);
    let said = c(&["c++", "cc"], &test, &models.each_ref().map(String::as_str));
    assert_eq!(said, "as it must be\n");
}
