//! Live sources whose line is too slow for them, and files that are paced as one.

use cudainfer_tests::{model, run, scratch, until};

use crate::fleet::{ends, ends_undisturbed, fleet, frames_come, of};

/// A line that takes 20 frames a second.
const SLOW: &str = "[pipeline.slow]\nline = \"identity sleep-time=50000\"\n";

/// A camera with this number of frames a second.
fn ball(name: &str, pipeline: &str, rate: u32, more: &str) -> String {
    format!(
        "[[source]]\nname = \"{name}\"\nuri = \"test://ball?width=64&height=48&rate={rate}\"\npipeline = \"{pipeline}\"\n{more}\n"
    )
}

#[test]
fn a_camera_that_is_too_fast_for_its_line_loses_frames_and_stays_up_to_date() {
    let fleet = fleet(
        &(SLOW.to_owned() + &ball("door", "slow", 100, "") + &ball("all", "slow", 100, "max-latency = 0")),
    );
    frames_come(&fleet, "door", 100);
    let status = of(&fleet, "door");
    assert!(status.dropped > status.frames, "four of five are dropped: {status:?}");
    // Without that, 100 frames would be 4 s late.
    assert!(status.lag.is_some_and(|lag| lag < 2.0), "{status:?}");
    assert!(status.restarts.is_empty(), "{status:?}");
    let page = fleet.own_metrics();
    assert!(page.contains("cudainfer_serve_stream_dropped_total{stream=\"door\"} "), "{page}");
    assert!(page.contains("cudainfer_serve_stream_lag_seconds{stream=\"door\"} "), "{page}");
    until("frames of a source that drops none are late", || {
        of(&fleet, "all").lag.is_some_and(|lag| lag > 2.0)
    });
    assert_eq!(of(&fleet, "all").dropped, 0);
    assert_eq!(of(&fleet, "bystander").dropped, 0);
    ends_undisturbed(&fleet);
}

#[test]
fn a_line_that_is_slow_after_its_network_takes_no_turns_of_the_others() {
    let line = format!(
        "[pipeline.turns]\nline = \"fusedpreproc ! trtinfer model={} ! gpunms ! identity name=after\"\n",
        model("detector")
    );
    let slow = "override = { \"after.sleep-time\" = 1000000 }\nrestart = { stall = 60 }";
    let fleet = fleet(&(line + &ball("quick", "turns", 20, "") + &ball("slow", "turns", 20, slow)));
    frames_come(&fleet, "slow", 8);
    let (quick, slow) = (of(&fleet, "quick"), of(&fleet, "slow"));
    assert!(slow.dropped > 4 * slow.frames, "{slow:?}");
    assert!(quick.frames > 4 * slow.frames, "{quick:?}, {slow:?}");
    for status in [quick, slow] {
        assert!(status.restarts.is_empty() && status.last_error.is_none(), "{status:?}");
    }
    ends_undisturbed(&fleet);
}

#[test]
fn a_file_is_paced_before_its_line_or_loses_nothing() {
    let file = scratch("paced").join("paced.mkv");
    run(&format!(
        "videotestsrc num-buffers=100 ! video/x-raw,width=64,height=48,framerate=50/1 ! jpegenc ! matroskamux ! filesink location={}",
        file.display()
    ))
    .succeeds();
    let source = |name: &str, more: &str| {
        format!(
            "[[source]]\nname = \"{name}\"\nuri = \"file://{}\"\npipeline = \"slow\"\n{more}\n",
            file.display()
        )
    };
    let fleet = fleet(&(SLOW.to_owned() + &source("paced", "") + &source("read", "live = false")));
    let (paced, read) = (ends(&fleet, "paced"), ends(&fleet, "read"));
    assert_eq!(paced.frames + paced.dropped, 100, "{paced:?}");
    assert!(paced.frames > 10, "the source is not read at once: {paced:?}");
    assert!(paced.dropped > 30, "the line takes two of five: {paced:?}");
    assert_eq!((read.frames, read.dropped, read.lag), (100, 0, None), "{read:?}");
    for status in [paced, read] {
        assert!(status.restarts.is_empty() && status.last_error.is_none(), "{status:?}");
    }
    ends_undisturbed(&fleet);
}
