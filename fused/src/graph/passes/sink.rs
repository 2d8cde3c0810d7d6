//! Reshapes and transposes after functions instead of before them, where they meet others.

use super::super::evaluate::{Operand, evaluate};
use super::super::{Node, Operator, Refusal, ResizeMode, Unary, ValueId, Window, shape};
use super::rewrite::Rewrite;

/// The largest constant that is written in other dimensions for it.
const MOST_ELEMENTS: usize = 1 << 22;

/// A function of reshaped tensors is the reshaped function of the tensors, if they have the same dimensions before and after.
pub fn reshape(rewrite: &mut Rewrite, node: &Node) -> Result<Option<ValueId>, Refusal> {
    // Numbers are made of integers after these are moved.
    let is_function = matches!(node.operator, Operator::Unary(_) | Operator::Binary(_) | Operator::Cast);
    if !is_function || matches!(node.operator, Operator::Unary(Unary::Dequantize(_))) {
        return Ok(None);
    }
    let output = rewrite.builder.graph.value(node.output);
    let (ty, dims) = (output.ty, output.dims.clone());
    let source = |id: &ValueId| {
        let maker = rewrite.maker(*id).filter(|maker| maker.operator == Operator::Reshape);
        maker.map(|maker| maker.inputs[0]).filter(|_| rewrite.dims(*id) == dims)
    };
    let sources: Vec<Option<ValueId>> = node.inputs.iter().map(source).collect();
    let Some(first) = sources.iter().flatten().next() else { return Ok(None) };
    let before = rewrite.dims(*first).to_vec();
    let fits = |(source, id): (&Option<ValueId>, &ValueId)| match source {
        Some(source) => rewrite.dims(*source) == before,
        None => {
            let small = dims.iter().product::<usize>() <= MOST_ELEMENTS;
            rewrite.builder.elements(*id).is_some_and(|elements| elements.len() == 1 || small)
        }
    };
    if !sources.iter().zip(&node.inputs).all(fits) {
        return Ok(None);
    }
    let mut inputs = Vec::with_capacity(sources.len());
    for (source, id) in sources.iter().zip(&node.inputs) {
        inputs.push(match source {
            Some(source) => *source,
            None if rewrite.dims(*id).iter().all(|dim| *dim == 1) => rewrite.builder.reshape(*id, &[])?,
            None => {
                let whole = rewrite.builder.expand(*id, &dims)?;
                rewrite.builder.reshape(whole, &before)?
            }
        });
    }
    let made = rewrite.builder.node(node.operator.clone(), &inputs, ty, &before)?;
    rewrite.builder.reshape(made, &dims).map(Some)
}

/// A function of transposed tensors is the transposed function of the tensors, and a product with the channels of an image, which come last, a
/// convolution of it.
pub fn transpose(rewrite: &mut Rewrite, node: &Node) -> Result<Option<ValueId>, Refusal> {
    if node.operator == Operator::MatMul {
        return product(rewrite, node);
    }
    let orders = node.inputs.iter().filter_map(|id| transposed(rewrite, *id));
    let Some((order, _)) = orders.into_iter().next() else { return Ok(None) };
    let rank = order.len();
    let output = rewrite.builder.graph.value(node.output);
    let (ty, dims) = (output.ty, output.dims.clone());
    let Some(operator) = moved(&node.operator, &order).filter(|_| dims.len() == rank) else {
        return Ok(None);
    };
    let mut back = vec![0; rank];
    order.iter().enumerate().for_each(|(at, axis)| back[*axis] = at);
    let mut inputs = Vec::with_capacity(node.inputs.len());
    for id in &node.inputs {
        let source = transposed(rewrite, *id).filter(|(own, _)| *own == order).map(|(_, source)| source);
        let Some(source) = source.or_else(|| permuted(rewrite, *id, &back)) else { return Ok(None) };
        inputs.push(source);
    }
    let dims: Vec<usize> = back.iter().map(|axis| dims[*axis]).collect();
    let made = rewrite.builder.node(operator, &inputs, ty, &dims)?;
    rewrite.builder.transpose(made, &order).map(Some)
}

/// A product of an image whose channels were moved to the end, and a constant matrix.
fn product(rewrite: &mut Rewrite, node: &Node) -> Result<Option<ValueId>, Refusal> {
    const CHANNELS_LAST: [usize; 4] = [0, 2, 3, 1];
    let image = transposed(rewrite, node.inputs[0]).filter(|(order, _)| *order == CHANNELS_LAST);
    let (Some((_, image)), &[depth, width]) = (image, rewrite.dims(node.inputs[1])) else { return Ok(None) };
    let Some(matrix) = permuted(rewrite, node.inputs[1], &[1, 0]) else { return Ok(None) };
    let weights = rewrite.builder.reshape(matrix, &[width, depth, 1, 1])?;
    let window = Window { kernel: [1, 1], strides: [1, 1], dilations: [1, 1], begin: [0, 0], end: [0, 0] };
    let made = rewrite.builder.convolution(&[image, weights], window, 1)?;
    rewrite.builder.transpose(made, &CHANNELS_LAST).map(Some)
}

/// The order of a transposed tensor's axes, and what it was before.
fn transposed(rewrite: &Rewrite, id: ValueId) -> Option<(Vec<usize>, ValueId)> {
    let node = rewrite.maker(id)?;
    let Operator::Transpose { order } = &node.operator else { return None };
    Some((order.clone(), node.inputs[0]))
}

/// A constant with its axes in another order, of the rank of that.
fn permuted(rewrite: &mut Rewrite, id: ValueId, back: &[usize]) -> Option<ValueId> {
    let (elements, dims) = (rewrite.builder.elements(id)?, rewrite.dims(id));
    let missing = back.len().checked_sub(dims.len())?;
    let full = [&vec![1; missing], dims].concat();
    let to: Vec<usize> = back.iter().map(|axis| full[*axis]).collect();
    let operand = Operand { dims: &full, elements };
    let ty = rewrite.builder.ty(id);
    let made = evaluate(&Operator::Transpose { order: back.to_vec() }, &[operand], ty, &to).ok()?;
    shape::elements(&to).ok()?;
    Some(rewrite.builder.constant(ty, &to, made))
}

/// An operator for tensors whose axes are not in this order yet.
fn moved(operator: &Operator, order: &[usize]) -> Option<Operator> {
    Some(match operator {
        Operator::Unary(Unary::Dequantize(_)) => return None,
        Operator::Unary(_) | Operator::Binary(_) | Operator::Cast | Operator::Select => operator.clone(),
        Operator::Concat { axis } => Operator::Concat { axis: order[*axis] },
        Operator::Softmax { axis } => Operator::Softmax { axis: order[*axis] },
        Operator::ArgMax { axis } => Operator::ArgMax { axis: order[*axis] },
        Operator::Reduce { kind, axes } => {
            let mut axes: Vec<usize> = axes.iter().map(|axis| order[*axis]).collect();
            axes.sort_unstable();
            Operator::Reduce { kind: *kind, axes }
        }
        Operator::Normalize { axes, epsilon } => {
            let mut axes: Vec<usize> = axes.iter().map(|axis| order[*axis]).collect();
            axes.sort_unstable();
            Operator::Normalize { axes, epsilon: *epsilon }
        }
        Operator::Pad { before, mode } => Operator::Pad { before: by_axis(before, order), mode: *mode },
        Operator::Slice { starts, steps } => {
            Operator::Slice { starts: by_axis(starts, order), steps: by_axis(steps, order) }
        }
        Operator::Resize(resize) if !matches!(resize.mode, ResizeMode::Cubic { .. }) => {
            let mut resize = resize.clone();
            resize.scales = by_axis(&resize.scales, order);
            Operator::Resize(resize)
        }
        _ => return None,
    })
}

/// What is stated of each axis in this order, of the axes as they were before.
fn by_axis<T: Copy>(stated: &[T], order: &[usize]) -> Vec<T> {
    let mut before = stated.to_vec();
    order.iter().zip(stated).for_each(|(axis, value)| before[*axis] = *value);
    before
}
