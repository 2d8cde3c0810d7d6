//! Functions of single elements.

use cudainfer_kernels::tensor::TensorType;

use super::super::{Binary, Operator, Refusal, Unary, ValueId, shape};
use super::Builder;

impl Builder {
    /// A function of each element.
    ///
    /// # Errors
    /// As [`Builder::node`].
    pub fn unary(&mut self, function: Unary, x: ValueId) -> Result<ValueId, Refusal> {
        let ty = match function {
            Unary::Not => TensorType::Bool,
            Unary::Quantize(by) => by.ty(),
            Unary::Dequantize(_) => TensorType::Float32,
            _ => self.ty(x),
        };
        let dims = self.dims(x).to_vec();
        self.node(Operator::Unary(function), &[x], ty, &dims)
    }

    /// A function of two tensors of one type, which are broadcast.
    ///
    /// # Errors
    /// Their types differ, or their dimensions do not fit together; and as [`Builder::node`].
    pub fn binary(&mut self, function: Binary, a: ValueId, b: ValueId) -> Result<ValueId, Refusal> {
        self.alike(&[a, b])?;
        let dims = shape::broadcast(self.dims(a), self.dims(b))?;
        let ty = if function.is_question() { TensorType::Bool } else { self.ty(a) };
        self.node(Operator::Binary(function), &[a, b], ty, &dims)
    }

    /// A function of a tensor and a number.
    ///
    /// # Errors
    /// As [`Builder::node`].
    pub fn with_number(&mut self, function: Binary, x: ValueId, number: f64) -> Result<ValueId, Refusal> {
        let number = self.scalar(number, x);
        self.binary(function, x, number)
    }

    /// `yes` where `condition` is not 0, else `no`; broadcast.
    ///
    /// # Errors
    /// As [`Builder::binary`].
    pub fn select(&mut self, condition: ValueId, yes: ValueId, no: ValueId) -> Result<ValueId, Refusal> {
        self.alike(&[yes, no])?;
        let both = shape::broadcast(self.dims(yes), self.dims(no))?;
        let dims = shape::broadcast(self.dims(condition), &both)?;
        self.node(Operator::Select, &[condition, yes, no], self.ty(yes), &dims)
    }

    /// The same numbers in another type.
    ///
    /// # Errors
    /// As [`Builder::node`].
    pub fn cast(&mut self, x: ValueId, ty: TensorType) -> Result<ValueId, Refusal> {
        if self.ty(x) == ty {
            return Ok(x);
        }
        let dims = self.dims(x).to_vec();
        self.node(Operator::Cast, &[x], ty, &dims)
    }

    /// `function` of the first two values, then of that and the third one, and so on.
    ///
    /// # Errors
    /// There are no values; and as [`Builder::binary`].
    pub fn chain(&mut self, function: Binary, values: &[ValueId]) -> Result<ValueId, Refusal> {
        let (first, others) = values.split_first().ok_or_else(|| Refusal::invalid("it has no inputs"))?;
        others.iter().try_fold(*first, |so_far, value| self.binary(function, so_far, *value))
    }
}
