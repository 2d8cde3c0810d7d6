//! The types that the fields of settings have, and what GObject's specifications and values of them are.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use gst::glib;
use gst::glib::translate::{FromGlib, IntoGlib};
use gst::prelude::*;

use crate::strings;

/// The type of a field that holds a property.
pub(crate) trait Field: Clone + Send + Sync + 'static {
    /// How a row states the values that are allowed.
    type Range: Clone + Send + Sync + 'static;

    /// Whether any bytes are allowed in a string.
    const ANY_BYTES: bool = false;

    /// The specification for GObject.
    fn spec(about: &About<'_>, range: &Self::Range, default: &Self) -> glib::ParamSpec;

    /// The field as GObject's value.
    fn get(&self) -> glib::Value;

    /// GObject's value, whose type and range it has checked, as the field; `None` for a string that is not set.
    fn read(value: &glib::Value) -> Option<Self>;
}

/// The texts and flags of a property.
pub(crate) struct About<'a> {
    pub(super) name: &'a str,
    pub(super) nick: &'a str,
    pub(super) blurb: &'a str,
    pub(super) flags: glib::ParamFlags,
}

impl About<'_> {
    /// The specification of a set of words, as in `frames+events`.
    pub fn flags<T>(&self, default: T) -> glib::ParamSpec
    where
        T: StaticType + FromGlib<u32> + IntoGlib<GlibType = u32>,
    {
        T::static_type().mark_as_plugin_api(gst::PluginAPIFlags::empty());
        let builder = glib::ParamSpecFlags::builder::<T>(self.name).nick(self.nick).blurb(self.blurb);
        builder.flags(self.flags).default_value(default).build()
    }
}

macro_rules! number {
    ($type:ty, $spec:ty) => {
        impl Field for $type {
            type Range = RangeInclusive<$type>;

            fn spec(about: &About<'_>, range: &Self::Range, default: &Self) -> glib::ParamSpec {
                <$spec>::builder(about.name)
                    .nick(about.nick)
                    .blurb(about.blurb)
                    .flags(about.flags)
                    .minimum(*range.start())
                    .maximum(*range.end())
                    .default_value(*default)
                    .build()
            }

            fn get(&self) -> glib::Value {
                self.to_value()
            }

            fn read(value: &glib::Value) -> Option<Self> {
                value.get().ok()
            }
        }
    };
}
number!(u32, glib::ParamSpecUInt);
number!(i32, glib::ParamSpecInt);
number!(u64, glib::ParamSpecUInt64);
number!(f32, glib::ParamSpecFloat);
number!(f64, glib::ParamSpecDouble);

impl Field for bool {
    type Range = ();

    fn spec(about: &About<'_>, (): &(), default: &Self) -> glib::ParamSpec {
        let builder = glib::ParamSpecBoolean::builder(about.name).nick(about.nick).blurb(about.blurb);
        builder.flags(about.flags).default_value(*default).build()
    }

    fn get(&self) -> glib::Value {
        self.to_value()
    }

    fn read(value: &glib::Value) -> Option<Self> {
        value.get().ok()
    }
}

/// Text; one that is empty is not set.
impl Field for String {
    type Range = ();

    fn spec(about: &About<'_>, (): &(), default: &Self) -> glib::ParamSpec {
        let builder = glib::ParamSpecString::builder(about.name).nick(about.nick).blurb(about.blurb);
        let default = Some(default.as_str()).filter(|text| !text.is_empty());
        builder.flags(about.flags).default_value(default).build()
    }

    fn get(&self) -> glib::Value {
        Some(self).filter(|text| !text.is_empty()).to_value()
    }

    fn read(value: &glib::Value) -> Option<Self> {
        strings::text(value)
    }
}

/// The name of a file or folder; an empty one is not set.
impl Field for Option<PathBuf> {
    type Range = ();

    const ANY_BYTES: bool = true;

    fn spec(about: &About<'_>, (): &(), _: &Self) -> glib::ParamSpec {
        let builder = glib::ParamSpecString::builder(about.name).nick(about.nick).blurb(about.blurb);
        builder.flags(about.flags).build()
    }

    fn get(&self) -> glib::Value {
        self.to_value()
    }

    fn read(value: &glib::Value) -> Option<Self> {
        Some(strings::path(value))
    }
}

/// The name of a file; an empty one is the default.
impl Field for PathBuf {
    type Range = ();

    const ANY_BYTES: bool = true;

    fn spec(about: &About<'_>, (): &(), default: &Self) -> glib::ParamSpec {
        let builder = glib::ParamSpecString::builder(about.name).nick(about.nick).blurb(about.blurb);
        builder.flags(about.flags).default_value(default.to_str()).build()
    }

    fn get(&self) -> glib::Value {
        self.to_value()
    }

    fn read(value: &glib::Value) -> Option<Self> {
        strings::path(value)
    }
}

/// A list of numbers, as `<0.485,0.456,0.406>`.
impl Field for Vec<f64> {
    type Range = RangeInclusive<f64>;

    fn spec(about: &About<'_>, range: &Self::Range, _: &Self) -> glib::ParamSpec {
        let value = glib::ParamSpecDouble::builder("value").nick("Value").blurb("One of the values");
        let value = value.minimum(*range.start()).maximum(*range.end()).build();
        let builder = gst::ParamSpecArray::builder(about.name).nick(about.nick).blurb(about.blurb);
        builder.flags(about.flags).element_spec(&value).build()
    }

    fn get(&self) -> glib::Value {
        gst::Array::new(self).to_value()
    }

    fn read(value: &glib::Value) -> Option<Self> {
        let array = value.get::<gst::ArrayRef>().ok()?;
        Some(array.iter().filter_map(|value| value.get().ok()).collect())
    }
}

/// Fields with names; NULL until it is set.
impl Field for Option<gst::Structure> {
    type Range = ();

    fn spec(about: &About<'_>, (): &(), _: &Self) -> glib::ParamSpec {
        let builder = glib::ParamSpecBoxed::builder::<gst::Structure>(about.name).nick(about.nick);
        builder.blurb(about.blurb).flags(about.flags).build()
    }

    fn get(&self) -> glib::Value {
        self.to_value()
    }

    fn read(value: &glib::Value) -> Option<Self> {
        value.get().ok()
    }
}

/// An enum whose words a property has.
pub(crate) trait Words:
    Copy
    + Send
    + Sync
    + ToValue
    + StaticType
    + FromGlib<i32>
    + IntoGlib<GlibType = i32>
    + for<'a> glib::value::FromValue<'a>
    + 'static
{
}

impl<T: Words> Field for T {
    type Range = ();

    fn spec(about: &About<'_>, (): &(), default: &Self) -> glib::ParamSpec {
        T::static_type().mark_as_plugin_api(gst::PluginAPIFlags::empty());
        let builder = glib::ParamSpecEnum::builder_with_default::<T>(about.name, *default);
        builder.nick(about.nick).blurb(about.blurb).flags(about.flags).build()
    }

    fn get(&self) -> glib::Value {
        self.to_value()
    }

    fn read(value: &glib::Value) -> Option<Self> {
        value.get().ok()
    }
}

/// The nick of a property's enum value, as caps and pipelines write it.
pub(crate) fn nick<T: ToValue + StaticType>(value: T) -> String {
    let value = value.to_value();
    glib::EnumValue::from_value(&value).map_or_else(String::new, |(_, v)| v.nick().to_owned())
}
