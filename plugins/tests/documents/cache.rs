//! docs/gst_plugins_cache.json is what GStreamer's documentation (hotdoc) reads instead of the plugin: the form is that of
//! gst-hotdoc-plugins-scanner of GStreamer 1.22, sorted as gst-plugins-doc-cache-generator.py writes it.

use std::collections::BTreeMap;

use gst::glib;
use gst::prelude::*;
use serde_json::{Map, Value, json};

use crate::{init, page, root};

const FILE: &str = "docs/gst_plugins_cache.json";

/// The plugin's types besides its elements: enums, flags and base classes that are marked as its API.
pub(crate) type OtherTypes = BTreeMap<String, Value>;

/// Whether the pad templates are those that the documents have: newer GStreamers know more formats of video.
pub(crate) fn has_documented_formats() -> bool {
    init();
    let (_, minor, ..) = gst::version();
    if minor > 22 {
        eprintln!("left out: this is GStreamer 1.{minor}, and the documents have the formats of 1.22");
    }
    minor <= 22
}

#[test]
fn the_cache_of_the_documentation_is_what_the_plugin_has() {
    if !has_documented_formats() {
        return;
    }
    let mut made = Vec::new();
    let form = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut writer = serde_json::Serializer::with_formatter(&mut made, form);
    serde::Serialize::serialize(&json!({ "cudainfer": plugin() }), &mut writer).unwrap();
    let made = String::from_utf8(made).unwrap() + "\n";
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(root().join(FILE), made).unwrap();
        return;
    }
    for (there, wanted) in page(FILE).lines().zip(made.lines()) {
        assert_eq!(there, wanted, "{FILE} is not what the code says: run the test with UPDATE_DOCS=1");
    }
    assert_eq!(page(FILE), made, "{FILE} is not what the code says: run the test with UPDATE_DOCS=1");
}

fn plugin() -> Value {
    init();
    let plugin = gst::Registry::get().find_plugin("cudainfer").unwrap();
    let (mut elements, mut tracers, mut others) = (Map::new(), Map::new(), OtherTypes::new());
    for feature in gst::Registry::get().features_by_plugin("cudainfer") {
        match feature.downcast::<gst::ElementFactory>() {
            Ok(factory) => {
                elements.insert(factory.name().into(), element(&factory, &mut others));
            }
            Err(feature) => {
                tracers.insert(feature.name().into(), json!({}));
            }
        }
    }
    json!({
        "description": plugin.description().as_str(),
        "filename": "gstcudainfer",
        "source": plugin.source().as_str(),
        "package": plugin.package().as_str(),
        "license": plugin.license().as_str(),
        "url": plugin.origin().as_str(),
        "elements": elements,
        "tracers": tracers,
        "other-types": others,
    })
}

pub(crate) fn element(factory: &gst::ElementFactory, others: &mut OtherTypes) -> Value {
    let element = factory.create().build().unwrap();
    let mut said = details(element.upcast_ref(), element.type_(), others);
    said.insert("rank".into(), "none".into());
    assert_eq!(factory.rank(), gst::Rank::NONE, "{}: write other ranks here, too", factory.name());
    for key in factory.metadata_keys() {
        // It may be another one in each environment.
        if key != "long-name" {
            said.insert(key.to_string(), factory.metadata(&key).map(String::from).into());
        }
    }
    let templates = factory.static_pad_templates().into_iter().map(|pad| {
        let template = element.pad_template(pad.name_template()).unwrap();
        let described = json!({
            "caps": caps(template.documentation_caps()),
            "direction": pad.direction().to_value().get::<gst::PadDirection>().map(nick).unwrap(),
            "presence": nick(pad.presence()),
        });
        (pad.name_template().replace('%', "%%"), described)
    });
    said.insert("pad-templates".into(), Value::Object(templates.collect()));
    Value::Object(said)
}

/// The nick of a value of one of GStreamer's enums.
fn nick(value: impl Into<glib::Value>) -> String {
    glib::EnumValue::from_value(&value.into()).unwrap().1.nick().to_owned()
}

fn caps(caps: &gst::Caps) -> String {
    let mut text = String::new();
    for (structure, features) in caps.iter_with_features() {
        let name = structure.name();
        if !features.is_any() && features.is_equal(&gst::CapsFeatures::new(["memory:SystemMemory"])) {
            text += &format!("{name}:\n");
        } else {
            let gap = if text.is_empty() { "" } else { "\n" };
            text += &format!("{gap}{name}({features}):\n");
        }
        for (field, value) in structure.iter() {
            let (field, value) = (field.as_str(), value.serialize().unwrap());
            let plain = matches!(field, "format" | "rate");
            let value = if plain { value.replace("(string)", "") } else { value.to_string() };
            text += &format!("{field:>15}: {value}\n");
        }
    }
    text
}

/// Hierarchy, interfaces, properties and signals of `type_`, which `object` is of.
fn details(object: &glib::Object, type_: glib::Type, others: &mut OtherTypes) -> Map<String, Value> {
    let ancestors = || std::iter::successors(Some(type_), |type_| type_.parent());
    for ancestor in ancestors().filter(|ancestor| *ancestor != type_ && ancestor.plugin_api_flags().is_some())
    {
        if !others.contains_key(ancestor.name()) {
            let mut described = details(object, ancestor, others);
            described.insert("kind".into(), "object".into());
            others.insert(ancestor.name().into(), described.into());
        }
    }
    let hierarchy: Vec<_> = ancestors().map(|type_| type_.name().to_owned()).collect();
    let mut said = Map::from_iter([("hierarchy".to_owned(), hierarchy.into())]);
    let interfaces: Vec<_> = type_.interfaces().iter().map(|type_| type_.name().to_owned()).collect();
    let all = object.list_properties();
    let own = all.iter().filter(|property| property.owner_type() == type_);
    let properties = own.map(|p| (p.name().to_owned(), property(object, p, others))).collect();
    for (key, value) in [
        ("interfaces", Value::from(interfaces)),
        ("properties", Value::Object(properties)),
        ("signals", Value::Object(signals(type_))),
    ] {
        let empty =
            value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty);
        if !empty {
            said.insert(key.into(), value);
        }
    }
    said
}

fn property(object: &glib::Object, property: &glib::ParamSpec, others: &mut OtherTypes) -> Value {
    let flags = property.flags();
    let has = |flag: glib::ParamFlags| flags.contains(flag);
    let mutable = [
        (gst::PARAM_FLAG_MUTABLE_PLAYING, "playing"),
        (gst::PARAM_FLAG_MUTABLE_PAUSED, "paused"),
        (gst::PARAM_FLAG_MUTABLE_READY, "ready"),
    ];
    let type_ = property.value_type();
    let mut said = json!({
        "construct-only": has(glib::ParamFlags::CONSTRUCT_ONLY),
        "construct": has(glib::ParamFlags::CONSTRUCT),
        "readable": has(glib::ParamFlags::READABLE),
        "writable": has(glib::ParamFlags::WRITABLE),
        "blurb": property.blurb(),
        "controllable": has(gst::PARAM_FLAG_CONTROLLABLE),
        "conditionally-available": has(gst::PARAM_FLAG_CONDITIONALLY_AVAILABLE),
        "mutable": mutable.into_iter().find(|(flag, _)| has(*flag)).map_or("null", |(_, word)| word),
        "type": type_.name(),
    });
    let readable = has(glib::ParamFlags::READABLE);
    let value =
        if readable { object.property_value(property.name()) } else { property.default_value().clone() };
    let limits = default(&value, property);
    for (key, value) in ["default", "min", "max"].into_iter().zip(limits.into_iter().flatten()) {
        said[key] = value.into();
    }
    if type_.plugin_api_flags().is_some() && !others.contains_key(type_.name()) {
        others.insert(type_.name().into(), words(type_));
    }
    said
}

/// The values of an enum or of flags.
fn words(type_: glib::Type) -> Value {
    if let Some(class) = glib::EnumClass::with_type(type_) {
        let values = class.values().iter();
        let values =
            values.map(|v| json!({"name": v.nick(), "value": v.value().to_string(), "desc": v.name()}));
        return json!({"kind": "enum", "values": values.collect::<Vec<_>>()});
    }
    let class =
        glib::FlagsClass::with_type(type_).expect("a type of the plugin's API is an enum, flags or a class");
    let values = class.values().iter();
    let values =
        values.map(|v| json!({"name": v.nick(), "value": format!("{:#010x}", v.value()), "desc": v.name()}));
    json!({"kind": "flags", "values": values.collect::<Vec<_>>()})
}

/// The value, and the lowest and highest one where there are some.
fn default(value: &glib::Value, property: &glib::ParamSpec) -> [Option<String>; 3] {
    macro_rules! number {
        ($($spec:ty, $type:ty, $text:expr;)*) => {$(
            if let Some(p) = property.downcast_ref::<$spec>() {
                return [value.get::<$type>().unwrap(), p.minimum(), p.maximum()].map(|n| Some($text(n)));
            }
        )*};
    }
    number! {
        // As the scanner has them, which writes them as if they had a sign.
        glib::ParamSpecUInt, u32, |n: u32| n.cast_signed().to_string();
        glib::ParamSpecInt, i32, |n: i32| n.to_string();
        glib::ParamSpecUInt64, u64, |n: u64| n.to_string();
        glib::ParamSpecInt64, i64, |n: i64| n.to_string();
        glib::ParamSpecFloat, f32, |n: f32| six_digits(n.into());
        glib::ParamSpecDouble, f64, six_digits;
    }
    let text = if let Ok(text) = value.get::<Option<String>>() {
        Some(text.unwrap_or_else(|| "NULL".into()))
    } else if let Ok(yes) = value.get::<bool>() {
        Some(yes.to_string())
    } else if let Ok(structure) = value.get::<Option<gst::Structure>>() {
        structure.map(|structure| structure.to_string())
    } else if let Some((_, word)) = glib::EnumValue::from_value(value) {
        Some(format!("{} ({})", word.nick(), word.value()))
    } else if let Some((_, words)) = glib::FlagsValue::from_value(value) {
        // From the highest bit to the lowest.
        Some(words.iter().rev().map(|word| word.nick()).collect::<Vec<_>>().join("+"))
    } else {
        None
    };
    [text, None, None]
}

/// A number as C's `%g` writes it.
fn six_digits(number: f64) -> String {
    let scientific = format!("{number:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap();
    let short = |digits: &str| {
        if digits.contains('.') {
            digits.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            digits.to_owned()
        }
    };
    let exponent: i32 = exponent.parse().unwrap();
    match usize::try_from(5 - exponent) {
        Ok(decimals) if exponent >= -4 => short(&format!("{number:.decimals$}")),
        _ => format!("{}e{}{:02}", short(digits), if exponent < 0 { '-' } else { '+' }, exponent.abs()),
    }
}

#[test]
fn numbers_are_written_as_c_does() {
    let written = [0.0, 1.0, 0.25, 1e6, 1e5, 0.003_921_568_627_450_98, 1.175_494_350_822_287_5e-38, -100.5]
        .map(six_digits);
    assert_eq!(written, ["0", "1", "0.25", "1e+06", "100000", "0.00392157", "1.17549e-38", "-100.5"]);
}

fn signals(type_: glib::Type) -> Map<String, Value> {
    let mut count = 0;
    // SAFETY: the list is copied before it is freed; it is NULL where it is empty.
    let ids: Vec<u32> = unsafe {
        let list =
            glib::gobject_ffi::g_signal_list_ids(glib::translate::IntoGlib::into_glib(type_), &mut count);
        let count = usize::try_from(count).unwrap();
        let ids = if list.is_null() { Vec::new() } else { std::slice::from_raw_parts(list, count).to_vec() };
        glib::ffi::g_free(list.cast());
        ids
    };
    let ids = ids.into_iter().map(|id| {
        // SAFETY: GObject has just said that there is a signal of this number.
        let query = unsafe { glib::subclass::SignalId::new(std::num::NonZeroU32::new(id).unwrap()) }.query();
        let arguments = query.param_types().iter().enumerate();
        let arguments: Vec<_> = arguments
            .map(|(i, type_)| json!({"name": format!("arg{i}"), "type": type_.type_().name()}))
            .collect();
        let mut said = json!({"args": arguments, "return-type": query.return_type().type_().name()});
        let flags = [
            (glib::SignalFlags::NO_RECURSE, "no-recurse"),
            (glib::SignalFlags::DETAILED, "detailed"),
            (glib::SignalFlags::ACTION, "action"),
            (glib::SignalFlags::NO_HOOKS, "no-hooks"),
        ];
        for (_, word) in flags.into_iter().filter(|(flag, _)| query.flags().contains(*flag)) {
            said[word] = true.into();
        }
        let when = [
            (glib::SignalFlags::RUN_FIRST, "first"),
            (glib::SignalFlags::RUN_LAST, "last"),
            (glib::SignalFlags::RUN_CLEANUP, "cleanup"),
        ];
        if let Some((_, word)) = when.into_iter().find(|(flag, _)| query.flags().contains(*flag)) {
            said["when"] = word.into();
        }
        (query.signal_name().to_owned(), said)
    });
    ids.collect()
}
