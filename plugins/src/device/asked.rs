//! The device that a user asks for: the property's text, and the choice that it stands for.

use cudainfer_kernels::device::{Choice, ParseChoiceError};
use gst::glib;
use gst::prelude::*;

use crate::property::{About, Field};

/// The value of the property `device`. The text is read once, when it is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedDevice {
    text: String,
    choice: Result<Choice, ParseChoiceError>,
}

impl AskedDevice {
    /// The device of this text; the default for none.
    pub fn of(text: Option<String>) -> Self {
        text.map_or_else(Self::default, |text| Self { choice: text.parse(), text })
    }

    /// As the user has written it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it stands for.
    ///
    /// # Errors
    /// The text is no device.
    pub fn choice(&self) -> Result<Choice, &ParseChoiceError> {
        self.choice.as_ref().copied()
    }

    /// The same for `start`: a text that is no device is a message for the bus that lists the ways to write one.
    ///
    /// # Errors
    /// The message.
    pub fn checked(&self, element: &impl IsA<gst::Element>) -> Result<Choice, gst::ErrorMessage> {
        let name = element.upcast_ref::<gst::Element>().name();
        self.choice().map_err(|e| gst::error_msg!(gst::ResourceError::Settings, ("{name}: device: {e}")))
    }

    /// Whether it is the CPU, whatever else there is.
    pub fn is_cpu(&self) -> bool {
        self.choice == Ok(Choice::Cpu)
    }

    /// Whether it is a GPU, and nothing else will do.
    pub fn is_gpu(&self) -> bool {
        matches!(self.choice, Ok(Choice::Cuda(_)))
    }
}

impl Default for AskedDevice {
    fn default() -> Self {
        let choice = Choice::default();
        Self { text: choice.to_string(), choice: Ok(choice) }
    }
}

impl Field for AskedDevice {
    type Range = ();

    fn spec(about: &About<'_>, (): &(), default: &Self) -> glib::ParamSpec {
        String::spec(about, &(), &default.text)
    }

    fn get(&self) -> glib::Value {
        Field::get(&self.text)
    }

    fn read(value: &glib::Value) -> Option<Self> {
        String::read(value).map(|text| Self::of(Some(text)))
    }
}
