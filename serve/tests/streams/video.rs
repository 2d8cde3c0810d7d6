//! Encoded video that changes its size, or is broken, in the middle.

use std::path::Path;

use cudainfer_serve::stream::Reason;
use cudainfer_tests::{run, scratch, until};

use crate::fleet::{ends, ends_undisturbed, fleet, of};

/// The number of frames, at 20 a second, with a key frame in each second.
const FRAMES: usize = 100;

/// H.264 as a byte stream.
fn h264(folder: &Path, width: u32, height: u32) -> Vec<u8> {
    let file = folder.join(format!("{width}.h264"));
    run(&format!(
        "videotestsrc num-buffers={FRAMES} pattern=ball ! video/x-raw,format=I420,width={width},height={height},framerate=20/1 \
         ! x264enc speed-preset=ultrafast key-int-max=20 threads=1 ! video/x-h264,stream-format=byte-stream ! filesink location={}",
        file.display()
    ))
    .succeeds();
    std::fs::read(file).unwrap()
}

/// The ranges of its NAL units, without their start codes.
fn units(stream: &[u8]) -> Vec<std::ops::Range<usize>> {
    let begins: Vec<_> = (3..stream.len()).filter(|at| stream[at - 3..*at] == [0, 0, 1]).collect();
    let ends = begins.iter().skip(1).map(|next| next - 3).chain([stream.len()]);
    begins.iter().copied().zip(ends).map(|(begin, end)| begin..end).collect()
}

/// Noise in the place of every third slice, from a third of the video to two thirds.
fn broken(mut stream: Vec<u8>) -> Vec<u8> {
    let units = units(&stream);
    // Slices, of key frames and others.
    let slices: Vec<_> =
        units.into_iter().filter(|unit| [1, 5].contains(&(stream[unit.start] & 31))).collect();
    let mut noise = 1_u32;
    for unit in slices[slices.len() / 3..slices.len() * 2 / 3].iter().step_by(3) {
        for byte in &mut stream[unit.start + 1..unit.end] {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Bytes that never look like the begin of another unit.
            *byte = (noise >> 24) as u8 | 4;
        }
    }
    stream
}

fn source(name: &str, pipeline: &str, file: &Path, more: &str) -> String {
    format!(
        "[[source]]\nname = \"{name}\"\nuri = \"file://{}\"\npipeline = \"{pipeline}\"\n{more}\n",
        file.display()
    )
}

#[test]
fn a_size_that_changes_does_not_stop_the_stream() {
    let folder = scratch("sizes");
    let file = folder.join("sizes.h264");
    std::fs::write(&file, [h264(&folder, 160, 120), h264(&folder, 320, 240), h264(&folder, 64, 48)].concat())
        .unwrap();
    // With results and drawing, which know the size of frames as well.
    let detect = format!(
        "[pipeline.detect]\nline = \"fusedpreproc ! trtinfer model={} ! gpunms ! tracker ! zonecount zones=all=polygon:0,0,60,0,60,40 ! inferoverlay\"\n",
        cudainfer_tests::model("detector")
    );
    let fleet =
        fleet(&(detect + &source("shown", "plain", &file, "") + &source("detected", "detect", &file, "")));
    for name in ["shown", "detected"] {
        let status = ends(&fleet, name);
        assert!(status.restarts.is_empty() && status.last_error.is_none(), "{status:?}");
        assert_eq!(status.frames + status.dropped, 3 * FRAMES as u64, "{status:?}");
        let caps = status.caps.unwrap();
        assert!(caps.contains("width=(int)64, height=(int)48"), "{caps}");
    }
    ends_undisturbed(&fleet);
}

#[test]
fn broken_video_is_counted_and_starts_the_stream_again_beyond_a_limit_only() {
    let folder = scratch("broken");
    let file = folder.join("broken.h264");
    std::fs::write(&file, broken(h264(&folder, 160, 120))).unwrap();
    let strict = "restart = { decode-errors = 2 }";
    let fleet = fleet(&(source("patient", "plain", &file, "") + &source("strict", "plain", &file, strict)));
    let patient = ends(&fleet, "patient");
    assert!(patient.decode_errors > 2 && patient.decode_errors < 50, "{patient:?}");
    assert!(patient.restarts.is_empty(), "{patient:?}");
    assert!(patient.frames > FRAMES as u64 / 2, "what is not broken is shown: {patient:?}");
    until("the limit is exceeded twice", || of(&fleet, "strict").restarts.get(&Reason::Decode) >= Some(&2));
    let strict = of(&fleet, "strict");
    // It may be playing again.
    let error = strict.last_error.as_deref().or(strict.previous_error.as_deref());
    let expected = format!("'file://{}': the decoder has failed 2 times within a minute", file.display());
    assert_eq!(error, Some(expected.as_str()));
    assert!(strict.attempt >= 2, "the waits grow: {strict:?}");
    assert!(fleet.own_metrics().contains(&format!(
        "cudainfer_serve_decode_errors_total{{stream=\"patient\"}} {}",
        patient.decode_errors
    )));
    ends_undisturbed(&fleet);
}
