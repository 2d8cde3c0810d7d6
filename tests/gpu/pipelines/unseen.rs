//! Frames that no model sees: what is looked for in frames on the GPU is what is found in those of the CPU.

use super::*;

/// A red ball that moves about, on frames where `path` brings them.
fn found_on(path: &str, device: &str, pre: &str, tracker: &str) -> Vec<Vec<Object>> {
    found(&format!(
        "videotestsrc num-buffers=60 pattern=ball foreground-color=0xffff0000 ! video/x-raw,format=NV12,width=161,height=121,framerate=10/1 {path} \
         ! fusedpreproc device={device} {pre} ! trtinfer model={} ! gpunms ! tracker {tracker} ! fakesink name=out",
        model("extents")
    ))
}

#[test]
#[ignore = "needs a CUDA device"]
fn motion_and_the_flow_in_boxes_are_those_of_the_cpu() {
    for (pre, tracker) in [
        ("interval=2", "between=flow"),
        ("interval=4", "between=flow camera-motion=true"),
        ("motion=gate motion-hold=0 max-idle=1000000000", ""),
        ("roi=motion motion-hold=0 max-idle=1000000000 width=64 height=64", ""),
    ] {
        let on_gpu = found_on("! cudainferupload", "cuda", pre, tracker);
        let on_cpu = found_on("", "cpu", pre, tracker);
        assert_eq!(on_gpu.len(), 60);
        assert!(on_gpu.iter().any(|objects| !objects.is_empty()), "{pre}");
        assert_eq!(on_gpu, on_cpu, "{pre} {tracker}");
    }
}
