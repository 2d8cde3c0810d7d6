//! What is known to be 0 in the buffers between batches.
//!
//! Kernels count candidates up and set bits of the matrices; those that come last set both back for the next batch. Whatever ends a
//! batch early, nothing is known to be 0 until it has been set.

/// What a batch needs not set to 0 itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Clear {
    /// The counts of candidates, which all kernels begin with.
    counts: bool,
    /// The matrices, as the small kernels need them.
    matrices: bool,
}

/// What has to be set to 0 before a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ToClear {
    pub counts: bool,
    pub matrices: bool,
}

impl Clear {
    /// A batch begins, with the small kernels or the others. Until it is [`Clear::done`], nothing is known.
    pub fn begin(&mut self, small: bool) -> ToClear {
        let Self { counts, matrices } = std::mem::take(self);
        ToClear { counts: !counts, matrices: small && !(counts && matrices) }
    }

    /// The batch is done, and all its kernels were `small`, or not.
    pub fn done(&mut self, small: bool) {
        *self = Self { counts: true, matrices: small };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: ToClear = ToClear { counts: true, matrices: true };
    const NOTHING: ToClear = ToClear { counts: false, matrices: false };

    #[test]
    fn a_batch_that_is_done_leaves_all_as_the_next_one_needs_it() {
        let mut clear = Clear::default();
        assert_eq!(clear.begin(true), ALL);
        clear.done(true);
        assert_eq!(clear.begin(true), NOTHING);
        clear.done(true);
        assert_eq!(clear.begin(false), NOTHING);
        clear.done(false);
        assert_eq!(clear.begin(false), NOTHING);
        clear.done(false);
        assert_eq!(
            clear.begin(true),
            ToClear { counts: false, matrices: true },
            "the others write over the matrices"
        );
    }

    #[test]
    fn after_a_batch_that_failed_or_that_nobody_finished_the_next_one_clears_all() {
        let mut clear = Clear::default();
        clear.done(true);
        clear.begin(true);
        assert_eq!(clear.begin(true), ALL);
        assert_eq!(clear.begin(false), ToClear { counts: true, matrices: false });
    }
}
