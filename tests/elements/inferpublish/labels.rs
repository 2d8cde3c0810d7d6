//! Tables that SLEAP, DeepLabCut and Lightning Pose read. Those in `labels/` are read back by sleap-io, movement and pandas in
//! tools/tests/labels_test.py.

use std::path::{Path, PathBuf};

use cudainfer_tests::{model, root, run, scratch};

/// It gives every pose an identity with the first frame.
const TRACKER: &str = "tracker min-hits=1 similarity=keypoint-boxes auto-confidence=false min-confidence=0.1 new-confidence=0.1";

/// Two frames of 64x48 whose instances are those of a model's outputs.
fn write(location: &Path, model_name: &str, more: &str) -> cudainfer_tests::Report {
    let model = model(model_name);
    run(&format!(
        "videotestsrc num-buffers=2 ! video/x-raw,format=GRAY8,width=64,height=48 ! fusedpreproc ! trtinfer model={model} \
         ! peakfind ! {more} location={} ! fakesink",
        location.display()
    ))
}

/// What must be in the file of this name; it is written where UPDATE_GOLDEN is set.
fn golden(name: &str, found: &Path) {
    let wanted: PathBuf = root().join("tests/elements/inferpublish/labels").join(name);
    let version = concat!("cudainfer ", env!("CARGO_PKG_VERSION"));
    let found = std::fs::read_to_string(found).unwrap().replace(version, "cudainfer");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(wanted.parent().unwrap()).unwrap();
        std::fs::write(&wanted, &found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(wanted).unwrap(), "{name}");
}

#[test]
fn each_program_has_its_table() {
    let folder = scratch("tables");
    let tracked = format!("{TRACKER} ! inferpublish source=arena.mp4 format=sleap");
    for (name, model_name, more) in [
        ("sleap.csv", "sleap-bottom-up", tracked.as_str()),
        ("dlc.csv", "sleap-bottom-up", "inferpublish format=dlc individuals=3"),
        ("lightning-pose.csv", "sleap-single", "inferpublish format=lightning-pose"),
    ] {
        let path = folder.join(name);
        write(&path, model_name, more).succeeds();
        golden(name, &path);
    }
    golden("sleap.json", &folder.join("sleap.json"));
    assert!(!folder.join("dlc.json").exists() && !folder.join("lightning-pose.json").exists());
}

#[test]
fn an_identity_has_its_own_columns() {
    let path = scratch("identities").join("out.csv");
    let publish = format!("{TRACKER} ! inferpublish format=dlc individuals=2");
    let warnings = write(&path, "sleap-bottom-up", &publish).succeeds().warnings.join("\n");
    assert!(!warnings.contains("in the order of their scores"), "{warnings}");
    let rows = table(&path);
    assert_eq!(rows[4][1..], rows[5][1..], "both frames have the same identities");
}

fn table(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn instances_without_a_column_are_counted_and_warned_of() {
    let path = scratch("left-out").join("out.csv");
    let report = write(&path, "sleap-bottom-up", "inferpublish name=it format=dlc individuals=1");
    let warnings = report.succeeds().warnings.join("\n");
    assert!(warnings.contains("has columns for 1 individuals"), "{warnings}");
    assert!(!warnings.contains("in the order of their scores"), "{warnings}");
    let report = write(&path, "sleap-bottom-up", "inferpublish name=it format=dlc individuals=2");
    let warnings = report.succeeds().warnings.join("\n");
    assert!(warnings.contains("in the order of their scores"), "{warnings}");
}

#[test]
fn a_frame_without_instances_is_no_row_of_sleaps_and_an_empty_one_of_the_others() {
    let folder = scratch("empty");
    for (format, rows) in [("sleap", 1), ("dlc", 4 + 2)] {
        let path = folder.join(format).with_extension("csv");
        // Nothing is as sure as that.
        let publish = format!("inferpublish format={format} classes=nobody");
        write(&path, "sleap-bottom-up", &publish).succeeds();
        assert_eq!(table(&path).len(), rows, "{format}");
    }
    assert!(folder.join("sleap.json").exists());
}

#[test]
fn without_a_skeleton_there_is_no_table() {
    let path = scratch("nameless").join("out.csv");
    let report = run(&format!(
        "videotestsrc num-buffers=2 ! inferpublish name=it format=sleap location={} ! fakesink",
        path.display()
    ));
    report.fails_with(&["it: no model upstream names its points", "[skeleton]", "format=json"]);
}
