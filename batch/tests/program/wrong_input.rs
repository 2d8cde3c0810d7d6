//! Each fault of the arguments is a sentence before anything runs.

use std::process::Command;

use crate::process::{command, ends, folder, program};
use crate::videos::{make, make_bad};
use cudainfer_tests::model;

#[test]
fn what_is_right_is_called_so_and_nothing_is_written() {
    let folder = folder();
    make(&folder, 3);
    let output = command(&folder, &["--check", "--index", "1", "--of", "2", "v0.mp4", "v1.mp4", "v2.mp4"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("right (videos: 1, share 1 of 2)"), "{output:?}");
    assert!(text.contains("detector.onnx: cpu"), "{text}");
    assert!(!folder.join("out").exists());
}

/// The log of a check that fails.
#[track_caller]
fn refused(command: &mut Command) -> String {
    let (code, log) = ends(command.arg("--check"));
    assert_eq!(code, 78, "{log}");
    log
}

#[test]
fn each_fault_is_one_sentence_with_exit_code_78() {
    let folder = folder();
    make(&folder, 1);
    std::fs::create_dir(folder.join("sub")).unwrap();
    std::fs::copy(folder.join("v0.mp4"), folder.join("sub/v0.mp4")).unwrap();
    std::fs::write(folder.join("all.txt"), "v0.mp4\nv0.mp4\n").unwrap();
    std::fs::write(folder.join("file"), "").unwrap();
    let text = std::fs::read_to_string(folder.join("p.launch")).unwrap();
    std::fs::write(folder.join("element.launch"), text.replace("gpunms", "gpunsm")).unwrap();
    std::fs::write(folder.join("property.launch"), text.replace("sleep-time", "slep-time")).unwrap();
    std::fs::write(folder.join("header.launch"), text.replace("# pace", "# pase")).unwrap();
    let with_model = |path: &str| format!("model={path}");
    let nowhere = with_model("/nowhere/a.onnx");
    let empty = with_model(&model("empty"));
    let right = with_model(&model("detector"));
    let right = right.as_str();
    for (set, pipeline, more, part) in [
        (right, "p.launch", vec!["none.mp4"], "none.mp4' cannot be read: No such file"),
        (right, "p.launch", vec!["sub"], "sub' is a folder"),
        (right, "p.launch", vec!["all.txt"], "is there twice"),
        (right, "p.launch", vec!["v0.mp4", "sub/v0.mp4"], "would write the same results 'v0'"),
        (right, "p.launch", vec!["none.txt"], "the manifest 'none.txt' cannot be read"),
        (right, "p.launch", vec!["v0.mp4", "--set", "clases=red"], "'classes' is probably meant"),
        (right, "p.launch", vec!["v0.mp4", "--set", "video=x"], "name the videos after the options"),
        (
            right,
            "p.launch",
            vec!["v0.mp4", "--set", "json=a.jsonl"],
            "would be the same file for every video",
        ),
        (right, "p.launch", vec!["v0.mp4", "--index", "2", "--of", "2"], "there is no share 2 of 2"),
        (right, "p.launch", vec!["v0.mp4", "--index", "1"], "set --of"),
        (right, "p.launch", vec!["v0.mp4", "--override", "gpunm.confidence=1"], "'gpunms' is probably meant"),
        (
            right,
            "p.launch",
            vec!["v0.mp4", "--override", "gpunms.confidence=4"],
            "expected a number from 0 to 1",
        ),
        (
            right,
            "p.launch",
            vec!["v0.mp4", "--override", "confidence=4"],
            "write --override ELEMENT.PROPERTY=VALUE",
        ),
        (
            right,
            "p.launch",
            vec!["v0.mp4", "--override", "gpunms.classes=1", "--out", "file"],
            "'file' cannot be used",
        ),
        (
            right,
            "p.launch",
            vec!["https://user:pw@host/a.mp4"],
            "'https://host/a.mp4' is a URI, and filesrc reads files",
        ),
        (right, "none.launch", vec!["v0.mp4"], "there is no pipeline 'none.launch'"),
        (right, "pose-topdwn", vec!["v0.mp4"], "'pose-topdown' is probably meant"),
        (right, "element.launch", vec!["v0.mp4"], "no element gpunsm"),
        (right, "property.launch", vec!["v0.mp4"], "slep-time"),
        (right, "header.launch", vec!["v0.mp4"], "its header lacks a line '# pace=DEFAULT  HELP'"),
        (nowhere.as_str(), "p.launch", vec!["v0.mp4"], "/nowhere/a.onnx"),
        (empty.as_str(), "p.launch", vec!["v0.mp4"], "empty.onnx"),
        ("pace=0", "p.launch", vec!["v0.mp4"], "needs --set model=VALUE: the detector"),
    ] {
        let mut command = program(&folder);
        command
            .args(["run", "--pipeline", pipeline, "--set", set, "--set", "classes=red", "--out", "out"])
            .args(&more);
        let log = refused(&mut command);
        assert_eq!(log.matches(part).count(), 1, "{part}: {log}");
        assert_eq!(log.lines().filter(|line| line.starts_with("cudainfer-batch: ")).count(), 1, "{log}");
        assert!(!log.contains("user:pw"), "{log}");
        assert!(!folder.join("out").exists(), "{part}");
    }
}

#[test]
fn all_faults_are_told_at_once() {
    let folder = folder();
    let log = refused(&mut command(&folder, &["a.mp4", "b.mp4", "--override", "gpunm.x=1"]));
    assert_eq!(log.lines().count(), 3, "{log}");
    let log =
        refused(&mut command(&folder, &["a.mp4", "a.mp4", "--index", "3", "--of", "3", "--set", "x=1"]));
    assert_eq!(log.lines().count(), 3, "{log}");
}

#[test]
fn files_that_are_no_videos_are_found_before_anything_runs() {
    let folder = folder();
    make(&folder, 1);
    make_bad(&folder);
    let log = refused(&mut command(&folder, &["v0.mp4", "empty.mp4", "sound.wav", "text.mp4"]));
    assert_eq!(log.lines().count(), 2, "{log}");
    for part in ["/empty.mp4' is no video: it is empty", "/text.mp4' is no video: it begins like nothing"] {
        assert!(log.contains(part), "{log}");
    }
    // A pipeline that knows what its files hold may read anything.
    let raw = "# Raw\n#\n# video=  the video\n# json=./out/x.jsonl  records\n\
        filesrc location={video} ! rawvideoparse width=2 height=1 ! videoconvert ! inferpublish location={json} ! fakesink\n";
    std::fs::write(folder.join("raw.launch"), raw).unwrap();
    let mut command = program(&folder);
    command.args(["run", "--pipeline", "raw.launch", "--out", "out", "--check", "text.mp4"]);
    let (code, log) = ends(&mut command);
    assert_eq!(code, 0, "{log}");
}

#[test]
fn arguments_that_make_no_sense_are_refused_and_help_is_printed() {
    let folder = folder();
    for (arguments, part) in [
        (vec!["go"], "there is no command 'go'"),
        (vec!["run", "--jbos", "3"], "'--jobs' is probably meant"),
        (vec!["run", "a.mp4"], "--pipeline PIPELINE is missing"),
        (vec![], "cudainfer-batch run --pipeline"),
    ] {
        let (code, log) = ends(program(&folder).args(arguments));
        assert!(code == 78 && log.contains(part), "{log}");
    }
    let help = program(&folder).args(["run", "--help"]).output().unwrap();
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("Exit codes: 0 "));
    let version = program(&folder).arg("--version").output().unwrap();
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("cudainfer-batch 0."));
}
