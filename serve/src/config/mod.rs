//! The configuration: TOML to structs that are checked. docs/serve.md describes the keys.

mod file;
mod ground;
mod json;
mod kept;
mod output;
mod pipeline;
mod scalar;
mod server;
mod size;
mod source;
mod source_kind;
mod stuck;
mod template;
mod token;
mod trigger;
mod uri;
mod zone;
mod zone_units;

pub use file::{Config, Publish, Wrong};
pub use ground::{Ground, Metres};
pub use json::read_json;
pub use kept::{ChangedModel, Kept, Patched};
pub use output::{DatasetFormat, RecordingSettings, SampleReason, SampleSettings, SnapshotSettings};
pub use pipeline::{FilledDescription, Pipeline};
pub use scalar::Scalar;
pub use server::{Restart, RestartOfSource, RetentionSettings, ServerSettings};
pub use size::Size;
pub use source::SourceConfig;
pub use source_kind::{SourceKind, TestSource};
pub use stuck::Stuck;
pub use template::{fill, keys};
pub use token::read_token;
pub use trigger::Trigger;
pub use uri::{Uri, hide, redacted};
pub use zone::{Zone, ZoneKind, zones_text};
pub use zone_units::ZoneUnits;
