//! The program in a process of its own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use cudainfer_tests::{scratch, until};
use rustix::process::{Pid, Signal, kill_process};

/// The program with the plugin that was built with this test.
pub(crate) fn command() -> Command {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    assert!(folder.join("libgstcudainfer.so").is_file(), "the plugin is not beside the test");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cudainfer-serve"));
    command
        .env("GST_PLUGIN_PATH", folder)
        .env("GST_REGISTRY", scratch("registry").join("registry.bin"))
        .env_remove("JOURNAL_STREAM");
    command
}

/// Runs `--check` on a configuration.
pub(crate) fn check(text: &str) -> Output {
    let path = scratch("check").join("serve.toml");
    std::fs::write(&path, text).unwrap();
    command().arg("--check").arg(path).output().unwrap()
}

/// A service that runs.
pub(crate) struct Service {
    process: Child,
    logged: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
    pub(crate) file: PathBuf,
}

impl Service {
    pub(crate) fn start(text: &str) -> Self {
        let file = scratch("serve").join("serve.toml");
        std::fs::write(&file, text).unwrap();
        Self::start_with(&mut command(), &file)
    }

    pub(crate) fn start_with(command: &mut Command, file: &Path) -> Self {
        let mut process = command.arg(file).stderr(Stdio::piped()).spawn().unwrap();
        let logged = Arc::<Mutex<Vec<String>>>::default();
        let (lines, all) = (BufReader::new(process.stderr.take().unwrap()).lines(), Arc::clone(&logged));
        let reader = std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| all.lock().unwrap().push(line))
        });
        Self { process, logged, reader: Some(reader), file: file.to_owned() }
    }

    /// Waits until the log has this text in as many lines. Returns the last of them.
    #[track_caller]
    pub(crate) fn logs(&self, part: &str, times: usize) -> String {
        let count = || self.logged.lock().unwrap().iter().filter(|line| line.contains(part)).count();
        until(part, || {
            let done = count() >= times;
            done || !Path::new(&format!("/proc/{}/exe", self.process.id())).exists()
        });
        assert!(
            count() >= times,
            "it has not logged '{part}' {times} times: {:#?}",
            self.logged.lock().unwrap()
        );
        let logged = self.logged.lock().unwrap();
        logged.iter().rev().find(|line| line.contains(part)).cloned().unwrap_or_default()
    }

    /// How many lines of the log have this text.
    pub(crate) fn count(&self, part: &str) -> usize {
        self.logged.lock().unwrap().iter().filter(|line| line.contains(part)).count()
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for its end, and for its whole log.
    #[track_caller]
    pub(crate) fn ends(&mut self) -> ExitStatus {
        let mut status = None;
        until("the service ends", || {
            status = self.process.try_wait().unwrap();
            status.is_some()
        });
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        status.unwrap()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
