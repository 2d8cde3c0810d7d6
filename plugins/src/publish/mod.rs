//! How results leave the pipeline: the records of frames, events and tracks, and files as the destination of
//! messages with one record each. The outbox that they wait in, and brokers, are in the crate cudainfer-brokers.
//!
//! Another destination is another `Sink`; nothing else has to change for it but the property that selects it.

mod changes;
mod classes;
mod clock;
mod composer;
pub(crate) mod file;
mod format;
mod kind;
mod labels;
mod leaky;
mod location;
mod numbering;
mod params;
mod record;
mod second_pass;
mod selection;
mod topic;
mod tracks;
mod writer;

pub(crate) use clock::Arrival;
pub(crate) use composer::Composer;
pub use file::{DiskFull, Flush};
pub use format::Format;
pub use kind::RecordKinds;
pub(crate) use labels::LeftOut;
pub use leaky::Leaky;
pub(crate) use location::Location;
pub(crate) use params::{Details, Messages, PublishParams};
pub use second_pass::SecondPass;
pub(crate) use second_pass::{PassCounts, PassParams};
pub(crate) use selection::Selection;
pub(crate) use topic::Topic;
pub(crate) use tracks::End;
