//! `[nvds-analytics]`: regions, crowds and lines to the zones of zonecount.

use std::collections::BTreeMap;

use super::document::Document;
use super::report::{
    Report,
    Verdict::{Differs, NotNeeded, NotTranslated},
};
use super::section::{Reasons, Section};

/// A zone in fractions of the frame.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ImportedZone {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) points: Vec<[f64; 2]>,
    pub(super) classes: Vec<i64>,
    pub(super) occupancy: Option<i64>,
}

/// The zones of each stream, by its number.
pub(super) type ImportedZones = BTreeMap<usize, Vec<ImportedZone>>;

const APP: Reasons = &[(
    &[
        "gpu-id",
        "unique-id",
        "gie-id",
        "osd-mode",
        "obj-cnt-win-in-ms",
        "font-size",
        "display-font-size",
        "display-obj-cnt",
    ],
    NotNeeded,
    "inferoverlay draws zones and their counts unless zones=false",
)];

/// Reads the file that `[nvds-analytics]` names.
pub(super) fn translate(document: &Document, report: &Report) -> ImportedZones {
    let Some(section) = Section::find(document, "nvds-analytics", report) else {
        return ImportedZones::new();
    };
    if !section.enabled() {
        return ImportedZones::new();
    }
    let mut zones = ImportedZones::new();
    match section.path("config-file").map(|p| Document::open(&p)) {
        None => section.about(NotTranslated, "it names no config-file"),
        Some(Err(e)) => section.note("config-file", NotTranslated, format!("no zone is taken from it: {e}")),
        Some(Ok(rules)) => zones = rules_of(&rules, report),
    }
    section.finish(APP);
    zones
}

fn rules_of(rules: &Document, report: &Report) -> ImportedZones {
    let mut size = [1920.0, 1080.0];
    if let Some(section) = Section::find(rules, "property", report) {
        let given = [section.number("config-width"), section.number("config-height")];
        if let [Some(width), Some(height)] = given
            && width > 0.0
            && height > 0.0
        {
            size = [width, height];
        }
        section.flag("enable");
        section.finish(APP);
    }
    let mut zones = ImportedZones::new();
    for group in rules.groups.iter().filter(|g| g.name != "property") {
        let section = Section { document: rules, group, report };
        let Some((rule, stream)) =
            group.name.split_once("-stream-").and_then(|(r, s)| Some((r, s.parse().ok()?)))
        else {
            section.about(NotTranslated, "import does not know this group");
            section.group.pass_over();
            continue;
        };
        if !section.enabled() {
            continue;
        }
        let list: &mut Vec<ImportedZone> = zones.entry(stream).or_default();
        match rule {
            "roi-filtering" => polygons(section, size, None, list),
            "overcrowding" => polygons(section, size, Some(crowd(section)), list),
            "line-crossing" => lines(section, size, list),
            "direction-detection" => {
                section.about(NotTranslated, "zonecount does not tell directions; a line across the direction counts those who go that way as in");
                section.group.pass_over();
            }
            _ => section.about(NotTranslated, "import does not know this rule"),
        }
        section.finish(&[
            (&["time-threshold"], NotNeeded, "nvdsanalytics reads it and does not use it"),
            (&["mode"], Differs, "zonecount counts an object that passes between the line's ends, from the side of the arrow's tail to that of its head"),
        ]);
    }
    zones
}

/// Numbers of the classes that count; all classes if there are none.
fn classes(section: Section<'_>) -> Vec<i64> {
    let ids: Vec<i64> = section.list("class-id").iter().filter_map(|id| id.parse().ok()).collect();
    if ids.contains(&-1) { Vec::new() } else { ids }
}

/// Points in fractions of the frame; points beyond the frame are moved to its border.
fn points(section: Section<'_>, key: &str, size: [f64; 2]) -> Option<Vec<[f64; 2]>> {
    let numbers = section.numbers(key);
    if numbers.len() < 4 || !numbers.len().is_multiple_of(2) {
        section.note(key, NotTranslated, "it is no list of points x;y;x;y…");
        return None;
    }
    let mut beyond = false;
    let points = numbers.chunks_exact(2).map(|p| {
        let point = [p[0] / size[0], p[1] / size[1]];
        beyond |= point.iter().any(|v| !(0.0..=1.0).contains(v));
        point.map(|v| rounded(v.clamp(0.0, 1.0)))
    });
    let points = points.collect();
    if beyond {
        section.note(
            key,
            Differs,
            "points beyond config-width and config-height are put on the frame's border",
        );
    }
    Some(points)
}

/// A fraction rounded to a hundred-thousandth, far below a pixel.
fn rounded(value: f64) -> f64 {
    (value * 1e5).round() / 1e5
}

/// The number of objects that makes a region crowded: nvdsanalytics reports it from its threshold on, which is 1 if not set.
fn crowd(section: Section<'_>) -> i64 {
    section.integer("object-threshold").unwrap_or(1).max(1)
}

fn polygons(section: Section<'_>, size: [f64; 2], occupancy: Option<i64>, zones: &mut Vec<ImportedZone>) {
    if section.flag("inverse-roi") {
        section.note(
            "inverse-roi",
            NotTranslated,
            "zonecount counts who is inside; draw the polygon around the rest of the frame",
        );
    }
    for key in section.keys().filter(|k| k.starts_with("roi-")) {
        let Some(points) = points(section, key, size) else { continue };
        if points.len() < 3 {
            section.note(key, NotTranslated, "a polygon has at least three points");
            continue;
        }
        let name = key.trim_start_matches("roi-");
        let classes = classes(section);
        let same =
            zones.iter_mut().find(|z| z.kind == "polygon" && z.points == points && z.classes == classes);
        match same {
            Some(zone) => zone.occupancy = zone.occupancy.or(occupancy),
            None => zones.push(ImportedZone {
                name: unused(zones, name),
                kind: "polygon",
                points,
                classes,
                occupancy,
            }),
        }
    }
}

fn lines(section: Section<'_>, size: [f64; 2], zones: &mut Vec<ImportedZone>) {
    let extended = section.flag("extended");
    for key in section.keys().filter(|k| k.starts_with("line-crossing-")) {
        let Some(points) = points(section, key, size) else { continue };
        let [from, to, a, b] = points[..] else {
            section.note(key, NotTranslated, "a line has four points: two of its direction, and its ends");
            continue;
        };
        // The direction and the line in pixels: in fractions, the angle between them would be another one.
        let along = [(b[0] - a[0]) * size[0], (b[1] - a[1]) * size[1]];
        let across = [(to[0] - from[0]) * size[0], (to[1] - from[1]) * size[1]];
        let turn = along[0] * across[1] - along[1] * across[0];
        if turn == 0.0 {
            section.note(key, NotTranslated, "its direction does not cross it");
            continue;
        }
        // zonecount counts objects as in that come from the left of the line, seen along it: so the direction must lead to its
        // right.
        let ends = if turn > 0.0 { [a, b] } else { [b, a] };
        let ends = if extended { to_border(ends) } else { ends };
        let name = unused(zones, key.trim_start_matches("line-crossing-"));
        zones.push(ImportedZone {
            name,
            kind: "line",
            points: ends.to_vec(),
            classes: classes(section),
            occupancy: None,
        });
    }
}

/// The line through two points, as far as the frame's border.
fn to_border([a, b]: [[f64; 2]; 2]) -> [[f64; 2]; 2] {
    let step = [b[0] - a[0], b[1] - a[1]];
    let (mut first, mut last) = (f64::NEG_INFINITY, f64::INFINITY);
    for (start, step) in a.into_iter().zip(step).filter(|(_, s)| *s != 0.0) {
        let at = [-start / step, (1.0 - start) / step];
        first = first.max(at[0].min(at[1]));
        last = last.min(at[0].max(at[1]));
    }
    let point = |t: f64| [0, 1].map(|i| rounded((a[i] + t * step[i]).clamp(0.0, 1.0)));
    if first < last { [point(first), point(last)] } else { [a, b] }
}

/// The name, followed by a number if it is taken: in DeepStream, regions and lines may have the same name.
fn unused(zones: &[ImportedZone], name: &str) -> String {
    let taken = |name: &str| zones.iter().any(|z| z.name == name);
    // These characters are separators in zonecount's property.
    let name = name.replace([';', ':', ',', '='], "-");
    let name = if name.is_empty() { "zone" } else { &name };
    if !taken(name) {
        return name.to_owned();
    }
    (2..).map(|n| format!("{name}-{n}")).find(|n| !taken(n)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_beyond_its_ends_reaches_the_border() {
        assert_eq!(to_border([[0.25, 0.5], [0.5, 0.5]]), [[0.0, 0.5], [1.0, 0.5]]);
        assert_eq!(to_border([[0.5, 0.75], [0.25, 0.5]]), [[0.75, 1.0], [0.0, 0.25]]);
    }
}
