//! Which caps become which.

use crate::memory::caps;

/// What can come out of the source pad for `incoming` caps, or go into the sink pad for `outgoing` ones, in order of
/// preference. `gpu` says whether frames can be taken to the GPU.
///
/// Into CUDA memory comes before staying in system memory, and frames that are there already before frames to upload.
pub(super) fn transform(direction: gst::PadDirection, from: &gst::Caps, gpu: bool) -> gst::Caps {
    if !gpu {
        return from.clone();
    }
    if direction == gst::PadDirection::Sink {
        let mut to = caps::to_cuda(from);
        to.merge(from.clone());
        to
    } else {
        let mut to = from.clone();
        to.merge(caps::to_system(from));
        to
    }
}

/// Of the caps that are possible on the source pad, those in CUDA memory if there are any.
///
/// A peer may name system memory first although it takes both; uploading is what this element is there for.
pub(super) fn prefer_cuda(possible: gst::Caps) -> gst::Caps {
    caps::prefer(possible, true)
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    fn caps(text: &str) -> gst::Caps {
        gst::init().unwrap();
        gst::Caps::from_str(text).unwrap()
    }

    const SYSTEM: &str = "video/x-raw, format=NV12, width=64, height=48";
    const CUDA: &str = "video/x-raw(memory:CUDAMemory), format=NV12, width=64, height=48";
    const GREY: &str = "video/x-raw, format=GRAY8, width=64, height=48";

    #[test]
    fn with_a_gpu_frames_may_go_up_but_never_down() {
        let both = caps(&format!("{CUDA}; {SYSTEM}"));
        assert_eq!(transform(gst::PadDirection::Sink, &caps(SYSTEM), true), both);
        assert_eq!(transform(gst::PadDirection::Sink, &caps(CUDA), true), caps(CUDA));
        assert_eq!(transform(gst::PadDirection::Src, &caps(CUDA), true), both);
        assert_eq!(transform(gst::PadDirection::Src, &caps(SYSTEM), true), caps(SYSTEM));
    }

    #[test]
    fn without_a_gpu_nothing_changes() {
        for text in [SYSTEM, CUDA, GREY] {
            for direction in [gst::PadDirection::Sink, gst::PadDirection::Src] {
                assert_eq!(transform(direction, &caps(text), false), caps(text));
            }
        }
    }

    #[test]
    fn a_format_cuda_memory_cannot_hold_stays_in_system_memory() {
        assert_eq!(transform(gst::PadDirection::Sink, &caps(GREY), true), caps(GREY));
    }

    #[test]
    fn cuda_memory_wins_whatever_the_peer_names_first() {
        assert_eq!(prefer_cuda(caps(&format!("{SYSTEM}; {CUDA}"))), caps(CUDA));
        assert_eq!(prefer_cuda(caps(SYSTEM)), caps(SYSTEM));
    }
}
