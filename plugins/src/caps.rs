//! Tensors in caps: the feature `meta:CudaInferTensor` and scalar fields, all of which begin with `tensor-`.
//!
//! Between fusedpreproc and trtinfer the fields describe the network's input. trtinfer answers a caps query with what its
//! model needs, and fusedpreproc fixates to it. Downstream of trtinfer they describe the network's outputs.
//!
//! | field | type | meaning |
//! |---|---|---|
//! | `tensor-width`, `tensor-height` | int or range | size of the input tensor in pixels |
//! | `tensor-channels` | int | 1 or 3 |
//! | `tensor-type` | string | float32, float16, uint8, int8, int32 |
//! | `tensor-layout` | string | nchw or nhwc |
//! | `tensor-name` | string | the model's name for its image input |
//! | `tensor-order`, `tensor-resize`, … | | how the model wants it filled: see [`crate::fusedpreproc`] |
//! | `tensor-roi` | string | `objects`: tensors are those of objects' regions, any number in a frame; `tiles`, `list`: of the same regions in every frame |
//! | `tensor-outputs` | array of string | downstream of trtinfer: `name:type:dims` of each output |
//! | `tensor-masks` | array of string | downstream of gpunms: the output that objects' masks are made of, and the tensors that gpunms adds |
//! | `tensor-model` | string | downstream of trtinfer: the model that made them, a `#`, and the number of its loading |

use cudainfer_kernels::tensor::TensorDesc;

use crate::memory::caps::CUDA_MEMORY;
use crate::strings;

/// The caps feature of frames that carry tensors.
pub const FEATURE: &str = "meta:CudaInferTensor";

/// The array of `name:type:dims` that describes the network's outputs.
pub const OUTPUTS: &str = "tensor-outputs";

/// Downstream of gpunms, what it adds to the outputs of a model whose objects have masks: an array of `name:type:dims` as
/// [`OUTPUTS`], the output that the masks are made of and then the tensors of the objects.
pub const MASKS: &str = "tensor-masks";

/// `objects` where tensors are those of objects' regions, any number a frame, and not the frame's; `tiles` and `list` where they
/// are those of the same regions in every frame.
pub const ROI: &str = "tensor-roi";

/// Frames between two in which an object is looked at; not there where that is every frame.
pub const ROI_INTERVAL: &str = "tensor-roi-interval";

/// How frames fill the network's input, also downstream of trtinfer: a frame's place in the outputs follows from it.
pub const RESIZE: &str = "tensor-resize";

/// The tensor as a fraction of what the frame is resized to cover, where that is cropped, likewise.
pub const CROP_RATIO: &str = "tensor-crop-ratio";

/// What open sizes that nothing states are rounded up to a multiple of.
pub const SIZE_MULTIPLE: &str = "tensor-size-multiple";

/// What the library that exported the model leaves out of the bars: multiples of this number of pixels.
pub const BARS_MODULO: &str = "tensor-bars-modulo";

/// Where the tensor has an object's points: x and y of each.
pub const ROI_ALIGN: &str = "tensor-roi-align";

/// The names of these points.
pub const ROI_ALIGN_POINTS: &str = "tensor-roi-align-points";

/// What regions are made of: `objects` or `track`.
pub const ROI_FROM: &str = "tensor-roi-from";

/// How the region of an object is made from points that a detector has found: the sidecar's section in TOML.
pub const ROI_REGION: &str = "tensor-roi-region";

/// How the region of an object is made from the points of the last frame, likewise.
pub const ROI_TRACK: &str = "tensor-roi-track";

/// Which model made the outputs: its name, and the number of its loading, so that caps change with the model.
pub const MODEL: &str = "tensor-model";

/// Caps for elements that need tensors: frames with tensors, and plain ones, only so that a pipeline without the element that
/// makes tensors fails with a sentence instead of "not negotiated".
pub fn sink_template() -> gst::Caps {
    let mut caps = with_feature(&any_video());
    caps.merge(any_video());
    caps
}

/// Frames of any kind in any memory, for elements that only read metadata.
pub fn any_memory() -> gst::Caps {
    gst::Caps::builder("video/x-raw").any_features().build()
}

/// Frames of any kind that everyone here can read: in CUDA memory, where there is a GPU, or in system memory.
pub fn any_video() -> gst::Caps {
    let mut caps = gst::Caps::builder("video/x-raw").features([CUDA_MEMORY]).build();
    caps.merge(gst::Caps::new_empty_simple("video/x-raw"));
    caps
}

/// A sink and a source template that are always there.
pub fn pad_templates(sink: &gst::Caps, src: &gst::Caps) -> Vec<gst::PadTemplate> {
    use gst::PadDirection::{Sink, Src};
    [("sink", Sink, sink), ("src", Src, src)]
        .into_iter()
        .filter_map(|(name, direction, caps)| {
            gst::PadTemplate::new(name, direction, gst::PadPresence::Always, caps).ok()
        })
        .collect()
}

/// Caps as a BaseTransform that removes the tensors sees them from its other side: without tensors downstream of it, and with
/// them upstream, where plain ones are accepted too, to be refused with a sentence (see [`sink_template`]).
pub fn consumed(direction: gst::PadDirection, from: &gst::Caps, filter: Option<&gst::Caps>) -> gst::Caps {
    let mut other = without_tensors(from);
    if direction == gst::PadDirection::Src {
        let mut both = with_feature(&other);
        both.make_mut().append(other);
        other = both;
    }
    match filter {
        Some(filter) => filter.intersect_with_mode(&other, gst::CapsIntersectMode::First),
        None => other,
    }
}

/// The model that made the tensors of these caps: its name, and the number of its loading, as [`MODEL`] has them.
pub fn loaded_model(caps: &gst::CapsRef) -> Option<String> {
    caps.structure(0).and_then(|s| strings::field(s, MODEL))
}

/// The model's name without the number of its loading.
pub fn model_name(model: &str) -> &str {
    model.rsplit_once('#').map_or(model, |(name, _)| name)
}

/// Whether the tensors of these caps are those of regions, and not of the frame.
pub fn of_regions(caps: &gst::CapsRef) -> bool {
    caps.structure(0).is_some_and(|s| s.has_field(ROI))
}

/// Whether the tensors of these caps are an object's each, and not the frame's.
pub fn of_objects(caps: &gst::CapsRef) -> bool {
    caps.structure(0).is_some_and(|s| s.get(ROI) == Ok("objects"))
}

/// Whether the tensors of these caps are those of tiles, each of which shows a part of the next one.
pub fn are_tiles(caps: &gst::CapsRef) -> bool {
    caps.structure(0).is_some_and(|s| s.get(ROI) == Ok("tiles"))
}

/// Whether frames of these caps carry tensors.
pub fn has_tensors(caps: &gst::CapsRef) -> bool {
    caps.features(0).is_some_and(|f| f.contains(FEATURE))
}

/// The frames' width and height; 0 where the caps do not say.
pub fn frame_size(caps: &gst::CapsRef) -> [usize; 2] {
    let size = |field| usize::try_from(caps.structure(0)?.get::<i32>(field).ok()?).ok();
    ["width", "height"].map(|field| size(field).unwrap_or(0))
}

/// The frames' rate, numerator and denominator; none where the caps do not say, or it varies (0/1).
pub fn frame_rate(caps: &gst::CapsRef) -> Option<[u32; 2]> {
    let rate = caps.structure(0)?.get::<gst::Fraction>("framerate").ok()?;
    let rate = [rate.numer(), rate.denom()].map(|v| u32::try_from(v).unwrap_or(0));
    rate.iter().all(|v| *v > 0).then_some(rate)
}

/// The same caps, all with the tensor feature.
pub fn with_feature(caps: &gst::Caps) -> gst::Caps {
    map(caps, |s, features| {
        if !features.contains(FEATURE) {
            features.add(FEATURE);
        }
        s
    })
}

/// The same caps without anything about tensors; frames of any kind where anything goes.
pub fn without_tensors(caps: &gst::Caps) -> gst::Caps {
    if caps.is_any() {
        return any_video();
    }
    let caps = map(caps, |mut s, features| {
        s.filter_map_in_place(|name, value| (!name.as_str().starts_with("tensor-")).then_some(value));
        if features.contains(FEATURE) {
            features.remove(FEATURE);
        }
        s
    });
    let mut merged = gst::Caps::new_empty();
    merged.merge(caps);
    merged
}

/// The same caps with `fields` set in every structure, and the tensor feature.
pub fn with_fields(caps: &gst::Caps, fields: &gst::StructureRef) -> gst::Caps {
    map(&with_feature(caps), |mut s, _| {
        for (name, value) in fields.iter() {
            s.set_value(name, value.clone());
        }
        s
    })
}

fn map(caps: &gst::Caps, f: impl Fn(gst::Structure, &mut gst::CapsFeatures) -> gst::Structure) -> gst::Caps {
    let mut out = gst::Caps::new_empty();
    {
        let out = out.make_mut();
        for (s, features) in caps.iter_with_features() {
            // ANY of the memories means these two here: nothing else can be read by everyone.
            let features = if features.is_any() {
                vec![
                    gst::CapsFeatures::new([CUDA_MEMORY]),
                    gst::CapsFeatures::new([gst::CAPS_FEATURE_MEMORY_SYSTEM_MEMORY.as_str()]),
                ]
            } else {
                vec![features.to_owned()]
            };
            for mut features in features {
                let s = f(s.to_owned(), &mut features);
                out.append_structure_full(s, Some(features));
            }
        }
    }
    out
}

/// Why frames of the caps `offered` cannot go to elements downstream, which accept only `accepted`, and what to do.
pub fn misfit(offered: &gst::CapsRef, accepted: &gst::CapsRef) -> String {
    let format = offered.structure(0).and_then(|s| strings::field(s, "format"));
    let mut other: gst::Caps = offered.to_owned();
    for structure in other.make_mut().iter_mut() {
        structure.remove_field("format");
    }
    if let Some(format) = format.filter(|_| other.can_intersect(accepted)) {
        let formats = formats(accepted).join(", ");
        return format!(
            "the frames have the format {format}, but the elements downstream accept only {formats}. Put videoconvert before this \
             element"
        );
    }
    if crate::memory::caps::in_cuda(offered) {
        return "the frames are in CUDA memory, but the elements downstream accept only system memory. Put cudainferdownload \
                before them"
            .into();
    }
    format!(
        "the elements downstream do not accept frames of the caps {offered}, only {accepted}. Put videoconvert and videoscale \
         before this element, or change the elements downstream"
    )
}

/// All formats in caps.
fn formats(caps: &gst::CapsRef) -> Vec<String> {
    let mut all = Vec::new();
    for structure in caps.iter() {
        let Ok(value) = structure.value("format") else { continue };
        let several = value.get::<gst::List>().ok();
        match &several {
            Some(list) => all.extend(list.iter().filter_map(|one| strings::text(one))),
            None => all.extend(strings::text(value)),
        }
    }
    all.sort();
    all.dedup();
    all
}

/// The caps field that describes a network's outputs.
pub fn outputs_value(outputs: &[TensorDesc]) -> gst::Array {
    gst::Array::new(outputs.iter().map(ToString::to_string))
}

/// The information about trtinfer's model in the caps downstream of it.
#[derive(Clone, Debug)]
pub struct ModelOutputs {
    /// The outputs, in the model's order.
    pub outputs: Vec<TensorDesc>,
    /// The output that objects' masks are made of, and the tensors that gpunms has added for them; empty without such masks.
    pub masks: Vec<TensorDesc>,
    /// Width and height of the input tensor.
    pub input: [usize; 2],
}

impl ModelOutputs {
    /// Reads them from the caps that an element downstream of trtinfer gets.
    ///
    /// # Errors
    /// A sentence that names the element that is missing upstream.
    pub fn of(caps: &gst::CapsRef) -> Result<Self, &'static str> {
        if !has_tensors(caps) {
            return Err("frames arrive without tensors. Put fusedpreproc and trtinfer before this element");
        }
        let read = || {
            let s = caps.structure(0)?;
            let tensors = |field| {
                let array = s.get::<gst::ArrayRef>(field).ok()?;
                array.iter().map(|v| strings::text(v)?.parse().ok()).collect::<Option<_>>()
            };
            let size = |field| usize::try_from(s.get::<i32>(field).ok()?).ok();
            Some(Self {
                outputs: tensors(OUTPUTS)?,
                masks: if s.has_field(MASKS) { tensors(MASKS)? } else { Vec::new() },
                input: [size("tensor-width")?, size("tensor-height")?],
            })
        };
        read()
            .ok_or("the frames carry a network's input but not its outputs. Put trtinfer before this element")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a pipeline's author or another element writes into caps, as text.
    #[test]
    fn fuzz_caps() {
        gst::init().unwrap();
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "caps")
            .with_ratio(100) // an output of five bytes is a name and dimensions
            .run_text(|text| {
                let Ok(caps) = text.replace('\0', "").parse::<gst::Caps>() else { return };
                let _ = ModelOutputs::of(&caps);
                loaded_model(&caps);
                of_regions(&caps);
                of_objects(&caps);
                are_tiles(&caps);
                frame_size(&caps);
                frame_rate(&caps);
                misfit(&caps, &any_video());
                without_tensors(&caps);
            });
    }
}
