//! The property `stats`: it counts what happened.

use cudainfer_tests::{TestPipeline, model, scratch};
use gst::prelude::*;

/// One of the counts of the element `name`.
fn count(pipeline: &TestPipeline, name: &str, field: &str) -> u64 {
    let stats = pipeline.element(name).property::<gst::Structure>("stats");
    stats.get(field).unwrap_or_else(|e| panic!("{name}: {e}: {stats}"))
}

#[test]
fn tracker_and_inferpublish_count_what_they_did() {
    let pipeline = TestPipeline::start(&format!(
        "videotestsrc num-buffers=6 pattern=red ! fusedpreproc ! trtinfer model={} ! gpunms nms=none confidence=0.2 \
         ! tracker name=tracker new-confidence=0.95 ! inferpublish name=publish location={} ! fakesink",
        model("detector"),
        scratch("stats").join("lines.json").display()
    ));
    pipeline.wait().succeeds();
    for name in ["tracker", "publish"] {
        assert_eq!(count(&pipeline, name, "frames"), 6);
        assert!(count(&pipeline, name, "host-ns") > 0);
        // All elements have these counts, also those in which such a thing cannot happen.
        for field in
            ["launches", "host-to-device-bytes", "host-waits", "allocations", "fallbacks", "gpu-samples"]
        {
            assert_eq!(count(&pipeline, name, field), 0, "{name} {field}");
        }
    }
    assert_eq!(count(&pipeline, "tracker", "detections"), 12, "a strong box and a weak one in each frame");
    assert_eq!(count(&pipeline, "tracker", "untracked"), 6, "the weak one never starts a track");
    assert_eq!(count(&pipeline, "publish", "objects"), 12);
    for (field, wanted) in [("written", 6), ("failed", 0), ("dropped", 0)] {
        assert_eq!(count(&pipeline, "publish", field), wanted, "{field}");
    }
}

#[test]
fn counts_stay_until_the_next_start_and_then_begin_anew() {
    let pipeline = TestPipeline::start(
        "videotestsrc num-buffers=3 ! tracker name=tracker ! inferpublish name=publish location=/dev/null ! fakesink",
    );
    pipeline.wait().succeeds();
    pipeline.reach(gst::State::Ready);
    for name in ["tracker", "publish"] {
        assert_eq!(count(&pipeline, name, "frames"), 3);
    }
    pipeline.reach(gst::State::Playing);
    pipeline.wait().succeeds();
    pipeline.stop();
    for name in ["tracker", "publish"] {
        assert_eq!(count(&pipeline, name, "frames"), 3);
    }
}

#[test]
fn inferpublish_counts_the_frames_whose_record_could_not_be_written() {
    let pipeline = TestPipeline::start(
        "videotestsrc ! inferpublish name=publish location=/dev/full disk-full=stop ! fakesink",
    );
    pipeline.wait().fails_with(&["publish", "/dev/full", "cannot be written"]);
    pipeline.stop();
    let frames = count(&pipeline, "publish", "frames");
    assert!(frames > 0);
    assert_eq!((count(&pipeline, "publish", "failed"), count(&pipeline, "publish", "written")), (frames, 0));
}
