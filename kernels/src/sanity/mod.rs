//! Whether a model's outputs can be what they are read as.
//!
//! ```text
//! results of a frame -> Glance --\
//!                                 Watch::wants() -> outputs of the frame -> Survey -> Watch::judge() -> Suspicion
//! what the outputs should be -> Expected --/
//! ```
//!
//! A wrong sidecar seldom fails: scores that are logits, or boxes in another unit, give objects as well, or none. [`Watch`]
//! surveys a few of the first [`LAST`] frames of a model, and reports each [`Suspicion`] once. It suspects only outputs that no
//! model that is read rightly has, whatever is in the picture: an empty scene is not suspected.

mod expected;
mod survey;
#[cfg(test)]
mod tests;
mod watch;

pub use expected::{Activation, Expected};
pub use survey::{Glance, PointSurvey, Survey};
pub use watch::{LAST, Suspicion, Watch};
