//! docs/model-sidecar.md has every key of a sidecar, no other, and the defaults of the properties that override them.

use std::collections::BTreeSet;

use cudainfer_kernels::group::{DisplacementParams, PafConvention, PafParams, TagParams};
use cudainfer_kernels::preproc;
use gst::glib;
use gstcudainfer::model::Sidecar;

use crate::properties::{elements, own};
use crate::{cells, page};

const PAGE: &str = "docs/model-sidecar.md";
/// Sections whose keys are names of the model's inputs and outputs.
const OF_MODELS: [&str; 3] = ["constants", "state", "frames"];
/// The element whose properties override a section's keys.
const ELEMENTS: [(&str, &str); 7] = [
    ("input", "fusedpreproc"),
    ("output", "gpunms"),
    ("peaks", "peakfind"),
    ("classify", "classify"),
    ("embed", "embed"),
    ("segment", "segmask"),
    ("map", "tensormap"),
];

/// What `toml` expects in place of a key that there is not.
fn expected(text: &str) -> BTreeSet<String> {
    let error = toml::from_str::<Sidecar>(text).unwrap_err().to_string();
    let (_, names) = error.split_once("expected ").unwrap_or_else(|| panic!("{text}: {error}"));
    names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A key as the page has it: section, name, default and the property that overrides it.
struct Key {
    section: String,
    name: String,
    default: String,
    property: Option<String>,
}

/// The rows of tables whose first column is `key`, below the heading of their section.
fn documented() -> Vec<Key> {
    let (mut found, mut section, mut head) = (Vec::new(), String::new(), Vec::new());
    for line in page(PAGE).lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let name = heading.strip_prefix("`[").and_then(|rest| rest.split_once(']'));
            section = name.map_or_else(String::new, |(name, _)| name.to_owned());
        }
        if !line.starts_with('|') {
            head.clear();
            continue;
        }
        let row = cells(line);
        if head.is_empty() {
            head = row;
            continue;
        }
        if head[0] != "key" || section.is_empty() || row[0].starts_with("---") {
            continue;
        }
        let column = |name: &str| head.iter().position(|cell| cell.starts_with(name)).map(|i| row[i].clone());
        let quoted = |text: &str| text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        let (names, properties) =
            (quoted(&row[0]), column("property").map(|text| quoted(&text)).unwrap_or_default());
        let defaults: Vec<String> =
            column("default").unwrap_or_default().split(", ").map(str::to_owned).collect();
        for (i, name) in names.iter().enumerate() {
            // `padding: 1, 2` of two keys is one each; of one key it is a sentence.
            let default =
                if names.len() == defaults.len() { defaults[i].clone() } else { defaults.join(", ") };
            // Some sections say before a property whose it is.
            let property = properties.iter().find(|p| *p == name).or(properties.last());
            found.push(Key {
                section: section.clone(),
                name: name.clone(),
                default,
                property: property.cloned(),
            });
        }
    }
    found
}

#[test]
fn every_key_is_described_and_no_other() {
    let sections = expected("there-is-no-such-section = 1");
    assert!(sections.contains("input") && sections.contains("skeleton"), "{sections:?}");
    let keys = documented();
    let described: BTreeSet<_> = keys.iter().map(|key| key.section.clone()).collect();
    let described: BTreeSet<_> = described.into_iter().chain(OF_MODELS.map(str::to_owned)).collect();
    for section in OF_MODELS {
        assert!(page(PAGE).contains(&format!("\n## `[{section}]`")));
    }
    assert_eq!(described, sections);
    for section in sections.iter().filter(|section| !OF_MODELS.contains(&section.as_str())) {
        let names = expected(&format!("[{section}]\nthere-is-no-such-key = 1"));
        let described: Vec<_> =
            keys.iter().filter(|key| key.section == *section).map(|key| key.name.clone()).collect();
        assert_eq!(described.iter().cloned().collect::<BTreeSet<_>>(), names, "[{section}]");
        assert_eq!(described.len(), names.len(), "[{section}] describes a key twice: {described:?}");
    }
}

/// The number that a default begins with.
fn number(text: &str) -> Option<f64> {
    let word = text.trim_matches(['`', '[', ']']).split([';', ' ', ',']).next()?;
    match word.split_once('/') {
        Some((a, b)) => Some(a.parse::<f64>().ok()? / b.parse::<f64>().ok()?),
        None => word.parse().ok(),
    }
}

#[test]
fn numbers_by_default_are_those_of_the_properties() {
    let elements = elements();
    let mut compared = BTreeSet::new();
    for key in documented() {
        let Some((_, element)) = ELEMENTS.iter().find(|(section, _)| *section == key.section) else {
            continue;
        };
        let (Some(property), Some(written)) = (&key.property, number(&key.default)) else { continue };
        let (_, element) = elements.iter().find(|(name, _)| name == element).unwrap();
        let Some(property) = own(element).into_iter().find(|p| p.name() == property) else {
            panic!("[{}] {}: there is no property {property}", key.section, key.name);
        };
        let default =
            property.default_value().transform::<f64>().ok().and_then(|value| value.get::<f64>().ok());
        let Some(default) = default.filter(|_| !property.value_type().is_a(glib::Type::ENUM)) else {
            continue;
        };
        assert!(
            (written - default).abs() < 1e-6,
            "[{}] {}: {written} in the page, {default} in the property",
            key.section,
            key.name
        );
        compared.insert(format!("{}.{}", key.section, key.name));
    }
    for name in [
        "input.padding",
        "input.scale",
        "output.confidence",
        "output.iou",
        "peaks.threshold",
        "peaks.min-line-score",
        "classify.top-k",
    ] {
        assert!(compared.contains(name), "{name}: {compared:?}");
    }
    assert!(compared.len() >= 15, "{compared:?}");
}

/// Keys that no property overrides, and those that have their default in the kernels, too.
#[test]
fn other_numbers_by_default_are_the_kernels() {
    let keys = documented();
    let written = |name: &str| {
        let key = keys.iter().find(|key| key.name == name).unwrap();
        number(&key.default).unwrap_or_else(|| panic!("{name}: {}", key.default)) as f32
    };
    assert_eq!(written("padding"), i32::from(preproc::PreprocParams::default().padding) as f32);
    let (sleap, openpose) = (
        PafParams::new(PafConvention::Sleap, 2, &[[0, 1]]),
        PafParams::new(PafConvention::OpenPose, 2, &[[0, 1]]),
    );
    assert_eq!(written("samples"), sleap.samples as f32);
    assert_eq!(written("length-weight"), sleap.length_weight);
    assert_eq!([written("min-sample"), written("min-share")], [openpose.min_sample, openpose.min_share]);
    let both_written = |name: &str| {
        let key = keys.iter().find(|key| key.name == name).unwrap();
        let (first, second) = key.default.split_once("; ").unwrap();
        [number(first).unwrap() as f32, number(second).unwrap() as f32]
    };
    assert_eq!(both_written("max-length"), [sleap.max_length, openpose.max_length]);
    assert_eq!(both_written("min-line-score"), [sleap.min_line_score, openpose.min_line_score]);
    assert_eq!(both_written("min-points"), [sleap.min_points as f32, openpose.min_points as f32]);
    assert_eq!(both_written("min-score"), [sleap.min_score, openpose.min_score]);
    let displacements = DisplacementParams::default();
    assert_eq!(written("nms-radius"), displacements.nms_radius);
    assert_eq!(written("max-poses"), displacements.max_poses as f32);
    assert_eq!(written("min-point-score"), displacements.min_point_score);
    assert_eq!(written("tag-distance"), TagParams::default().tag_distance);
}

#[test]
fn every_property_that_the_page_names_is_there() {
    let elements = elements();
    for key in documented() {
        let (Some(property), Some((_, name))) =
            (&key.property, ELEMENTS.iter().find(|(s, _)| *s == key.section))
        else {
            continue;
        };
        // Names and labels are trtinfer's, because it reads the files.
        let of = if property == "labels" { "trtinfer" } else { name };
        let (_, element) = elements.iter().find(|(name, _)| name == of).unwrap();
        assert!(
            own(element).iter().any(|p| p.name() == property),
            "[{}] {}: {of} has no {property}",
            key.section,
            key.name
        );
    }
}
