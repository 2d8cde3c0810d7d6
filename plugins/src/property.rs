//! Tables of properties: everything about a property of an element is in one row.
//!
//! A row names the field of the element's settings that holds the property. The property's name is the field's, its type the
//! field's type, its default that of the settings' `Default`. The table makes the specifications for GObject (and so the output
//! of gst-inspect and the tables in the documentation), and sets and gets the properties.
//!
//! ```ignore
//! static PROPERTIES: LazyLock<Table<Settings>> = LazyLock::new(|| {
//!     Table::new([
//!         property!(Settings, workers, 0..=1024, "Workers", "Maximum number of batches in flight on the CPU; 0: one per core"),
//!         property!(Settings, leaky, (), "Leaky", "Which frame to drop when max-in-flight is reached").playing(),
//!         // An Option that is empty until it is set; readers get 114 until then.
//!         property!(Settings, padding?, 0..=255, 114, "Padding", "Pixel value of a letterbox's bars"),
//!     ])
//!     .with([device::param_spec(), stats::param_spec("")])
//! });
//! ```

use std::sync::Mutex;

use gst::glib;
use gst::prelude::*;

use crate::mutability::settable;
use crate::strings;
use crate::sync::lock;

/// A property that a field of the settings `S` holds.
pub(crate) struct Property<S> {
    name: String,
    /// Makes the specification, when it is known in which states the property can be set.
    spec: Box<dyn Fn(glib::ParamFlags) -> glib::ParamSpec + Send + Sync>,
    flags: glib::ParamFlags,
    /// Whether any bytes are allowed, as for names of files; other strings are UTF-8.
    any_bytes: bool,
    get: Getter<S>,
    set: Setter<S>,
}

/// Gets the value from the settings; `None` where it is not set.
type Getter<S> = Box<dyn Fn(&S) -> Option<glib::Value> + Send + Sync>;
/// Sets the value, of which GObject has checked type and range, in the settings.
type Setter<S> = Box<dyn Fn(&mut S, &glib::Value) + Send + Sync>;

impl<S: Default + 'static> Property<S> {
    /// A property whose field always has a value; see [`property!`].
    pub fn of<T: Field>(
        [name, nick, blurb]: [&str; 3],
        range: T::Range,
        get: fn(&S) -> &T,
        get_mut: fn(&mut S) -> &mut T,
    ) -> Self {
        let default = get(&S::default()).clone();
        let unset = default.clone();
        Self {
            get: Box::new(move |settings| Some(get(settings).get())),
            // A string that is set to NULL gets its default again.
            set: Box::new(move |settings, value| {
                *get_mut(settings) = T::read(value).unwrap_or_else(|| unset.clone());
            }),
            ..Self::bare::<T>([name, nick, blurb], range, default)
        }
    }

    /// A property whose field is empty until it is set; readers see `shown` until then; see [`property!`].
    pub fn optional<T: Field>(
        texts: [&str; 3],
        range: T::Range,
        shown: T,
        get: fn(&S) -> &Option<T>,
        get_mut: fn(&mut S) -> &mut Option<T>,
    ) -> Self {
        Self {
            get: Box::new(move |settings| get(settings).as_ref().map(T::get)),
            set: Box::new(move |settings, value| *get_mut(settings) = T::read(value)),
            ..Self::bare::<T>(texts, range, shown)
        }
    }

    fn bare<T: Field>([name, nick, blurb]: [&str; 3], range: T::Range, default: T) -> Self {
        let name = name.replace('_', "-");
        let [own, nick, blurb] = [&name, nick, blurb].map(str::to_owned);
        Self {
            spec: Box::new(move |flags| {
                T::spec(&About { name: &own, nick: &nick, blurb: &blurb, flags }, &range, &default)
            }),
            name,
            flags: glib::ParamFlags::READWRITE | gst::PARAM_FLAG_MUTABLE_READY,
            any_bytes: T::ANY_BYTES,
            get: Box::new(|_| None),
            set: Box::new(|_, _| ()),
        }
    }

    /// It can be set while frames flow, too.
    pub fn playing(mut self) -> Self {
        self.flags = glib::ParamFlags::READWRITE | gst::PARAM_FLAG_MUTABLE_PLAYING;
        self
    }

    /// The value that readers see as long as the property is not set, where that depends on others.
    pub fn shown(mut self, shown: fn(&S) -> glib::Value) -> Self {
        let get = self.get;
        self.get = Box::new(move |settings| Some(get(settings).unwrap_or_else(|| shown(settings))));
        self
    }
}

/// The properties of an element.
pub(crate) struct Table<S> {
    rows: Vec<Property<S>>,
    specs: Vec<glib::ParamSpec>,
}

impl<S: Default + 'static> Table<S> {
    /// A table of these rows, in this order.
    pub fn new(rows: impl IntoIterator<Item = Property<S>>) -> Self {
        let rows: Vec<_> = rows.into_iter().collect();
        let specs = rows.iter().map(|row| (row.spec)(row.flags)).collect();
        Self { rows, specs }
    }

    /// Adds properties that the element itself sets and gets.
    pub fn with(mut self, others: impl IntoIterator<Item = glib::ParamSpec>) -> Self {
        self.specs.extend(others);
        self
    }

    /// All specifications, for GObject.
    pub fn specs(&self) -> &[glib::ParamSpec] {
        &self.specs
    }

    /// Sets the property in the settings of `element`; returns whether it is one of this table. A property that cannot be set
    /// now, and a string that is not UTF-8, are refused with a WARNING.
    pub fn set(
        &self,
        element: &impl IsA<gst::Element>,
        settings: &Mutex<S>,
        value: &glib::Value,
        spec: &glib::ParamSpec,
    ) -> bool {
        let Some(row) = self.row(spec) else { return false };
        if settable(element, spec) && (row.any_bytes || strings::is_text(element, value, spec)) {
            (row.set)(&mut lock(settings), value);
        }
        true
    }

    /// The value of a property of this table in these settings.
    pub fn get(&self, settings: &S, spec: &glib::ParamSpec) -> Option<glib::Value> {
        let value = (self.row(spec)?.get)(settings);
        Some(value.unwrap_or_else(|| spec.default_value().clone()))
    }

    fn row(&self, spec: &glib::ParamSpec) -> Option<&Property<S>> {
        self.rows.iter().find(|row| row.name == spec.name())
    }
}

/// A row of a [`Table`]: the settings' type, the field (with `?` where it is an `Option` that is empty until it is set), the range of
/// its values (`()` where the type says it), for an `Option` what a reader sees until it is set, the nick and the blurb. Where the
/// property has another name than the field: `"tensor-type" = ty`.
macro_rules! property {
    ($settings:ty, $field:ident, $range:expr, $nick:expr, $blurb:expr $(,)?) => {
        $crate::property::property!($settings, stringify!($field) => $field, $range, $nick, $blurb)
    };
    ($settings:ty, $name:literal = $field:ident, $range:expr, $nick:expr, $blurb:expr $(,)?) => {
        $crate::property::property!($settings, $name => $field, $range, $nick, $blurb)
    };
    ($settings:ty, $name:expr => $field:ident, $range:expr, $nick:expr, $blurb:expr $(,)?) => {
        $crate::property::Property::<$settings>::of(
            [$name, $nick, &*$blurb],
            $range,
            |settings| &settings.$field,
            |settings| &mut settings.$field,
        )
    };
    ($settings:ty, $field:ident ?, $range:expr, $shown:expr, $nick:expr, $blurb:expr $(,)?) => {
        $crate::property::property!($settings, stringify!($field) => $field ?, $range, $shown, $nick, $blurb)
    };
    ($settings:ty, $name:literal = $field:ident ?, $range:expr, $shown:expr, $nick:expr, $blurb:expr $(,)?) => {
        $crate::property::property!($settings, $name => $field ?, $range, $shown, $nick, $blurb)
    };
    ($settings:ty, $name:expr => $field:ident ?, $range:expr, $shown:expr, $nick:expr, $blurb:expr $(,)?) => {
        $crate::property::Property::<$settings>::optional(
            [$name, $nick, &*$blurb],
            $range,
            $shown,
            |settings| &settings.$field,
            |settings| &mut settings.$field,
        )
    };
}
pub(crate) use property;

mod field;
pub(crate) mod words;

pub(crate) use field::{About, Field, Words, nick};
pub(crate) use words::{Registered, registered};

#[cfg(test)]
mod tests;
