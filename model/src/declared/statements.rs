//! The statements of one source about a model.

use super::claim::Claim;
use crate::origin::{Group, Origin, OriginKind};
use crate::sidecar::Sidecar;

/// The statements of one source.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    /// The source.
    pub origin: Origin,
    /// The statements, in the sidecar's words.
    pub words: Sidecar,
    /// What the sidecar's words can state only approximately, a phrase each.
    pub inexact: Vec<String>,
    /// Errors in the source, a sentence each.
    pub warnings: Vec<String>,
    /// Claims about tensors that the model's file describes, too.
    pub claims: Vec<Claim>,
    /// The layout of the outputs in the source's words, if no decoder reads it.
    pub unsupported: Option<String>,
}

impl Declared {
    pub(super) fn new(kind: OriginKind, maker: &str) -> Self {
        Self { origin: Origin { kind, maker: maker.into() }, ..Self::default() }
    }

    /// Whether the source states anything at all.
    pub(super) fn is_silent(&self) -> bool {
        self.unsupported.is_none()
            && self.inexact.is_empty()
            && self.warnings.is_empty()
            && self.claims.is_empty()
            && Group::ALL.iter().all(|group| !group.is_set(&self.words))
    }
}
