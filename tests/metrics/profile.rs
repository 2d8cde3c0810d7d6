//! `scripts/profile` of real pipelines.

use std::path::Path;
use std::process::{Command, Output};

use cudainfer_tests::{LIMIT, model, root, scratch};
use serde_json::Value;

/// Runs the Python of scripts/profile with these arguments.
fn profile(words: &[&str]) -> Output {
    let test = std::env::current_exe().unwrap();
    Command::new("timeout")
        .arg(LIMIT.as_secs().to_string())
        .arg(root().join(".venv/bin/python"))
        .arg(root().join("tools"))
        .arg("profile")
        .args(words)
        .env("GST_PLUGIN_PATH", test.parent().unwrap())
        .current_dir(root())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(file: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

#[test]
fn a_pipelines_profile_has_its_network_its_threads_and_what_bounds_it() {
    let folder = scratch("profile").join("run");
    let description = format!(
        "videotestsrc num-buffers=80 ! video/x-raw,width=320,height=240,framerate=30/1 ! fusedpreproc \
         ! trtinfer name=infer model={} ! queue ! gpunms ! fakesink name=end sync=false",
        model("detector-slow")
    );
    let output = profile(&["--output", &folder.display().to_string(), &description]);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));

    let report = json(&folder.join("report.json"));
    let rows = report["elements"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names.first(), Some(&"capsfilter0"), "{names:?}");
    assert_eq!(names.last(), Some(&"end"), "{names:?}");
    assert!(rows.iter().all(|row| row["buffers"] == 80), "{rows:?}");
    assert_eq!(report["streams"], 1, "elements are linked across the queue and the network's own threads");
    let [worker] = &report["workers"].as_array().unwrap()[..] else { panic!("{report}") };
    assert_eq!((&worker["elements"], &worker["runs"]), (&["infer"].into(), &80.into()));
    assert!(report["latency_ms"]["p99"].as_f64().unwrap() >= report["latency_ms"]["p50"].as_f64().unwrap());
    // The terminal, the file and the page have the same sentence.
    let what = report["bound"]["what"].as_str().unwrap();
    assert!(what.contains("infer"), "{what}");
    assert!(text(&output.stdout).contains(what));
    assert!(std::fs::read_to_string(folder.join("summary.txt")).unwrap().starts_with(what));

    let trace = json(&folder.join("trace.json"));
    let events = trace.as_array().unwrap();
    let runs: Vec<_> = events.iter().filter(|event| event["cat"] == "run").collect();
    assert!(runs.len() > 70, "those of the first 80 frames, but for the last ones: {}", runs.len());
    assert!(runs.iter().all(|run| run["name"] == "infer" && run["args"]["frames"] == 1));
    let time = |event: &Value| event["ts"].as_f64().unwrap();
    let calls: Vec<_> = events.iter().filter(|event| event["ph"] == "X" && event["cat"].is_null()).collect();
    let bounds = |all: &[&Value]| {
        let times = all.iter().map(|event| time(event));
        times.fold((f64::MAX, f64::MIN), |(low, high), at| (low.min(at), high.max(at)))
    };
    let ((first, last), (first_run, last_run)) = (bounds(&calls), bounds(&runs));
    assert!(first <= first_run && last_run <= last, "runs and calls have one clock");
    assert!(calls.iter().all(|call| call["tdur"].as_f64().unwrap() >= 0.0));
}

#[test]
fn a_pipeline_that_fails_is_reported_with_its_own_sentence() {
    let folder = scratch("profile-fails");
    let at = |name: &str| folder.join(name).display().to_string();
    let early = profile(&[
        "--output",
        &at("early"),
        "videotestsrc ! fusedpreproc ! trtinfer model=/none.onnx ! fakesink",
    ]);
    assert_eq!(early.status.code(), Some(1));
    assert!(text(&early.stderr).contains("'/none.onnx'"), "{}", text(&early.stderr));

    // The pipeline has frames before it fails, so there is a report.
    let late = profile(&[
        "--output",
        &at("late"),
        "videotestsrc num-buffers=40 ! identity error-after=20 ! fakesink sync=false",
    ]);
    assert_eq!(late.status.code(), Some(1), "{}", text(&late.stderr));
    assert!(text(&late.stderr).contains("the pipeline failed"), "{}", text(&late.stderr));
    let report = json(&folder.join("late/report.json"));
    assert_eq!((&report["bound"]["kind"], &report["ended"]), (&"error".into(), &"error".into()));

    for (words, part) in [
        (vec!["--read", "/nowhere"], "--environment"),
        (vec!["no-such-pipeline"], "there is no pipeline 'no-such-pipeline'"),
        (vec!["--output", &at("late"), "videotestsrc ! fakesink"], "is not empty"),
        (vec!["videotestsrc ! fakesink", "--seconds", "3"], "Give options before it"),
        (vec!["--scenarios", &at("s"), "none"], "there is no scenario 'none'"),
        (vec![], "no pipeline is given"),
    ] {
        let output = profile(&words);
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains(part), "{words:?}: {said}");
        assert!(!said.contains("Traceback"), "{said}");
    }
}

#[test]
fn an_application_is_profiled_by_its_environment_alone() {
    let folder = scratch("profile-attached").join("run");
    let at = folder.display().to_string();
    let printed = text(&profile(&["--environment", &at]).stdout);
    let value = printed.trim().strip_prefix("export GST_TRACERS='").and_then(|rest| rest.strip_suffix('\''));
    let test = std::env::current_exe().unwrap();
    let status = Command::new("gst-launch-1.0")
        .args(
            "videotestsrc num-buffers=30 ! video/x-raw,width=320,height=240 ! fusedpreproc ! trtinfer"
                .split(' '),
        )
        .arg(format!("model={}", model("detector-slow")))
        .args("! fakesink sync=false".split(' '))
        .env("GST_PLUGIN_PATH", test.parent().unwrap())
        .env("GST_TRACERS", value.unwrap_or_else(|| panic!("{printed}")))
        .stdout(std::process::Stdio::null())
        .status();
    assert!(status.unwrap().success());
    let output = profile(&["--read", &at]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(json(&folder.join("report.json"))["workers"][0]["runs"], 30);
    assert!(folder.join("report.html").is_file());
    let both = profile(&["--output", &format!("{at}.html"), "--compare", &at, &at]);
    assert!(both.status.success() && text(&both.stdout).contains("after / before"), "{}", text(&both.stderr));
}
