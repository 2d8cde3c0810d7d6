//! Which caps become which.

use super::Memory;
use crate::memory::caps;

/// The caps of a pad: frames of any kind, those in this memory first.
pub(crate) fn template(first: Memory) -> gst::Caps {
    let (mut all, others) = match first {
        Memory::System => (caps::any_system(), caps::any_cuda()),
        Memory::Cuda => (caps::any_cuda(), caps::any_system()),
    };
    all.merge(others);
    all
}

/// What can come out of the source pad for caps `from` on the sink pad, or go into the sink pad for those on the source pad, in
/// order of preference. `has_gpu` says whether frames can be taken to `memory`, or from the GPU.
///
/// Frames are taken there rather than left where they are, and frames that are there already come before those that must be taken.
pub(super) fn transform(
    memory: Memory,
    direction: gst::PadDirection,
    from: &gst::Caps,
    has_gpu: bool,
) -> gst::Caps {
    if !has_gpu {
        return from.clone();
    }
    let is_outgoing = direction == gst::PadDirection::Sink;
    let elsewhere =
        if is_outgoing == (memory == Memory::Cuda) { caps::to_cuda(from) } else { caps::to_system(from) };
    let (mut first, then) = if is_outgoing { (elsewhere, from.clone()) } else { (from.clone(), elsewhere) };
    first.merge(then);
    first
}

/// Of the caps that are possible on the source pad, those in `memory` if there are any.
///
/// A peer may name the other memory first although it takes both; taking frames to this one is what the element is there for.
pub(super) fn prefer(memory: Memory, possible: gst::Caps) -> gst::Caps {
    caps::prefer(possible, memory == Memory::Cuda)
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use gst::PadDirection::{Sink, Src};

    use super::*;

    fn caps(text: &str) -> gst::Caps {
        gst::init().unwrap();
        gst::Caps::from_str(text).unwrap()
    }

    const SYSTEM: &str = "video/x-raw, format=NV12, width=64, height=48";
    const CUDA: &str = "video/x-raw(memory:CUDAMemory), format=NV12, width=64, height=48";
    const GREY: &str = "video/x-raw, format=GRAY8, width=64, height=48";

    #[test]
    fn with_a_gpu_frames_may_go_one_way_but_never_the_other() {
        for (memory, here, there) in [(Memory::Cuda, SYSTEM, CUDA), (Memory::System, CUDA, SYSTEM)] {
            let both = caps(&format!("{there}; {here}"));
            assert_eq!(transform(memory, Sink, &caps(here), true), both);
            assert_eq!(transform(memory, Sink, &caps(there), true), caps(there));
            assert_eq!(transform(memory, Src, &caps(there), true), both);
            assert_eq!(transform(memory, Src, &caps(here), true), caps(here));
        }
    }

    #[test]
    fn without_a_gpu_nothing_changes() {
        for memory in [Memory::Cuda, Memory::System] {
            for text in [SYSTEM, CUDA, GREY] {
                for direction in [Sink, Src] {
                    assert_eq!(transform(memory, direction, &caps(text), false), caps(text));
                }
            }
        }
    }

    #[test]
    fn a_format_that_cuda_memory_cannot_hold_stays_in_system_memory_and_is_not_asked_for_in_the_other() {
        assert_eq!(transform(Memory::Cuda, Sink, &caps(GREY), true), caps(GREY));
        assert_eq!(transform(Memory::System, Src, &caps(GREY), true), caps(GREY));
    }

    #[test]
    fn the_elements_memory_wins_whatever_the_peer_names_first() {
        for (memory, here, there) in [(Memory::Cuda, SYSTEM, CUDA), (Memory::System, CUDA, SYSTEM)] {
            assert_eq!(prefer(memory, caps(&format!("{here}; {there}"))), caps(there));
            assert_eq!(prefer(memory, caps(here)), caps(here));
        }
    }
}
