//! Recordings of a camera's encoded video.

use cudainfer_tests::{buffers, run, scratch, until};

use crate::fleet::{ends_undisturbed, fleet, frames_come, of};

/// Many cameras send the parameter sets that a decoder needs (VPS, SPS and PPS) only when the connection begins: every recording
/// must have them.
#[test]
fn a_recording_plays_though_the_camera_has_sent_its_parameter_sets_at_its_begin_only() {
    let folder = scratch("recorded");
    let video = folder.join("video.h265");
    run(&format!(
        "videotestsrc num-buffers=400 pattern=ball ! video/x-raw,format=I420,width=64,height=48,framerate=20/1 \
         ! x265enc key-int-max=10 speed-preset=ultrafast ! video/x-h265,stream-format=byte-stream ! filesink location={}",
        video.display()
    ))
    .succeeds();
    let fleet = fleet(&format!(
        "[server]\nstate = \"{}\"\n[[source]]\nname = \"camera\"\nuri = \"file://{}\"\npipeline = \"plain\"\n\
         record = {{ on = [\"zone\"], pre = 0.5, post = 0.5 }}\n",
        folder.display(),
        video.display()
    ));
    frames_come(&fleet, "camera", 60);
    fleet.begin_recording("camera").unwrap();
    let written = || of(&fleet, "camera").outputs.recordings.map_or(0, |counts| counts.written);
    until("it is recorded", || written() == 1);
    let mut recordings = std::fs::read_dir(folder.join("kept/recordings/camera")).unwrap();
    let file = recordings.next().unwrap().unwrap().path();
    let frames = buffers(&format!(
        "filesrc location={} ! decodebin ! videoconvert ! fakesink name=out",
        file.display()
    ));
    assert!(frames.len() >= 20, "{} frames", frames.len());
    ends_undisturbed(&fleet);
}
