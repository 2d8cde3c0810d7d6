//! The tracer `cudainfer` and the ranges for profilers, in processes of their own: both are set up by variables.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use cudainfer_tests::{model, scratch, until, within};
use serde_json::Value;

use crate::plugin::processes::{command, interrupt, text, tool};

/// The results of a pipeline: its output, the tracer's report and its trace.
struct Traced {
    output: Output,
    report: Value,
    trace: Vec<Value>,
}

impl Traced {
    /// Runs a pipeline to its end.
    fn run(description: &str) -> Self {
        Self::with(|environment| launch(description, environment))
    }

    /// Calls `run` with the environment for the tracer and both of its files.
    fn with(run: impl FnOnce(&[(&str, &str)]) -> Output) -> Self {
        let folder = scratch("tracer");
        let (json, trace) = (folder.join("times.json"), folder.join("times.trace"));
        // One of them as those of GStreamer's own tracers are written.
        let tracers = format!("cudainfertracer(json=\"{}\",trace={})", json.display(), trace.display());
        let output = run(&[("GST_TRACERS", &tracers)]);
        let read = |path: &Path| std::fs::read(path).unwrap_or_else(|e| panic!("{e}: {output:?}"));
        let report = serde_json::from_slice(&read(&json)).unwrap();
        let trace = serde_json::from_slice(&read(&trace)).unwrap();
        Self { output, report, trace }
    }

    /// The report's only row of a factory.
    fn row(&self, factory: &str) -> &Value {
        let rows = self.report["elements"].as_array().unwrap().iter();
        let rows: Vec<_> = rows.filter(|row| row["factory"] == factory).collect();
        assert_eq!(rows.len(), 1, "{factory}: {}", self.report);
        rows[0]
    }

    /// The trace's calls of an element, in the order in which they ended.
    fn calls(&self, element: &str) -> Vec<&Value> {
        self.trace
            .iter()
            .filter(|event| event["ph"] == "X" && event["cat"].is_null() && event["name"] == element)
            .collect()
    }

    /// What was printed: the cells of each line.
    fn printed(&self) -> Vec<Vec<String>> {
        let printed = cudainfer_tests::complaints(&self.output);
        printed.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    }
}

fn launch(description: &str, environment: &[(&str, &str)]) -> Output {
    let arguments: Vec<_> =
        ["gst-launch-1.0", "-q"].into_iter().chain(description.split_whitespace()).collect();
    tool(&arguments, environment)
}

/// A pipeline with every element that works on the CPU.
fn whole_pipeline(frames: u32) -> String {
    format!(
        "videotestsrc num-buffers={frames} pattern=red ! fusedpreproc device=cpu ! trtinfer model={} device=cpu ! gpunms \
         ! tracker ! inferpublish location=/dev/null ! inferoverlay ! fakesink",
        model("detector")
    )
}

#[test]
fn the_tracer_accounts_for_every_element_at_the_end() {
    let traced = Traced::run(&whole_pipeline(7));
    assert!(traced.output.status.success(), "{:?}", traced.output);
    assert_eq!((&traced.report["frames"], &traced.report["end"]), (&7.into(), &"eos".into()));
    assert!(traced.report["seconds"].as_f64().is_some_and(|s| s > 0.0));
    let printed = traced.printed();
    assert_eq!(printed[0], ["element", "buffers", "ms"], "on the CPU, the columns of the GPU are zero");
    for factory in
        ["fusedpreproc", "trtinfer", "gpunms", "tracker", "inferpublish", "inferoverlay", "fakesink"]
    {
        let row = traced.row(factory);
        assert_eq!(row["frames"], 7, "{row}");
        assert!(row["ms_per_frame"].as_f64().is_some_and(|ms| ms > 0.0), "{row}");
        assert!(printed.iter().any(|cells| cells[0] == row["name"] && cells[1] == "7"), "{printed:?}");
    }
    let order: Vec<_> =
        traced.report["elements"].as_array().unwrap().iter().map(|row| &row["factory"]).collect();
    assert_eq!(
        (order[0], order[6]),
        (&"fusedpreproc".into(), &"fakesink".into()),
        "the rows go with the stream"
    );
    for factory in ["tracker", "inferpublish"] {
        assert_eq!(traced.row(factory)["stats"]["frames"], 7);
        assert!(traced.row(factory)["stats"]["host-ns"].as_u64().is_some_and(|ns| ns > 0));
    }
    assert_eq!(traced.row("tracker")["stats"]["detections"], 7);
    let infer = traced.row("trtinfer");
    let (whole, workers) = (infer["ms_per_frame"].as_f64(), infer["worker_ms_per_frame"].as_f64());
    assert!(workers > Some(0.0) && whole >= workers, "{infer}");
    assert!(printed.iter().any(|cells| cells[0] == "*"), "what the mark means is said: {printed:?}");
}

#[test]
fn a_trace_has_every_call_of_every_element_in_its_thread() {
    let traced = Traced::run(&whole_pipeline(5));
    for row in traced.report["elements"].as_array().unwrap() {
        let calls = traced.calls(row["name"].as_str().unwrap());
        let frames: Vec<_> = calls.iter().map(|call| call["args"]["frame"].as_u64().unwrap()).collect();
        assert_eq!(frames, [0, 1, 2, 3, 4], "{row}");
        let pts: Vec<_> = calls.iter().map(|call| call["args"]["pts"].as_u64().unwrap()).collect();
        assert!(pts.is_sorted() && pts[4] > pts[0], "{pts:?}");
    }
    // Calls are in the order of their ends, and a call that was made inside another one lies inside it.
    let mut threads: HashMap<i64, Vec<(f64, f64)>> = HashMap::new();
    for event in traced.trace.iter().filter(|event| event["ph"] == "X" && event["cat"].is_null()) {
        let (start, took) = (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap());
        let calls = threads.entry(event["tid"].as_i64().unwrap()).or_default();
        let (last, end) = (calls.last().copied(), start + took);
        // Sums of rounded numbers: to a nanosecond.
        assert!(
            last.is_none_or(|(s, e)| e <= end + 1e-3 && (s >= start - 1e-3 || e <= start + 1e-3)),
            "{event}"
        );
        calls.push((start, end));
    }
    assert!(threads.len() >= 2, "trtinfer pushes from a thread of its own");
    for thread in threads.keys() {
        let names: Vec<_> = traced
            .trace
            .iter()
            .filter(|e| e["ph"] == "M" && e["tid"] == *thread)
            .map(|e| &e["args"]["name"])
            .collect();
        assert!(names.len() == 1 && names[0].as_str().is_some_and(|name| !name.is_empty()), "{names:?}");
    }
}

#[test]
fn an_error_ends_the_account_once() {
    let traced = Traced::run("videotestsrc num-buffers=50 ! identity error-after=6 ! tracker ! fakesink");
    assert!(!traced.output.status.success());
    assert_eq!(traced.report["end"], "error");
    assert_eq!(traced.row("tracker")["frames"], 5, "{}", traced.report);
    assert_eq!(traced.calls("tracker0").len(), 5);
    let printed = traced.printed();
    let tables = printed.iter().filter(|cells| cells.first().is_some_and(|cell| cell == "element")).count();
    assert_eq!(tables, 1, "{printed:?}");
    assert!(printed.iter().any(|cells| cells.last().is_some_and(|cell| cell == "(error)")), "{printed:?}");
}

#[test]
fn a_pipeline_that_is_stopped_is_accounted_for() {
    let traced = Traced::with(|environment| {
        let lines = scratch("stopped").join("lines.json");
        let location = format!("location={}", lines.display());
        let mut interrupted = command("gst-launch-1.0", environment);
        let description = [
            "-q",
            "videotestsrc",
            "is-live=true",
            "!",
            "tracker",
            "!",
            "inferpublish",
            &location,
            "!",
            "fakesink",
        ];
        let running =
            interrupted.args(description).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        until("frames flow", || lines.metadata().is_ok_and(|file| file.len() > 0));
        interrupt(running.id());
        within(|| running.wait_with_output().unwrap())
    });
    assert_eq!(traced.report["end"], "stopped", "{:?}", traced.output);
    let frames = traced.row("tracker")["frames"].as_u64().unwrap();
    assert!(frames > 0 && traced.calls("tracker0").len() as u64 == frames, "{}", traced.report);
}

#[test]
fn buffers_in_lists_are_counted_one_by_one() {
    // The payloader pushes each frame as a list of packets; identity takes them one by one.
    for elements in ["! fakesink", "! identity ! fakesink"] {
        let traced = Traced::run(&format!("videotestsrc num-buffers=3 ! rtpvrawpay {elements}"));
        let packets = traced.row("fakesink")["frames"].as_u64().unwrap();
        assert_eq!(traced.row("rtpvrawpay")["frames"], 3);
        assert!(packets > 10 * 3, "{packets}");
        if elements.contains("identity") {
            assert_eq!(traced.row("identity")["frames"], packets);
        }
        let calls = traced.calls("fakesink0");
        let sum: u64 = calls.iter().map(|call| call["args"]["buffers"].as_u64().unwrap()).sum();
        assert_eq!(sum, packets);
        assert_eq!(calls.len() as u64 == packets, elements.contains("identity"), "{} calls", calls.len());
    }
}

#[test]
fn an_unknown_option_or_a_second_tracer_is_reported() {
    let description = "videotestsrc num-buffers=1 ! fakesink";
    let output = launch(description, &[("GST_TRACERS", "cudainfertracer(jsn=x)")]);
    assert!(
        text(&output.stderr).contains(
            "metrics=ADDRESS:PORT or metrics=application, stall=SECONDS, otlp=URL and sample=N, not 'jsn=x'"
        ),
        "{output:?}"
    );
    let output = launch(description, &[("GST_TRACERS", "cudainfertracer;cudainfertracer")]);
    assert!(text(&output.stderr).contains("works once"), "{output:?}");
    let output = launch(description, &[("GST_TRACERS", "cudainfertracer(trace=/nowhere/a,json=/nowhere/b)")]);
    for file in ["'/nowhere/a' cannot be written", "'/nowhere/b' cannot be written"] {
        assert_eq!(text(&output.stderr).matches(file).count(), 1, "{output:?}");
    }
}

/// The profiler of profiler.c, compiled.
fn profiler(folder: &Path) -> PathBuf {
    let library = folder.join("libprofiler.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("elements/plugin/profiler.c");
    let compiled = Command::new("cc")
        .args(["-D_GNU_SOURCE", "-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .output()
        .expect("the C compiler that also links Rust is there");
    assert!(compiled.status.success(), "{compiled:?}");
    library
}

#[test]
fn a_profiler_sees_each_frame_of_an_element_as_a_range() {
    let folder = scratch("profiler");
    let (library, file) = (profiler(&folder).display().to_string(), folder.join("ranges"));
    let ranges = file.display().to_string();
    let description = "videotestsrc num-buffers=4 ! tracker ! inferpublish location=/dev/null ! fakesink";
    let run = |environment: &[(&str, &str)]| {
        let output = launch(description, environment);
        assert!(output.status.success(), "{output:?}");
        std::fs::read_to_string(&file).unwrap_or_default()
    };

    assert_eq!(run(&[("RANGES", &ranges)]), "", "no profiler is attached");

    let attached = [("NVTX_INJECTION64_PATH", library.as_str()), ("RANGES", &ranges)];
    let seen = run(&attached);
    for element in ["tracker0", "inferpublish0"] {
        assert_eq!(seen.matches(&format!(" push {element}\n")).count(), 4, "{seen}");
    }
    assert_eq!(seen.matches(" pop\n").count(), 8, "{seen}");

    let with_tracer = [attached[0], attached[1], ("GST_TRACERS", "cudainfertracer")];
    let seen = run(&with_tracer);
    assert_eq!(
        seen.matches(" push fakesink0\n").count(),
        4,
        "the tracer shows foreign elements, too: {seen}"
    );
    assert_eq!(seen.matches(" push ").count(), seen.matches(" pop\n").count(), "{seen}");
}
