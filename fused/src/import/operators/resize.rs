//! Tensors that are enlarged or shrunk.

use super::super::call::{Call, Made};
use super::resample::{Filter, resample};
use crate::graph::number::{float, integer, real_length};
use crate::graph::{Coordinates, Operator, Refusal, Resize, ResizeMode, Rounding, ValueId, shape};

/// Upsample, up to version 9.
pub fn upsample(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let scales = match call.floats("scales") {
        Some(scales) => scales.to_vec(),
        None => floats(call.numbers(1)?.ok_or_else(|| Refusal::invalid("it has no scales"))?),
    };
    let dims = scaled(&call.dims(0)?, &scales)?;
    let mode = old_mode(call)?;
    add(call, x, Resize { mode, coordinates: Coordinates::Asymmetric, scales }, &dims)
}

/// Resize; of version 10 as Upsample, then with more attributes, and with dimensions instead of scales.
pub fn resize(call: &mut Call<'_>) -> Made {
    if call.opset < 11 {
        return upsample(call);
    }
    let x = call.input(0)?;
    let from = call.dims(0)?;
    let axes = match call.ints("axes") {
        Some(axes) => {
            axes.iter().map(|axis| shape::axis(*axis, from.len())).collect::<Result<Vec<_>, _>>()?
        }
        None => (0..from.len()).collect(),
    };
    let scales = call.numbers(2)?.filter(|scales| !scales.is_empty()).map(floats);
    let sizes = call.integers(3)?.filter(|sizes| !sizes.is_empty());
    let (scales, dims) = match (scales, sizes) {
        (Some(scales), None) => {
            let scales = spread(&scales, &axes, vec![1.0; from.len()])?;
            let dims = scaled(&from, &scales)?;
            (scales, dims)
        }
        (None, Some(sizes)) => {
            let sizes = sizes.iter().map(|size| shape::dimension(*size)).collect::<Result<Vec<_>, _>>()?;
            sized(call, &from, &axes, &sizes)?
        }
        _ => return Err(Refusal::invalid("it has no scales and no sizes, or both")),
    };
    let coordinates = coordinates(call, &from, &dims, &scales)?;
    let mode = match call.text("mode", "nearest") {
        "nearest" => ResizeMode::Nearest(rounding(call)?),
        "linear" => ResizeMode::Linear,
        "cubic" => ResizeMode::Cubic { a: call.float("cubic_coeff_a", -0.75) },
        other => return Err(Refusal::unsupported(format!("its mode is '{other}'"))),
    };
    let cubic = if let ResizeMode::Cubic { a } = mode { Some(f64::from(a)) } else { None };
    let (antialias, exclude_outside) = (call.flag("antialias", false), call.flag("exclude_outside", false));
    let is_nearest = matches!(mode, ResizeMode::Nearest(_));
    // Without antialiasing, two samples make a linear one: those at the border count for those outside whether or not these do.
    if !is_nearest && (antialias || exclude_outside && cubic.is_some()) {
        call.builder.floats(x)?;
        let filter = Filter { cubic, antialias, exclude_outside };
        return Ok(vec![resample(call, x, filter, coordinates, &scales, &dims)?]);
    }
    add(call, x, Resize { mode, coordinates, scales }, &dims)
}

fn add(call: &mut Call<'_>, x: ValueId, resize: Resize, dims: &[usize]) -> Made {
    if call.builder.dims(x) == dims && resize.scales.iter().all(|scale| *scale == 1.0) {
        return Ok(vec![x]);
    }
    let resized = resize.scales.iter().zip(call.builder.dims(x)).zip(dims);
    let axes: Vec<usize> = resized
        .enumerate()
        .filter(|(_, ((scale, from), to))| **scale != 1.0 || from != to)
        .map(|(axis, _)| axis)
        .collect();
    let rank = dims.len();
    if matches!(resize.mode, ResizeMode::Cubic { .. }) && axes.iter().any(|axis| axis + 2 < rank) {
        return Err(Refusal::unsupported("it is cubic along other axes than the last two"));
    }
    let ty = call.builder.ty(x);
    Ok(vec![call.builder.node(Operator::Resize(resize), &[x], ty, dims)?])
}

fn floats(numbers: Vec<f64>) -> Vec<f32> {
    numbers.into_iter().map(float).collect()
}

/// Before version 11, where coordinates have no offset.
fn old_mode(call: &Call<'_>) -> Result<ResizeMode, Refusal> {
    match call.text("mode", "nearest") {
        "nearest" => Ok(ResizeMode::Nearest(Rounding::Floor)),
        "linear" | "bilinear" => Ok(ResizeMode::Linear),
        other => Err(Refusal::unsupported(format!("its mode is '{other}'"))),
    }
}

/// Numbers of some axes, and others of the rest.
fn spread<T: Copy>(own: &[T], axes: &[usize], mut others: Vec<T>) -> Result<Vec<T>, Refusal> {
    if own.len() != axes.len() {
        return Err(Refusal::invalid(format!("{} scales or sizes for {} axes", own.len(), axes.len())));
    }
    axes.iter().zip(own).for_each(|(axis, number)| others[*axis] = *number);
    Ok(others)
}

/// Dimensions times scales, without the fraction: computed in float32, as ONNX Runtime does.
fn scaled(from: &[usize], scales: &[f32]) -> Result<Vec<usize>, Refusal> {
    if scales.len() != from.len() || !scales.iter().all(|scale| *scale > 0.0 && scale.is_finite()) {
        return Err(Refusal::invalid(format!("its scales are {scales:?} for {}", shape::text(from))));
    }
    let length = |(dim, scale): (&usize, &f32)| {
        let length = usize::try_from(integer((float(real_length(*dim)) * scale).into())).unwrap_or(0);
        if length > 0 { Ok(length) } else { Err(Refusal::invalid(format!("its scales are {scales:?}"))) }
    };
    from.iter().zip(scales).map(length).collect()
}

/// Scales and dimensions where dimensions are stated.
fn sized(
    call: &Call<'_>,
    from: &[usize],
    axes: &[usize],
    sizes: &[usize],
) -> Result<(Vec<f32>, Vec<usize>), Refusal> {
    let dims = spread(sizes, axes, from.to_vec())?;
    if dims.contains(&0) || from.contains(&0) {
        return Err(Refusal::invalid("a size is 0"));
    }
    let quotient = |axis: usize| float(real_length(dims[axis])) / float(real_length(from[axis]));
    let each = axes.iter().map(|axis| quotient(*axis));
    let scale = match call.text("keep_aspect_ratio_policy", "stretch") {
        "stretch" => return Ok(((0..dims.len()).map(quotient).collect(), dims)),
        "not_larger" => each.fold(f32::INFINITY, f32::min),
        "not_smaller" => each.fold(0.0, f32::max),
        other => return Err(Refusal::unsupported(format!("keep_aspect_ratio_policy is '{other}'"))),
    };
    let scales = spread(&vec![scale; axes.len()], axes, vec![1.0; from.len()])?;
    let length = |(dim, scale): (&usize, &f32)| {
        let length = (float(real_length(*dim)) * scale).round();
        usize::try_from(integer(length.into())).unwrap_or(0).max(1)
    };
    let dims = from.iter().zip(&scales).map(length).collect();
    Ok((scales, dims))
}

fn coordinates(
    call: &Call<'_>,
    from: &[usize],
    dims: &[usize],
    scales: &[f32],
) -> Result<Coordinates, Refusal> {
    Ok(match call.text("coordinate_transformation_mode", "half_pixel") {
        "half_pixel" => Coordinates::HalfPixel,
        "pytorch_half_pixel" => Coordinates::PytorchHalfPixel,
        "asymmetric" => Coordinates::Asymmetric,
        "align_corners" => Coordinates::AlignCorners,
        "half_pixel_symmetric" => {
            // Where the scale gives whole lengths, it is the same.
            let exact = from.iter().zip(dims).zip(scales);
            let is_exact = |((from, to), scale): ((&usize, &usize), &f32)| {
                float(real_length(*from)) * scale == float(real_length(*to))
            };
            if !exact.into_iter().all(is_exact) {
                return Err(Refusal::unsupported("half_pixel_symmetric with a fraction"));
            }
            Coordinates::HalfPixel
        }
        other => return Err(Refusal::unsupported(format!("coordinate_transformation_mode is '{other}'"))),
    })
}

fn rounding(call: &Call<'_>) -> Result<Rounding, Refusal> {
    Ok(match call.text("nearest_mode", "round_prefer_floor") {
        "round_prefer_floor" => Rounding::PreferFloor,
        "round_prefer_ceil" => Rounding::PreferCeil,
        "floor" => Rounding::Floor,
        "ceil" => Rounding::Ceil,
        other => return Err(Refusal::invalid(format!("nearest_mode is '{other}'"))),
    })
}
