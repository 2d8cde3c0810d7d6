//! Normalisation, as sums and arithmetic.

use super::super::call::{Call, Made};
use crate::graph::{Binary, PadMode, PoolKind, ReduceKind, Refusal, Unary, ValueId, Window, shape};

/// The longest row that one kernel normalises: its threads keep it in their registers.
const LONGEST_ROW: usize = 4096;

/// BatchNormalization in inference: `x * scale / sqrt(variance + epsilon) + ...`, a product and a sum.
pub fn batch(call: &mut Call<'_>) -> Made {
    let training = call.flag("training_mode", false) || call.opset < 9 && !call.flag("spatial", true);
    if training || (1..5).any(|output| call.is_read(output)) {
        return Err(Refusal::unsupported("it is in training"));
    }
    let x = call.input(0)?;
    let [scale, bias, mean, variance] = [call.input(1)?, call.input(2)?, call.input(3)?, call.input(4)?];
    let (rank, epsilon) = (call.builder.rank(x), call.float("epsilon", 1e-5));
    let builder = &mut *call.builder;
    // In float32: the variance of a float16 model, epsilon and the quotient may be too small for float16.
    let wide = cudainfer_kernels::tensor::TensorType::Float32;
    let [scale, bias, mean, variance] = [scale, bias, mean, variance].map(|id| builder.cast(id, wide));
    let spread = builder.with_number(Binary::Add, variance?, epsilon.into())?;
    let spread = builder.unary(Unary::Sqrt, spread)?;
    let factor = builder.binary(Binary::Divide, scale?, spread)?;
    let shift = builder.binary(Binary::Multiply, mean?, factor)?;
    let shift = builder.binary(Binary::Subtract, bias?, shift)?;
    let [factor, shift] = [factor, shift].map(|id| {
        let own = match builder.elements(id).cloned() {
            // Not rounded yet: it may become part of a convolution.
            Some(elements) => {
                let dims = builder.dims(id).to_vec();
                builder.constant(builder.ty(x), &dims, elements)
            }
            None => builder.cast(id, builder.ty(x))?,
        };
        along_channels(builder, own, rank)
    });
    let product = builder.binary(Binary::Multiply, x, factor?)?;
    Ok(vec![builder.binary(Binary::Add, product, shift?)?])
}

/// `[C]` as `[C, 1, 1]`, which is broadcast along `[N, C, H, W]`.
fn along_channels(builder: &mut crate::graph::Builder, x: ValueId, rank: usize) -> Result<ValueId, Refusal> {
    let mut dims = builder.dims(x).to_vec();
    dims.resize(rank.saturating_sub(1).max(dims.len()), 1);
    builder.reshape(x, &dims)
}

/// `(x - mean) / sqrt(variance + epsilon)` over `axes`, and the mean, and one by that root.
fn standardized(call: &mut Call<'_>, x: ValueId, axes: &[usize]) -> Result<[ValueId; 3], Refusal> {
    let epsilon = call.float("epsilon", 1e-5);
    let builder = &mut *call.builder;
    let mean = builder.reduce(ReduceKind::Mean, x, axes, true)?;
    let differences = builder.binary(Binary::Subtract, x, mean)?;
    let squares = builder.binary(Binary::Multiply, differences, differences)?;
    let variance = builder.reduce(ReduceKind::Mean, squares, axes, true)?;
    let spread = builder.with_number(Binary::Add, variance, epsilon.into())?;
    let spread = builder.unary(Unary::Sqrt, spread)?;
    let inverse = builder.unary(Unary::Reciprocal, spread)?;
    let made = builder.binary(Binary::Multiply, differences, inverse)?;
    Ok([made, mean, inverse])
}

/// InstanceNormalization: each channel of each image.
pub fn instance(call: &mut Call<'_>) -> Made {
    let (x, scale, bias) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let rank = call.builder.rank(x);
    let [made, ..] = standardized(call, x, &(2..rank).collect::<Vec<_>>())?;
    let scale = along_channels(call.builder, scale, rank)?;
    let bias = along_channels(call.builder, bias, rank)?;
    let made = call.builder.binary(Binary::Multiply, made, scale)?;
    Ok(vec![call.builder.binary(Binary::Add, made, bias)?])
}

/// LayerNormalization: all axes from one on.
pub fn layer(call: &mut Call<'_>) -> Made {
    let (x, scale) = (call.input(0)?, call.input(1)?);
    let rank = call.builder.rank(x);
    let first = call.axis(-1, rank)?;
    let axes: Vec<usize> = (first..rank).collect();
    let row: usize = call.builder.dims(x)[first..].iter().product();
    let inputs: Vec<ValueId> = [x, scale].into_iter().chain(call.optional(2)).collect();
    let are_constants = inputs[1..].iter().all(|id| call.builder.elements(*id).is_some());
    if row <= LONGEST_ROW && are_constants && !(1..3).any(|output| call.is_read(output)) {
        let epsilon = call.float("epsilon", 1e-5);
        return Ok(vec![call.builder.normalize(&inputs, &axes, epsilon)?]);
    }
    let [made, mean, inverse] = standardized(call, x, &axes)?;
    let mut made = call.builder.binary(Binary::Multiply, made, scale)?;
    if let Some(bias) = call.optional(2) {
        made = call.builder.binary(Binary::Add, made, bias)?;
    }
    Ok(vec![made, mean, inverse])
}

/// GroupNormalization: groups of channels of each image. Scale and bias are the groups' before version 21, then the channels'.
pub fn group(call: &mut Call<'_>) -> Made {
    let (x, scale, bias) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let dims = call.dims(0)?;
    let groups = shape::dimension(call.int("num_groups", 0))?;
    let [batch, channels, ..] = dims[..] else { return Err(Refusal::invalid("its input has no channels")) };
    if groups == 0 || channels % groups != 0 {
        return Err(Refusal::invalid(format!("{channels} channels are not in {groups} groups")));
    }
    let inner = dims[2..].iter().product();
    let grouped = call.builder.reshape(x, &[batch, groups, channels / groups, inner])?;
    let [mut made, ..] = standardized(call, grouped, &[2, 3])?;
    let builder = &mut *call.builder;
    if call.opset >= 21 {
        made = builder.reshape(made, &[batch, channels, inner])?;
    }
    let rank = builder.rank(made);
    let [scale, bias] = [scale, bias].map(|id| along_channels(builder, id, rank));
    let made = builder.binary(Binary::Multiply, made, scale?)?;
    let made = builder.binary(Binary::Add, made, bias?)?;
    Ok(vec![builder.reshape(made, &dims)?])
}

/// LpNormalization: numbers whose length along an axis is 1; 0 where all are 0.
pub fn length(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let axis = call.axis(-1, call.builder.rank(x))?;
    let power = call.int("p", 2);
    let builder = &mut *call.builder;
    let length = match power {
        1 => {
            let sizes = builder.unary(Unary::Abs, x)?;
            builder.reduce(ReduceKind::Sum, sizes, &[axis], true)?
        }
        2 => builder.reduce(ReduceKind::L2, x, &[axis], true)?,
        other => return Err(Refusal::unsupported(format!("p is {other}"))),
    };
    // Less than any length that is not 0: the least of float16.
    let length = builder.with_number(Binary::Maximum, length, 6e-8)?;
    Ok(vec![builder.binary(Binary::Divide, x, length)?])
}

/// LRN: by the squares of `size` channels around each: `x / (bias + alpha / size * sum)^beta`.
pub fn local_response(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let dims = call.dims(0)?;
    let size = shape::dimension(call.int("size", 0))?;
    let [batch, channels, ..] = dims[..] else { return Err(Refusal::invalid("its input has no channels")) };
    if !(1..=channels.saturating_mul(2)).contains(&size) {
        return Err(Refusal::unsupported(format!("size is {size}")));
    }
    let (alpha, beta, bias) = (call.float("alpha", 1e-4), call.float("beta", 0.75), call.float("bias", 1.0));
    let builder = &mut *call.builder;
    let squares = builder.binary(Binary::Multiply, x, x)?;
    // Channels as rows, so that a pooling takes the mean of some of them.
    let rows = builder.reshape(squares, &[batch, 1, channels, dims[2..].iter().product()])?;
    let (before, after) = ((size - 1) / 2, size / 2);
    let rows = builder.pad(
        rows,
        &[0, 0, before.cast_signed(), 0],
        &[0, 0, after.cast_signed(), 0],
        PadMode::Constant(0.0),
    )?;
    let window = Window { kernel: [size, 1], strides: [1, 1], dilations: [1, 1], begin: [0, 0], end: [0, 0] };
    let mean = builder.pool(rows, PoolKind::Average { count_padding: false }, window)?;
    let mean = builder.reshape(mean, &dims)?;
    let scaled = builder.with_number(Binary::Multiply, mean, alpha.into())?;
    let divisor = builder.with_number(Binary::Add, scaled, bias.into())?;
    let divisor = builder.with_number(Binary::Power, divisor, beta.into())?;
    Ok(vec![builder.binary(Binary::Divide, x, divisor)?])
}
