//! One stream: from its source to its sink, and what keeps it running.
//!
//! [`StreamSpec`] is all that a stream runs, checked. A [`Stream`] has a thread that only decides (the pure state machine
//! [`supervisor`]) and one for each run of the pipeline that does what may take long: building, state changes.

pub(crate) mod backoff;
mod cause;
mod check;
mod current;
mod decoder;
mod defaults;
mod description;
mod failure;
mod file;
mod first_frame;
mod handle;
#[cfg(test)]
mod hostile;
mod lateness;
mod live;
#[cfg(test)]
pub(crate) mod made_up;
mod naming;
mod network;
mod parse;
mod permission;
mod pipeline;
mod publish;
mod reach;
mod run;
mod settings;
mod source;
mod spec;
mod status;
pub mod supervisor;
mod template;
mod thread;
mod trial;
mod window;

pub use description::{Description, Difference};
pub use failure::Reason;
pub(crate) use first_frame::first_frame;
pub use handle::Stream;
pub use network::Network;
pub use parse::check_description;
pub(crate) use permission::is_login;
pub use permission::{check_model, is_missing_model, is_named, named_models};
pub use pipeline::Built;
pub use publish::{check_publish, check_shared_file};
pub use reach::unreachable;
pub use run::Runs;
pub(crate) use settings::settings;
pub use settings::{ElementSettings, Setting, SettingKind};
pub use spec::{Held, StreamSpec};
pub use status::StreamStatus;
pub use thread::{Effect, News, is_known_of_machine};
pub(crate) use trial::try_line;
