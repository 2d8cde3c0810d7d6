//! `scripts/run --watch` of a real pipeline, on a terminal and without.

use std::process::{Command, Output, Stdio};

use cudainfer_tests::{LIMIT, model, root, run, scratch};

/// Runs pipelines/detect.launch with --watch on a short video; through a pty if `terminal`.
fn watched(terminal: bool, extra: &[&str]) -> Output {
    let folder = scratch("watched");
    let video = folder.join("video.mkv").display().to_string();
    run(&format!(
        "videotestsrc num-buffers=600 pattern=red ! video/x-raw,width=640,height=480,framerate=30/1 ! jpegenc ! matroskamux \
         ! filesink location={video}"
    ))
    .succeeds();
    let out = |name: &str| folder.join(name).display().to_string();
    let words = [
        "python3".to_owned(),
        root().join("tools").display().to_string(),
        "run".into(),
        "detect".into(),
        "--watch".into(),
        format!("video={video}"),
        format!("model={}", model("detector-slow")),
        "classes=".into(),
        format!("json={}", out("a.jsonl")),
        format!("output={}", out("a.mp4")),
    ];
    let mut command = Command::new("timeout");
    command.arg(LIMIT.as_secs().to_string());
    if terminal {
        command.args([
            "python3",
            "-c",
            "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))",
        ]);
    }
    let test = std::env::current_exe().unwrap();
    command
        .args(&words)
        .args(extra)
        .env("GST_PLUGIN_PATH", test.parent().unwrap())
        .env("GST_REGISTRY", folder.join("registry.bin"))
        .env("COLUMNS", "120")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn each_stream_has_a_line_with_rate_latency_drops_and_objects() {
    let output = watched(false, &[]);
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{shown}{said}");
    let lines: Vec<Vec<_>> = shown
        .lines()
        .filter(|line| line.contains(" frames/s "))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert!(!lines.is_empty(), "{shown}{said}");
    for words in &lines {
        assert!(
            words[0].starts_with("filesrc0/"),
            "one stream, and not the file's bytes or the muxer's: {shown}"
        );
        assert_eq!((words[2], words[4], words[6]), ("frames/s", "ms", "dropped"), "{shown}");
        words[1].parse::<f64>().unwrap();
    }
    assert!(
        lines.iter().any(|words| words[1] != "0.0" && words[3] != "-" && words.last() == Some(&"objects")),
        "{shown}"
    );
    assert!(!shown.contains('\x1b'), "{shown:?}");
    assert!(!said.contains("cudainfer-tracer"), "the log that tells the address is not shown: {said}");
    assert!(shown.contains("Setting pipeline to PLAYING"), "what gst-launch says still is: {shown}");
}

#[test]
fn on_a_terminal_the_line_is_replaced() {
    let output = watched(true, &[]);
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{shown}");
    let drawn = shown.matches(" frames/s ").count();
    assert!(drawn > 0, "{shown}");
    // "\x1b[", the number of lines, "A\x1b[J" goes up to what was drawn before and erases it: all but the last lines, of which there may
    // be more than one for a moment.
    let (before, last) = shown.rsplit_once("A\x1b[J").unwrap_or(("", &shown));
    let lines = |part: &str| part.rsplit_once("\x1b[").and_then(|(_, lines)| lines.parse::<usize>().ok());
    let erased: usize = before.split("A\x1b[J").filter_map(lines).sum();
    assert_eq!(erased + last.matches(" frames/s ").count(), drawn, "{shown:?}");
}

#[test]
fn a_pipeline_that_fails_fails_with_its_own_words() {
    let output = watched(false, &["model=/nowhere/a.onnx"]);
    assert!(!output.status.success() && output.status.code() != Some(124), "{output:?}");
    assert!(text(&output.stderr).contains("'/nowhere/a.onnx' cannot be read"), "{output:?}");
}
