//! What one source says about a model.

use super::claim::Claim;
use crate::model::origin::{Group, Origin, Source};
use crate::model::sidecar::Sidecar;

/// What one source says.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    /// Who says it.
    pub origin: Origin,
    /// What it says, in the sidecar's words.
    pub words: Sidecar,
    /// What the sidecar's words can say only approximately, a phrase each.
    pub inexact: Vec<String>,
    /// What is wrong in it, a sentence each.
    pub warnings: Vec<String>,
    /// What it says of tensors that the model's file says, too.
    pub claims: Vec<Claim>,
    /// The layout of the outputs in the source's words, if no decoder reads it.
    pub unsupported: Option<String>,
}

impl Declared {
    pub(super) fn new(source: Source, maker: &str) -> Self {
        Self { origin: Origin { source, maker: maker.into() }, ..Self::default() }
    }

    /// Whether it says anything at all.
    pub(super) fn is_silent(&self) -> bool {
        self.unsupported.is_none()
            && self.inexact.is_empty()
            && self.warnings.is_empty()
            && self.claims.is_empty()
            && Group::ALL.iter().all(|group| !group.is_set(&self.words))
    }
}
