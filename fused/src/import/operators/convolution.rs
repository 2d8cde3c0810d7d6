//! Convolutions.

use super::super::call::{Call, Made};
use super::window::{self, Attributes, AutoPad};
use crate::graph::{Refusal, ValueId, Window, shape};

/// Conv.
pub fn convolution(call: &mut Call<'_>) -> Made {
    let Convolution { attributes, inputs, groups, image } = read(call)?;
    let window = attributes.over(image);
    let made = call.builder.convolution(&inputs, window, groups)?;
    Ok(vec![without_rows(call, made, attributes.axes)?])
}

/// ConvTranspose.
pub fn transposed(call: &mut Call<'_>) -> Made {
    let Convolution { attributes, inputs, groups, image } = read(call)?;
    let window = spread(call, &attributes, image)?;
    let made = call.builder.transposed_convolution(&inputs, window, groups)?;
    Ok(vec![without_rows(call, made, attributes.axes)?])
}

/// What both have.
struct Convolution {
    attributes: Attributes,
    /// Image, weights, and the bias if there is one, with rows and columns.
    inputs: Vec<ValueId>,
    groups: usize,
    /// The image's rows and columns.
    image: [usize; 2],
}

fn read(call: &mut Call<'_>) -> Result<Convolution, Refusal> {
    let weights = call.dims(1)?;
    let axes = call.dims(0)?.len().saturating_sub(2);
    let attributes = window::read(call, axes, weights.get(2..))?;
    let groups = shape::dimension(call.int("group", 1))?;
    if groups == 0 || weights.contains(&0) {
        return Err(Refusal::invalid("it has no groups, or no weights"));
    }
    let mut inputs = vec![with_rows(call, 0)?, with_rows(call, 1)?];
    inputs.extend(call.optional(2));
    let image = call.builder.dims(inputs[0]);
    let image = [image[2], image[3]];
    Ok(Convolution { attributes, inputs, groups, image })
}

/// An input `[N, C, W]` as `[N, C, 1, W]`.
pub fn with_rows(call: &mut Call<'_>, slot: usize) -> Result<ValueId, Refusal> {
    let x = call.input(slot)?;
    match *call.builder.dims(x) {
        [one, other, columns] => call.builder.reshape(x, &[one, other, 1, columns]),
        _ => Ok(x),
    }
}

/// `[N, C, 1, W]` as `[N, C, W]`, if the model has one axis.
pub fn without_rows(call: &mut Call<'_>, x: ValueId, axes: usize) -> Result<ValueId, Refusal> {
    if axes == 2 { Ok(x) } else { call.builder.without(x, &[2]) }
}

/// The window of a transposed convolution: what is stated of its output changes the pads.
fn spread(call: &Call<'_>, attributes: &Attributes, image: [usize; 2]) -> Result<Window, Refusal> {
    let mut window = attributes.window;
    let axes = attributes.axes;
    let rows_first = |name: &str| -> Result<Option<[isize; 2]>, Refusal> {
        let Some(values) = call.ints(name) else { return Ok(None) };
        // output_shape may begin with batch and channels.
        let own = values.get(values.len().saturating_sub(axes)..).unwrap_or_default();
        let small = |value: i64| isize::try_from(value).ok().filter(|value| (0..1 << 31).contains(value));
        match own.iter().map(|value| small(*value)).collect::<Option<Vec<_>>>().as_deref() {
            Some([columns]) if axes == 1 => Ok(Some([isize::from(name == "output_shape"), *columns])),
            Some([rows, columns]) if axes == 2 => Ok(Some([*rows, *columns])),
            _ => Err(Refusal::invalid(format!("{name} is {values:?}"))),
        }
    };
    let extra = rows_first("output_padding")?.unwrap_or_default();
    let stated = rows_first("output_shape")?;
    for axis in 0..2 {
        let (stride, length) = (window.strides[axis].cast_signed(), image[axis].cast_signed());
        let full = stride * (length - 1) + extra[axis] + window.extent(axis).cast_signed();
        let total = match (stated, attributes.auto_pad) {
            (Some(stated), _) => Some(full - stated[axis]),
            (None, AutoPad::Stated) => None,
            (None, AutoPad::Valid) => Some(0),
            (None, AutoPad::SameUpper | AutoPad::SameLower) => Some(full - stride * length),
        };
        if let Some(total) = total {
            (window.begin[axis], window.end[axis]) = attributes.halves(total.max(0));
            // An output that is stated to be larger ends later.
            window.end[axis] += total.min(0);
        }
        window.end[axis] -= extra[axis];
    }
    Ok(window)
}
