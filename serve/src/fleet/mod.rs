//! All streams: adding, changing and removing them, reloading the configuration, and how they are.

mod change;
mod gpu;
mod held;
mod model;
mod refusal;
mod reload;
mod saving;
mod status;
mod streams;
mod trial;

pub use change::{Applied, Change};
pub use model::ModelChange;
pub use refusal::Refusal;
pub use status::{FleetStatus, PipelineStatus};
pub use streams::{Exit, Fleet};
