//! Helpers of all tests: starting pipelines, waiting for their end with a time limit, and collecting their frames.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this runs in tests only

pub mod dice;
mod free_port;
pub mod golden;
pub mod pipeline_file;
pub mod resources;
pub mod sixteen;
pub mod stream;
pub mod validator;

use std::collections::BTreeSet;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

use gst::prelude::*;

pub use free_port::free_port;

/// The longest wait of a test; a pipeline that needs more hangs. The limit is high because a machine that has just been set up
/// reads everything from its disk first.
pub const LIMIT: Duration = Duration::from_secs(300);

/// The same for GStreamer.
pub const CLOCK_LIMIT: gst::ClockTime = gst::ClockTime::from_seconds(LIMIT.as_secs());

/// The begin of the names of the tests' folders; the process's number follows.
const SCRATCH: &str = "cudainfer-test-";

/// Starts GStreamer with the plugin.
pub fn init() {
    static INIT: Once = Once::new();
    INIT.call_once(|| {
        gst::init().unwrap();
        gstcudainfer::plugin_register_static().unwrap();
    });
}

/// The repository, or the folder that replaces it on a GPU machine (scripts/gpu-bundle).
pub fn root() -> PathBuf {
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
    std::env::var_os("CUDAINFER_ROOT").map_or_else(built, PathBuf::from)
}

/// A test model that tools/cudainfer_tools/test_models has made, by its name.
pub fn model(name: &str) -> String {
    let path = root().join(".cache/test-models").join(format!("{name}.onnx"));
    assert!(path.is_file(), "{} is missing: run scripts/test, which makes it", path.display());
    path.display().to_string()
}

/// A file that scripts/setup fetches: `models/nanodet.onnx`, `video/vtest.avi`.
pub fn fetched(name: &str) -> String {
    let path = root().join(".cache").join(name);
    assert!(path.is_file(), "{} is missing: run scripts/setup, which fetches it", path.display());
    path.display().to_string()
}

/// OpenVINO's library, which scripts/test installs into .cache/openvino; nothing where it could not, so that a test leaves out what
/// needs it.
pub fn openvino_library() -> Option<PathBuf> {
    let libraries = std::fs::read_dir(root().join(".cache/openvino/openvino/libs"));
    let mut libraries = libraries.into_iter().flatten().flatten();
    let found = libraries.find(|file| file.file_name().to_string_lossy().starts_with("libopenvino_c.so"));
    let found = found.map(|file| file.path());
    assert!(
        found.is_some() || std::env::var_os("CUDAINFER_TEST_ALL").is_none(),
        "OpenVINO is missing in .cache/openvino: run scripts/test, which installs it"
    );
    if found.is_none() {
        eprintln!("left out: OpenVINO is not installed in .cache/openvino");
    }
    found
}

/// ONNX Runtime's plugin for WebGPU, which scripts/test installs into .cache/webgpu, and Mesa's Vulkan for the CPU, where Mesa is new enough
/// for it (Debian 13); nothing elsewhere.
pub fn webgpu_library() -> Option<PathBuf> {
    let library = root().join(".cache/webgpu/onnxruntime_ep_webgpu/libonnxruntime_providers_webgpu.so");
    let found = Some(library)
        .filter(|file| file.is_file() && Path::new("/usr/share/vulkan/icd.d/lvp_icd.json").is_file());
    if found.is_none() {
        eprintln!("left out: there is no WebGPU without .cache/webgpu and Mesa 24 or newer");
    }
    found
}

/// A folder of its own for a test, empty; another one at each call. It is removed by a later test run.
pub fn scratch(name: &str) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    static TIDY: Once = Once::new();
    TIDY.call_once(remove_old_scratch);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("{SCRATCH}{}-{number}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Removes the folders of test processes that have ended.
fn remove_old_scratch() {
    for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(SCRATCH).and_then(|rest| rest.split('-').next());
        if process.is_some_and(|id| !Path::new("/proc").join(id).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// All files below `folder` whose names end in one of `endings`, in the order of their paths.
pub fn files_below(folder: &Path, endings: &[&str]) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path, endings));
        } else if endings.iter().any(|ending| path.to_string_lossy().ends_with(ending)) {
            found.insert(path.canonicalize().unwrap());
        }
    }
    found
}

/// The command that runs one of this program's tests, ignored or not, in a process of its own. `module` is the `module_path!()` of
/// where the test `name` is.
///
/// # Panics
/// There is no such test: its process would end well without doing anything.
#[track_caller]
pub fn test_in_own_process(module: &str, name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments_of_test(module, name));
    command
}

/// What this program has to be given to run that test alone.
///
/// # Panics
/// As [`test_in_own_process`].
#[track_caller]
pub fn arguments_of_test(module: &str, name: &str) -> [String; 4] {
    let path = match module.split_once("::") {
        Some((_, path)) => format!("{path}::{name}"),
        None => name.to_owned(),
    };
    let arguments = ["--exact", &path, "--include-ignored", "--nocapture"].map(str::to_owned);
    let listed =
        Command::new(std::env::current_exe().unwrap()).args(&arguments).arg("--list").output().unwrap();
    assert!(String::from_utf8_lossy(&listed.stdout).contains(": test"), "there is no test {path}");
    arguments
}

/// Loads the plugin of examples/decoder/c, compiled now, or on a GPU machine by scripts/gpu-bundle.
pub fn load_c_decoder() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let brought = root().join("plugin/libgstyolov2c.so");
        let file = if brought.is_file() { brought } else { compiled_c_decoder() };
        gst::Plugin::load_file(file).unwrap();
    });
}

fn compiled_c_decoder() -> PathBuf {
    let (source, library) = (root().join("examples/decoder/c"), scratch("c").join("libgstyolov2c.so"));
    let packages = ["gstreamer-base-1.0", "gstreamer-video-1.0", "gmodule-2.0"];
    let flags = Command::new("pkg-config").args(["--cflags", "--libs"]).args(packages).output().unwrap();
    assert!(flags.status.success(), "{flags:?}");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-o"])
        .arg(&library)
        .args(["yolov2.c", "device.c"].map(|file| source.join(file)))
        .args(String::from_utf8_lossy(&flags.stdout).split_whitespace())
        .arg("-lm")
        .output()
        .expect("the C compiler that also links Rust is there");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    library
}

/// The messages of a pipeline until it ended.
#[derive(Debug, Default)]
pub struct Report {
    /// The errors' sentences, without their debug texts.
    pub errors: Vec<String>,
    /// The errors' debug texts, for the reader of a test's failure.
    pub details: Vec<String>,
    /// The warnings' sentences.
    pub warnings: Vec<String>,
    /// Whether the pipeline ran to its end.
    pub eos: bool,
}

impl Report {
    /// The first error, which must contain all of `parts`; none of the errors may be followed by an end.
    #[track_caller]
    pub fn fails_with(&self, parts: &[&str]) -> &str {
        let first = self.errors.first().unwrap_or_else(|| panic!("no error was posted: {self:?}"));
        for part in parts {
            assert!(first.contains(part), "the error does not say '{part}': {first}");
        }
        first
    }

    /// The pipeline ran to its end without an error.
    #[track_caller]
    pub fn succeeds(self) -> Self {
        assert!(self.eos && self.errors.is_empty(), "{self:?}");
        self
    }
}

/// A pipeline that a test runs. Dropping it stops it, within the limit.
#[derive(Debug)]
pub struct TestPipeline(gst::Pipeline);

impl Deref for TestPipeline {
    type Target = gst::Pipeline;

    fn deref(&self) -> &gst::Pipeline {
        &self.0
    }
}

impl TestPipeline {
    /// Builds a pipeline from its description, as gst-launch-1.0 has it, without starting it.
    pub fn new(description: &str) -> Self {
        init();
        let pipeline = gst::parse::launch(description).unwrap_or_else(|e| panic!("{e}: {description}"));
        Self(pipeline.downcast().unwrap_or_else(|_| panic!("give two elements or more: {description}")))
    }

    /// Builds and starts a pipeline; [`TestPipeline::wait`] reports its errors.
    pub fn start(description: &str) -> Self {
        let pipeline = Self::new(description);
        let _ = pipeline.set_state(gst::State::Playing);
        pipeline
    }

    /// Starts a pipeline that must start; panics with its elements' messages where it does not.
    #[track_caller]
    pub fn play(&self) {
        if self.set_state(gst::State::Playing).is_err() {
            let bus = self.bus().unwrap();
            panic!("the pipeline does not start: {:?}", bus.pop_filtered(&[gst::MessageType::Error]));
        }
    }

    /// The element called `name`.
    #[track_caller]
    pub fn element(&self, name: &str) -> gst::Element {
        self.by_name(name).unwrap_or_else(|| panic!("there is no element '{name}'"))
    }

    /// Waits for the end or the first error, and collects further errors that follow at once.
    #[track_caller]
    pub fn wait(&self) -> Report {
        let bus = self.bus().unwrap();
        let mut report = Report::default();
        let mut until = Instant::now() + LIMIT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let left = gst::ClockTime::from_nseconds(u64::try_from(left.as_nanos()).unwrap());
            let Some(message) = bus.timed_pop(left) else {
                assert!(
                    !report.errors.is_empty(),
                    "the pipeline hangs: neither end nor error within {LIMIT:?}"
                );
                return report;
            };
            match message.view() {
                gst::MessageView::Eos(_) => {
                    report.eos = true;
                    return report;
                }
                gst::MessageView::Error(error) => {
                    report.errors.push(error.error().to_string());
                    report.details.extend(error.debug().map(|text| text.to_string()));
                    until = until.min(Instant::now() + Duration::from_millis(100));
                }
                gst::MessageView::Warning(warning) => report.warnings.push(warning.error().to_string()),
                _ => (),
            }
        }
    }

    /// Hands over every message until the end; an error panics.
    #[track_caller]
    pub fn each_message(&self, mut see: impl FnMut(&gst::MessageRef)) {
        let bus = self.bus().unwrap();
        loop {
            let message = bus.timed_pop(gst::ClockTime::from_seconds(60)).expect("the pipeline ends");
            match message.view() {
                gst::MessageView::Eos(_) => return,
                gst::MessageView::Error(error) => panic!("{error:?}"),
                _ => see(&message),
            }
        }
    }

    /// Waits until a state change is through.
    #[track_caller]
    pub fn reach(&self, state: gst::State) {
        let reached = self.set_state(state).and_then(|_| self.state(CLOCK_LIMIT).0);
        assert!(
            matches!(reached, Ok(gst::StateChangeSuccess::Success | gst::StateChangeSuccess::NoPreroll)),
            "{state:?} was not reached: {reached:?}"
        );
    }

    /// Stops the pipeline; panics where that does not end.
    #[track_caller]
    pub fn stop(&self) {
        let pipeline = self.0.clone();
        within(move || {
            let _ = pipeline.set_state(gst::State::Null);
        });
    }

    /// Sees every buffer that reaches the sink pad of the element `name`.
    pub fn watch(&self, name: &str, mut see: impl FnMut(&gst::Buffer, &gst::CapsRef) + Send + 'static) {
        let see = Mutex::new(move |pad: &gst::Pad, buffer: &gst::Buffer| {
            see(buffer, &pad.current_caps().expect("a buffer came before its caps"));
        });
        let pad = self.element(name).static_pad("sink").unwrap();
        pad.add_probe(gst::PadProbeType::BUFFER, move |pad, info| {
            if let Some(gst::PadProbeData::Buffer(buffer)) = &info.data {
                (see.lock().unwrap())(pad, buffer);
            }
            gst::PadProbeReturn::Ok
        });
    }

    /// Collects every buffer that reaches the sink pad of the element `name`.
    pub fn collect(&self, name: &str) -> Arc<Mutex<Vec<gst::Buffer>>> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let all = seen.clone();
        self.watch(name, move |buffer, _| all.lock().unwrap().push(buffer.clone()));
        seen
    }
}

impl Drop for TestPipeline {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.stop();
        }
    }
}

/// Runs a pipeline to its end.
#[track_caller]
pub fn run(description: &str) -> Report {
    let pipeline = TestPipeline::start(description);
    let report = pipeline.wait();
    pipeline.stop();
    report
}

/// Runs a pipeline to its end without an error and returns the buffers that reached the element called `out`.
#[track_caller]
pub fn buffers(description: &str) -> Vec<gst::Buffer> {
    let pipeline = TestPipeline::new(description);
    let seen = pipeline.collect("out");
    let _ = pipeline.set_state(gst::State::Playing);
    pipeline.wait().succeeds();
    pipeline.stop();
    std::mem::take(&mut *seen.lock().unwrap())
}

/// A program's standard error, without the notes on schemas of Debian's ONNX Runtime (docs/install.md).
pub fn complaints(output: &std::process::Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let mut noted = false;
    let own = text.lines().filter(|line| {
        let is_note = line.starts_with("Schema error: ");
        let is_end_of_note = noted && line.is_empty();
        noted = is_note;
        !is_note && !is_end_of_note
    });
    own.map(|line| format!("{line}\n")).collect()
}

/// Calls a function in a thread of its own; panics if it takes longer than the limit or panics itself.
#[track_caller]
pub fn within<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    wait.recv_timeout(LIMIT).unwrap_or_else(|e| panic!("not done within {LIMIT:?}: {e}"))
}

/// Waits until `done` holds.
#[track_caller]
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !done() {
        assert!(Instant::now() < end, "{what}: not within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Pushes a frame into an `appsrc`. The result is ignored, because an error is also posted on the bus.
pub fn push(source: &gst::Element, buffer: gst::Buffer) {
    let _ = source.emit_by_name::<gst::FlowReturn>("push-buffer", &[&buffer]);
}

/// Ends an `appsrc`'s stream.
pub fn end(source: &gst::Element) {
    let _ = source.emit_by_name::<gst::FlowReturn>("end-of-stream", &[]);
}

/// A buffer of `size` bytes, all `value`, at `frame` hundredths of a second.
pub fn filled(size: usize, value: u8, frame: u64) -> gst::Buffer {
    let mut buffer = gst::Buffer::from_mut_slice(vec![value; size]);
    let buffer_mut = buffer.get_mut().unwrap();
    buffer_mut.set_pts(gst::ClockTime::from_mseconds(10 * frame));
    buffer_mut.set_duration(gst::ClockTime::from_mseconds(10));
    buffer
}
