//! Results, summaries, and videos that fail.

use crate::process::{command, ends, folder, json, names, results};
use crate::videos::{FRAMES, arguments, make, make_bad};

#[test]
fn good_videos_have_results_and_bad_ones_a_sentence_each() {
    let folder = folder();
    let mut all = make(&folder, 3);
    let bad = make_bad(&folder);
    all.extend(bad.iter().map(|(name, _)| (*name).to_owned()));
    all.push("missing.mp4".into());
    let (code, log) = ends(&mut command(&folder, &arguments(&all)));
    assert_eq!(code, 65, "{log}");
    for number in 0..3 {
        let summary = json(&folder, &format!("v{number}.summary.json"));
        assert_eq!(summary["frames"]["decoded"], FRAMES);
        assert_eq!(summary["frames"]["expected"], FRAMES);
        assert!(summary["frames"]["seconds-after-last"].as_f64().unwrap() >= 0.0);
        assert!(summary["gpu"]["share"].is_null() && summary["gpu"]["reason"].is_string());
        assert_eq!(summary["models"]["model"]["detector.onnx"].as_str().unwrap().len(), 64);
        let width = 64 + 16 * number;
        assert_eq!(summary["results"][format!("v{number}.raw")], FRAMES * width * 48 * 3);
    }
    for (name, part) in bad {
        let stem = name.split('.').next().unwrap();
        let failed = json(&folder, &format!("{stem}.error.json"));
        let error = failed["error"].as_str().unwrap();
        let silent = name == "cut.mp4" && error.contains("it is cut off or damaged");
        assert!(silent || error.contains(part), "{name}: {error}");
        assert_eq!(failed["permanent"], true, "{name}");
        let listed =
            log.lines().filter(|line| line.contains("failed: ") && line.contains(&format!("{name})")));
        assert_eq!(listed.count(), 1, "{name}: {log}");
    }
    assert_eq!(json(&folder, "missing.error.json")["permanent"], false, "it may come");
    assert!(log.contains("3 of 8 videos complete (0 of them before), 5 failed, 0 not done"), "{log}");
    assert_eq!(names(&folder).len(), 1 + 3 * 3 + 5, "nothing else is left: {:?}", names(&folder));
    let records = &results(&folder)["v1.jsonl"];
    let records = String::from_utf8_lossy(records);
    assert_eq!(records.lines().count(), FRAMES);
    assert!(records.lines().all(|line| line.contains("\"source\":\"v1\"")), "{records}");
}

/// Of such files, GStreamer reports some and loses the error of others: see batch/src/silent.rs.
#[test]
fn every_file_that_was_cut_off_is_told_at_once() {
    let folder = folder();
    make_bad(&folder);
    let names: Vec<String> = (0..24).map(|number| format!("cut{number}.mp4")).collect();
    for name in &names {
        std::fs::copy(folder.join("cut.mp4"), folder.join(name)).unwrap();
    }
    let (code, log) =
        ends(&mut command(&folder, &[&["--jobs", "3", "--stall", "100"], &arguments(&names)[..]].concat()));
    assert_eq!(code, 65, "{log}");
    for name in names {
        let failed = json(&folder, &format!("{}.error.json", name.trim_end_matches(".mp4")));
        let error = failed["error"].as_str().unwrap();
        assert!(
            error.contains("no playable streams") || error.contains("it is cut off or damaged"),
            "{name}: {error}"
        );
        assert_eq!(failed["permanent"], true, "{name}");
    }
}

#[test]
fn several_at_a_time_write_the_same_as_one_after_the_other() {
    let (serial, parallel) = (folder(), folder());
    for (folder, jobs) in [(&serial, "1"), (&parallel, "4")] {
        let all = make(folder, 6);
        let mut arguments = arguments(&all);
        arguments.extend(["--jobs", jobs]);
        let (code, log) = ends(&mut command(folder, &arguments));
        assert_eq!(code, 0, "{log}");
    }
    assert_eq!(results(&serial).len(), 12);
    assert!(results(&serial) == results(&parallel), "results differ");
}

#[test]
fn a_manifest_names_videos_and_results() {
    let folder = folder();
    make(&folder, 2);
    std::fs::create_dir(folder.join("lists")).unwrap();
    std::fs::write(folder.join("lists/all.tsv"), "# two\n../v0.mp4\tfirst\n\n../v1.mp4\n").unwrap();
    let (code, log) = ends(&mut command(&folder, &["lists/all.tsv"]));
    assert_eq!(code, 0, "{log}");
    let names: Vec<String> = results(&folder).into_keys().collect();
    assert_eq!(names, ["first.jsonl", "first.raw", "v1.jsonl", "v1.raw"]);
}
