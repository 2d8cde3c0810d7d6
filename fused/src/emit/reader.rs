//! How a kernel reads and writes elements of a tensor that lie at its loops' counters.

use super::kernel::Slots;
use crate::plan::View;

/// A tensor, as a kernel knows it.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    /// The buffer's address.
    address: String,
    /// Whether no kernel ever writes there.
    constant: bool,
    /// Of the first element.
    offset: usize,
}

impl Reader {
    /// Of a view; `slots` learn its buffer.
    pub(super) fn new(view: &View, slots: &mut Slots) -> Self {
        Self { address: slots.address(view), constant: false, offset: view.offset }
    }

    /// Of weights, which no kernel ever writes.
    pub(super) fn constant(view: &View, slots: &mut Slots) -> Self {
        Self { constant: true, ..Self::new(view, slots) }
    }

    /// The address of the element that lies `offset` (a sum that begins with `+`, or nothing) after the first.
    pub(super) fn at(&self, offset: &str) -> String {
        match self.offset {
            0 if offset.is_empty() => self.address.clone(),
            0 => format!("{} + ({offset})", self.address),
            first => format!("{} + ({first}{offset})", self.address),
        }
    }

    /// Loads `count` elements that lie together into the array `to`.
    pub(super) fn load(&self, to: &str, offset: &str, count: usize) -> String {
        format!("load<{}, {count}>({to}, {});", self.constant, self.at(offset))
    }

    /// An element, as an expression.
    pub(super) fn element(&self, offset: &str) -> String {
        format!("load<{}>({})", self.constant, self.at(offset))
    }
}

/// The most elements (up to `most`, a power of two) that can be loaded at once along the last loop: they lie together, and each first one
/// lies at a multiple of their number.
pub(super) fn width(offset: usize, strides: &[isize], most: usize) -> usize {
    let Some((1, outer)) = strides.split_last().map(|(last, outer)| (*last, outer)) else { return 1 };
    let mut width = most;
    while !offset.is_multiple_of(width)
        || outer.iter().any(|stride| !stride.unsigned_abs().is_multiple_of(width))
    {
        width /= 2;
    }
    width.max(1)
}
