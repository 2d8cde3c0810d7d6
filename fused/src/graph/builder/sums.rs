//! Operators that make a number of many: convolutions, pooling, reductions, products of matrices.

use cudainfer_kernels::tensor::TensorType;

use super::super::{Operator, PoolKind, ReduceKind, Refusal, Unary, ValueId, Window, shape};
use super::Builder;

impl Window {
    /// The taps' extent along an axis.
    pub fn extent(&self, axis: usize) -> usize {
        self.dilations[axis] * (self.kernel[axis] - 1) + 1
    }

    /// How many outputs a row of `length` has.
    ///
    /// # Errors
    /// None.
    fn outputs(&self, axis: usize, length: usize) -> Result<usize, Refusal> {
        let padded = length.cast_signed() + self.begin[axis] + self.end[axis];
        let room = padded - self.extent(axis).cast_signed();
        let room = usize::try_from(room);
        let room = room.map_err(|_| Refusal::invalid(format!("{padded} cells are fewer than its window")))?;
        Ok(room / self.strides[axis] + 1)
    }
}

impl Builder {
    /// A convolution of an image `[N, C, H, W]`, weights `[K, C / groups, R, S]` and, if there is a third value, a bias `[K]`.
    ///
    /// # Errors
    /// The dimensions or types do not fit together, or weights or bias are no constants; and as [`Builder::node`].
    pub fn convolution(
        &mut self,
        inputs: &[ValueId],
        window: Window,
        groups: usize,
    ) -> Result<ValueId, Refusal> {
        let ([batch, channels, rows, columns], [outputs, of_group, ..]) = self.image_and_weights(inputs)?;
        if of_group * groups != channels || outputs % groups != 0 {
            let text = format!("{channels} channels, {groups} groups, weights of {outputs}x{of_group}");
            return Err(Refusal::invalid(text));
        }
        self.check_bias(inputs, outputs)?;
        let dims = [batch, outputs, window.outputs(0, rows)?, window.outputs(1, columns)?];
        self.node(Operator::Convolution { window, groups }, inputs, self.ty(inputs[0]), &dims)
    }

    /// A transposed convolution of an image `[N, C, H, W]`, weights `[C, K / groups, R, S]` and, if there is a third value, a bias `[K]`.
    ///
    /// # Errors
    /// As [`Builder::convolution`].
    pub fn transposed_convolution(
        &mut self,
        inputs: &[ValueId],
        window: Window,
        groups: usize,
    ) -> Result<ValueId, Refusal> {
        let ([batch, channels, rows, columns], [of_weights, of_group, ..]) =
            self.image_and_weights(inputs)?;
        if of_weights != channels || channels % groups != 0 {
            let text = format!("{channels} channels, {groups} groups, weights of {of_weights}x{of_group}");
            return Err(Refusal::invalid(text));
        }
        let outputs =
            of_group.checked_mul(groups).ok_or_else(|| Refusal::invalid("it has too many groups"))?;
        self.check_bias(inputs, outputs)?;
        let length = |axis: usize, length: usize| {
            let spread = (length - 1).checked_mul(window.strides[axis]).map(usize::cast_signed);
            let spread = spread.map(|spread| spread + window.extent(axis).cast_signed());
            let length = spread.map(|spread| spread - window.begin[axis] - window.end[axis]);
            let length = length.and_then(|length| usize::try_from(length).ok()).filter(|length| *length > 0);
            length.ok_or_else(|| Refusal::invalid("its pads cut off all that there is"))
        };
        let dims = [batch, outputs, length(0, rows)?, length(1, columns)?];
        self.node(Operator::TransposedConvolution { window, groups }, inputs, self.ty(inputs[0]), &dims)
    }

    /// The dimensions of a convolution's image and weights.
    fn image_and_weights(&self, inputs: &[ValueId]) -> Result<([usize; 4], [usize; 4]), Refusal> {
        self.alike(inputs)?;
        let [image, weights, bias @ ..] = inputs else { return Err(Refusal::invalid("it has no weights")) };
        self.floats(*image)?;
        if bias.iter().chain([weights]).any(|id| self.elements(*id).is_none()) {
            return Err(Refusal::unsupported("its weights are no constants"));
        }
        let four = |id: ValueId| <[usize; 4]>::try_from(self.dims(id)).ok().filter(|dims| !dims.contains(&0));
        let both = four(*image).zip(four(*weights));
        both.ok_or_else(|| {
            let (image, weights) = (shape::text(self.dims(*image)), shape::text(self.dims(*weights)));
            Refusal::unsupported(format!("its input is {image}, its weights are {weights}"))
        })
    }

    fn check_bias(&self, inputs: &[ValueId], outputs: usize) -> Result<(), Refusal> {
        match inputs.get(2).map(|id| self.dims(*id)) {
            Some(dims) if dims != [outputs] => {
                Err(Refusal::invalid(format!("its bias is {} for {outputs} outputs", shape::text(dims))))
            }
            _ => Ok(()),
        }
    }

    /// One number of each window of an image `[N, C, H, W]`.
    ///
    /// # Errors
    /// As [`Builder::convolution`].
    pub fn pool(&mut self, x: ValueId, kind: PoolKind, window: Window) -> Result<ValueId, Refusal> {
        let [batch, channels, rows, columns] = self.dims(x) else {
            return Err(Refusal::unsupported(format!("its input is {}", shape::text(self.dims(x)))));
        };
        let dims = [*batch, *channels, window.outputs(0, *rows)?, window.outputs(1, *columns)?];
        self.node(Operator::Pool { kind, window }, &[x], self.ty(x), &dims)
    }

    /// One number of the elements along `axes` (ascending), which stay as 1 if `keep`.
    ///
    /// # Errors
    /// There are no elements; and as [`Builder::node`].
    pub fn reduce(
        &mut self,
        kind: ReduceKind,
        x: ValueId,
        axes: &[usize],
        keep: bool,
    ) -> Result<ValueId, Refusal> {
        if axes.is_empty() {
            return if kind == ReduceKind::L2 { self.unary(Unary::Abs, x) } else { Ok(x) };
        }
        if self.dims(x).contains(&0) {
            return Err(Refusal::unsupported("its input has no elements"));
        }
        let kept = |axis: usize, dim: &usize| if axes.contains(&axis) { 1 } else { *dim };
        let dims: Vec<usize> = self.dims(x).iter().enumerate().map(|(axis, dim)| kept(axis, dim)).collect();
        let reduced = self.node(Operator::Reduce { kind, axes: axes.to_vec() }, &[x], self.ty(x), &dims)?;
        if keep { Ok(reduced) } else { self.without(reduced, axes) }
    }

    /// The index of the largest element along an axis, which stays as 1 if `keep`.
    ///
    /// # Errors
    /// As [`Builder::reduce`].
    pub fn arg_max(&mut self, x: ValueId, axis: usize, keep: bool) -> Result<ValueId, Refusal> {
        let mut dims = self.dims(x).to_vec();
        if std::mem::replace(&mut dims[axis], 1) == 0 {
            return Err(Refusal::unsupported("its input has no elements"));
        }
        let index = self.node(Operator::ArgMax { axis }, &[x], TensorType::Int64, &dims)?;
        if keep { Ok(index) } else { self.without(index, &[axis]) }
    }

    /// Without these axes, which are 1.
    ///
    /// # Errors
    /// As [`Builder::node`].
    pub fn without(&mut self, x: ValueId, axes: &[usize]) -> Result<ValueId, Refusal> {
        let dims = self.dims(x).iter().enumerate();
        let dims: Vec<usize> = dims.filter(|(axis, _)| !axes.contains(axis)).map(|(_, dim)| *dim).collect();
        self.reshape(x, &dims)
    }

    /// Numbers whose sum along an axis is 1.
    ///
    /// # Errors
    /// As [`Builder::node`].
    pub fn softmax(&mut self, x: ValueId, axis: usize) -> Result<ValueId, Refusal> {
        let dims = self.dims(x).to_vec();
        self.node(Operator::Softmax { axis }, &[x], self.ty(x), &dims)
    }

    /// `(x - mean) / sqrt(variance + epsilon)` over `axes`, times a constant factor and plus a constant, if there is a third value.
    ///
    /// # Errors
    /// As [`Builder::node`], and if the types are not the same.
    pub fn normalize(
        &mut self,
        inputs: &[ValueId],
        axes: &[usize],
        epsilon: f32,
    ) -> Result<ValueId, Refusal> {
        self.alike(inputs)?;
        let dims = self.dims(inputs[0]).to_vec();
        self.node(Operator::Normalize { axes: axes.to_vec(), epsilon }, inputs, self.ty(inputs[0]), &dims)
    }

    /// The product of matrices `[..., M, K]` and `[..., K, N]`.
    ///
    /// # Errors
    /// The dimensions or types do not fit together; and as [`Builder::node`].
    pub fn multiply(&mut self, a: ValueId, b: ValueId) -> Result<ValueId, Refusal> {
        self.alike(&[a, b])?;
        let ([batch_a @ .., rows, inner], [batch_b @ .., other, columns]) = (self.dims(a), self.dims(b))
        else {
            return Err(Refusal::invalid("its inputs are no matrices"));
        };
        if inner != other {
            let (a, b) = (shape::text(self.dims(a)), shape::text(self.dims(b)));
            return Err(Refusal::invalid(format!("{a} cannot be multiplied by {b}")));
        }
        let mut dims = shape::broadcast(batch_a, batch_b)?;
        dims.extend([*rows, *columns]);
        self.node(Operator::MatMul, &[a, b], self.ty(a), &dims)
    }
}
