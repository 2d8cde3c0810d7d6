//! The caps of the frames on both pads.

use gst_video::VideoFormat;

use super::settings::Output;
use crate::caps;
use crate::decoding::hand_on;
use crate::memory::caps::CUDA_MEMORY;

/// Formats whose alpha channel the mask can become, which fusedpreproc reads and compositors take as they are.
const WITH_ALPHA: [VideoFormat; 2] = [VideoFormat::Rgba, VideoFormat::Bgra];

/// For BaseTransform's `transform_caps`: see [`hand_on::transform`].
pub(super) fn transform(
    output: Output,
    direction: gst::PadDirection,
    from: &gst::Caps,
    filter: Option<&gst::Caps>,
) -> gst::Caps {
    match output {
        Output::Meta | Output::DeoVr => hand_on::transform(direction, from, filter),
        Output::Alpha => {
            let other = hand_on::transform(direction, from, filter);
            let formats = || gst_video::VideoCapsBuilder::new().format_list(WITH_ALPHA);
            let mut allowed = formats().features([CUDA_MEMORY]).build();
            allowed.merge(formats().build());
            allowed.merge(caps::with_feature(&allowed));
            other.intersect_with_mode(&allowed, gst::CapsIntersectMode::First)
        }
        Output::Gray => {
            let other = if direction == gst::PadDirection::Src {
                caps::consumed(direction, &any_format(&from.intersect(&gray(&any_size()))), None)
            } else {
                gray(&caps::without_tensors(from))
            };
            hand_on::with_tensors(direction, other, filter)
        }
    }
}

fn any_size() -> gst::Caps {
    gst::Caps::new_empty_simple("video/x-raw")
}

/// The same sizes and rates as GRAY8 in system memory: GStreamer 1.22 has no GRAY8 in CUDA memory.
fn gray(caps: &gst::Caps) -> gst::Caps {
    let mut out = gst::Caps::new_empty();
    for structure in caps.iter() {
        let mut s = colourless(structure);
        s.set("format", VideoFormat::Gray8.to_str());
        out.merge_structure(s);
    }
    out
}

/// The same sizes and rates in any format and memory.
fn any_format(caps: &gst::Caps) -> gst::Caps {
    let mut out = gst::Caps::new_empty();
    for features in [CUDA_MEMORY, gst::CAPS_FEATURE_MEMORY_SYSTEM_MEMORY.as_str()] {
        for structure in caps.iter() {
            out.merge_structure_full(colourless(structure), Some(gst::CapsFeatures::new([features])));
        }
    }
    out
}

fn colourless(structure: &gst::StructureRef) -> gst::Structure {
    let mut s = structure.to_owned();
    for field in ["format", "colorimetry", "chroma-site"] {
        s.remove_field(field);
    }
    s
}
