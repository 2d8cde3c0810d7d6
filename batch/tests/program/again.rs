//! The same command again.

use std::path::Path;
use std::time::SystemTime;

use crate::process::{command, ends, folder, json, names, results};
use crate::videos::{arguments, make, make_bad, make_one};

fn changed(folder: &Path, name: &str) -> SystemTime {
    folder.join("out").join(name).metadata().unwrap().modified().unwrap()
}

#[test]
fn what_is_complete_is_skipped_and_what_has_failed_is_told_again() {
    let folder = folder();
    let mut all = make(&folder, 2);
    make_bad(&folder);
    all.push("text.mp4".into());
    let (code, _) = ends(&mut command(&folder, &arguments(&all)));
    assert_eq!(code, 65);
    let before = ["v0.summary.json", "v1.raw", "text.error.json"].map(|name| changed(&folder, name));
    let (code, log) = ends(&mut command(&folder, &arguments(&all)));
    assert_eq!(code, 65, "{log}");
    assert!(
        log.contains("2 of 3 videos complete (2 of them before), 1 failed, 0 not done: 0 frames"),
        "{log}"
    );
    assert!(log.contains("text failed: Could not determine type of stream"), "{log}");
    assert_eq!(before, ["v0.summary.json", "v1.raw", "text.error.json"].map(|name| changed(&folder, name)));
    // The one that failed is another file now, so it is tried again, without being asked for.
    make_one(&folder.join("text.mp4"), 5);
    let (code, log) = ends(&mut command(&folder, &arguments(&all)));
    assert_eq!(code, 0, "{log}");
    assert!(!names(&folder).contains(&"text.error.json".to_owned()));
    assert_eq!(before[..2], ["v0.summary.json", "v1.raw"].map(|name| changed(&folder, name)));
}

#[test]
fn retry_tries_again_what_has_failed() {
    let folder = folder();
    std::fs::write(folder.join("text.mp4"), "no video").unwrap();
    assert_eq!(ends(&mut command(&folder, &["text.mp4"])).0, 65);
    let before = changed(&folder, "text.error.json");
    assert_eq!(ends(&mut command(&folder, &["text.mp4", "--retry"])).0, 65);
    assert!(changed(&folder, "text.error.json") > before);
}

#[test]
fn a_video_that_has_changed_or_whose_result_is_damaged_is_done_again() {
    let folder = folder();
    let all = make(&folder, 3);
    assert_eq!(ends(&mut command(&folder, &arguments(&all))).0, 0);
    let whole = results(&folder);
    make_one(&folder.join("v0.mp4"), 4);
    std::fs::write(folder.join("out/v1.raw"), "half").unwrap();
    let kept = changed(&folder, "v2.summary.json");
    let (code, log) = ends(&mut command(&folder, &arguments(&all)));
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("3 of 3 videos complete (1 of them before)"), "{log}");
    let now = results(&folder);
    assert!(now["v0.raw"] != whole["v0.raw"] && now["v1.raw"] == whole["v1.raw"]);
    assert_eq!(kept, changed(&folder, "v2.summary.json"));
    assert_eq!(json(&folder, "v0.summary.json")["frames"]["decoded"], 20);
}
