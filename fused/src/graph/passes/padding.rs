//! Padding that a convolution or a pooling does itself.

use super::super::{Node, Operator, PadMode, PoolKind, Refusal, Unary, ValueId, Window};
use super::rewrite::Rewrite;

/// A convolution, or a pooling, of an image with a border of 0, or of integers that stand for it.
pub fn rule(rewrite: &mut Rewrite, node: &Node) -> Result<Option<ValueId>, Refusal> {
    let x = node.inputs[0];
    let Some((source, value, begin, end)) = border(rewrite, x) else { return Ok(None) };
    let operator = match &node.operator {
        Operator::Convolution { window, groups } if value == 0.0 => {
            Operator::Convolution { window: wider(window, begin, end), groups: *groups }
        }
        Operator::QuantizedConvolution { window, groups, zero } if value == f32::from(*zero) => {
            let window = wider(window, begin, end);
            Operator::QuantizedConvolution { window, groups: *groups, zero: *zero }
        }
        Operator::Pool { kind, window } => {
            let is_bare = window.begin == [0, 0] && window.end == [0, 0];
            let kind = match kind {
                PoolKind::Average { .. } if value == 0.0 && is_bare => {
                    PoolKind::Average { count_padding: true }
                }
                PoolKind::Maximum if value == f32::NEG_INFINITY => PoolKind::Maximum,
                // Every window meets the image, whose numbers are not less than the border's.
                PoolKind::Maximum
                    if value == 0.0 && is_positive(rewrite, source) && is_met(window, begin, end) =>
                {
                    PoolKind::Maximum
                }
                _ => return Ok(None),
            };
            Operator::Pool { kind, window: wider(window, begin, end) }
        }
        _ => return Ok(None),
    };
    let mut inputs = node.inputs.clone();
    inputs[0] = source;
    let output = rewrite.builder.graph.value(node.output);
    let (ty, dims) = (output.ty, output.dims.clone());
    rewrite.builder.node(operator, &inputs, ty, &dims).map(Some)
}

/// The image inside of a constant border of rows and columns, the border's number, and its width before and after.
fn border(rewrite: &Rewrite, x: ValueId) -> Option<(ValueId, f32, [isize; 2], [isize; 2])> {
    let node = rewrite.maker(x)?;
    let Operator::Pad { before, mode: PadMode::Constant(value) } = &node.operator else { return None };
    let source = node.inputs[0];
    let [_, _, top, left] = before[..] else { return None };
    let after = |axis: usize| {
        let [own, padded] = [source, x].map(|id| rewrite.dims(id)[axis].cast_signed());
        padded - own - before[axis]
    };
    let (begin, end) = ([top, left], [after(2), after(3)]);
    let others = [before[0], before[1], after(0), after(1)];
    let is_border = others == [0; 4] && begin.iter().chain(&end).all(|pad| *pad >= 0);
    is_border.then_some((source, *value, begin, end))
}

/// A window that looks at a border, too.
fn wider(window: &Window, begin: [isize; 2], end: [isize; 2]) -> Window {
    let add = |own: [isize; 2], more: [isize; 2]| [own[0] + more[0], own[1] + more[1]];
    Window { begin: add(window.begin, begin), end: add(window.end, end), ..*window }
}

/// Whether a window cannot lie in the border alone.
fn is_met(window: &Window, begin: [isize; 2], end: [isize; 2]) -> bool {
    let is_narrow = |axis: usize| {
        let reach = window.kernel[axis].cast_signed() - 1;
        window.dilations[axis] == 1 && begin[axis] <= reach && end[axis] <= reach
    };
    window.begin == [0, 0] && window.end == [0, 0] && is_narrow(0) && is_narrow(1)
}

/// Whether no number of a tensor is negative.
fn is_positive(rewrite: &Rewrite, id: ValueId) -> bool {
    match rewrite.unary(id) {
        Some((
            Unary::Relu | Unary::Sigmoid | Unary::Abs | Unary::HardSigmoid { .. } | Unary::Softplus,
            _,
        )) => true,
        Some((Unary::Clip { low, .. }, _)) => low >= 0.0,
        _ => false,
    }
}
