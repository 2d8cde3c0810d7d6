//! `[source0]`, `[source1]`, …, `[source-list]` and the list of sources that YAML keeps in a CSV file.

use std::path::Path;

use super::document::{Document, read};
use super::groups::{Entry, Group};
use super::report::{
    Report,
    Verdict::{Differs, NotNeeded, NotTranslated},
};
use super::section::{Reasons, Section};

/// One camera or file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ImportedSource {
    pub(super) name: String,
    pub(super) uri: String,
    pub(super) looped: bool,
    /// Properties of the source element: its name and TOML's value.
    pub(super) properties: Vec<(&'static str, String)>,
    /// Seconds without a frame after which it is started anew.
    pub(super) stall: Option<i64>,
}

const REASONS: Reasons = &[
    (
        &[
            "gpu-id",
            "cudadec-memtype",
            "nvbuf-memory-type",
            "nvdec-*",
            "num-decode-surfaces",
            "num-extra-surfaces",
            "low-latency-mode",
        ],
        NotNeeded,
        "decoders choose their memory by caps",
    ),
    (&["type"], NotNeeded, "the URI tells what it is"),
    (&["camera-id", "source-id", "camera-name"], NotNeeded, "a stream is known by its name"),
    (
        &["rtsp-reconnect-attempts"],
        NotNeeded,
        "a stream is started anew for as long as the service runs, with growing pauses ([restart])",
    ),
    (
        &["drop-frame-interval", "skip-frames"],
        NotTranslated,
        "all frames are decoded; a videorate at the beginning of the pipeline drops some",
    ),
    (&["intra-decode-enable"], NotTranslated, "all frames are decoded"),
    (
        &["camera-fps-n", "camera-fps-d", "camera-width", "camera-height", "camera-v4l2-format"],
        NotTranslated,
        "the camera's own caps are used; put a videoscale or videorate into the pipeline",
    ),
    (
        &["smart-record", "smart-rec-*"],
        NotTranslated,
        "recordings begin by events: set record = { on = […], pre = …, post = … } of this source, or post to /v1/streams/NAME/record",
    ),
    (
        &["udp-buffer-size", "rtsp-latency"],
        NotTranslated,
        "set it in source = { … }, under the name that rtspsrc has for it",
    ),
    (&["dewarper-*", "enable-dewarper"], NotTranslated, "there is no dewarper"),
    (&["alsa-device", "enable-audio"], NotNeeded, "audio is left aside"),
];

/// All sources that are switched on.
pub(super) fn translate(document: &Document, report: &Report, loops: bool) -> Vec<ImportedSource> {
    let common = document.group("source-attr-all");
    let mut sources = Vec::new();
    let mut numbered: Vec<(usize, &Group)> = document
        .groups
        .iter()
        .filter_map(|g| Some((g.name.strip_prefix("source")?.parse().ok()?, g)))
        .collect();
    numbered.sort_by_key(|(number, _)| *number);
    for (number, group) in numbered {
        let section = Section { document, group, report };
        if section.enabled() {
            one(section, &format!("source{number}"), loops, &mut sources);
        }
    }
    if let Some(section) = Section::find(document, "source-list", report) {
        list(section, loops, &mut sources);
    }
    if let Some(section) = Section::find(document, "source", report) {
        csv(section, loops, &mut sources);
    }
    if let Some(group) = common {
        let section = Section { document, group, report };
        let (properties, stall) = (connection(section), stall(section));
        section.flag("enable");
        for source in &mut sources {
            if source.uri.starts_with("rtsp") {
                source.properties.extend(properties.iter().cloned());
                source.stall = source.stall.or(stall);
            }
        }
        section.finish(REASONS);
    }
    sources
}

/// One group `[sourceN]`, which may stand for several (`num-sources`).
fn one(section: Section<'_>, name: &str, loops: bool, sources: &mut Vec<ImportedSource>) {
    let kind = section.integer("type").unwrap_or(0);
    let uri = match kind {
        1 => {
            let node = section.integer("camera-v4l2-dev-node").unwrap_or(0);
            Some(format!("v4l2:///dev/video{node}"))
        }
        5 => {
            section.note("type", NotTranslated, "cameras of Jetson's CSI ports are not supported");
            None
        }
        _ => match section.text("uri") {
            Some(uri) => Some(absolute(section.document, uri)),
            None => {
                section.about(NotTranslated, "it has no uri");
                None
            }
        },
    };
    let copies = section.integer("num-sources").unwrap_or(1).clamp(1, 1024);
    let (properties, stall) = (connection(section), stall(section));
    if let Some(uri) = uri {
        if copies > 1 && !uri.contains("%d") {
            section.note(
                "num-sources",
                Differs,
                "the same URI is read that many times, as deepstream-app does for measuring",
            );
        }
        for copy in 0..copies {
            let (name, uri) = match copies {
                1 => (name.to_owned(), uri.clone()),
                _ => (format!("{name}-{copy}"), uri.replace("%d", &copy.to_string())),
            };
            let looped = loops && uri.starts_with("file:");
            sources.push(ImportedSource { name, uri, looped, properties: properties.clone(), stall });
        }
    }
    section.finish(REASONS);
}

/// `[source-list]`: URIs, and mostly names, between semicolons.
fn list(section: Section<'_>, loops: bool, sources: &mut Vec<ImportedSource>) {
    let uris = section.list("list");
    let names = section.list("sensor-id-list");
    for (number, uri) in uris.iter().enumerate() {
        let uri = absolute(section.document, uri);
        let name = names.get(number).map_or_else(|| format!("source{number}"), |n| plain_name(n));
        let looped = loops && uri.starts_with("file:");
        sources.push(ImportedSource { name, uri, looped, properties: Vec::new(), stall: None });
    }
    section.finish(&[
        (
            &[
                "num-source-bins",
                "max-batch-size",
                "use-nvmultiurisrcbin",
                "stream-name-display",
                "sgie-batch-size",
            ],
            NotNeeded,
            "streams are added and removed while the service runs",
        ),
        (&["sensor-name-list"], NotTranslated, "a stream has one name, that of sensor-id-list"),
        (
            &["http-ip", "http-port"],
            NotTranslated,
            "set listen in [server]; /api/v1/stream/add and remove take the same messages",
        ),
        (&["extract-sei-type5-data", "low-latency-mode"], NotNeeded, "the decoder is left as it is"),
    ]);
}

/// `source: csv-file-path`: a line with the names of keys, then a line for each source.
fn csv(section: Section<'_>, loops: bool, sources: &mut Vec<ImportedSource>) {
    if let Some(path) = section.path("csv-file-path") {
        match read(&path) {
            Err(e) => {
                section.note("csv-file-path", NotTranslated, format!("no source is taken from it: {e}"))
            }
            Ok(text) => {
                let document = csv_document(&path, &text);
                for (number, group) in document.groups.iter().enumerate() {
                    let line = Section { document: &document, group, report: section.report };
                    if line.enabled() {
                        one(line, &format!("source{number}"), loops, sources);
                    }
                }
            }
        }
    }
    section.finish(&[]);
}

/// A CSV file's lines as groups. An empty value means that the key is not set.
fn csv_document(path: &Path, text: &str) -> Document {
    let mut lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty());
    let names: Vec<&str> =
        lines.next().map(|(_, l)| l.split(',').map(str::trim).collect()).unwrap_or_default();
    let groups = lines.enumerate().map(|(number, (index, line))| Group {
        name: format!("source{number}"),
        line: index + 1,
        entries: (names.iter().zip(line.split(',')))
            .filter(|(name, value)| !name.is_empty() && !value.trim().is_empty())
            .map(|(name, value)| Entry::new(name, value.trim(), index + 1))
            .collect(),
    });
    Document { path: path.to_owned(), groups: groups.collect(), repeated: Vec::new() }
}

/// The keys about a source's connection, as properties of rtspsrc.
fn connection(section: Section<'_>) -> Vec<(&'static str, String)> {
    let mut properties = Vec::new();
    if let Some(latency) = section.integer("latency") {
        properties.push(("latency", latency.to_string()));
    }
    match section.integer("select-rtp-protocol") {
        Some(4) => properties.push(("protocols", "\"tcp\"".into())),
        Some(1) => properties.push(("protocols", "\"udp\"".into())),
        _ => {}
    }
    properties
}

fn stall(section: Section<'_>) -> Option<i64> {
    section.integer("rtsp-reconnect-interval-sec").filter(|seconds| *seconds > 0)
}

/// A URI with the absolute path of its file: DeepStream takes `file://x.mp4` relative to its configuration.
fn absolute(document: &Document, uri: &str) -> String {
    let path = match uri.strip_prefix("file://") {
        Some(path) => path,
        None if !uri.contains("://") => uri,
        None => return uri.to_owned(),
    };
    let path = document.resolve(path);
    let path = std::path::absolute(&path).unwrap_or(path);
    format!("file://{}", path.display())
}

/// A name made of the characters that a stream's name may have.
pub(super) fn plain_name(text: &str) -> String {
    let name: String = text
        .trim()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' })
        .collect();
    if name.is_empty() { "source".into() } else { name }
}
