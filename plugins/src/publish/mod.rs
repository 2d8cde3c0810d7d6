//! How results leave the pipeline: the records of frames, events and tracks, the queue of messages with one record each, and
//! their destination.
//!
//! Another destination is another file in [`sink`]; nothing else has to change for it but the property that selects it.

mod changes;
mod classes;
mod clock;
mod composer;
mod format;
mod ids;
mod kind;
mod location;
mod moment;
mod plan;
mod queue;
mod record;
mod selection;
pub(crate) mod sink;
mod topic;
mod tracks;
mod writer;

pub use cudainfer_brokers::Message;

pub(crate) use composer::Composer;
pub use format::Format;
pub use kind::Kinds;
pub(crate) use location::Location;
pub(crate) use plan::{Details, Messages, Plan};
pub use queue::Leaky;
pub(crate) use queue::{Drained, Queue, Tally};
pub(crate) use selection::Selection;
pub use sink::{DiskFull, Flush};
pub(crate) use topic::Topic;
pub(crate) use tracks::End;
