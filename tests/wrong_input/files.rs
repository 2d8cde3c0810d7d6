//! Files that are no files, that never end, or whose names are not text.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use cudainfer_tests::{Report, TestPipeline, model, run, scratch, within};
use gst::prelude::*;

use crate::strings::{bytes_of, set_bytes};

/// A FIFO that nobody writes.
fn fifo(path: &Path) {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: the path ends in a zero byte.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
}

/// Runs a pipeline in another thread: before files were checked, its start never returned.
#[track_caller]
fn started(pipeline: String) -> Report {
    within(move || run(&pipeline))
}

fn inference(properties: &str) -> String {
    format!("videotestsrc num-buffers=2 ! fusedpreproc ! trtinfer {properties} ! fakesink")
}

#[test]
fn a_fifo_does_not_hold_the_start_whatever_file_it_stands_for() {
    let folder = scratch("fifo");
    let path = folder.join("fifo");
    fifo(&path);
    let name = path.display();
    let good = model("detector");
    started(inference(&format!("model={name}"))).fails_with(&[
        "model file",
        "fifo",
        "a FIFO",
        "regular files",
    ]);
    started(inference(&format!("model={good} labels={name}"))).fails_with(&["labels file", "a FIFO"]);
    started(format!("videotestsrc num-buffers=2 ! zonecount zones-file={name} ! fakesink"))
        .fails_with(&["zones-file", "a FIFO"]);
    for property in ["gallery", "unknowns"] {
        let npz = folder.join("fifo.npz");
        if property == "gallery" {
            fifo(&npz);
        }
        started(format!("videotestsrc num-buffers=2 ! identify {property}={} ! fakesink", npz.display()))
            .fails_with(&["fifo.npz", "a FIFO"]);
    }
    let copy = folder.join("copy.onnx");
    std::fs::copy(&good, &copy).unwrap();
    fifo(&folder.join("copy.toml"));
    started(inference(&format!("model={}", copy.display()))).fails_with(&["sidecar file", "a FIFO"]);
}

#[test]
fn weights_in_a_file_of_their_own_are_named_if_it_is_missing_and_do_not_hold_the_start_if_it_is_a_fifo() {
    let folder = scratch("weights");
    let field = |n: u8, bytes: &[u8]| [&[n << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat();
    let entry = field(13, &[field(1, b"location"), field(2, b"a.bin")].concat());
    std::fs::write(folder.join("a.onnx"), field(7, &field(5, &entry))).unwrap();
    let pipeline = inference(&format!("model={}", folder.join("a.onnx").display()));
    started(pipeline).fails_with(&["weights file", "a.bin", "No such file", "put the file back"]);
    fifo(&folder.join("a.bin"));
    started(inference(&format!("model={}", folder.join("a.onnx").display()))).fails_with(&[
        "weights file",
        "a.bin",
        "a FIFO",
    ]);
}

#[test]
fn a_text_that_never_ends_or_is_larger_than_any_is_not_read() {
    let good = model("detector");
    let large = scratch("large").join("large.txt");
    std::fs::write(&large, "label\n".repeat(200_000)).unwrap();
    for (file, why) in [("/dev/zero".to_owned(), "a device"), (large.display().to_string(), "1 MB")] {
        started(inference(&format!("model={good} labels={file}"))).fails_with(&["labels file", &file, why]);
        started(format!("videotestsrc num-buffers=2 ! zonecount zones-file={file} ! fakesink"))
            .fails_with(&["zones-file", &file, why]);
    }
    started(inference("model=/dev/zero")).fails_with(&["model file", "a device"]);
}

#[test]
fn a_model_and_its_sidecar_may_have_names_that_are_not_utf_8() {
    let folder = scratch("latin").join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("model.onnx");
    std::fs::copy(model("detector"), &path).unwrap();
    let start = || {
        let pipeline = TestPipeline::new(&inference("name=t"));
        set_bytes(&pipeline.element("t"), "model", path.as_os_str().as_bytes());
        assert_eq!(bytes_of(&pipeline.element("t"), "model").unwrap(), path.as_os_str().as_bytes());
        let _ = pipeline.set_state(gst::State::Playing);
        pipeline.wait()
    };
    start().succeeds();
    std::fs::write(folder.join("model.toml"), "[inptu]\n").unwrap();
    start().fails_with(&["the sidecar", "inptu"]);

    let zones = folder.join("zones.toml");
    std::fs::write(&zones, "[[zone]]\nname = \"a\"\nkind = \"line\"\npoints = [[1, 2], [3, 4]]\n").unwrap();
    let pipeline = TestPipeline::new("videotestsrc num-buffers=2 ! zonecount name=z ! fakesink");
    set_bytes(&pipeline.element("z"), "zones-file", zones.as_os_str().as_bytes());
    assert_eq!(bytes_of(&pipeline.element("z"), "zones-file").unwrap(), zones.as_os_str().as_bytes());
    let _ = pipeline.set_state(gst::State::Playing);
    pipeline.wait().succeeds();
}
