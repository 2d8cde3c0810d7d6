//! Elements by computed indices and at computed places.

use cudainfer_kernels::tensor::TensorType;

use super::super::number::is_float;
use super::super::{Operator, Refusal, Sampling, ValueId, shape};
use super::Builder;

/// The most elements along an axis that are chosen by index: kernels compute with indices in float32, which has all integers so far.
const MOST_INDEXED: usize = 1 << 24;

/// The most elements that are chosen as the best: a kernel orders them in shared memory.
const MOST_CHOSEN: usize = 6000;

impl Builder {
    /// Along `axis`, the elements that indices say, which have `x`'s rank and in other axes its dimensions or 1.
    ///
    /// # Errors
    /// The dimensions do not fit together, the axis is too long or has no elements, or the indices are no integers; and as [`Builder::node`].
    pub fn gather(&mut self, x: ValueId, indices: ValueId, axis: usize) -> Result<ValueId, Refusal> {
        let (mut dims, of_indices) = (self.dims(x).to_vec(), self.dims(indices));
        if is_float(self.ty(indices)) {
            return Err(Refusal::invalid(format!("its indices are of {}", self.ty(indices))));
        }
        self.indexed(x, axis)?;
        let fits = |at: usize| at == axis || of_indices[at] == 1 || of_indices[at] == dims[at];
        if dims.len() != of_indices.len() || !(0..dims.len()).all(fits) {
            let (x, indices) = (shape::text(&dims), shape::text(of_indices));
            return Err(Refusal::invalid(format!("{x} does not fit indices of {indices}")));
        }
        dims[axis] = of_indices[axis];
        self.node(Operator::Gather { axis }, &[x, indices], self.ty(x), &dims)
    }

    /// The indices of the `count` largest or smallest elements along an axis, the best first.
    ///
    /// # Errors
    /// There are fewer, or too many to choose from; and as [`Builder::node`].
    pub fn top(&mut self, x: ValueId, axis: usize, count: usize, largest: bool) -> Result<ValueId, Refusal> {
        self.indexed(x, axis)?;
        let mut dims = self.dims(x).to_vec();
        if count > dims[axis] {
            return Err(Refusal::invalid(format!("{count} of {} elements are wanted", dims[axis])));
        }
        if count > MOST_CHOSEN {
            return Err(Refusal::unsupported(format!(
                "{count} elements are chosen, more than {MOST_CHOSEN}"
            )));
        }
        dims[axis] = count;
        self.node(Operator::Top { axis, largest }, &[x], TensorType::Int64, &dims)
    }

    /// An image `[N, C, H, W]` at places `[N, P, Q, 2]`.
    ///
    /// # Errors
    /// The dimensions or types do not fit together; and as [`Builder::node`].
    pub fn sample(&mut self, image: ValueId, places: ValueId, how: Sampling) -> Result<ValueId, Refusal> {
        self.floats(image)?;
        self.floats(places)?;
        match (self.dims(image), self.dims(places)) {
            (&[images, channels, rows, columns], &[of_images, p, q, 2])
                if images == of_images && rows * columns > 0 =>
            {
                let dims = [images, channels, p, q];
                self.node(Operator::Sample(how), &[image, places], self.ty(image), &dims)
            }
            (image, places) => {
                let (image, places) = (shape::text(image), shape::text(places));
                Err(Refusal::unsupported(format!("its input is {image}, its grid is {places}")))
            }
        }
    }

    /// Checks that elements along an axis can be chosen by their indices.
    ///
    /// # Errors
    /// There are none, or too many.
    fn indexed(&self, x: ValueId, axis: usize) -> Result<(), Refusal> {
        match self.dims(x)[axis] {
            0 => Err(Refusal::unsupported("its input has no elements")),
            length if length > MOST_INDEXED => {
                Err(Refusal::unsupported(format!("it chooses from {length} elements")))
            }
            _ => Ok(()),
        }
    }
}
