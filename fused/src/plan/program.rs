//! The functions of a map, as a list in which each refers to earlier ones.

use cudainfer_kernels::tensor::TensorType;

use crate::graph::{Binary, Unary};

/// Expressions; each refers to earlier ones by index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program(pub Vec<Expression>);

/// A number, computed in float32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expression {
    /// What the map's source of this index reads.
    Source(usize),
    /// A number.
    Constant(f32),
    /// A function of an earlier expression.
    Unary(Unary, usize),
    /// A function of two earlier ones.
    Binary(Binary, usize, usize),
    /// The second one where the first one is not 0, else the third one.
    Select(usize, usize, usize),
}

impl Program {
    /// Adds an expression, and returns its index.
    pub fn push(&mut self, expression: Expression) -> usize {
        self.0.push(expression);
        self.0.len() - 1
    }

    /// The type of the integers that an expression's numbers are, if it quantises.
    pub fn quantizes_to(&self, expression: usize) -> Option<TensorType> {
        match self.0.get(expression) {
            Some(Expression::Unary(Unary::Quantize(by), _)) => Some(by.ty()),
            _ => None,
        }
    }
}
