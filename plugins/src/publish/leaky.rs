//! What happens to a record when the queue is full.

use cudainfer_brokers::WhenFull;
use gst::glib;

/// Which record is dropped when the queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferPublishLeaky")]
pub enum Leaky {
    /// As `No` for a file, as `Downstream` for a broker.
    #[default]
    #[enum_value(
        name = "As no for a file, a FIFO and the standard output, as downstream for a URI",
        nick = "auto"
    )]
    Auto,
    /// The frame waits with it.
    #[enum_value(name = "Lose nothing: frames wait until there is room", nick = "no")]
    No,
    /// It is dropped.
    #[enum_value(name = "Drop the new record", nick = "upstream")]
    Upstream,
    /// It takes the place of the oldest.
    #[enum_value(name = "Drop the oldest record that waits", nick = "downstream")]
    Downstream,
}

impl Leaky {
    /// What `Auto` means, for a destination on this machine or a broker.
    pub(crate) fn resolved(self, is_broker: bool) -> Self {
        match self {
            Self::Auto if is_broker => Self::Downstream,
            Self::Auto => Self::No,
            other => other,
        }
    }
}

impl From<Leaky> for WhenFull {
    fn from(leaky: Leaky) -> Self {
        match leaky {
            Leaky::No | Leaky::Auto => Self::Wait,
            Leaky::Upstream => Self::DropNewest,
            Leaky::Downstream => Self::DropOldest,
        }
    }
}
