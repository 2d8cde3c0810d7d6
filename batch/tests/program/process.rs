//! The program in a process of its own, and what it leaves in its folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use cudainfer_tests::{complaints, model, scratch, until};
use rustix::process::{Pid, Signal, kill_process};

/// A pipeline that writes two files for each video, one of them as large as the video. `{pace}` is how long a frame takes in
/// microseconds.
const PIPELINE: &str = "# Detects, and writes records and drawn frames\n#\n# video=  the video\n# model=  the detector\n\
    # classes=  which to write\n# pace=0  microseconds\n# json=./out/x.jsonl  records\n# drawn=./out/x.raw  frames\n\
    filesrc location={video} ! decodebin ! videoconvert ! video/x-raw,format=RGB ! identity sleep-time={pace}\n\
    ! fusedpreproc ! trtinfer model={model} ! gpunms ! inferpublish location={json} classes={classes}\n\
    ! inferoverlay ! filesink location={drawn}\n";

/// A folder with the pipeline, in which videos and results are made.
pub(crate) fn folder() -> PathBuf {
    let folder = scratch("batch");
    std::fs::write(folder.join("p.launch"), PIPELINE).unwrap();
    folder
}

/// The program, with the plugin that was built with this test, in a folder of [`folder`].
pub(crate) fn program(folder: &Path) -> Command {
    let test = std::env::current_exe().unwrap();
    let plugin = test.parent().unwrap();
    assert!(plugin.join("libgstcudainfer.so").is_file(), "the plugin is not beside the test");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cudainfer-batch"));
    command
        .current_dir(folder)
        .env("GST_PLUGIN_PATH", plugin)
        .env("GST_REGISTRY", scratch("registry").join("registry.bin"));
    for name in ["SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"] {
        command.env_remove(name);
    }
    command
}

/// `run` with the pipeline, a model, the folder `out`, and more arguments.
pub(crate) fn command(folder: &Path, more: &[&str]) -> Command {
    command_of(folder, "./p.launch", more)
}

/// The same with a pipeline that has another piece in the place of one.
pub(crate) fn command_with(folder: &Path, [piece, other]: [&str; 2], more: &[&str]) -> Command {
    let text = std::fs::read_to_string(folder.join("p.launch")).unwrap();
    assert!(text.contains(piece), "{text}");
    std::fs::write(folder.join("changed.launch"), text.replace(piece, other)).unwrap();
    command_of(folder, "changed.launch", more)
}

fn command_of(folder: &Path, pipeline: &str, more: &[&str]) -> Command {
    let mut command = program(folder);
    let model = format!("model={}", model("detector"));
    command
        .args(["run", "--pipeline", pipeline, "--set", &model, "--set", "classes=red", "--out", "out"])
        .args(more);
    command
}

/// Runs it to its end. Returns its exit code and its log.
#[track_caller]
pub(crate) fn ends(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    let log = complaints(&output);
    (output.status.code().unwrap_or_else(|| panic!("{}: {log}", output.status)), log)
}

/// The results in `out` by their names: records without their times and identifiers, which differ in each run. Every other file
/// byte for byte, but for summaries, errors and hidden files.
pub(crate) fn results(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut results = BTreeMap::new();
    for name in names(folder) {
        let own =
            name.ends_with(".summary.json") || name.ends_with(".error.json") || name == "configuration.json";
        if own || name.starts_with('.') {
            continue;
        }
        let bytes = std::fs::read(folder.join("out").join(&name)).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let bytes = if name.ends_with(".jsonl") {
            text.lines().map(lasting).collect::<String>().into_bytes()
        } else {
            bytes
        };
        results.insert(name, bytes);
    }
    results
}

/// A record without its time and identifier.
fn lasting(line: &str) -> String {
    let mut record: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    let record = record.as_object_mut().unwrap();
    for key in ["id", "time"] {
        assert!(record.remove(key).is_some(), "{key}: {line}");
    }
    serde_json::to_string(record).unwrap() + "\n"
}

/// All names in `out`, hidden ones too.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder.join("out")).into_iter().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What a file of JSON in `out` says.
#[track_caller]
pub(crate) fn json(folder: &Path, name: &str) -> serde_json::Value {
    let path = folder.join("out").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}: {:?}", names(folder)));
    serde_json::from_str(&text).unwrap()
}

/// A process that runs.
pub(crate) struct Started {
    process: Child,
    log: PathBuf,
}

impl Started {
    pub(crate) fn new(command: &mut Command) -> Self {
        let log = scratch("log").join("log");
        let process = command.stderr(Stdio::from(std::fs::File::create(&log).unwrap())).spawn().unwrap();
        Self { process, log }
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        // One that has ended cannot be signalled any more.
        let _ = kill_process(Pid::from_child(&self.process), signal);
    }

    /// Waits until `done` holds, and does not ask again, since it may hold only for a moment. The program must not end before.
    #[track_caller]
    pub(crate) fn runs_until(&mut self, what: &str, mut done: impl FnMut() -> bool) {
        let mut ended = None;
        until(what, || {
            let is_done = done();
            if !is_done {
                ended = self.process.try_wait().unwrap();
            }
            is_done || ended.is_some()
        });
        assert!(ended.is_none(), "{what}: the program has ended with {ended:?}: {}", self.log());
    }

    /// Waits until its log is as wanted, or it has ended.
    #[track_caller]
    pub(crate) fn waits_for(&mut self, what: &str, mut done: impl FnMut(&str) -> bool) {
        until(what, || done(&self.log()) || self.process.try_wait().unwrap().is_some());
    }

    #[track_caller]
    pub(crate) fn ends(&mut self) -> ExitStatus {
        let mut status = None;
        until("the program ends", || {
            status = self.process.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
