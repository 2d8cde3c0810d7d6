//! What a live source loses when the model is too slow for it.

use gst::glib;

/// Which frame goes when `max-in-flight` are inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferLeaky")]
pub enum Leaky {
    /// None: what is before this element waits.
    #[default]
    #[enum_value(name = "Lose nothing: what is before this element waits", nick = "no")]
    No,
    /// The one that comes.
    #[enum_value(name = "Lose the frame that comes", nick = "upstream")]
    Upstream,
    /// The oldest that is not being inferred.
    #[enum_value(name = "Lose the oldest frame that is not being inferred", nick = "downstream")]
    Downstream,
}
