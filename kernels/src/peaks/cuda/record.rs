//! Records of the kernels, and conversion to their numbers.

use crate::peaks::grid::MapShape;
use crate::preproc::Layout;

/// `Found` of the kernels as four words: element and value, dx, dy, launch.
pub(super) type Record = [u64; 4];
pub(super) const RECORD: usize = size_of::<Record>();

/// The element of a record that is no peak, but a note that there are values that are not finite.
pub(super) const NONE: u32 = u32::MAX;

/// `Header` of the kernels, of which the host reads the first: how many records there are.
pub(super) type Header = [u32; 4];

/// Channels side by side in a row.
pub(super) fn step(shape: &MapShape) -> usize {
    match shape.layout {
        Layout::Nchw => 1,
        Layout::Nhwc => shape.channels,
    }
}

/// For numbers of at most 2^31 or so.
pub(super) fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
