//! Products of which each is of its own matrices: where these begin.

use std::fmt::Write as _;

use super::nest::{Nest, offset};
use crate::plan::{Product, View};

/// The products of a step, for all places in the dimensions before the last two.
pub(super) struct Batches<'a> {
    product: &'a Product,
    nest: Nest,
}

impl<'a> Batches<'a> {
    /// Of a step.
    pub(super) fn new(product: &'a Product) -> Self {
        let dims = &product.output.dims[..product.output.dims.len() - 2];
        let views = [&product.left, &product.right, &product.output].map(|view| &view.strides[..dims.len()]);
        let nest = Nest::new(dims, views[2], &views, &vec![false; dims.len()]);
        Self { product, nest }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.nest.count()
    }

    /// Whether the output's matrices begin at multiples of `count` elements from its first one.
    pub(super) fn is_aligned_output(&self, count: usize) -> bool {
        self.is_aligned(&self.product.output, count)
    }

    /// The same of another tensor.
    pub(super) fn is_aligned(&self, view: &View, count: usize) -> bool {
        self.nest.strides(&view.strides).iter().all(|stride| stride.unsigned_abs().is_multiple_of(count))
    }

    /// Source of functions that say where a batch's matrices begin, by these names for the left, the right and the output.
    pub(super) fn source(&self, names: [&str; 3]) -> String {
        let counters: Vec<String> = (0..self.nest.axes.len()).map(|axis| format!("c{axis}")).collect();
        let mut text = String::new();
        let Product { left, right, output } = self.product;
        for (name, view) in names.into_iter().zip([left, right, output]) {
            let (begin, strides) = (self.nest.counters("batch", 1), self.nest.strides(&view.strides));
            let _ = write!(text, "    static __device__ int {name}_begin(unsigned batch) {{\n{begin}");
            // NVRTC warns of counters that are not read.
            let unread = counters.iter().zip(&strides).filter(|(_, stride)| **stride == 0);
            unread.for_each(|(counter, _)| {
                let _ = writeln!(text, "    (void){counter};");
            });
            let _ = writeln!(text, "        return 0{};\n    }}", offset(&counters, &strides));
        }
        text
    }
}
