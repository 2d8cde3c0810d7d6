//! What a table has no place for.

/// Why an instance is in no row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// The table has no column for its identity, or for one more instance of a frame.
    pub no_column: u64,
    /// None of its points is the skeleton's.
    pub other_points: u64,
    /// Frames whose instances have no identity and are in the order of their scores, which is another one in the next frame.
    pub unordered: u64,
}
