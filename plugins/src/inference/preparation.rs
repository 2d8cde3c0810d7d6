//! How a model is prepared before frames come, as the properties say.

use crate::property::Words;

/// How many ways to run a model are timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferEngineSearch")]
pub enum EngineSearch {
    /// None but the first.
    #[enum_value(name = "None: the model runs as ONNX Runtime runs it by default", nick = "off")]
    Off,
    /// Those that were faster for some models.
    #[default]
    #[enum_value(name = "Those that were faster for some models: layout, fused bias", nick = "quick")]
    Quick,
}

impl Words for EngineSearch {}

/// What frames wait for at a start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferWarmUp")]
pub enum WarmUp {
    /// A variant that is ready soon.
    #[default]
    #[enum_value(name = "The default variant serves until the fastest one is warm", nick = "background")]
    Background,
    /// The variant that stays.
    #[enum_value(name = "Frames wait until the fastest variant is warm", nick = "complete")]
    Complete,
}

impl Words for WarmUp {}
