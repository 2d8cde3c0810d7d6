//! docs/elements/*.md have a table of each element's properties, which stands between markers and is made from the code.

use std::fmt::Display;

use gst::glib;
use gst::prelude::*;

use crate::{init, page, root};

const BEGIN: &str = "<!-- properties -->";
const END: &str = "<!-- /properties -->";
pub(crate) const NOTE: &str =
    "<!-- Written from the code by `UPDATE_DOCS=1 cargo test -p gst-plugin-cudainfer --test documents`. -->";
/// The properties of the tracker whose defaults depend on its algorithm.
const ALGORITHMS: [&str; 2] = ["<!-- algorithms -->", "<!-- /algorithms -->"];

/// Our elements by name; `cudaupload` is a second name of one of them.
pub(crate) fn elements() -> Vec<(String, gst::Element)> {
    init();
    let features = gst::Registry::get().features_by_plugin("cudainfer");
    let factories = features.into_iter().filter_map(|f| f.downcast::<gst::ElementFactory>().ok());
    let mut found: Vec<_> = factories
        .map(|factory| (factory.name().to_string(), factory.create().build().unwrap()))
        .filter(|(name, _)| name != "cudaupload")
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(found.len() >= 12, "{}", found.len());
    found
}

/// What `element` has beyond GStreamer's own classes.
pub(crate) fn own(element: &gst::Element) -> Vec<glib::ParamSpec> {
    let foreign = [
        gst::Object::static_type(),
        gst::Element::static_type(),
        gst_base::BaseTransform::static_type(),
        gst_base::BaseSink::static_type(),
    ];
    let mut all: Vec<_> = element.list_properties().to_vec();
    all.retain(|property| !foreign.contains(&property.owner_type()));
    all
}

fn range(low: impl Display, high: impl Display) -> String {
    format!("{low} to {high}")
}

/// A bound of a property of float numbers: the least one above 0 is shown as that.
fn bounds(low: f64, high: f64, text: impl Fn(f64) -> String) -> String {
    if low == f64::from(f32::MIN_POSITIVE) {
        format!("above 0, to {}", text(high))
    } else {
        range(text(low), text(high))
    }
}

/// Without a float32's digits that are none.
fn float(value: f64) -> String {
    format!("{}", value as f32)
}

/// Type, range and default.
fn kind(property: &glib::ParamSpec) -> (String, String, String) {
    let code = |text: &str| format!("`{text}`");
    let writable = property.flags().contains(glib::ParamFlags::WRITABLE);
    let shown = |text: String| if writable { text } else { String::new() };
    if let Some(p) = property.downcast_ref::<glib::ParamSpecUInt>() {
        return ("uint".into(), shown(range(p.minimum(), p.maximum())), shown(p.default_value().to_string()));
    }
    if let Some(p) = property.downcast_ref::<glib::ParamSpecInt>() {
        return ("int".into(), shown(range(p.minimum(), p.maximum())), shown(p.default_value().to_string()));
    }
    if let Some(p) = property.downcast_ref::<glib::ParamSpecUInt64>() {
        return (
            "uint64".into(),
            shown(range(p.minimum(), p.maximum())),
            shown(p.default_value().to_string()),
        );
    }
    if let Some(p) = property.downcast_ref::<glib::ParamSpecInt64>() {
        return (
            "int64".into(),
            shown(range(p.minimum(), p.maximum())),
            shown(p.default_value().to_string()),
        );
    }
    if let Some(p) = property.downcast_ref::<glib::ParamSpecFloat>() {
        let limits = bounds(p.minimum().into(), p.maximum().into(), float);
        return ("float".into(), shown(limits), shown(p.default_value().to_string()));
    }
    if let Some(p) = property.downcast_ref::<glib::ParamSpecDouble>() {
        let limits = bounds(p.minimum(), p.maximum(), |v| v.to_string());
        return ("double".into(), shown(limits), shown(p.default_value().to_string()));
    }
    if let Some(p) = property.downcast_ref::<glib::ParamSpecBoolean>() {
        return ("boolean".into(), String::new(), shown(p.default_value().to_string()));
    }
    if let Some(p) = property.downcast_ref::<glib::ParamSpecString>() {
        let default = p.default_value().map_or("not set".into(), code);
        return ("string".into(), String::new(), shown(default));
    }
    if let Some(class) = glib::EnumClass::with_type(property.value_type()) {
        let nicks: Vec<_> = class.values().iter().map(|value| code(value.nick())).collect();
        let (_, default) = glib::EnumValue::from_value(property.default_value()).unwrap();
        return ("enum".into(), nicks.join(", "), shown(code(default.nick())));
    }
    if glib::FlagsClass::with_type(property.value_type()).is_some() {
        let (_, values) = glib::FlagsValue::from_value(property.default_value()).unwrap();
        let nicks: Vec<_> = values.iter().map(|value| value.nick()).collect();
        return ("flags".into(), "see below".into(), shown(code(&nicks.join("+"))));
    }
    if let Some(p) = property.downcast_ref::<gst::ParamSpecArray>() {
        let (of, limits, _) = p.element_spec().map(kind).unwrap_or_default();
        return (format!("array of {of}"), limits, "not set".into());
    }
    assert!(
        property.value_type() == gst::Structure::static_type(),
        "{} has a type that this test does not know",
        property.name()
    );
    ("GstStructure".into(), String::new(), String::new())
}

/// When a property can be set.
fn when(property: &glib::ParamSpec) -> &'static str {
    // Of GStreamer's gstparamspecs.h, the bits above GLib's own: GST_PARAM_MUTABLE_READY, _PAUSED and _PLAYING.
    let (ready, paused, playing) = (1 << 10, 1 << 11, 1 << 12);
    let flags = property.flags().bits();
    if !property.flags().contains(glib::ParamFlags::WRITABLE) {
        "read only"
    } else if flags & playing != 0 {
        "any state"
    } else if flags & paused != 0 {
        "NULL, READY, PAUSED"
    } else if flags & ready != 0 {
        "NULL, READY"
    } else {
        "NULL"
    }
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('>', "&gt;")
}

/// What stands between the markers of an element's page.
fn table(element: &gst::Element) -> String {
    let mut text = format!(
        "{BEGIN}\n{NOTE}\n\n| property | type | range | default | can be set in | what it does |\n|---|---|---|---|---|---|\n"
    );
    let mut values = String::new();
    for property in own(element) {
        let (ty, range, default) = kind(&property);
        let (name, when, blurb) =
            (property.name(), when(&property), escaped(property.blurb().unwrap_or_default()));
        let class = glib::EnumClass::with_type(property.value_type()).filter(|_| when != "read only");
        // The values have a table of their own.
        let range = if ty == "enum" { "see below".to_owned() } else { range };
        let range = if ty == "enum" && class.is_none() { String::new() } else { range };
        text += &format!("| `{name}` | {ty} | {range} | {default} | {when} | {blurb} |\n");
        if let Some(class) = glib::FlagsClass::with_type(property.value_type()) {
            values += &format!("\n| `{name}`, several joined by `+` | meaning |\n|---|---|\n");
            for value in class.values() {
                values += &format!("| `{}` | {} |\n", value.nick(), escaped(value.name()));
            }
        }
        if let Some(class) = class {
            values += &format!("\n| `{name}` | meaning |\n|---|---|\n");
            for value in class.values() {
                values += &format!("| `{}` | {} |\n", value.nick(), escaped(value.name()));
            }
        }
    }
    text + &values + "\n" + END
}

/// What stands between the markers of the tracker's page: the properties whose defaults the algorithms do not share.
fn by_algorithm() -> String {
    let tracker = || gst::ElementFactory::make("tracker").build().unwrap();
    let class =
        glib::EnumClass::with_type(tracker().find_property("algorithm").unwrap().value_type()).unwrap();
    let nicks: Vec<_> = class.values().iter().map(|value| value.nick().to_owned()).collect();
    let mut text = format!(
        "{}\n{NOTE}\n\n| property | {} |\n|---|{}\n",
        ALGORITHMS[0],
        nicks.iter().map(|nick| format!("`{nick}`")).collect::<Vec<_>>().join(" | "),
        "---|".repeat(nicks.len())
    );
    for property in own(&tracker()) {
        let name = property.name();
        if name == "algorithm" || property.value_type() == gst::Structure::static_type() {
            continue;
        }
        let of = |nick: &String| {
            let element = tracker();
            element.set_property_from_str("algorithm", nick);
            let value = element.property_value(name);
            value
                .get::<f32>()
                .map_or_else(|_| value.serialize().unwrap_or_default().to_string(), |v| v.to_string())
        };
        let values: Vec<_> = nicks.iter().map(of).collect();
        if values.iter().any(|value| *value != values[0]) {
            text += &format!("| `{name}` | {} |\n", values.join(" | "));
        }
    }
    text + "\n" + ALGORITHMS[1]
}

/// Puts `made` where a page has its markers, or asserts that it stands there.
pub(crate) fn compare(name: &str, [begin, end]: [&str; 2], made: &str) {
    // Two tests write the tracker's page.
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let old = page(name);
    let (Some(from), Some(to)) = (old.find(begin), old.find(end)) else {
        panic!("{name} lacks {begin} or {end}")
    };
    let to = to + end.len();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let new = format!("{}{made}{}", &old[..from], &old[to..]);
        std::fs::write(root().join(name), new).unwrap();
        return;
    }
    for (there, wanted) in old[from..to].lines().zip(made.lines()) {
        assert_eq!(there, wanted, "{name} is not what the code says: run the test with UPDATE_DOCS=1");
    }
    assert_eq!(&old[from..to], made, "{name} is not what the code says: run the test with UPDATE_DOCS=1");
}

#[test]
fn each_elements_page_has_the_table_of_its_properties() {
    for (name, element) in elements() {
        compare(&format!("docs/elements/{name}.md"), [BEGIN, END], &table(&element));
    }
}

#[test]
fn the_trackers_page_has_the_algorithms_defaults() {
    init();
    compare("docs/elements/tracker.md", ALGORITHMS, &by_algorithm());
}

#[test]
fn types_ranges_defaults_and_states_are_described_as_gobject_has_them() {
    let described = |element: &str, property: &str| {
        let element = elements().into_iter().find(|(name, _)| name == element).unwrap().1;
        let property = element.find_property(property).unwrap();
        let (ty, range, default) = kind(&property);
        [ty, range, default, when(&property).to_owned()].join("; ")
    };
    assert_eq!(described("gpunms", "confidence"), "float; 0 to 1; 0.25; any state");
    assert_eq!(described("gpunms", "stats"), "GstStructure; ; ; read only");
    assert_eq!(described("fusedpreproc", "quant-scale"), "double; above 0, to 1000000; 1; NULL, READY");
    assert_eq!(
        described("fusedpreproc", "mean"),
        "array of double; -1000000 to 1000000; not set; NULL, READY"
    );
    assert_eq!(
        described("fusedpreproc", "roi"),
        "enum; `frame`, `objects`, `tiles`, `list`, `motion`; `frame`; NULL, READY"
    );
    assert_eq!(described("inferpublish", "send"), "flags; see below; `frames`; NULL, READY");
    assert_eq!(described("trtinfer", "model"), "string; ; not set; any state");
    assert_eq!(described("trtinfer", "priority"), "int; -2147483648 to 2147483647; 0; any state");
    assert_eq!(described("trtinfer", "cuda-graphs"), "boolean; ; true; NULL, READY");
    assert_eq!(described("inferoverlay", "trail-length"), "uint; 0 to 10000; 30; any state");
}
