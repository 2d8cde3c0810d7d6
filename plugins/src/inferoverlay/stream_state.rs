//! What is remembered of a stream.

use super::heat::Heat;
use super::privacy::Covered;
use super::trails::Trails;
use crate::streams::PerStream;

/// What is drawn of earlier frames, too, or covered where they had it.
#[derive(Debug, Default)]
pub(super) struct StreamState {
    pub trails: Trails,
    pub covered: Covered,
    pub heat: Heat,
}

impl PerStream for StreamState {
    fn for_new_stream(&self) -> Self {
        Self::default()
    }
}

impl StreamState {
    /// Whether a frame without results is left as it is.
    pub fn is_empty(&self) -> bool {
        self.trails.is_empty() && self.covered.is_empty() && self.heat.is_empty()
    }
}
