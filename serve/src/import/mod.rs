//! `cudainfer-serve import`: deepstream-app's configuration as this service's.
//!
//! Each kind of group has a file of its own that translates it. [`section::Section`] marks the keys that a translation reads;
//! each key that none reads becomes a finding, so that no key is dropped silently.

mod analytics;
mod document;
mod element;
mod error;
mod groups;
mod infer;
mod keyfile;
mod messages;
mod pipeline;
mod report;
mod section;
mod sinks;
mod sources;
mod tracker;
mod write;
mod yaml;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

pub use report::{Finding, Report, Verdict};

use document::Document;
use report::Verdict::{NotNeeded, NotTranslated};
use section::{Reasons, Section, repeated};

pub use error::ImportError;

/// A configuration that was translated, before anything is written.
#[derive(Debug)]
pub struct Imported {
    /// The service's configuration.
    pub config: String,
    /// Sidecars: where they belong, relative to the configuration, and their text.
    pub sidecars: Vec<(PathBuf, String)>,
    /// What became of each key.
    pub report: Report,
}

/// Translates deepstream-app's configuration.
///
/// # Errors
/// It cannot be read, or is none of deepstream-app's.
pub fn import(file: &Path) -> Result<Imported, ImportError> {
    let document = Document::open(file)?;
    let report = Report::default();
    let known = |name: &str| name.starts_with("source") || name == "primary-gie";
    if !document.groups.iter().any(|g| known(&g.name)) {
        return Err(ImportError::NotDeepStream { file: file.to_owned() });
    }
    for key in &document.repeated {
        repeated(&document, key, &report);
    }
    let loops = Section::find(&document, "tests", &report).is_some_and(|s| s.flag("file-loop"));
    let mut sources = sources::translate(&document, &report, loops);
    name_sources(&mut sources, &messages::sensors(&document, &report));
    let networks = infer::translate(&document, &report);
    let tracker = tracker::translate(&document, &report);
    let zones = analytics::translate(&document, &report);
    let outputs = sinks::translate(&document, &report);
    let overlay = sinks::overlay(&document, &report, outputs.rtsp.is_some());
    rest(&document, &report);
    let pipelines = pipeline::Pipelines::new(&networks, tracker, overlay, &document, &report);
    let service = write::Service {
        made_from: &file.file_name().unwrap_or_default().to_string_lossy(),
        rtsp: outputs.rtsp,
        pipelines: pipelines.used(sources.len(), &zones),
        set: pipelines.set.clone(),
        publish: outputs.publish.clone(),
        sources: sources
            .into_iter()
            .enumerate()
            .map(|(number, source)| {
                let zones = zones.get(&number).cloned().unwrap_or_default();
                (source, pipeline::name(!zones.is_empty()), zones)
            })
            .collect(),
        labels: networks.first().map_or(&[][..], |n| &n.labels),
        unpaced: outputs.unpaced(),
    };
    let config = service.toml();
    Ok(Imported { config, sidecars: pipelines.sidecars, report })
}

/// Names sources after their sensors' ids in place of numbers, if an id belongs to one source only.
fn name_sources(sources: &mut [sources::ImportedSource], sensors: &BTreeMap<usize, String>) {
    for (number, name) in sensors {
        if !sources.iter().any(|s| s.name == *name)
            && let Some(source) = sources.get_mut(*number)
        {
            source.name.clone_from(name);
        }
    }
    // Copies of a source, and lists of sensors, may repeat a name.
    for at in 1..sources.len() {
        let (before, rest) = sources.split_at_mut(at);
        let taken = |name: &str| before.iter().any(|s| s.name == name);
        if taken(&rest[0].name) {
            let plain = rest[0].name.clone();
            rest[0].name = (2..).map(|n| format!("{plain}-{n}")).find(|n| !taken(n)).unwrap_or(plain);
        }
    }
}

const APPLICATION: Reasons = &[
    (
        &["enable-perf-measurement", "perf-measurement-interval-sec"],
        NotNeeded,
        "/metrics and the page show frames per second",
    ),
    (
        &[
            "gie-kitti-output-dir",
            "kitti-track-output-dir",
            "reid-track-output-dir",
            "terminated-track-output-dir",
            "shadow-track-output-dir",
        ],
        NotTranslated,
        "there is no KITTI; inferpublish format=mot writes tracks as rows",
    ),
    (&["global-gpu-id"], NotNeeded, "the GPU is chosen by its load; device=cuda:N of the elements pins it"),
];
const TESTS: Reasons = &[(&["*"], NotTranslated, "it is for deepstream-app's own tests")];
const STREAMMUX: Reasons = &[
    (
        &[
            "batch-size",
            "batched-push-timeout",
            "sync-inputs",
            "max-latency",
            "config-file",
            "num-surfaces-per-frame",
            "buffer-pool-size",
            "drop-pipeline-eos",
        ],
        NotNeeded,
        "there is no muxer: trtinfer makes batches of all streams, of batch-size frames of the network",
    ),
    (
        &["width", "height", "enable-padding", "interpolation-method", "compute-hw"],
        NotNeeded,
        "frames keep their own size, and are resized once, for the network; sizes in pixels are the camera's",
    ),
    (
        &[
            "gpu-id",
            "nvbuf-memory-type",
            "frame-num-reset-on-eos",
            "frame-num-reset-on-stream-reset",
            "attach-sys-ts-as-ntp",
            "frame-duration",
            "live-source",
            "async-process",
            "no-pipeline-eos",
        ],
        NotNeeded,
        "each stream has its own clock and frame numbers",
    ),
];

/// Groups that translate to nothing, and groups that are not known.
fn rest(document: &Document, report: &Report) {
    for group in &document.groups {
        let section = Section { document, group, report };
        let about = |sentence: &str| {
            if section.enabled() {
                section.about(NotTranslated, sentence);
                group.pass_over();
            }
        };
        let name = group.name.as_str();
        match name {
            "application" => section.finish(APPLICATION),
            "tests" => section.finish(TESTS),
            "streammux" => section.finish(STREAMMUX),
            "tiled-display" => {
                section.about(
                    NotNeeded,
                    "streams are not tiled: the page lists them, and each has its own picture",
                );
                group.pass_over();
            }
            "message-converter" => {
                section.flag("enable");
                section.text("msg-conv-config");
                section.text("msg-conv-payload-type");
                section.finish(messages::REASONS);
            }
            "pre-process" | "secondary-pre-process" => {
                about("there is no element like nvdspreprocess; fusedpreproc roi=list cuts regions out")
            }
            "img-save" => about("set snapshots = { … } of a source: the best picture of each track"),
            "ds-example" | "dsexample0" => about("nvdsexample is a pattern for elements of your own"),
            _ if name.starts_with("message-consumer") => {
                about("the service is controlled by HTTP, not by messages")
            }
            "source-attr-all" | "source-list" | "source" | "primary-gie" | "tracker" | "nvds-analytics"
            | "osd" => {}
            _ if ["source", "sink", "secondary-gie"]
                .iter()
                .any(|p| name.strip_prefix(p).is_some_and(|n| n.parse::<u32>().is_ok() || n.is_empty())) => {}
            _ => {
                section.about(NotTranslated, "import does not know this group");
                group.pass_over();
            }
        }
    }
}

/// Imports `file`, writes the configuration to `output` and the sidecars beside their models, and reports on the standard error
/// what became of each key. Nothing that exists is overwritten.
///
/// # Errors
/// See [`ImportError`].
pub fn run(file: &Path, output: &Path) -> Result<(), ImportError> {
    let Imported { config, sidecars, report } = import(file)?;
    if output.exists() {
        return Err(ImportError::Exists { file: output.to_owned() });
    }
    let mut written = vec![output.to_owned()];
    for (place, text) in &sidecars {
        let place = &output.with_file_name("").join(place);
        if fs::read_to_string(place).is_ok_and(|t| t == *text) {
            continue;
        }
        if create(place, text).is_ok() {
            written.push(place.clone());
            continue;
        }
        // The model's folder is missing or not writable, or has another sidecar already.
        let name = place.file_stem().unwrap_or_default().to_string_lossy();
        let free = |n: &usize| !output.with_file_name(format!("{name}-{n}.toml")).exists();
        let here = output.with_file_name(format!("{name}-{}.toml", (1..).find(free).unwrap_or(0)));
        create(&here, text)?;
        let sentence = format!(
            "the sidecar could not be written there, or another one is there: put {} in its place",
            here.display()
        );
        report.file(place, NotTranslated, sentence);
        written.push(here);
    }
    create(output, &config)?;
    let mut err = io::stderr().lock();
    // The files are written also if the standard error is closed.
    let _ = write!(err, "{report}");
    for path in written {
        let _ = writeln!(err, "written: {}", path.display());
    }
    Ok(())
}

/// Writes a file that is not there yet.
fn create(path: &Path, text: &str) -> Result<(), ImportError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => ImportError::Exists { file: path.to_owned() },
        _ => ImportError::Write { file: path.to_owned(), source },
    };
    let mut file = fs::File::options().write(true).create_new(true).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}

#[cfg(test)]
mod tests;
