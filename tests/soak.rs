//! Memory, threads and files over many cycles. One test only: it measures its own process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests, which clippy does not know as such

use cudainfer_tests::resources::{entries, memory as in_use};
use cudainfer_tests::{TestPipeline, model, until};
use gst::prelude::*;

/// Half of them to warm up: GStreamer's pools and ONNX Runtime's fill.
const CYCLES: usize = 800;

/// What a cycle of the second half may leave in memory on average, in KiB: far below a leaked frame (225 KiB), tensor
/// (48 KiB), session (above 100 KiB) or frame's objects.
const GROWTH: usize = 2;

#[test]
fn hundreds_of_cycles_leave_memory_threads_and_files_as_they_were() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=5 ! video/x-raw,format=I420,width=320,height=480 ! cudainferupload ! fusedpreproc \
         ! trtinfer model={} workers=2 ! gpunms ! tracker ! zonecount zones=all=polygon:0,0,320,0,320,480,0,480 \
         ! inferoverlay ! inferpublish location=/dev/null ! tee name=t \
         t. ! queue ! fakesink \
         t. ! queue ! fusedpreproc ! trtinfer model={} workers=2 ! peakfind ! fakesink",
        model("detector"),
        model("heat-maps")
    ));
    let mut memory = Vec::new();
    let (mut threads, mut files) = (0, 0);
    for cycle in 0..CYCLES {
        pipeline.play();
        // Two of three cycles end in the middle.
        if cycle % 3 == 0 {
            pipeline.wait().succeeds();
        } else {
            std::thread::sleep(std::time::Duration::from_millis(cycle as u64 % 7));
        }
        pipeline.stop();
        while pipeline.bus().unwrap().pop().is_some() {}
        memory.push(in_use());
        if cycle == CYCLES / 2 - 1 {
            (threads, files) = (entries("/proc/self/task"), entries("/proc/self/fd"));
        }
    }
    // The least of ten cycles in a row: memory that is really in use, without memory that is just being released.
    let least = |from: usize| *memory[from..from + 10].iter().min().unwrap();
    let (early, late) = (least(CYCLES / 2 - 10), least(CYCLES - 10));
    let grown = late.saturating_sub(early) / (CYCLES / 2);
    println!("{memory:?}\nin use: {early} KiB after {} cycles, {late} KiB after {CYCLES}", CYCLES / 2);
    assert!(grown < GROWTH, "{grown} KiB a cycle: {memory:?}");
    // GStreamer keeps a few threads of its pool for reuse.
    until(&format!("no more than two threads beside the {threads}"), || {
        entries("/proc/self/task") <= threads + 2
    });
    assert!(entries("/proc/self/fd") <= files, "{files} open files became {}", entries("/proc/self/fd"));
}
