//! How results leave the pipeline: the record of a frame, the queue of messages with one record each, and their destination.
//!
//! Another destination is another file in [`sink`]; nothing else has to change for it but the property that selects it.

mod message;
mod queue;
mod record;
pub(crate) mod sink;

pub use message::Message;
pub use queue::Leaky;
pub(crate) use queue::{Drained, Queue, Tally};
pub(crate) use record::{FrameRecord, ObjectRecord, SCHEMA};
