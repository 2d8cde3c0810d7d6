//! The caps of the frames on both pads.

use cudainfer_kernels::frame::{FrameFormat, Matrix, PixelFormat, Range};
use cudainfer_kernels::geometry::Affine;
use cudainfer_kernels::maps::Region;
use cudainfer_kernels::preproc::{Preproc, PreprocParams, Resize};
use cudainfer_kernels::words::Words as _;
use gst_video::VideoFormat;

use super::settings::{Output, Settings, TensorMapPlan};
use crate::caps;
use crate::decoding::hand_on;
use crate::memory::caps::CUDA_MEMORY;
use crate::strings;

/// The format of the frames that replace the frame.
pub(super) fn format(output: Output) -> Option<VideoFormat> {
    match output {
        Output::Meta => None,
        Output::Gray16 => Some(VideoFormat::Gray16Le),
        Output::Rgb => Some(VideoFormat::Rgb),
    }
}

/// For BaseTransform's `transform_caps`: see [`hand_on::transform`]. Frames of another size go on without tensors, whose place
/// is in pixels of the incoming frame.
pub(super) fn transform(
    settings: &Settings,
    direction: gst::PadDirection,
    from: &gst::Caps,
    filter: Option<&gst::Caps>,
) -> gst::Caps {
    let Some(format) = format(settings.output) else { return hand_on::transform(direction, from, filter) };
    let resized = settings.is_model_sized();
    let other = if direction == gst::PadDirection::Src {
        let made = made(&gst::Caps::new_empty_simple("video/x-raw"), format, resized);
        caps::consumed(direction, &any_format(&from.intersect(&made), resized), None)
    } else {
        made(&caps::without_tensors(from), format, resized)
    };
    if !resized {
        return hand_on::with_tensors(direction, other, filter);
    }
    match filter {
        Some(filter) => filter.intersect_with_mode(&other, gst::CapsIntersectMode::First),
        None => other,
    }
}

/// The same rates, and unless frames are resized the same sizes, in this format in system memory: GStreamer 1.22 has no GRAY16 in
/// CUDA memory.
fn made(caps: &gst::Caps, format: VideoFormat, resized: bool) -> gst::Caps {
    let mut out = gst::Caps::new_empty();
    for structure in caps.iter() {
        let mut s = without_picture(structure, resized);
        s.set("format", format.to_str());
        if resized {
            // Without a range these would be fixed caps, about which no element downstream is asked.
            for side in ["width", "height"] {
                s.set(side, gst::IntRange::new(1, i32::MAX));
            }
        }
        out.merge_structure(s);
    }
    out
}

/// The same in any format and memory.
fn any_format(caps: &gst::Caps, resized: bool) -> gst::Caps {
    let mut out = gst::Caps::new_empty();
    for features in [CUDA_MEMORY, gst::CAPS_FEATURE_MEMORY_SYSTEM_MEMORY.as_str()] {
        for structure in caps.iter() {
            let s = without_picture(structure, resized);
            out.merge_structure_full(s, Some(gst::CapsFeatures::new([features])));
        }
    }
    out
}

fn without_picture(structure: &gst::StructureRef, resized: bool) -> gst::Structure {
    let mut s = structure.to_owned();
    for field in ["format", "colorimetry", "chroma-site"] {
        s.remove_field(field);
    }
    if resized {
        for field in ["width", "height", "pixel-aspect-ratio"] {
            s.remove_field(field);
        }
    }
    s
}

/// The cells of the map that show the frame, from what the caps say of how frames fill the network's input. Where they say
/// nothing, frames fill all of it.
///
/// # Errors
/// A sentence.
pub(super) fn region(plan: &TensorMapPlan, incoming: &gst::CapsRef) -> Result<Region, String> {
    let frame = caps::frame_size(incoming);
    let structure = incoming.structure(0);
    let word = structure.and_then(|s| strings::field(s, caps::RESIZE));
    let resize = word.and_then(|word| Resize::of_word(&word));
    let size = [plan.shape.width, plan.shape.height];
    let to_frame = match resize {
        Some(resize) => {
            let usual = PreprocParams::default();
            let crop_ratio =
                structure.and_then(|s| s.get::<f64>(caps::CROP_RATIO).ok()).unwrap_or(usual.crop_ratio);
            let [width, height] = plan.input;
            let source = FrameFormat {
                pixels: PixelFormat::Rgb,
                width: frame[0],
                height: frame[1],
                matrix: Matrix::Bt601,
                range: Range::Full,
            };
            let params = PreprocParams { width, height, resize, crop_ratio, ..usual };
            Preproc::new(source, params).map_err(|e| e.to_string())?.affine()
        }
        None => {
            let scale = [0, 1].map(|axis| frame[axis] as f64 / plan.input[axis] as f64);
            Affine::upright(scale, [0.0, 0.0])
        }
    };
    Region::inside(size, plan.input, &to_frame, frame).map_err(|e| e.to_string())
}

/// Chooses the size of frames that show `region`, and the shape of their pixels: stretched, they show what the frame showed.
pub(super) fn fixate(region: &Region, incoming: &gst::CapsRef, other: &mut gst::Caps) {
    let side = |v: usize| i32::try_from(v).unwrap_or(i32::MAX);
    let [width, height] = region.size.map(side);
    let input = incoming.structure(0);
    let aspect = input.and_then(|s| s.get::<gst::Fraction>("pixel-aspect-ratio").ok());
    let aspect = aspect.unwrap_or_else(|| gst::Fraction::new(1, 1));
    let stretched = input.and_then(|s| strings::field(s, caps::RESIZE)).is_none_or(|word| word == "stretch");
    let [frame_width, frame_height] = caps::frame_size(incoming).map(side);
    let aspect = if stretched {
        // Of 32 bits each: GStreamer's multiplication says where they are not enough.
        let ratio = |a: i32, b: i32| gst::Fraction::new(a.max(1), b.max(1));
        multiplied(multiplied(aspect, ratio(frame_width, width)), ratio(height, frame_height))
    } else {
        aspect
    };
    for structure in other.make_mut().iter_mut() {
        structure.fixate_field_nearest_int("width", width);
        structure.fixate_field_nearest_int("height", height);
        if structure.has_field("pixel-aspect-ratio") {
            structure.fixate_field_nearest_fraction("pixel-aspect-ratio", aspect);
        } else {
            structure.set("pixel-aspect-ratio", aspect);
        }
    }
}

/// The product; the first factor if it has no room in 32 bits.
fn multiplied(a: gst::Fraction, b: gst::Fraction) -> gst::Fraction {
    let wide = |v: i32| i64::from(v);
    let (mut n, mut d) = (wide(a.numer()) * wide(b.numer()), wide(a.denom()) * wide(b.denom()));
    let (mut x, mut y) = (n, d);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (n, d) = (n / x.max(1), d / x.max(1));
    match (i32::try_from(n), i32::try_from(d)) {
        (Ok(n), Ok(d)) if n > 0 && d > 0 => gst::Fraction::new(n, d),
        _ => a,
    }
}
