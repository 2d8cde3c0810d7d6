//! How results leave the pipeline: what is written of a frame, the queue that it waits in, and where it goes.
//!
//! Another destination is one more file in [`sink`]; nothing else has to know of it.

mod queue;
mod record;
pub(crate) mod sink;

pub use queue::Leaky;
pub(crate) use queue::{Drained, Queue, Tally};
pub(crate) use record::{FrameRecord, SCHEMA};
