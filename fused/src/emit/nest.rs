//! The loops of a step: its dimensions in the order of memory, joined where they lie together in all tensors.

use std::fmt::Write as _;

use crate::plan::View;

/// The loops over a step's dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Nest {
    /// Outermost first; dimensions of 1 are left out.
    pub(super) axes: Vec<Axis>,
}

/// One loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// How often it runs.
    pub(super) extent: usize,
    /// The dimensions that it goes through, outermost first.
    dims: Vec<usize>,
}

impl Nest {
    /// Loops over `dims`, the one along which `order`'s steps are smallest innermost. Dimensions are joined where the strides of all
    /// `views` allow it, but not those that are `special`.
    pub(super) fn new(dims: &[usize], order: &[isize], views: &[&[isize]], special: &[bool]) -> Self {
        let mut sorted: Vec<usize> = (0..dims.len()).filter(|dim| dims[*dim] != 1).collect();
        sorted.sort_by_key(|dim| std::cmp::Reverse(order[*dim].unsigned_abs()));
        let mut axes: Vec<Axis> = Vec::new();
        for dim in sorted {
            let extent = dims[dim];
            match axes.last_mut() {
                Some(outer) if joins(outer, dim, extent, views, special) => {
                    outer.extent *= extent;
                    outer.dims.push(dim);
                }
                _ => axes.push(Axis { extent, dims: vec![dim] }),
            }
        }
        Self { axes }
    }

    /// The number of all rounds.
    pub(super) fn count(&self) -> usize {
        self.axes.iter().map(|axis| axis.extent).product()
    }

    /// The stride of a tensor along a loop.
    pub(super) fn stride(&self, axis: usize, strides: &[isize]) -> isize {
        self.axes[axis].dims.last().map_or(0, |dim| strides[*dim])
    }

    /// The strides of a tensor along all loops.
    pub(super) fn strides(&self, strides: &[isize]) -> Vec<isize> {
        (0..self.axes.len()).map(|axis| self.stride(axis, strides)).collect()
    }

    /// The loop that goes through this dimension alone; none where the dimension is 1.
    pub(super) fn axis_of(&self, dim: usize) -> Option<usize> {
        self.axes.iter().position(|axis| axis.dims == [dim])
    }

    /// Source that takes the loops' counters, `c0` outermost, out of the number `from`; the innermost one counts in steps of `step`.
    pub(super) fn counters(&self, from: &str, step: usize) -> String {
        let last = self.axes.len().saturating_sub(1);
        self.counters_by(from, |axis| if axis == last { step } else { 1 })
    }

    /// The same, with steps by loop.
    pub(super) fn counters_by(&self, from: &str, step: impl Fn(usize) -> usize) -> String {
        if self.axes.is_empty() {
            return String::new();
        }
        let mut text = format!("    unsigned rest = {from};\n");
        for (number, axis) in self.axes.iter().enumerate().rev() {
            let step = step(number);
            let extent = axis.extent / step;
            let times = if step == 1 { String::new() } else { format!(" * {step}u") };
            if number == 0 {
                let _ = writeln!(text, "    const unsigned c0 = rest{times};");
            } else {
                let _ = writeln!(text, "    const unsigned c{number} = rest % {extent}u{times};");
                let _ = writeln!(text, "    rest /= {extent}u;");
            }
        }
        text
    }
}

/// Whether a dimension follows a loop's last one immediately in all views.
fn joins(outer: &Axis, dim: usize, extent: usize, views: &[&[isize]], special: &[bool]) -> bool {
    let Some(last) = outer.dims.last() else { return false };
    !special[*last]
        && !special[dim]
        && views.iter().all(|strides| strides[*last] == strides[dim] * extent.cast_signed())
}

/// A sum of counters times strides.
pub(super) fn offset(counters: &[String], strides: &[isize]) -> String {
    let mut text = String::new();
    for (counter, stride) in counters.iter().zip(strides).filter(|(_, stride)| **stride != 0) {
        let _ = if *stride == 1 {
            write!(text, " + int({counter})")
        } else {
            write!(text, " + int({counter}) * {stride}")
        };
    }
    text
}

/// Whether all positions of a tensor can be counted in 31 bits, as the kernels do.
pub(super) fn is_small(view: &View) -> bool {
    let reach =
        view.dims.iter().zip(&view.strides).map(|(dim, stride)| dim.saturating_mul(stride.unsigned_abs()));
    let reach = reach.fold(view.offset, usize::saturating_add);
    i32::try_from(reach).is_ok()
}
