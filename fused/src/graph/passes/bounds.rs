//! Numbers that are kept between others.

use super::super::number::{float, is_float};
use super::super::{Binary, Node, Operator, Refusal, Unary, ValueId};
use super::rewrite::Rewrite;

/// The larger one of a number and 0 is a Relu; bounds after bounds are one Clip.
pub fn rule(rewrite: &mut Rewrite, node: &Node) -> Result<Option<ValueId>, Refusal> {
    if !is_float(rewrite.builder.ty(node.output)) {
        return Ok(None);
    }
    let Some((x, low, high)) = bounds(rewrite, node) else { return Ok(None) };
    let before = rewrite.maker(x).and_then(|before| bounds(rewrite, before));
    if let Some((source, first_low, first_high)) = before
        && low <= first_high
        && first_low <= high
    {
        return write(rewrite, source, low.max(first_low), high.min(first_high));
    }
    if let (Operator::Binary(_), true) = (&node.operator, low == 0.0 && high == f64::INFINITY) {
        return rewrite.builder.unary(Unary::Relu, x).map(Some);
    }
    Ok(None)
}

/// What a node keeps between which numbers.
fn bounds(rewrite: &Rewrite, node: &Node) -> Option<(ValueId, f64, f64)> {
    let none = f64::INFINITY;
    match node.operator {
        Operator::Unary(Unary::Relu) => Some((node.inputs[0], 0.0, none)),
        Operator::Unary(Unary::Clip { low, high }) => Some((node.inputs[0], low.into(), high.into())),
        Operator::Binary(function @ (Binary::Maximum | Binary::Minimum)) => {
            let (x, number, _) = rewrite.with_number([node.inputs[0], node.inputs[1]])?;
            Some(if function == Binary::Maximum { (x, number, none) } else { (x, -none, number) })
        }
        _ => None,
    }
}

fn write(rewrite: &mut Rewrite, x: ValueId, low: f64, high: f64) -> Result<Option<ValueId>, Refusal> {
    let builder = &mut rewrite.builder;
    let made = match (low, high) {
        (f64::NEG_INFINITY, high) => builder.with_number(Binary::Minimum, x, high)?,
        (0.0, f64::INFINITY) => builder.unary(Unary::Relu, x)?,
        (low, f64::INFINITY) => builder.with_number(Binary::Maximum, x, low)?,
        (low, high) => builder.unary(Unary::Clip { low: float(low), high: float(high) }, x)?,
    };
    Ok(Some(made))
}
