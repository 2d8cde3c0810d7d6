//! The elements of a stream's pipeline as a client sees them: how they read their models, and what may be set.

use cudainfer_launch::elements;
use gst::glib;
use gst::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Description;
use super::permission::grant;

/// An element.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct ElementSettings {
    /// Its name, with which `override` names it.
    pub name: String,
    /// Its factory.
    pub factory: String,
    /// How it reads its model, and where that comes from, once the model is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading: Option<String>,
    /// The properties that clients may set.
    pub properties: Vec<Setting>,
}

/// A property.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub blurb: String,
    /// What its values are.
    pub kind: SettingKind,
    /// The least number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<f64>,
    /// The greatest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<f64>,
    /// The words of a choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Its value if nobody sets it.
    pub default: Value,
    /// Its value now.
    pub value: Value,
    /// Whether it can be set while the stream plays.
    pub live: bool,
}

/// What the values of a property are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingKind {
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// true or false.
    Switch,
    /// One of several words.
    Choice,
    /// A text.
    Text,
}

/// The elements of a description that read a model, or that have something which clients may set.
pub(crate) fn settings(description: &Description) -> Vec<ElementSettings> {
    let mut found: Vec<_> = elements::all(&description.bin).iter().map(settings_of).collect();
    found.retain(|element| element.reading.is_some() || !element.properties.is_empty());
    // A bin lists the newest element first.
    let order = |element: &ElementSettings| {
        let sorted = description.bin.iterate_sorted().into_iter().flatten();
        std::cmp::Reverse(sorted.map(|each| each.name()).position(|name| name == element.name))
    };
    found.sort_by_key(order);
    found
}

fn settings_of(element: &gst::Element) -> ElementSettings {
    let factory = element.factory().map(|factory| factory.name().to_string()).unwrap_or_default();
    let properties = element.list_properties().to_vec();
    let reads = properties.iter().any(|pspec| pspec.name() == "reading");
    let reading = reads.then(|| element.property::<Option<String>>("reading")).flatten();
    let granted = properties.iter().filter(|pspec| grant(&factory, pspec.name()).is_some());
    let properties = granted.filter_map(|pspec| setting(element, pspec)).collect();
    ElementSettings { name: element.name().to_string(), factory, reading, properties }
}

fn setting(element: &gst::Element, pspec: &glib::ParamSpec) -> Option<Setting> {
    let (kind, minimum, maximum) = range(pspec)?;
    let choices = match pspec.downcast_ref::<glib::ParamSpecEnum>() {
        Some(pspec) => pspec.enum_class().values().iter().map(|value| value.nick().to_owned()).collect(),
        None => Vec::new(),
    };
    Some(Setting {
        name: pspec.name().to_owned(),
        blurb: pspec.blurb().unwrap_or_default().to_owned(),
        kind,
        minimum,
        maximum,
        choices,
        default: json(kind, pspec.default_value()),
        value: json(kind, &element.property_value(pspec.name())),
        live: pspec.flags().contains(gst::PARAM_FLAG_MUTABLE_PLAYING),
    })
}

/// The kind of a property and the limits of a number; `None` for what no client sets.
fn range(pspec: &glib::ParamSpec) -> Option<(SettingKind, Option<f64>, Option<f64>)> {
    use SettingKind::{Choice, Integer, Number, Switch, Text};
    let whole = |least: i64, most: i64| Some((Integer, text(&least), text(&most)));
    if let Some(p) = pspec.downcast_ref::<glib::ParamSpecDouble>() {
        Some((Number, Some(p.minimum()), Some(p.maximum())))
    } else if let Some(p) = pspec.downcast_ref::<glib::ParamSpecFloat>() {
        Some((Number, text(&p.minimum()), text(&p.maximum())))
    } else if let Some(p) = pspec.downcast_ref::<glib::ParamSpecInt>() {
        whole(p.minimum().into(), p.maximum().into())
    } else if let Some(p) = pspec.downcast_ref::<glib::ParamSpecUInt>() {
        whole(p.minimum().into(), p.maximum().into())
    } else if let Some(p) = pspec.downcast_ref::<glib::ParamSpecUInt64>() {
        Some((Integer, text(&p.minimum()), text(&p.maximum())))
    } else if pspec.is::<glib::ParamSpecBoolean>() {
        Some((Switch, None, None))
    } else if pspec.is::<glib::ParamSpecEnum>() {
        Some((Choice, None, None))
    } else if pspec.is::<glib::ParamSpecString>() {
        Some((Text, None, None))
    } else {
        None
    }
}

/// A number in the shortest form that means the same: 0.45 of 32 bits is 0.45, not 0.44999998.
fn text(number: &impl ToString) -> Option<f64> {
    number.to_string().parse().ok()
}

fn json(kind: SettingKind, value: &glib::Value) -> Value {
    let number = || {
        let float = value.get::<f32>().ok().and_then(|value| text(&value));
        float.or_else(|| value.get::<f64>().ok())
    };
    let whole = || {
        let signed = value.get::<i32>().ok().map(|value| json!(value));
        let unsigned = || value.get::<u32>().ok().map(|value| json!(value));
        signed.or_else(unsigned).or_else(|| value.get::<u64>().ok().map(|value| json!(value)))
    };
    match kind {
        SettingKind::Number => json!(number()),
        SettingKind::Integer => whole().unwrap_or(Value::Null),
        SettingKind::Switch => json!(value.get::<bool>().ok()),
        SettingKind::Text => json!(value.get::<Option<String>>().ok().flatten().unwrap_or_default()),
        SettingKind::Choice => json!(value.serialize().ok().map(|text| text.to_string())),
    }
}
