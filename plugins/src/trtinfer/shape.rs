//! The caps of a stream's frames, checked against the model.

use cudainfer_kernels::tensor::TensorDesc;
use cudainfer_kernels::words::Words as _;

use super::constants::constant;
use super::given::Given;
use super::prompts;
use crate::caps;
use crate::inference::{Engine, FrameTensors, RunShape};
use crate::model::ImageInput;
use crate::strings;

/// What frames with these caps bring and what the model makes of them, with the constants that the property gives; the outputs' sizes
/// may still be open.
///
/// # Errors
/// A sentence that says what was offered and what is needed.
pub(super) fn shape(
    caps: &gst::CapsRef,
    engine: &Engine,
    constants: Option<&Given>,
) -> Result<RunShape, String> {
    if let Some(prompted) = &engine.prompted {
        return prompts::shape(caps, engine, prompted, constants);
    }
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
            state.output().unwrap_or_default()
        ));
    }
    let is_picture = |desc: &&TensorDesc| {
        desc.name == wanted.name || engine.earlier.iter().any(|picture| picture.input == desc.name)
    };
    let is_state = |desc: &&TensorDesc| engine.states.iter().any(|state| state.input.name == desc.name);
    let sizes = [[width, height], caps::frame_size(caps)];
    let constants = engine
        .inputs
        .iter()
        .filter(|desc| !is_picture(desc) && !is_state(desc))
        .map(|desc| constant(desc, engine, constants, sizes))
        .collect::<Result<_, _>>()?;
    let tensors = FrameTensors::of(
        &engine.input,
        &engine.outputs,
        given.unwrap_or(wanted.ty),
        [width, height],
        constants,
        engine.earlier.clone(),
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
