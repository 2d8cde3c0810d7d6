//! How the rows of a step are shared out among threads.

use crate::emit::launch::MULTIPROCESSORS;
use crate::emit::nest::Nest;
use crate::emit::reader::width;
use crate::plan::View;

/// How rows are shared out: the constants of a shape in cuda/rows.cuh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// Whether rows lie side by side.
    pub(super) columns: bool,
    /// Numbers that are loaded at once.
    pub(super) count: usize,
    /// Units of work.
    pub(super) units: usize,
    /// Loads of each.
    pub(super) length: usize,
    /// Threads for each.
    pub(super) groups: usize,
    /// Threads of a block.
    pub(super) threads: usize,
}

impl Share {
    /// For rows along the loops `inner` of a tensor.
    pub(super) fn new(input: &View, outer: &Nest, inner: &Nest) -> Self {
        let (rows, row) = (outer.count(), inner.count());
        let (across, along) = (outer.strides(&input.strides), inner.strides(&input.strides));
        let last = |strides: &[isize]| strides.last().map_or(isize::MAX, |stride| stride.abs());
        let columns = last(&across) < last(&along);
        let (nest, stride) = if columns { (outer, last(&across)) } else { (inner, last(&along)) };
        let all: Vec<isize> = across.iter().chain(&along).copied().collect();
        let mut count = aligned(input.offset, &all, stride, (16 / input.ty.size()).clamp(1, 8));
        while nest.axes.last().is_none_or(|axis| !axis.extent.is_multiple_of(count)) && count > 1 {
            count /= 2;
        }
        let (units, length) = if columns { (rows / count, row) } else { (rows, row / count) };
        if columns {
            Self::side_by_side(count, units, length)
        } else {
            Self::one_after_another(count, units, length)
        }
    }

    /// Rows that lie side by side. Threads that follow each other have neighbouring units, so that they load whole sectors of 32 bytes (two units)
    /// at least; beyond that, blocks are made small until there is one for each multiprocessor, and deep, so that a thread has about eight loads.
    fn side_by_side(count: usize, units: usize, length: usize) -> Self {
        let mut lanes = 32;
        while lanes > 2 && units.div_ceil(lanes) < MULTIPROCESSORS {
            lanes /= 2;
        }
        let is_much = units.div_ceil(lanes) >= 2 * MULTIPROCESSORS;
        let most = if is_much { 256 } else { 1024 } / lanes;
        // Partial results take 48 KiB of shared memory at most.
        let most = most.min(48 * 1024 / (8 * count * lanes)).max(1);
        let groups = floor_power(most).min(length.div_ceil(8).next_power_of_two());
        let threads = (lanes * groups).max(64);
        Self { columns: true, count, units, length, groups, threads }
    }

    /// Rows whose numbers lie together: a thread has about four loads, and a warp one row at most where there are many. Of short rows, four
    /// threads load neighbours, so that a warp's loads are of whole sectors.
    fn one_after_another(count: usize, units: usize, length: usize) -> Self {
        let most = if units >= 8 * MULTIPROCESSORS { 32 } else { 512 };
        let groups = length.div_ceil(4).max(length.min(4)).next_power_of_two().min(most);
        let threads = if units * groups >= 256 * MULTIPROCESSORS { 256 } else { 64 };
        Self { columns: false, count, units, length, groups, threads: threads.max(groups) }
    }
}

/// The largest power of two that is not larger.
fn floor_power(number: usize) -> usize {
    1 << number.max(1).ilog2()
}

/// How many neighbours (up to `most`) along a loop of stride `stride` lie together at multiples of their number, whatever the others' counters.
pub(super) fn aligned(first: usize, all: &[isize], stride: isize, most: usize) -> usize {
    if stride != 1 {
        return 1;
    }
    // The loop itself counts in steps of `most`.
    let others: Vec<isize> = all.iter().copied().filter(|other| *other != 1).chain([1]).collect();
    if all.iter().filter(|other| **other == 1).count() > 1 { 1 } else { width(first, &others, most) }
}
