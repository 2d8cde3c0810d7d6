//! `cluster-mode` and the thresholds of `[class-attrs-all]`, `[class-attrs-0]`, … as properties of gpunms.

use crate::import::element::Element;
use crate::import::report::Verdict::{Differs, NotTranslated};
use crate::import::section::{Reasons, Section};

/// nvinfer's defaults.
const PRE_CLUSTER_THRESHOLD: f64 = 0.2;
const NMS_IOU_THRESHOLD: f64 = 0.3;

/// What nvinfer does with the boxes of one class.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Attributes {
    confidence: f64,
    iou: f64,
    top_k: Option<i64>,
    min_width: f64,
    min_height: f64,
    grouped: bool,
}

/// How nvinfer removes duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Nms,
    None,
    Other(&'static str),
}

const REASONS: Reasons = &[
    (
        &["eps", "group-threshold", "minBoxes", "dbscan-min-score"],
        NotTranslated,
        "it is a parameter of groupRectangles or DBSCAN, which gpunms does not have",
    ),
    (&["detected-max-w", "detected-max-h"], NotTranslated, "gpunms has no largest size"),
    (
        &["roi-top-offset", "roi-bottom-offset"],
        NotTranslated,
        "gpunms keeps the boxes of the whole frame; zones of zonecount count in a part of it",
    ),
    (&["bbox-border-color", "bbox-bg-color", "color*"], NotTranslated, "inferoverlay chooses the colours"),
];

/// The gpunms for the file's keys about boxes. `names` are those of the classes.
pub(super) fn gpunms(property: Section<'_>, names: &[String]) -> Element {
    let document = property.document;
    let start = Attributes {
        confidence: PRE_CLUSTER_THRESHOLD,
        iou: NMS_IOU_THRESHOLD,
        top_k: None,
        min_width: 0.0,
        min_height: 0.0,
        grouped: false,
    };
    let all = Section::find(document, "class-attrs-all", property.report);
    let base = all.map_or(start, |s| attributes(s, start));
    let mut single = Vec::new();
    for group in &document.groups {
        let Some(Ok(class)) =
            group.name.strip_prefix("class-attrs-").filter(|n| *n != "all").map(str::parse::<usize>)
        else {
            continue;
        };
        let section = Section { document, group, report: property.report };
        let own = attributes(section, base);
        if (own.top_k, own.min_width, own.min_height) != (base.top_k, base.min_width, base.min_height) {
            section.about(Differs, "topk, detected-min-w and detected-min-h are one value for all classes here: those of [class-attrs-all]");
        }
        single.push((class, own));
    }
    let mode = mode(property, base.grouped);
    if let Mode::Other(what) = mode {
        property.note(
            "cluster-mode",
            Differs,
            format!("{what} becomes class-wise NMS: boxes differ where objects overlap"),
        );
    }
    let classes = property.integer("num-detected-classes").filter(|n| *n > 0).unwrap_or(1);
    if base.top_k.is_some()
        && classes > 1
        && let Some(section) = all
    {
        section.note("topk", Differs, "top-k-after of gpunms counts the boxes of all classes together, so it is topk times their number");
    }
    let nms = if mode == Mode::None { "none" } else { "class-wise" };
    let name = |class: usize| match names.get(class) {
        Some(name) if !name.is_empty() && !name.contains([',', '=']) => name.clone(),
        _ => class.to_string(),
    };
    let differing = |value: fn(&Attributes) -> f64| -> Option<String> {
        let list: Vec<String> = single
            .iter()
            .filter(|(_, a)| value(a) != value(&base))
            .map(|(class, a)| format!("{}={}", name(*class), value(a)))
            .collect();
        (!list.is_empty()).then(|| list.join(","))
    };
    let suppresses = mode != Mode::None;
    Element::new("gpunms")
        .with("nms", nms)
        .with("confidence", base.confidence)
        .with_some("iou", suppresses.then_some(base.iou))
        .with_some("class-confidence", differing(|a| a.confidence))
        .with_some("class-iou", differing(|a| a.iou).filter(|_| suppresses))
        .with_some("top-k-after", base.top_k.map(|k| k.saturating_mul(classes).clamp(1, 1_000_000)))
        .with_some("min-width", Some(base.min_width).filter(|w| *w > 0.0))
        .with_some("min-height", Some(base.min_height).filter(|h| *h > 0.0))
}

/// The attributes of one group; those that it does not have are those of `base`.
fn attributes(section: Section<'_>, base: Attributes) -> Attributes {
    let fraction = |key| section.number(key).map(|n| n.clamp(0.0, 1.0));
    // Weaker boxes suppress no stronger ones, so a threshold after the suppression leaves the same boxes as one before it.
    let pre = fraction("pre-cluster-threshold").or_else(|| fraction("threshold"));
    let confidence = match (pre, fraction("post-cluster-threshold")) {
        (None, None) => base.confidence,
        (pre, post) => pre.unwrap_or(base.confidence).max(post.unwrap_or(0.0)),
    };
    let grouped = section.integer("group-threshold").map_or(base.grouped, |n| n > 0);
    let read = Attributes {
        confidence,
        iou: fraction("nms-iou-threshold").unwrap_or(base.iou),
        top_k: section.integer("topk").map_or(base.top_k, |k| (k > 0).then_some(k)),
        min_width: section.number("detected-min-w").unwrap_or(base.min_width),
        min_height: section.number("detected-min-h").unwrap_or(base.min_height),
        grouped,
    };
    section.finish(REASONS);
    read
}

/// `cluster-mode`, 0 if not set. groupRectangles groups nothing if its threshold is 0, which is the default.
fn mode(property: Section<'_>, grouped: bool) -> Mode {
    let dbscan = property.flag("enable-dbscan");
    match property.integer("cluster-mode") {
        Some(2) => Mode::Nms,
        Some(4) => Mode::None,
        Some(1) => Mode::Other("DBSCAN"),
        Some(3) => Mode::Other("DBSCAN with NMS"),
        None if dbscan => Mode::Other("DBSCAN"),
        _ if grouped => Mode::Other("groupRectangles"),
        _ => Mode::None,
    }
}
