//! `[tracker]` and the low-level library's file: NvDCF, NvSORT, NvDeepSORT or IOU to the algorithms of `tracker`.

use super::document::Document;
use super::element::Element;
use super::report::{
    Report,
    Verdict::{Differs, NotNeeded, NotTranslated},
};
use super::section::{Reasons, Section};

const APP: Reasons = &[
    (
        &[
            "gpu-id",
            "compute-hw",
            "tracker-width",
            "tracker-height",
            "enable-batch-process",
            "enable-past-frame",
            "user-meta-pool-size",
            "tracking-surface-type",
            "sub-batches",
            "sub-batch-err-recovery-trial-cnt",
            "input-tensor-meta",
            "tensor-meta-gie-id",
        ],
        NotNeeded,
        "tracker works on boxes, for each stream by itself",
    ),
    (&["display-tracking-id"], NotNeeded, "inferoverlay draws identities unless ids=false"),
    (&["ll-lib-file"], NotNeeded, "the algorithm is chosen by ll-config-file"),
    (&["tracking-id-reset-mode"], NotNeeded, "identities are never given twice while a stream plays"),
];

const LIBRARY: &str = "it is a parameter of NVIDIA's tracker, which cudainfer's algorithms do not have";

/// Which of NVIDIA's trackers a configuration describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NvidiaTracker {
    Iou,
    NvSort,
    NvDeepSort,
    NvDcf,
}

/// The element in place of `[tracker]`, if that is switched on.
pub(super) fn translate(document: &Document, report: &Report) -> Option<Element> {
    let section = Section::find(document, "tracker", report)?;
    if !section.enabled() {
        return None;
    }
    let files: Vec<_> = section.list("ll-config-file").iter().map(|p| document.resolve(p)).collect();
    if files.len() > 1 {
        section.note("ll-config-file", NotTranslated, "of several trackers, only the first one is used");
    }
    let library = section.text("ll-lib-file").unwrap_or("").to_owned();
    let file = files.first();
    let name = file.and_then(|f| f.file_name()).map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let opened = file.map(|f| Document::open(f));
    let element = match opened {
        Some(Ok(settings)) => {
            let kind = kind_by_settings(&settings, report);
            let element = algorithm(section, kind);
            thresholds(&settings, report, element, kind)
        }
        Some(Err(e)) => {
            let kind = kind_by_name(&name).unwrap_or(NvidiaTracker::NvDcf);
            section.note("ll-config-file", NotTranslated, format!("its thresholds are not used: {e}"));
            algorithm(section, kind)
        }
        None => algorithm(section, kind_by_name(&library).unwrap_or(NvidiaTracker::Iou)),
    };
    section.finish(APP);
    Some(element)
}

fn kind_by_name(name: &str) -> Option<NvidiaTracker> {
    let name = name.to_lowercase();
    let kinds = [
        ("deepsort", NvidiaTracker::NvDeepSort),
        ("nvsort", NvidiaTracker::NvSort),
        ("dcf", NvidiaTracker::NvDcf),
        ("iou", NvidiaTracker::Iou),
    ];
    kinds.iter().find(|(word, _)| name.contains(word)).map(|(_, kind)| *kind)
}

/// The tracker that NvMultiObjectTracker is with the modules that are switched on.
fn kind_by_settings(settings: &Document, report: &Report) -> NvidiaTracker {
    let module =
        |group, key| Section::find(settings, group, report).and_then(|s| s.integer(key)).unwrap_or(0) != 0;
    let visual = module("VisualTracker", "visualTrackerType");
    let appearance = module("ReID", "reidType");
    let motion = module("StateEstimator", "stateEstimatorType");
    match (visual, appearance, motion) {
        (true, ..) => NvidiaTracker::NvDcf,
        (false, true, _) => NvidiaTracker::NvDeepSort,
        (false, false, true) => NvidiaTracker::NvSort,
        (false, false, false) => NvidiaTracker::Iou,
    }
}

fn algorithm(section: Section<'_>, kind: NvidiaTracker) -> Element {
    let (element, sentence) = match kind {
        NvidiaTracker::Iou => (
            Element::new("tracker").with("algorithm", "sort").with("max-lost", 30),
            "IOU becomes algorithm=sort, which also expects where objects will be",
        ),
        NvidiaTracker::NvSort => (
            Element::new("tracker").with("algorithm", "bytetrack"),
            "NvSORT becomes algorithm=bytetrack, which also matches weak detections last",
        ),
        NvidiaTracker::NvDeepSort => (
            Element::new("tracker")
                .with("algorithm", "botsort")
                .with("camera-motion", false)
                .with("appearance", "histogram"),
            "NvDeepSORT becomes algorithm=botsort with histograms; for its network, put fusedpreproc roi=objects ! trtinfer before the tracker",
        ),
        NvidiaTracker::NvDcf => (
            Element::new("tracker").with("appearance", "histogram"),
            "NvDCF becomes algorithm=auto with histograms: objects that are not detected are expected where they were going, not looked for in the picture",
        ),
    };
    section.note("ll-config-file", Differs, sentence);
    element
}

/// The thresholds that mean the same here. All others become findings.
fn thresholds(settings: &Document, report: &Report, mut element: Element, kind: NvidiaTracker) -> Element {
    let number = |group, key| Section::find(settings, group, report).and_then(|s| s.number(key));
    let whole =
        |group, key| Section::find(settings, group, report).and_then(|s| s.integer(key)).filter(|n| *n >= 0);
    element = element
        .with_some(
            "min-confidence",
            number("BaseConfig", "minDetectorConfidence").filter(|n| (0.0..=1.0).contains(n)),
        )
        .with_some("min-hits", whole("TargetManagement", "probationAge"));
    if kind != NvidiaTracker::Iou {
        element = element
            .with_some("max-lost", whole("TargetManagement", "maxShadowTrackingAge"))
            .with_some("iou-low", number("DataAssociator", "minMatchingScore4TentativeIou"))
            .with_some("high-confidence", number("DataAssociator", "tentativeDetectorConfidence"));
    }
    element = element.with_some("iou", number("DataAssociator", "minMatchingScore4Iou"));
    if let Some(classes) = whole("DataAssociator", "checkClassMatch") {
        element = element.with("class-aware", classes != 0);
    }
    for group in &settings.groups {
        Section { document: settings, group, report }.finish(&[
            (&["maxTargetsPerStream"], NotNeeded, "tracker follows up to 10,000 objects of a stream"),
            (
                &[
                    "preserveStreamUpdateOrder",
                    "useUniqueID",
                    "outputTerminatedTracks",
                    "outputShadowTracks",
                    "terminatedTrackFilename",
                    "supportPastFrame",
                ],
                NotNeeded,
                "each stream has a tracker of its own; inferpublish send=tracks writes those that have ended",
            ),
            (&["*"], NotTranslated, LIBRARY),
        ]);
    }
    element
}
