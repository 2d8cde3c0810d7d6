//! `[sink0]`, …, `[osd]` and `[tiled-display]`.

use super::document::Document;
use super::element::Element;
use super::messages::{self, ImportedDestination};
use super::report::{
    Report,
    Verdict::{Differs, NotNeeded, NotTranslated},
};
use super::section::{Reasons, Section};

/// What the sinks translate to.
#[derive(Debug, Default)]
pub(super) struct ImportedOutputs {
    pub(super) publish: Vec<ImportedDestination>,
    /// The port of an RTSP sink.
    pub(super) rtsp: Option<i64>,
    /// `sync` of each sink.
    sync: Vec<bool>,
}

impl ImportedOutputs {
    /// Whether files are read as fast as possible, because no sink waits for timestamps.
    pub(super) fn unpaced(&self) -> bool {
        !self.sync.is_empty() && !self.sync.contains(&true)
    }
}

const VIDEO: Reasons = &[
    (
        &[
            "gpu-id",
            "nvbuf-memory-type",
            "qos",
            "source-id",
            "link-to-demux",
            "sw-preset",
            "iframeinterval",
            "profile",
            "enc-type",
            "codec",
            "container",
            "copy-meta",
            "bitrate",
            "udp-port",
            "udp-buffer-size",
            "conn-id",
            "width",
            "height",
            "plane-id",
            "offset-x",
            "offset-y",
            "color-range",
            "set-mode",
            "display-id",
            "overlay-id",
        ],
        NotNeeded,
        "each stream has an output of its own, and encoders are chosen by the service",
    ),
    (
        &["msg-*", "topic", "disable-msgconv", "new-api", "subscribe-topic-list"],
        NotNeeded,
        "it belongs to sinks of type 6",
    ),
    (&["rtsp-port", "output-file"], NotNeeded, "it belongs to sinks of another type"),
];

/// All sinks that are switched on.
pub(super) fn translate(document: &Document, report: &Report) -> ImportedOutputs {
    let mut outputs = ImportedOutputs::default();
    let sinks = document
        .groups
        .iter()
        .filter(|g| g.name.strip_prefix("sink").is_some_and(|n| n.parse::<u32>().is_ok()));
    for group in sinks {
        let section = Section { document, group, report };
        if section.enabled() {
            one(section, &mut outputs);
        }
    }
    outputs
}

fn one(section: Section<'_>, outputs: &mut ImportedOutputs) {
    outputs.sync.push(section.text("sync").is_none() || section.flag("sync"));
    match section.integer("type") {
        Some(1) => {}
        Some(2 | 5) | None => {
            section.note(
                "type",
                Differs,
                "the service opens no window: its page shows each stream with its boxes",
            );
        }
        Some(3) => {
            section.note(
                "type",
                NotTranslated,
                "the service records by events, not whole streams: set record = { on = […], pre = …, post = … } of a source",
            );
        }
        Some(4) => {
            outputs.rtsp = Some(section.integer("rtsp-port").unwrap_or(8554));
            section.note("type", Differs, "each stream has a path of its own on the RTSP server, named after it, in the place of one tiled picture");
        }
        Some(6) => {
            outputs.publish.extend(messages::publish(section));
            section.text("msg-conv-config");
            section.finish(messages::REASONS);
            return;
        }
        Some(_) => section.note(
            "type",
            NotTranslated,
            "expected 1 (none), 2 (window), 3 (file), 4 (RTSP) or 6 (messages)",
        ),
    }
    section.finish(VIDEO);
}

/// inferoverlay in place of `[osd]`, if the RTSP server shows the frames.
pub(super) fn overlay(document: &Document, report: &Report, shown: bool) -> Option<Element> {
    let section = Section::find(document, "osd", report)?;
    if !section.enabled() {
        return None;
    }
    if !shown {
        section.about(
            NotNeeded,
            "the page's pictures are drawn when somebody asks for them, and nothing else shows the frames",
        );
        section.group.pass_over();
        return None;
    }
    let element = Element::new("inferoverlay")
        .with_some("thickness", section.integer("border-width").filter(|n| (1..=100).contains(n)))
        .with_some("font", section.text("font"));
    let on = |key| section.text(key).is_none() || section.flag(key);
    let (boxes, masks, text) = (on("display-bbox"), on("display-mask"), on("display-text"));
    let mut element = if text { element } else { element.with("labels", false) };
    if !boxes {
        element = element.with("boxes", false);
    }
    if !masks {
        element = element.with("masks", false);
    }
    section.finish(&[
        (&["gpu-id", "nvbuf-memory-type", "process-mode", "hw-blend-color-attr", "mode"], NotNeeded, "inferoverlay draws where the frames are"),
        (&["text-size", "text-color", "text-bg-color", "clock-*", "show-clock"], NotTranslated, "inferoverlay chooses colours and sizes, and draws no clock; text-scale is a multiple of 13 pixels"),
    ]);
    Some(element)
}
