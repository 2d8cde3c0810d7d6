//! The properties.

use gst::prelude::*;

use super::enums::{Output, Size};
use super::settings::Settings;
use crate::model::enums::masks::{Activation, Mode};
use crate::model::enums::tensor::Layout;
use crate::stats;

/// All of the element's own.
pub(super) fn all() -> Vec<glib::ParamSpec> {
    let count = |name: &str, nick: &str, blurb: &str, maximum: u32| {
        glib::ParamSpecUInt::builder(name).nick(nick).blurb(blurb).maximum(maximum).mutable_ready().build()
    };
    let number = |name: &str, nick: &str, blurb: &str, [low, high]: [f32; 2], default: f32| {
        glib::ParamSpecFloat::builder(name)
            .nick(nick)
            .blurb(blurb)
            .minimum(low)
            .maximum(high)
            .default_value(default)
            .mutable_ready()
            .build()
    };
    vec![
        glib::ParamSpecString::builder("tensor")
            .nick("Tensor")
            .blurb(
                "The model's output that holds the logits, or the prototypes; not set, it is the \
                 sidecar's, else the only one there is",
            )
            .mutable_ready()
            .build(),
        glib::ParamSpecEnum::builder::<Mode>("mode")
            .nick("Mode")
            .blurb("What a mask is made of")
            .mutable_ready()
            .build(),
        glib::ParamSpecEnum::builder::<Activation>("activation")
            .nick("Activation")
            .blurb("What makes the values probabilities")
            .mutable_ready()
            .build(),
        glib::ParamSpecEnum::builder::<Layout>("layout")
            .nick("Layout")
            .blurb("Order of the tensor's dimensions; auto reads it off their shape")
            .mutable_ready()
            .build(),
        number(
            "threshold",
            "Threshold",
            "From this value on, after the activation, a channel counts as seen; not set, it is the \
             sidecar's, else the default",
            [-1e6, 1e6],
            0.5,
        ),
        count(
            "channel",
            "Channel",
            "The channel of mode=threshold and mode=soft; not set, it is the sidecar's, else the only \
             one, or the second of two",
            u32::MAX,
        ),
        number(
            "smoothing",
            "Smoothing",
            "How much of the frames before is kept; 0 is none; not set, it is the sidecar's",
            [0.0, 0.999],
            0.0,
        ),
        count(
            "opening",
            "Opening",
            "What is narrower than twice this and one cell is removed; not set, it is the sidecar's",
            32,
        ),
        count(
            "closing",
            "Closing",
            "Gaps that are narrower than twice this and one cell are filled; not set, it is the sidecar's",
            32,
        ),
        count(
            "min-area",
            "Minimum area",
            "Connected areas of fewer cells are removed; not set, it is the sidecar's",
            u32::MAX,
        ),
        glib::ParamSpecEnum::builder::<Size>("size")
            .nick("Size")
            .blurb("How large the mask in the metadata is")
            .mutable_ready()
            .build(),
        glib::ParamSpecEnum::builder::<Output>("output")
            .nick("Output")
            .blurb("What becomes of the frame")
            .mutable_ready()
            .build(),
        stats::param_spec(
            "; masks, non-finite (values of NaN or infinity; on the GPU those of the last frames \
             may be missing)",
        ),
    ]
}

impl Settings {
    /// Sets the property `name`, unless it is none of these.
    pub fn set(&mut self, name: &str, value: &glib::Value) {
        match name {
            "tensor" => self.tensor = value.get::<Option<String>>().ok().flatten().unwrap_or_default(),
            "mode" => self.mode = value.get().unwrap_or_default(),
            "activation" => self.activation = value.get().unwrap_or_default(),
            "layout" => self.layout = value.get().unwrap_or_default(),
            "threshold" => self.threshold = value.get().ok(),
            "channel" => self.channel = value.get().ok(),
            "smoothing" => self.smoothing = value.get().ok(),
            "opening" => self.opening = value.get().ok(),
            "closing" => self.closing = value.get().ok(),
            "min-area" => self.min_area = value.get().ok(),
            "size" => self.size = value.get().unwrap_or_default(),
            "output" => self.output = value.get().unwrap_or_default(),
            _ => (),
        }
    }

    /// The property `name`; `None` where it is not set, or none of these.
    pub fn get(&self, name: &str) -> Option<glib::Value> {
        Some(match name {
            "tensor" => self.tensor.to_value(),
            "mode" => self.mode.to_value(),
            "activation" => self.activation.to_value(),
            "layout" => self.layout.to_value(),
            "threshold" => return self.threshold.map(|v| v.to_value()),
            "channel" => return self.channel.map(|v| v.to_value()),
            "smoothing" => return self.smoothing.map(|v| v.to_value()),
            "opening" => return self.opening.map(|v| v.to_value()),
            "closing" => return self.closing.map(|v| v.to_value()),
            "min-area" => return self.min_area.map(|v| v.to_value()),
            "size" => self.size.to_value(),
            "output" => self.output.to_value(),
            _ => return None,
        })
    }
}
