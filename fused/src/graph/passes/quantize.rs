//! Integers of 8 bits stay integers where they are moved.
//!
//! Numbers are made of integers as late as possible, and integers of numbers as early, so that both meet. What lies between integers
//! and is a function of single elements is left: whatever computes it makes the integers of its result.

use super::super::number::is_float;
use super::super::{
    Node, Operator, PadMode, PoolKind, Quantization, Refusal, ResizeMode, Unary, ValueId, Window,
};
use super::rewrite::Rewrite;

/// The integers that stand for the numbers of the same integers are these.
pub fn identity(rewrite: &mut Rewrite, node: &Node) -> Result<Option<ValueId>, Refusal> {
    let Operator::Unary(Unary::Quantize(by)) = node.operator else { return Ok(None) };
    Ok(integers(rewrite, node.inputs[0]).filter(|(_, before)| *before == by).map(|(x, _)| x))
}

/// Moved numbers of integers are the numbers of the moved integers; so is the largest of several.
pub fn moved(rewrite: &mut Rewrite, node: &Node) -> Result<Option<ValueId>, Refusal> {
    let Some((_, by)) = integers(rewrite, node.inputs[0]) else { return Ok(None) };
    let Some(operator) = of_integers(&node.operator, by) else { return Ok(None) };
    let same = |id: &ValueId| integers(rewrite, *id).filter(|(_, own)| *own == by).map(|(x, _)| x);
    let Some(inputs) = node.inputs.iter().map(same).collect::<Option<Vec<_>>>() else { return Ok(None) };
    if !is_float(rewrite.builder.ty(node.output)) {
        return Ok(None);
    }
    let dims = rewrite.dims(node.output).to_vec();
    let made = rewrite.builder.node(operator, &inputs, by.ty(), &dims)?;
    rewrite.builder.unary(Unary::Dequantize(by), made).map(Some)
}

/// The integers of joined numbers, which nothing else reads, are the joined integers of each: these are made where the numbers are.
pub fn parts(rewrite: &mut Rewrite, node: &Node) -> Result<Option<ValueId>, Refusal> {
    let (Operator::Unary(function @ Unary::Quantize(_)), joined) = (&node.operator, node.inputs[0]) else {
        return Ok(None);
    };
    let Some(before) = rewrite.maker(joined).filter(|_| rewrite.is_read_once(joined)) else {
        return Ok(None);
    };
    let (Operator::Concat { axis }, inputs) = (before.operator.clone(), before.inputs.clone()) else {
        return Ok(None);
    };
    let inputs = with_whole_ones(rewrite, &inputs, axis)?;
    let parts = inputs.iter().map(|input| rewrite.builder.unary(*function, *input));
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    rewrite.builder.concat(&parts, axis).map(Some)
}

/// These tensors, with a whole one instead of its parts where they follow each other: what is made of it is made at once.
fn with_whole_ones(rewrite: &mut Rewrite, parts: &[ValueId], axis: usize) -> Result<Vec<ValueId>, Refusal> {
    let mut all = Vec::new();
    let mut rest = parts;
    while let Some((first, others)) = rest.split_first() {
        let whole = part_of(rewrite, *first, axis).filter(|part| part.start == 0);
        let mut end = whole.as_ref().map_or(0, |part| part.length);
        let mut count = 1;
        for other in others {
            let next = part_of(rewrite, *other, axis).zip(whole.as_ref());
            let Some((next, _)) = next.filter(|(next, first)| next.x == first.x && next.start == end) else {
                break;
            };
            (end, count) = (end + next.length, count + 1);
        }
        match whole {
            Some(Part { x, by, .. }) if count > 1 && end == rewrite.dims(x)[axis] => {
                all.push(rewrite.builder.unary(Unary::Dequantize(by), x)?);
                rest = &rest[count..];
            }
            _ => {
                all.push(*first);
                rest = others;
            }
        }
    }
    Ok(all)
}

/// Numbers of a part of a tensor of integers along an axis.
struct Part {
    x: ValueId,
    by: Quantization,
    start: usize,
    length: usize,
}

/// What these numbers are a part of, if it is a part along this axis alone.
fn part_of(rewrite: &Rewrite, numbers: ValueId, axis: usize) -> Option<Part> {
    let (part, by) = integers(rewrite, numbers)?;
    let node = rewrite.maker(part)?;
    let Operator::Slice { starts, steps } = &node.operator else { return None };
    let x = node.inputs[0];
    let is_other = |at: usize| at != axis && rewrite.dims(x)[at] != rewrite.dims(part)[at];
    if steps[axis] != 1 || (0..starts.len()).any(is_other) {
        return None;
    }
    Some(Part { x, by, start: starts[axis], length: rewrite.dims(part)[axis] })
}

/// What numbers are made of, if it is of integers.
pub fn integers(rewrite: &Rewrite, numbers: ValueId) -> Option<(ValueId, Quantization)> {
    match rewrite.unary(numbers)? {
        (Unary::Dequantize(by), x) => Some((x, by)),
        _ => None,
    }
}

/// The operator on integers that gives those of its numbers, if there is one.
fn of_integers(operator: &Operator, by: Quantization) -> Option<Operator> {
    Some(match operator {
        Operator::Reshape
        | Operator::Transpose { .. }
        | Operator::Slice { .. }
        | Operator::Expand
        | Operator::Concat { .. }
        | Operator::Pad { mode: PadMode::Reflect | PadMode::Edge, .. } => operator.clone(),
        Operator::Pad { before, mode: PadMode::Constant(0.0) } => {
            Operator::Pad { before: before.clone(), mode: PadMode::Constant(by.zero.into()) }
        }
        Operator::Resize(resize) if matches!(resize.mode, ResizeMode::Nearest(_)) => operator.clone(),
        Operator::Pool { kind: PoolKind::Maximum, window } if meets(window) => operator.clone(),
        _ => return None,
    })
}

/// Whether each place of a window meets the image: the largest of no integers is none.
fn meets(window: &Window) -> bool {
    let is_narrow = |axis: usize| {
        let reach = window.kernel[axis].cast_signed() - 1;
        window.dilations[axis] == 1 && window.begin[axis] <= reach && window.end[axis] <= reach
    };
    is_narrow(0) && is_narrow(1)
}
