//! The caps of a stream's frames, checked against the model.

use cudainfer_kernels::tensor::TensorDesc;
use cudainfer_kernels::words::Words as _;

use crate::caps;
use crate::inference::{Constant, Engine, FrameTensors, RunShape, elements};
use crate::log::TRTINFER as CAT;
use crate::model::{ConstantValue, ImageInput, ModelInfo, SizeOf};
use crate::strings;

/// What frames with these caps bring and what the model makes of them; the outputs' sizes may still be open.
///
/// # Errors
/// A sentence that says what was offered and what is needed.
pub(super) fn shape(caps: &gst::CapsRef, engine: &Engine) -> Result<RunShape, String> {
    let wanted = &engine.input;
    if !caps::has_tensors(caps) {
        return Err(format!(
            "frames arrive without a tensor, but the model wants {}. Put fusedpreproc before this element",
            wish(wanted)
        ));
    }
    let s = caps.structure(0).ok_or("the caps are empty")?;
    let int = |field| s.get::<i32>(field).ok().and_then(|v| usize::try_from(v).ok());
    let text = |field| strings::field(s, field).unwrap_or_else(|| "?".into());
    let (width, height) = (int("tensor-width").unwrap_or(0), int("tensor-height").unwrap_or(0));
    let given = text("tensor-type").parse().ok().filter(|ty| wanted.takes(*ty));
    let fits = wanted.width.is_none_or(|w| w == width)
        && wanted.height.is_none_or(|h| h == height)
        && int("tensor-channels") == Some(wanted.channels)
        && given.is_some()
        && text("tensor-layout") == wanted.layout.word();
    if !fits || width == 0 || height == 0 {
        return Err(format!(
            "the model wants {}, but the frames come with {} {} {}. Remove the properties of fusedpreproc that differ, or set \
             another model",
            wish(wanted),
            dimensions(
                &text("tensor-layout"),
                [int("tensor-channels"), Some(height), Some(width)].map(|size| size.filter(|size| *size > 0))
            ),
            text("tensor-type"),
            text("tensor-layout"),
        ));
    }
    if let (Some(roi), Some(state)) = (strings::field(s, caps::ROI), engine.states.first()) {
        return Err(format!(
            "the model is recurrent: it remembers {} of a stream's frame for the next one, but frames come with roi={roi}, as any \
             number of regions. Remove the property roi of fusedpreproc, or [state] of the sidecar",
            state.output
        ));
    }
    let is_state = |desc: &&TensorDesc| engine.states.iter().any(|state| state.input.name == desc.name);
    let sizes = [[width, height], caps::frame_size(caps)];
    let constants = engine
        .inputs
        .iter()
        .filter(|desc| desc.name != wanted.name && !is_state(desc))
        .map(|desc| constant(desc, &engine.info, wanted.batch, sizes))
        .collect::<Result<_, _>>()?;
    let tensors = FrameTensors::of(
        &engine.input,
        &engine.outputs,
        given.unwrap_or(wanted.ty),
        [width, height],
        constants,
        engine.states.clone(),
    );
    tensors.and_then(|tensors| RunShape::new(tensors, engine.batch)).map_err(|e| e.to_string())
}

/// The image input in words: `3x416x640 (channels x height x width) float32 nchw in 'images'`.
fn wish(input: &ImageInput) -> String {
    let layout = input.layout.word();
    let sizes = dimensions(layout, [Some(input.channels), input.height, input.width]);
    format!("{sizes} {} {layout} in '{}'", input.ty, input.name)
}

/// Channels, height and width in the order that they have in this layout, with their names; `?` for those that are open.
fn dimensions(layout: &str, [channels, height, width]: [Option<usize>; 3]) -> String {
    let size = |v: Option<usize>| v.map_or_else(|| "?".to_owned(), |v| v.to_string());
    let [c, h, w] = [channels, height, width].map(size);
    match layout {
        "nhwc" => format!("{h}x{w}x{c} (height x width x channels)"),
        _ => format!("{c}x{h}x{w} (channels x height x width)"),
    }
}

/// How many elements a tensor of these dimensions has; none, where that cannot be counted.
fn product<'a>(mut dims: impl Iterator<Item = &'a usize>) -> Option<usize> {
    dims.try_fold(1, |product: usize, dim| product.checked_mul(*dim))
}

/// The value of an input that the sidecar does not name, but whose name detectors give to the size in which they write their
/// boxes: with this value, boxes are in pixels of the input tensor.
fn known(desc: &TensorDesc) -> Option<ConstantValue> {
    let value = match desc.name.as_str() {
        // RT-DETR, D-FINE, DEIM.
        "orig_target_sizes" => ConstantValue::Size(SizeOf::InputWidthHeight),
        // PaddleDetection: the picture's size as it comes to the network, and by how much it was scaled for that.
        "im_shape" => ConstantValue::Size(SizeOf::InputHeightWidth),
        "scale_factor" => ConstantValue::Numbers(vec![1.0, 1.0]),
        _ => return None,
    };
    let two = desc.dims.iter().rev().take(1).all(|dim| dim.is_none_or(|dim| dim == 2));
    if two {
        gst::info!(CAT, "{desc} is taken for what its name says, for boxes in pixels of the input tensor");
    }
    two.then_some(value)
}

/// An input that is not the image; `sizes` are the tensor's and the frame's.
fn constant(
    desc: &TensorDesc,
    info: &ModelInfo,
    batch: Option<usize>,
    [input, frame]: [[usize; 2]; 2],
) -> Result<Constant, String> {
    let known = info.constants.get(&desc.name).cloned().or_else(|| known(desc));
    let value = known.ok_or_else(|| {
        format!(
            "the model has a second input, {desc}, which has no value. Give it one in the sidecar: [constants] {} = [numbers], \
             \"input-height-width\", \"input-width-height\" or \"frame-height-width\"; or in [state], as OUTPUT = \"{}\", if it is \
             what the run before has made",
            desc.name, desc.name
        )
    })?;
    let pair = |[w, h]: [usize; 2]| vec![h as f64, w as f64];
    let numbers = match value {
        ConstantValue::Numbers(numbers) => numbers,
        ConstantValue::Size(SizeOf::InputHeightWidth) => pair(input),
        ConstantValue::Size(SizeOf::InputWidthHeight) => pair([input[1], input[0]]),
        ConstantValue::Size(SizeOf::FrameHeightWidth) => pair(frame),
    };
    // One open dimension takes what is left of the numbers; further ones are 1. A first one that is the batch's is 1, too.
    let first = desc.dims.first().copied();
    let batched = desc.dims.len() > 1 && first == Some(batch) && batch != Some(1);
    let wanted: Vec<Option<usize>> = match batched {
        true => std::iter::once(Some(1)).chain(desc.dims.iter().skip(1).copied()).collect(),
        false => desc.dims.clone(),
    };
    // From a file, they may be any numbers: more than can be counted are more than are there.
    let fixed = product(wanted.iter().flatten()).unwrap_or(usize::MAX);
    let mut left = numbers.len() / fixed.max(1);
    let dims: Vec<usize> =
        wanted.iter().rev().map(|d| d.unwrap_or_else(|| std::mem::replace(&mut left, 1))).collect();
    let dims: Vec<usize> = dims.into_iter().rev().collect();
    if product(dims.iter()) != Some(numbers.len()) {
        return Err(format!(
            "the sidecar's constant {} has {} numbers, which do not fill {desc}. Write as many numbers as its dimensions \
             multiply to",
            desc.name,
            numbers.len()
        ));
    }
    Ok(Constant { desc: desc.clone(), dims, data: elements(numbers, desc.ty), batched })
}
