//! The property `stats`: it counts what happened.

use cudainfer_tests::{Line, model, scratch};
use gst::prelude::*;

/// One of the counts of the element `name`.
fn count(line: &Line, name: &str, field: &str) -> u64 {
    let stats = line.element(name).property::<gst::Structure>("stats");
    stats.get(field).unwrap_or_else(|e| panic!("{name}: {e}: {stats}"))
}

#[test]
fn tracker_and_inferpublish_count_what_they_did() {
    let line = Line::start(&format!(
        "videotestsrc num-buffers=6 pattern=red ! fusedpreproc ! trtinfer model={} ! gpunms nms=none confidence=0.2 \
         ! tracker name=tracker new-confidence=0.95 ! inferpublish name=publish location={} ! fakesink",
        model("detector"),
        scratch("stats").join("lines.json").display()
    ));
    line.wait().succeeds();
    for name in ["tracker", "publish"] {
        assert_eq!(count(&line, name, "frames"), 6);
        assert!(count(&line, name, "host-ns") > 0);
        // The names that all elements have, also where nothing of the kind can happen.
        for field in
            ["launches", "host-to-device-bytes", "host-waits", "allocations", "fallbacks", "gpu-samples"]
        {
            assert_eq!(count(&line, name, field), 0, "{name} {field}");
        }
    }
    assert_eq!(count(&line, "tracker", "detections"), 12, "a strong box and a weak one in each frame");
    assert_eq!(count(&line, "tracker", "untracked"), 6, "the weak one never starts a track");
    assert_eq!(count(&line, "publish", "objects"), 12);
    for (field, wanted) in [("written", 6), ("failed", 0), ("dropped", 0)] {
        assert_eq!(count(&line, "publish", field), wanted, "{field}");
    }
}

#[test]
fn counts_stay_until_the_next_start_and_then_begin_anew() {
    let line = Line::start(
        "videotestsrc num-buffers=3 ! tracker name=tracker ! inferpublish name=publish location=/dev/null ! fakesink",
    );
    line.wait().succeeds();
    line.reach(gst::State::Ready);
    for name in ["tracker", "publish"] {
        assert_eq!(count(&line, name, "frames"), 3);
    }
    line.reach(gst::State::Playing);
    line.wait().succeeds();
    line.stop();
    for name in ["tracker", "publish"] {
        assert_eq!(count(&line, name, "frames"), 3);
    }
}

#[test]
fn inferpublish_counts_the_frames_whose_record_could_not_be_written() {
    let line =
        Line::start("videotestsrc ! inferpublish name=publish location=/dev/full disk-full=stop ! fakesink");
    line.wait().fails_with(&["publish", "/dev/full", "cannot be written"]);
    line.stop();
    let frames = count(&line, "publish", "frames");
    assert!(frames > 0);
    assert_eq!((count(&line, "publish", "failed"), count(&line, "publish", "written")), (frames, 0));
}
