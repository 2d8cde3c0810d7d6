//! Results of another configuration.

use crate::process::{command, ends, folder, json, results};
use crate::videos::{arguments, make};
use cudainfer_tests::model;

#[test]
fn results_of_another_configuration_are_refused_and_stay_unless_they_may_be_replaced() {
    let folder = folder();
    let all = make(&folder, 2);
    for name in ["detector.onnx", "detector.toml"] {
        let from = std::path::PathBuf::from(model("detector")).with_file_name(name);
        std::fs::copy(from, folder.join(name)).unwrap();
    }
    let run = |classes: &str, more: &[&str]| {
        let classes = format!("classes={classes}");
        let mut command = crate::process::program(&folder);
        command.args([
            "run",
            "--pipeline",
            "p.launch",
            "--out",
            "out",
            "--set",
            "model=detector.onnx",
            "--set",
            &classes,
        ]);
        ends(command.args(more).args(arguments(&all)))
    };
    assert_eq!(run("red", &[]).0, 0);
    let before = results(&folder);
    let summary = json(&folder, "v0.summary.json");
    for (classes, more, differing) in [
        ("blue", vec![], "(classes differ)"),
        ("blue", vec!["--check"], "(classes differ)"),
        ("red", vec!["--override", "gpunms.confidence=0.99"], "(gpunms.confidence differ)"),
        ("blue", vec!["--set", "pace=1"], "(classes, pace differ)"),
    ] {
        let (code, log) = run(classes, &more);
        assert_eq!(code, 78, "{log}");
        assert!(
            log.contains("results of another configuration") && log.contains(differing),
            "{differing}: {log}"
        );
    }
    let sidecar = std::fs::read_to_string(folder.join("detector.toml")).unwrap();
    std::fs::write(folder.join("detector.toml"), sidecar.clone() + "# another\n").unwrap();
    let (code, log) = run("red", &[]);
    assert!(code == 78 && log.contains("(model differ)"), "{log}");
    std::fs::write(folder.join("detector.toml"), sidecar).unwrap();
    assert_eq!(run("red", &[]).0, 0);
    assert!(before == results(&folder) && summary == json(&folder, "v0.summary.json"), "nothing was touched");

    let (code, log) = run("blue", &["--overwrite"]);
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("2 of 2 videos complete (0 of them before)"), "{log}");
    assert_ne!(summary["configuration"], json(&folder, "v0.summary.json")["configuration"]);
    assert_eq!(run("blue", &[]).0, 0);
}

#[test]
fn a_folder_with_other_files_is_refused() {
    let folder = folder();
    make(&folder, 1);
    std::fs::create_dir(folder.join("out")).unwrap();
    std::fs::write(folder.join("out/v0.jsonl"), "mine").unwrap();
    let (code, log) = ends(&mut command(&folder, &["v0.mp4"]));
    assert!(code == 78 && log.contains("has other files, such as 'v0.jsonl'"), "{log}");
    assert_eq!(std::fs::read_to_string(folder.join("out/v0.jsonl")).unwrap(), "mine");
}
