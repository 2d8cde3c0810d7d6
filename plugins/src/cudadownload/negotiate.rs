//! Which caps become which.

use crate::memory::caps;

/// What can come out of the source pad for `incoming` caps, or go into the sink pad for `outgoing` ones, in order of
/// preference. `gpu` says whether frames can be taken from the GPU.
///
/// Into system memory comes before staying on the GPU, and frames that are there already before frames to download.
pub(super) fn transform(direction: gst::PadDirection, from: &gst::Caps, gpu: bool) -> gst::Caps {
    if !gpu {
        return from.clone();
    }
    if direction == gst::PadDirection::Sink {
        let mut to = caps::to_system(from);
        to.merge(from.clone());
        to
    } else {
        let mut to = from.clone();
        to.merge(caps::to_cuda(from));
        to
    }
}

/// Of the caps that are possible on the source pad, those outside of CUDA memory if there are any.
///
/// A peer may name CUDA memory first although it takes both; downloading is what this element is there for.
pub(super) fn prefer_system(possible: gst::Caps) -> gst::Caps {
    caps::prefer(possible, false)
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
    fn with_a_gpu_frames_may_come_down_but_never_go_up() {
        assert_eq!(transform(gst::PadDirection::Sink, &caps(CUDA), true), caps(&format!("{SYSTEM}; {CUDA}")));
        assert_eq!(transform(gst::PadDirection::Sink, &caps(SYSTEM), true), caps(SYSTEM));
        assert_eq!(
            transform(gst::PadDirection::Src, &caps(SYSTEM), true),
            caps(&format!("{SYSTEM}; {CUDA}"))
        );
        assert_eq!(transform(gst::PadDirection::Src, &caps(CUDA), true), caps(CUDA));
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
    fn a_format_cuda_memory_cannot_hold_is_not_asked_for_there() {
        assert_eq!(transform(gst::PadDirection::Src, &caps(GREY), true), caps(GREY));
    }

    #[test]
    fn system_memory_wins_whatever_the_peer_names_first() {
        assert_eq!(prefer_system(caps(&format!("{CUDA}; {SYSTEM}"))), caps(SYSTEM));
        assert_eq!(prefer_system(caps(CUDA)), caps(CUDA));
    }
}
