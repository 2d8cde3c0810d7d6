//! Caps of frames in GPU memory.

use gst_video::VideoFormat;

/// The caps feature of GStreamer's CUDA memory.
pub const CUDA_MEMORY: &str = "memory:CUDAMemory";

/// The formats that CUDA memory can hold in every version since 1.22 (`GST_CUDA_FORMATS` of its nvcodec plugin, and the
/// cases of its allocator, which aborts the process on any other).
pub const CUDA_FORMATS: [VideoFormat; 28] = [
    VideoFormat::I420,
    VideoFormat::Yv12,
    VideoFormat::Nv12,
    VideoFormat::Nv21,
    VideoFormat::P01010le,
    VideoFormat::P016Le,
    VideoFormat::I42010le,
    VideoFormat::Y444,
    VideoFormat::Y44416le,
    VideoFormat::Bgra,
    VideoFormat::Rgba,
    VideoFormat::Rgbx,
    VideoFormat::Bgrx,
    VideoFormat::Argb,
    VideoFormat::Abgr,
    VideoFormat::Rgb,
    VideoFormat::Bgr,
    VideoFormat::Bgr10a2Le,
    VideoFormat::Rgb10a2Le,
    VideoFormat::Y42b,
    VideoFormat::I42210le,
    VideoFormat::I42212le,
    VideoFormat::Yuy2,
    VideoFormat::Uyvy,
    VideoFormat::Rgbp,
    VideoFormat::Bgrp,
    VideoFormat::Gbr,
    VideoFormat::Gbra,
];

/// `video/x-raw(memory:CUDAMemory)` in every format that CUDA memory can hold.
pub fn any_cuda() -> gst::Caps {
    gst_video::VideoCapsBuilder::new().features([CUDA_MEMORY]).format_list(CUDA_FORMATS).build()
}

/// `video/x-raw` in system memory, in every format.
pub fn any_system() -> gst::Caps {
    gst_video::VideoCapsBuilder::new().build()
}

/// Whether these caps features mean GStreamer's CUDA memory.
pub fn is_cuda(features: &gst::CapsFeaturesRef) -> bool {
    features.contains(CUDA_MEMORY)
}

/// Whether the first structure of `caps` lies in GStreamer's CUDA memory.
pub fn in_cuda(caps: &gst::CapsRef) -> bool {
    caps.features(0).is_some_and(is_cuda)
}

/// The part of `caps` that lies in GStreamer's CUDA memory or, without `cuda`, the part that does not.
pub fn only_memory(caps: &gst::CapsRef, cuda: bool) -> gst::Caps {
    let chosen = caps.iter_with_features().filter(|(_, features)| is_cuda(features) == cuda);
    chosen.map(|(structure, features)| (structure.to_owned(), features.to_owned())).collect()
}

/// That [`part`], or everything where it is empty.
pub fn prefer(possible: gst::Caps, cuda: bool) -> gst::Caps {
    let part = only_memory(&possible, cuda);
    if part.is_empty() { possible } else { part }
}

/// The same video in CUDA memory: the part of `caps` that lies in system memory and in formats CUDA memory can hold.
pub fn to_cuda(caps: &gst::CapsRef) -> gst::Caps {
    let system =
        |features: &gst::CapsFeaturesRef| features.is_equal(gst::CAPS_FEATURES_MEMORY_SYSTEM_MEMORY.as_ref());
    // Nothing but the format, so that caps which leave other fields out stay as they are.
    let formats = gst::List::new(CUDA_FORMATS.map(|format| format.to_str()));
    let holds = gst::Caps::builder("video/x-raw").features([CUDA_MEMORY]).field("format", formats).build();
    moved(caps, CUDA_MEMORY, system).intersect_with_mode(&holds, gst::CapsIntersectMode::First)
}

/// The same video in system memory: the part of `caps` that lies in CUDA memory.
pub fn to_system(caps: &gst::CapsRef) -> gst::Caps {
    moved(caps, gst::CAPS_FEATURE_MEMORY_SYSTEM_MEMORY, is_cuda)
}

fn moved(caps: &gst::CapsRef, feature: &str, chosen: impl Fn(&gst::CapsFeaturesRef) -> bool) -> gst::Caps {
    let chosen = caps.iter_with_features().filter(|(_, features)| chosen(features));
    chosen.map(|(structure, _)| (structure.to_owned(), gst::CapsFeatures::new([feature]))).collect()
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    fn caps(text: &str) -> gst::Caps {
        gst::init().unwrap();
        gst::Caps::from_str(text).unwrap()
    }

    #[test]
    fn formats_that_would_abort_the_allocator_are_never_offered() {
        let all = to_cuda(&any_system_after_init());
        for (structure, features) in all.iter_with_features() {
            assert!(is_cuda(features));
            assert!(
                !structure.get::<gst::List>("format").unwrap().iter().any(|f| f.get::<&str>() == Ok("GRAY8"))
            );
        }
        assert!(to_cuda(&caps("video/x-raw, format=GRAY8")).is_empty());
    }

    fn any_system_after_init() -> gst::Caps {
        gst::init().unwrap();
        any_system()
    }

    #[test]
    fn the_other_fields_stay_when_the_memory_changes() {
        let system = caps("video/x-raw, format=NV12, width=64, height=48, colorimetry=bt709");
        let cuda =
            caps("video/x-raw(memory:CUDAMemory), format=NV12, width=64, height=48, colorimetry=bt709");
        assert_eq!(to_cuda(&system), cuda);
        assert_eq!(to_system(&cuda), system);
    }

    #[test]
    fn memory_of_other_kinds_is_left_alone() {
        let foreign = caps("video/x-raw(memory:GLMemory), format=RGBA");
        assert!(to_cuda(&foreign).is_empty());
        assert!(to_system(&foreign).is_empty());
    }
}
