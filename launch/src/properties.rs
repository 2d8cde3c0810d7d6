//! Setting properties to the values that the user has written.

use std::collections::BTreeMap;
use std::fmt::Display;

use cudainfer_model::mistakes::nearest;
use gst::glib;
use gst::prelude::*;

/// Sets a property.
///
/// # Errors
/// A sentence: there is none of this name, or the value does not fit.
pub fn set(element: &gst::Element, name: &str, value: &impl Display) -> Result<(), String> {
    let value = checked(element, name, value)?;
    element.set_property_from_value(name, &value);
    Ok(())
}

/// The value in the property's type.
pub fn checked(element: &gst::Element, name: &str, value: &impl Display) -> Result<glib::Value, String> {
    let factory = element.factory().map_or_else(|| "element".into(), |factory| factory.name().to_string());
    let Some(pspec) = element.find_property(name) else {
        let all = element.list_properties();
        return Err(match nearest(name, all.iter().map(|pspec| pspec.name())) {
            Some(near) => format!("{factory} has no property '{name}': '{near}' is probably meant"),
            None => format!(
                "{factory} has no property '{name}': gst-inspect-1.0 {factory} shows those that it has"
            ),
        });
    };
    if !pspec.flags().contains(glib::ParamFlags::WRITABLE) {
        return Err(format!("the property '{name}' of {factory} can only be read"));
    }
    if pspec.flags().contains(glib::ParamFlags::CONSTRUCT_ONLY) {
        return Err(format!("the property '{name}' of {factory} cannot be set once {factory} has been made"));
    }
    let text = value.to_string();
    let read = if text.contains('\0') || pspec.value_type().is_a(glib::Type::OBJECT) {
        None
    } else if pspec.value_type() == glib::Type::STRING {
        Some(text.to_value())
    } else {
        glib::Value::deserialize_with_pspec(&text, &pspec).ok()
    };
    let range = Range::of(&pspec);
    let fits = |value: &glib::Value| {
        range.as_ref().is_none_or(|range| range.contains(&text, value)) && is_taken(&pspec, value)
    };
    read.filter(fits).ok_or_else(|| {
        let text = text.replace('\0', "\\0");
        let expected = expected(&pspec, range.as_ref())
            .unwrap_or_else(|| format!("gst-inspect-1.0 {factory} shows those that are"));
        format!("'{text}' is no value of {factory}'s property '{name}': {expected}")
    })
}

/// Whether GObject takes a value unchanged. For any other value it would only warn on the standard error and set another one, and
/// its Rust binding panics.
fn is_taken(pspec: &glib::ParamSpec, value: &glib::Value) -> bool {
    use glib::translate::{ToGlibPtr, ToGlibPtrMut};
    if !value.type_().is_a(pspec.value_type()) {
        return false;
    }
    let mut taken = value.clone();
    // SAFETY: both are valid during the call, and the value is of the property's type.
    unsafe {
        let changed =
            glib::gobject_ffi::g_param_value_validate(pspec.to_glib_none().0, taken.to_glib_none_mut().0);
        changed == glib::ffi::GFALSE
    }
}

/// The numbers that a property takes.
enum Range {
    Whole(i128, i128),
    Any(f64, f64),
}

impl Range {
    fn of(pspec: &glib::ParamSpec) -> Option<Self> {
        macro_rules! range {
            ($($kind:ident: $range:ident),*) => {
                $(if let Some(pspec) = pspec.downcast_ref::<glib::$kind>() {
                    return Some(Self::$range(pspec.minimum().into(), pspec.maximum().into()));
                })*
            };
        }
        range!(
            ParamSpecInt: Whole, ParamSpecUInt: Whole, ParamSpecInt64: Whole, ParamSpecUInt64: Whole,
            ParamSpecFloat: Any, ParamSpecDouble: Any
        );
        None
    }

    /// Whether a number is in the range, both as it was written and as GStreamer has read it: GStreamer reads -1 and 5000000000
    /// as other numbers of 32 bits, and GObject would only warn on the standard error about a number that is out of range.
    fn contains(&self, text: &str, value: &glib::Value) -> bool {
        let read = |kind| value.transform_with_type(kind).ok();
        match self {
            Self::Whole(least, most) => {
                let read = read(glib::Type::I64).and_then(|value| value.get::<i64>().ok()).map(i128::from);
                text.parse().ok().or(read).is_some_and(|number| (least..=most).contains(&&number))
            }
            Self::Any(least, most) => {
                let read = read(glib::Type::F64).and_then(|value| value.get::<f64>().ok());
                read.is_some_and(|number| (least..=most).contains(&&number))
            }
        }
    }
}

/// The values that a property takes, if a few words can describe them.
fn expected(pspec: &glib::ParamSpec, range: Option<&Range>) -> Option<String> {
    match range {
        Some(Range::Whole(least, most)) => {
            return Some(format!("expected a whole number from {least} to {most}"));
        }
        Some(Range::Any(least, most)) if most.abs() < 1e9 => {
            return Some(format!("expected a number from {least} to {most}"));
        }
        Some(Range::Any(least, _)) => return Some(format!("expected a number, {least} or more")),
        None => (),
    }
    if pspec.downcast_ref::<glib::ParamSpecBoolean>().is_some() {
        return Some("expected true or false".into());
    }
    if let Some(pspec) = pspec.downcast_ref::<glib::ParamSpecFlags>() {
        let nicks: Vec<&str> = pspec.flags_class().values().iter().map(glib::FlagsValue::nick).collect();
        return Some(format!("expected some of {}, with + between them", nicks.join(", ")));
    }
    let pspec = pspec.downcast_ref::<glib::ParamSpecEnum>()?;
    let nicks: Vec<&str> = pspec.enum_class().values().iter().map(glib::EnumValue::nick).collect();
    Some(format!("expected one of {}", nicks.join(", ")))
}

/// Properties that can be read and written, with their values as text; without those whose values are objects.
pub fn all(element: &gst::Element) -> Vec<(glib::ParamSpec, String)> {
    let both = glib::ParamFlags::READABLE | glib::ParamFlags::WRITABLE;
    let specs = element.list_properties().to_vec();
    let kept = specs
        .into_iter()
        .filter(|pspec| pspec.flags().contains(both) && pspec.name() != "name" && pspec.name() != "parent");
    kept.filter_map(|pspec| {
        let value = element.property_value(pspec.name());
        let text = match (value.get::<Option<String>>(), value.get::<Option<gst::Structure>>()) {
            (Ok(text), _) => text.unwrap_or_default(),
            // GStreamer takes no structure for a mistake.
            (_, Ok(None)) => String::new(),
            _ => value.serialize().ok()?.to_string(),
        };
        Some((pspec, text))
    })
    .collect()
}

/// The same texts by the properties' names.
pub fn texts(element: &gst::Element) -> BTreeMap<String, String> {
    all(element).into_iter().map(|(pspec, text)| (pspec.name().to_owned(), text)).collect()
}
