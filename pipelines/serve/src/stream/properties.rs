//! Setting properties by what the user wrote.

use gst::glib;
use gst::prelude::*;

use crate::config::{Scalar, nearest};

/// Sets a property.
///
/// # Errors
/// A sentence: there is none of this name, or the value does not fit.
pub(super) fn set(element: &gst::Element, name: &str, value: &Scalar) -> Result<(), String> {
    let value = checked(element, name, value)?;
    element.set_property_from_value(name, &value);
    Ok(())
}

/// The value, as the property wants it.
pub(super) fn checked(element: &gst::Element, name: &str, value: &Scalar) -> Result<glib::Value, String> {
    let factory = element.factory().map_or_else(|| "element".into(), |factory| factory.name().to_string());
    let Some(spec) = element.find_property(name) else {
        let all = element.list_properties();
        return Err(match nearest(name, all.iter().map(|spec| spec.name())) {
            Some(near) => format!("{factory} has no property '{name}': '{near}' is probably meant"),
            None => format!(
                "{factory} has no property '{name}': gst-inspect-1.0 {factory} shows those that it has"
            ),
        });
    };
    if !spec.flags().contains(glib::ParamFlags::WRITABLE) {
        return Err(format!("the property '{name}' of {factory} can only be read"));
    }
    let text = value.to_string();
    let read = if spec.value_type() == glib::Type::STRING {
        Ok(text.to_value())
    } else {
        glib::Value::deserialize_with_pspec(&text, &spec)
    };
    let fits = |value: &glib::Value| within(&spec, value);
    read.ok().filter(fits).ok_or_else(|| {
        format!("'{text}' is no value of {factory}'s property '{name}': gst-inspect-1.0 {factory} shows those that are")
    })
}

/// Whether a number is in its property's range, which GObject would only complain about on the standard error.
fn within(spec: &glib::ParamSpec, value: &glib::Value) -> bool {
    macro_rules! range {
        ($($kind:ty: $number:ty),*) => {
            $(if let Some(spec) = spec.downcast_ref::<$kind>() {
                return value.get::<$number>().is_ok_and(|number| (spec.minimum()..=spec.maximum()).contains(&number));
            })*
        };
    }
    range!(
        glib::ParamSpecInt: i32, glib::ParamSpecUInt: u32, glib::ParamSpecInt64: i64, glib::ParamSpecUInt64: u64,
        glib::ParamSpecFloat: f32, glib::ParamSpecDouble: f64
    );
    true
}

/// Properties that are set at the beginning, as text, by name; without those that are objects.
pub(super) fn all(element: &gst::Element) -> Vec<(glib::ParamSpec, String)> {
    let both = glib::ParamFlags::READABLE | glib::ParamFlags::WRITABLE;
    let specs = element.list_properties().to_vec();
    let kept = specs
        .into_iter()
        .filter(|spec| spec.flags().contains(both) && spec.name() != "name" && spec.name() != "parent");
    kept.filter_map(|spec| {
        let value = element.property_value(spec.name());
        let text = match value.get::<Option<String>>() {
            Ok(text) => text.unwrap_or_default(),
            Err(_) => value.serialize().ok()?.to_string(),
        };
        Some((spec, text))
    })
    .collect()
}
