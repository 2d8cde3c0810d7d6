//! The limits on a frame's boxes, and what is counted and reported where they have left some out.

use cudainfer_kernels::detect::{Merged, Outcome};

use crate::decoding::{Counts, Limit};

/// The limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub top_k_before: usize,
    pub top_k_after: usize,
    /// Whether the user has set the latter.
    pub is_after_set: bool,
}

impl Limits {
    /// Of a frame or region.
    pub fn report(&self, outcome: &Outcome, counts: &mut Counts) {
        self.report_all(outcome.truncated, outcome.limited, counts);
    }

    /// Of a frame's regions together.
    pub fn report_merged(&self, merged: &Merged, counts: &mut Counts) {
        self.report_all(merged.truncated, merged.limited, counts);
    }

    fn report_all(&self, truncated: usize, limited: bool, counts: &mut Counts) {
        let Self { top_k_before, top_k_after, is_after_set } = *self;
        if truncated > 0 {
            let (name, what) = ("top-k-before", "candidates");
            let before = Limit { name, value: top_k_before, what, cut: Some(truncated), is_set: false };
            counts.limit("truncated", before);
        }
        if limited {
            let (name, what) = ("top-k-after", "boxes");
            let after = Limit { name, value: top_k_after, what, cut: None, is_set: is_after_set };
            counts.limit("limited", after);
        }
    }
}
