//! Results of the search.

/// A point that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// The channel it was found in, which is the body part.
    pub channel: u32,
    /// Across, in continuous frame pixels (pixel `i` has its centre at `i + 0.5`).
    pub x: f32,
    /// Down, likewise.
    pub y: f32,
    /// The activated value of the cell.
    pub score: f32,
}

/// What happened besides the peaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Cells of the map that are NaN or infinite. They are never peaks.
    pub non_finite: usize,
    /// Peaks that [`super::PeakParams::top_k`] cut off.
    pub truncated: usize,
    /// Whether there is the largest allowed number of instances, and more were left out.
    pub limited: bool,
}
