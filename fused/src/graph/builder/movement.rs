//! Operators that move elements without changing them.

use super::super::{Operator, PadMode, Refusal, Steps, ValueId, shape};
use super::Builder;

impl Builder {
    /// The same elements in other dimensions.
    ///
    /// # Errors
    /// There is another number of them; and as [`Builder::node`].
    pub fn reshape(&mut self, x: ValueId, dims: &[usize]) -> Result<ValueId, Refusal> {
        if self.dims(x) == dims {
            return Ok(x);
        }
        if shape::elements(self.dims(x))? != shape::elements(dims)? {
            let (from, to) = (shape::text(self.dims(x)), shape::text(dims));
            return Err(Refusal::invalid(format!("{from} does not have the elements of {to}")));
        }
        let made = self.node(Operator::Reshape, &[x], self.ty(x), dims)?;
        let is_kept = |axis: usize| self.dims(x).get(..=axis) == dims.get(..=axis);
        let axis = self.graph.value(x).steps.as_ref().map(|steps| steps.axis).filter(|axis| is_kept(*axis));
        self.keep_steps(x, made, axis);
        Ok(made)
    }

    /// Notes of a constant that was moved what integers were multiplied by to give it, along this axis.
    fn keep_steps(&mut self, from: ValueId, to: ValueId, axis: Option<usize>) {
        let is_known = self.elements(to).is_some();
        let steps = self.graph.value(from).steps.as_ref().filter(|_| is_known);
        let kept = axis.zip(steps).map(|(axis, steps)| Steps { axis, scales: steps.scales.clone() });
        self.graph.values[to.0].steps = kept;
    }

    /// Axes in another order, which must be a permutation.
    ///
    /// # Errors
    /// It is none; and as [`Builder::node`].
    pub fn transpose(&mut self, x: ValueId, order: &[usize]) -> Result<ValueId, Refusal> {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..self.rank(x)) {
            return Err(Refusal::invalid(format!("{order:?} is no order of {} axes", self.rank(x))));
        }
        if order.is_sorted() {
            return Ok(x);
        }
        let dims: Vec<usize> = order.iter().map(|axis| self.dims(x)[*axis]).collect();
        let made = self.node(Operator::Transpose { order: order.to_vec() }, &[x], self.ty(x), &dims)?;
        let old = self.graph.value(x).steps.as_ref().map(|steps| steps.axis);
        self.keep_steps(x, made, old.and_then(|old| order.iter().position(|axis| *axis == old)));
        Ok(made)
    }

    /// Elements `start`, `start + step`, ... along one axis, `length` of them. All must be there.
    ///
    /// # Errors
    /// As [`Builder::node`].
    pub fn slice_axis(
        &mut self,
        x: ValueId,
        axis: usize,
        start: usize,
        step: isize,
        length: usize,
    ) -> Result<ValueId, Refusal> {
        let mut dims = self.dims(x).to_vec();
        let (mut starts, mut steps) = (vec![0; dims.len()], vec![1; dims.len()]);
        (starts[axis], steps[axis], dims[axis]) = (start, step, length);
        self.slice(x, starts, steps, &dims)
    }

    /// Elements `start`, `start + step`, ... along each axis, as many as `dims` has. All must be there.
    ///
    /// # Errors
    /// As [`Builder::node`].
    pub fn slice(
        &mut self,
        x: ValueId,
        starts: Vec<usize>,
        steps: Vec<isize>,
        dims: &[usize],
    ) -> Result<ValueId, Refusal> {
        // The step of a single element does not matter.
        let steps = steps.iter().zip(dims).map(|(step, dim)| if *dim == 1 { 1 } else { *step }).collect();
        if self.dims(x) == dims && starts.iter().all(|start| *start == 0) {
            return Ok(x);
        }
        self.node(Operator::Slice { starts, steps }, &[x], self.ty(x), dims)
    }

    /// Tensors one after another. Those without elements are left out.
    ///
    /// # Errors
    /// Their types or their other dimensions differ; and as [`Builder::node`].
    pub fn concat(&mut self, values: &[ValueId], axis: usize) -> Result<ValueId, Refusal> {
        self.alike(values)?;
        let first = values.first().ok_or_else(|| Refusal::invalid("it has no inputs"))?;
        let mut dims = self.dims(*first).to_vec();
        for value in &values[1..] {
            let own = self.dims(*value);
            let others = |dims: &[usize]| [&dims[..axis], &dims[axis + 1..]].concat();
            if own.len() != dims.len() || others(own) != others(&dims) {
                let (one, other) = (shape::text(&dims), shape::text(own));
                return Err(Refusal::invalid(format!(
                    "{one} and {other} cannot be joined along axis {axis}"
                )));
            }
            dims[axis] += own[axis];
        }
        let full: Vec<ValueId> = values.iter().copied().filter(|id| self.dims(*id)[axis] > 0).collect();
        match full[..] {
            [one] => Ok(one),
            [] => Ok(*first),
            _ => self.node(Operator::Concat { axis }, &full, self.ty(*first), &dims),
        }
    }

    /// With a border of `before` and `after`, by axis; negative ones cut off.
    ///
    /// # Errors
    /// More is cut off than there is, or mirrored; and as [`Builder::node`].
    pub fn pad(
        &mut self,
        x: ValueId,
        before: &[isize],
        after: &[isize],
        mode: PadMode,
    ) -> Result<ValueId, Refusal> {
        if before.iter().chain(after).all(|pad| *pad == 0) {
            return Ok(x);
        }
        let mut dims = Vec::with_capacity(before.len());
        for ((dim, before), after) in self.dims(x).iter().zip(before).zip(after) {
            let most = dim.cast_signed() - 1;
            match mode {
                PadMode::Reflect if (*before).max(*after) > most => {
                    return Err(Refusal::unsupported(format!("{dim} elements are mirrored to more")));
                }
                PadMode::Reflect | PadMode::Edge if (*before).min(*after) < 0 => {
                    return Err(Refusal::unsupported("pads are negative"));
                }
                _ => (),
            }
            let length = dim.cast_signed().checked_add(*before).and_then(|length| length.checked_add(*after));
            let length = length.and_then(|length| usize::try_from(length).ok());
            dims.push(length.ok_or_else(|| Refusal::invalid("its pads cut off more than there is"))?);
        }
        self.node(Operator::Pad { before: before.to_vec(), mode }, &[x], self.ty(x), &dims)
    }

    /// Broadcast to `dims`.
    ///
    /// # Errors
    /// It cannot be broadcast to them; and as [`Builder::node`].
    pub fn expand(&mut self, x: ValueId, dims: &[usize]) -> Result<ValueId, Refusal> {
        if self.dims(x) == dims {
            return Ok(x);
        }
        if shape::broadcast(self.dims(x), dims)? != dims {
            let (from, to) = (shape::text(self.dims(x)), shape::text(dims));
            return Err(Refusal::invalid(format!("{from} cannot be broadcast to {to}")));
        }
        self.node(Operator::Expand, &[x], self.ty(x), dims)
    }
}
