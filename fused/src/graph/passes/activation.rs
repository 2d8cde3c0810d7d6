//! Functions that a model says with several nodes.

use super::super::number::is_float;
use super::super::{Binary, Node, Operator, Refusal, Unary, ValueId};
use super::rewrite::Rewrite;
use cudainfer_kernels::tensor::TensorType;

/// Products that are one function: Silu, Mish, Gelu, HardSwish and HardSigmoid; and the logarithm that is Softplus.
pub fn rule(rewrite: &mut Rewrite, node: &Node) -> Result<Option<ValueId>, Refusal> {
    if !is_float(rewrite.builder.ty(node.output)) {
        return Ok(None);
    }
    let found = match node.operator {
        Operator::Unary(Unary::Log) => softplus(rewrite, node.inputs[0]),
        Operator::Binary(Binary::Multiply | Binary::Divide) => {
            let product = Product::of(rewrite, node);
            product.hard_sigmoid(rewrite).or_else(|| product.gated(rewrite))
        }
        _ => None,
    };
    let Some(Found { function, x, factor }) = found else { return Ok(None) };
    if rewrite.dims(x) != rewrite.dims(node.output) {
        return Ok(None);
    }
    let made = rewrite.builder.unary(function, x)?;
    if is_near(rewrite, x, factor, 1.0) {
        return Ok(Some(made));
    }
    rewrite.builder.with_number(Binary::Multiply, made, factor).map(Some)
}

/// A function of a value, and a number that it is multiplied by.
struct Found {
    function: Unary,
    x: ValueId,
    factor: f64,
}

impl Found {
    /// The function alone.
    fn new(function: Unary, x: ValueId) -> Self {
        Self { function, x, factor: 1.0 }
    }
}

/// Whether a model's number is this one, but for rounding to the type of `x`.
fn is_near(rewrite: &Rewrite, x: ValueId, number: f64, meant: f64) -> bool {
    let tolerance = if rewrite.builder.ty(x) == TensorType::Float16 { 1e-3 } else { 3e-7 };
    (number - meant).abs() <= tolerance * meant.abs()
}

/// `ln(1 + e^x)`.
fn softplus(rewrite: &Rewrite, x: ValueId) -> Option<Found> {
    let (inner, one) = sum_with_number(rewrite, x)?;
    match rewrite.unary(inner)? {
        (Unary::Exp, x) if one == 1.0 => Some(Found::new(Unary::Softplus, x)),
        _ => None,
    }
}

/// A sum of a value and a number.
fn sum_with_number(rewrite: &Rewrite, id: ValueId) -> Option<(ValueId, f64)> {
    let (function, inputs) = rewrite.binary(id)?;
    let (x, number, _) = rewrite.with_number(inputs).filter(|_| function == Binary::Add)?;
    Some((x, number))
}

/// A product of several values and a number.
struct Product {
    factor: f64,
    values: Vec<ValueId>,
}

impl Product {
    /// How deep products of products are looked into.
    const DEEPEST: usize = 4;

    /// What a node multiplies.
    fn of(rewrite: &Rewrite, node: &Node) -> Self {
        let mut product = Self { factor: 1.0, values: Vec::new() };
        product.add_node(rewrite, node, Self::DEEPEST);
        product
    }

    /// What a value is the product of.
    fn of_value(rewrite: &Rewrite, id: ValueId) -> Self {
        let mut product = Self { factor: 1.0, values: Vec::new() };
        product.add(rewrite, id, Self::DEEPEST);
        product
    }

    fn add(&mut self, rewrite: &Rewrite, id: ValueId, deepest: usize) {
        match (rewrite.maker(id), deepest) {
            (Some(node), 1..) => self.add_node(rewrite, node, deepest - 1),
            _ => self.values.push(id),
        }
    }

    fn add_node(&mut self, rewrite: &Rewrite, node: &Node, deepest: usize) {
        let Operator::Binary(function) = node.operator else { return self.values.push(node.output) };
        let inputs = [node.inputs[0], node.inputs[1]];
        match (function, rewrite.with_number(inputs)) {
            (Binary::Multiply, Some((x, number, _))) => {
                self.factor *= number;
                self.add(rewrite, x, deepest);
            }
            (Binary::Divide, Some((x, number, true))) => {
                self.factor /= number;
                self.add(rewrite, x, deepest);
            }
            (Binary::Power, Some((x, number, true))) if number == 2.0 || number == 3.0 => {
                self.values.extend([x, x]);
                self.values.extend((number == 3.0).then_some(x));
            }
            (Binary::Multiply, None) => inputs.iter().for_each(|x| self.add(rewrite, *x, deepest)),
            _ => self.values.push(node.output),
        }
    }

    /// `max(0, min(6, x + 3)) / 6`; files may have that sixth in few digits, so what is left of it remains.
    fn hard_sigmoid(&self, rewrite: &Rewrite) -> Option<Found> {
        let [gate] = self.values[..] else { return None };
        let x = gate_of_six(rewrite, gate)?;
        let function = Unary::HardSigmoid { slope: 1.0 / 6.0, offset: 0.5 };
        Some(Found { function, x, factor: self.sixths()? })
    }

    /// Six times the factor, if that is nearly 1.
    fn sixths(&self) -> Option<f64> {
        Some(self.factor * 6.0).filter(|sixths| (sixths - 1.0).abs() < 0.01)
    }

    /// `x` times a function of it.
    fn gated(&self, rewrite: &Rewrite) -> Option<Found> {
        let [one, other] = self.values[..] else { return None };
        [(one, other), (other, one)].into_iter().find_map(|(x, gate)| self.gated_by(rewrite, x, gate))
    }

    fn gated_by(&self, rewrite: &Rewrite, x: ValueId, gate: ValueId) -> Option<Found> {
        if let Some(factor) = self.sixths()
            && gate_of_six(rewrite, gate) == Some(x)
        {
            return Some(Found { function: Unary::HardSwish, x, factor });
        }
        if is_near(rewrite, x, self.factor, 0.5) {
            return Some(Found::new(gelu(rewrite, gate, x)?, x));
        }
        let (gate, inner) = rewrite.unary(gate)?;
        let function = match gate {
            Unary::Sigmoid if inner == x => Unary::Silu,
            Unary::HardSigmoid { slope, offset: 0.5 }
                if inner == x && is_near(rewrite, x, slope.into(), 1.0 / 6.0) =>
            {
                Unary::HardSwish
            }
            Unary::Tanh if rewrite.unary(inner) == Some((Unary::Softplus, x)) => Unary::Mish,
            _ => return None,
        };
        Some(Found { function, x, factor: self.factor })
    }
}

/// What `max(0, min(6, x + 3))` is of.
fn gate_of_six(rewrite: &Rewrite, gate: ValueId) -> Option<ValueId> {
    let (Unary::Clip { low: 0.0, high: 6.0 }, inner) = rewrite.unary(gate)? else { return None };
    let (x, three) = sum_with_number(rewrite, inner)?;
    (three == 3.0).then_some(x)
}

/// Which Gelu it is whose half is `x` times this.
fn gelu(rewrite: &Rewrite, gate: ValueId, x: ValueId) -> Option<Unary> {
    let (inner, one) = sum_with_number(rewrite, gate)?;
    let (function, argument) = rewrite.unary(inner).filter(|_| one == 1.0)?;
    let Product { factor, values } = Product::of_value(rewrite, argument);
    match (function, &values[..]) {
        (Unary::Erf, [of]) if *of == x && is_near(rewrite, x, factor, std::f64::consts::FRAC_1_SQRT_2) => {
            Some(Unary::Gelu)
        }
        (Unary::Tanh, values) if is_near(rewrite, x, factor, std::f64::consts::FRAC_2_PI.sqrt()) => {
            is_cubic(rewrite, values, x).then_some(Unary::GeluTanh)
        }
        _ => None,
    }
}

/// Whether a product is `x + 0.044715 x^3`, or `x * (1 + 0.044715 x^2)`.
fn is_cubic(rewrite: &Rewrite, values: &[ValueId], x: ValueId) -> bool {
    let is_power = |id: ValueId, power: usize| {
        let Product { factor, values } = Product::of_value(rewrite, id);
        is_near(rewrite, x, factor, 0.044_715)
            && values.len() == power
            && values.iter().all(|value| *value == x)
    };
    match *values {
        [sum] => match rewrite.binary(sum) {
            Some((Binary::Add, [a, b])) => a == x && is_power(b, 3) || b == x && is_power(a, 3),
            _ => false,
        },
        [a, b] => [(a, b), (b, a)].into_iter().any(|(own, other)| {
            let sum = sum_with_number(rewrite, other).filter(|(_, one)| own == x && *one == 1.0);
            sum.is_some_and(|(inner, _)| is_power(inner, 2))
        }),
        _ => false,
    }
}
