//! From coordinates to pixels. A centre on the left or upper outline is inside, one on the right or lower outline is not, so
//! that a line of one pixel is never two wide.

use std::ops::Range;

/// Beyond every frame, with room left to add sizes to it.
const FAR: f64 = (1_u64 << 40) as f64;

/// A rounded coordinate as an integer.
pub(super) fn pixel(v: f64) -> i64 {
    v.round().clamp(-FAR, FAR) as i64
}

/// The pixels whose centres lie in `[from, to)`.
pub(super) fn pixels(from: f64, to: f64) -> Range<i64> {
    first(from)..first(to)
}

/// The first pixel whose centre is at or after `v`: `ceil(v - 0.5)`. `f64::ceil` is a call on older CPUs' instructions.
pub(super) fn first(v: f64) -> i64 {
    let v = (v - 0.5).clamp(-FAR, FAR);
    let whole = v as i64;
    whole + i64::from((whole as f64) < v)
}
