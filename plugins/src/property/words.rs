//! Properties whose values are the words of an enum: GObject's own enum is made of the enum's table of words.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::marker::PhantomData;
use std::sync::Mutex;

use cudainfer_kernels::words::Words;
use gst::glib;
use gst::glib::gobject_ffi;
use gst::glib::translate::{FromGlib, IntoGlib};
use gst::prelude::*;

use super::field::{About, Field};
use crate::sync::lock;

/// The word for a choice that is left to others: a field that is `None`.
const AUTO: &str = "auto";

/// An enum whose words a property has; [`registered!`] says it of one.
pub(crate) trait Registered: Words {
    /// The name of GObject's enum.
    const TYPE: &'static str;

    /// What `auto` means, if the property has this word as well. Then the settings' field is an `Option`.
    const AUTO: Option<&'static str>;

    /// The values that the property has.
    const VALUES: &'static [Self];
}

/// The enums whose words properties have: a row for each, with the name of GObject's enum, and what `auto` means if that is a word of
/// it, too; `only` lists the values of which it consists, if these are not all.
macro_rules! registered {
    ($($enum:ty: $name:literal $(, auto = $auto:literal)? $(, only = $only:expr)?;)+) => {$(
        impl $crate::property::Registered for $enum {
            const TYPE: &'static str = $name;
            const AUTO: Option<&'static str> = $crate::property::registered!(@auto $($auto)?);
            const VALUES: &'static [Self] = $crate::property::registered!(@values $enum $(, $only)?);
        }
        $crate::property::registered!(@field $enum $(, $auto)?);
    )+};
    (@auto) => { None };
    (@auto $auto:literal) => { Some($auto) };
    (@values $enum:ty) => { <$enum as cudainfer_kernels::words::Words>::ALL };
    (@values $enum:ty, $only:expr) => { $only };
    // The field of a settings' struct is the enum itself where the property has no `auto`.
    (@field $enum:ty, $auto:literal) => {};
    (@field $enum:ty) => {
        impl $crate::property::Field for $enum {
            type Range = ();

            fn spec(about: &$crate::property::About<'_>, (): &(), default: &Self) -> glib::ParamSpec {
                $crate::property::words::spec(about, Some(*default))
            }

            fn get(&self) -> glib::Value {
                $crate::property::words::value(Some(*self))
            }

            fn read(value: &glib::Value) -> Option<Self> {
                $crate::property::words::read(value).flatten()
            }
        }
    };
}
pub(crate) use registered;

/// The choice, or `None` where it is left to others.
impl<T: Registered> Field for Option<T> {
    type Range = ();

    fn spec(about: &About<'_>, (): &(), default: &Self) -> glib::ParamSpec {
        spec(about, *default)
    }

    fn get(&self) -> glib::Value {
        value(*self)
    }

    fn read(value: &glib::Value) -> Option<Self> {
        read(value)
    }
}

/// The specification of a property that is a choice.
pub(crate) fn spec<T: Registered>(about: &About<'_>, default: Option<T>) -> glib::ParamSpec {
    Number::<T>::static_type().mark_as_plugin_api(gst::PluginAPIFlags::empty());
    let builder = glib::ParamSpecEnum::builder_with_default(about.name, Number::of(default));
    builder.nick(about.nick).blurb(about.blurb).flags(about.flags).build()
}

/// The choice as GObject's value.
pub(crate) fn value<T: Registered>(choice: Option<T>) -> glib::Value {
    let type_ = Number::<T>::static_type();
    let value = glib::EnumClass::with_type(type_).and_then(|class| class.to_value(Number::of(choice).0));
    value.unwrap_or_else(|| glib::Value::from_type(type_))
}

/// The choice that GObject's value is; `None` for the value of another type.
pub(crate) fn read<T: Registered>(value: &glib::Value) -> Option<Option<T>> {
    let (_, found) =
        glib::EnumValue::from_value(value).filter(|_| value.type_() == Number::<T>::static_type())?;
    Some(T::of_word(found.nick()))
}

/// A choice's number in GObject's enum, where `auto` is the first.
struct Number<T>(i32, PhantomData<T>);

impl<T: Registered> Number<T> {
    fn of(choice: Option<T>) -> Self {
        let place = T::VALUES.iter().position(|value| Some(*value) == choice);
        let place = place.map_or(0, |place| place + usize::from(T::AUTO.is_some()));
        Self(i32::try_from(place).unwrap_or_default(), PhantomData)
    }
}

impl<T: Registered> StaticType for Number<T> {
    fn static_type() -> glib::Type {
        static TYPES: Mutex<BTreeMap<&'static str, glib::Type>> = Mutex::new(BTreeMap::new());
        let mut types = lock(&TYPES);
        *types.entry(T::TYPE).or_insert_with(register::<T>)
    }
}

impl<T> FromGlib<i32> for Number<T> {
    unsafe fn from_glib(number: i32) -> Self {
        Self(number, PhantomData)
    }
}

impl<T> IntoGlib for Number<T> {
    type GlibType = i32;

    fn into_glib(self) -> i32 {
        self.0
    }
}

/// Registers GObject's enum. A type lives as long as the process, and so do its texts.
fn register<T: Registered>() -> glib::Type {
    let text = |text: &str| CString::new(text).unwrap_or_default().into_raw().cast_const();
    let own = T::VALUES.iter().map(|value| (value.word(), value.sentence()));
    let rows = T::AUTO.map(|sentence| (AUTO, sentence)).into_iter().chain(own);
    let mut values: Vec<_> = (0..)
        .zip(rows)
        .map(|(value, (word, sentence))| gobject_ffi::GEnumValue {
            value,
            value_name: text(sentence),
            value_nick: text(word),
        })
        .collect();
    values.push(gobject_ffi::GEnumValue {
        value: 0,
        value_name: std::ptr::null(),
        value_nick: std::ptr::null(),
    });
    let values = values.leak();
    // SAFETY: the name and the values are valid, the values end with one of null pointers, and all but the name, which is copied, live
    // as long as the process.
    unsafe { glib::Type::from_glib(gobject_ffi::g_enum_register_static(text(T::TYPE), values.as_ptr())) }
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::preproc::Resize;
    use cudainfer_kernels::zones::Anchor;

    use super::*;

    #[test]
    fn every_value_survives_the_way_through_gobject_and_auto_is_the_first() {
        gst::init().unwrap();
        for choice in Resize::ALL.iter().copied().map(Some).chain([None]) {
            let value = choice.get();
            let (_, found) = glib::EnumValue::from_value(&value).unwrap();
            assert_eq!(found.nick(), choice.map_or(AUTO, Resize::word));
            assert_eq!(found.value() == 0, choice.is_none());
            assert_eq!(Option::<Resize>::read(&value), Some(choice));
        }
        for &anchor in Anchor::ALL {
            assert_eq!(Anchor::read(&anchor.get()), Some(anchor));
        }
        assert_eq!(Anchor::read(&Some(Resize::Stretch).get()), None);
        assert_eq!(value(None::<Resize>).type_().name(), "GstCudaInferResize");
    }
}
