//! All streams: adding, changing and removing them, reloading the configuration, and how they are.

mod change;
mod check;
mod configuration;
mod counts;
mod elements;
mod first_frame;
mod gpu;
mod held;
mod model;
mod models;
mod refusal;
mod reload;
#[cfg(test)]
mod simulation;
mod state_files;
mod state_lock;
mod status;
mod streams;
mod trial;
mod zone_metrics;

pub use change::{Applied, Change};
pub use check::{check, try_lines};
pub use counts::ZoneCounts;
pub use model::ModelChange;
pub use models::{Model, Models};
pub use refusal::Refusal;
pub use status::{FleetStatus, PipelineStatus};
pub use streams::{Exit, Fleet};
