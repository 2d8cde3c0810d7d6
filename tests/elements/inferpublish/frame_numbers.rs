//! The number of a frame is that of the decoded frame in the file. Each frame of these files shows its own number.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use cudainfer_tests::{TestPipeline, end, filled, push, scratch};
use gst::prelude::*;
use serde_json::Value;

const FRAMES: u64 = 150;
const WIDTH: usize = 160;
const HEIGHT: usize = 96;
/// The rows from the top that show the number. Those below are noise, so that a frame takes some thousand bytes.
const ROWS: usize = 32;
/// The columns of a digit of a frame's number: black for 0, white for 1, from the left.
const DIGIT: usize = 16;
const DIGITS: usize = WIDTH / DIGIT;

/// A picture of a number.
fn picture(number: u64) -> Vec<u8> {
    let row: Vec<u8> =
        (0..WIDTH).map(|x| if number >> (DIGITS - 1 - x / DIGIT) & 1 == 1 { 220 } else { 30 }).collect();
    // Knuth's linear congruential generator.
    let noise = (0..WIDTH * (HEIGHT - ROWS)).scan(number, |state, _| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some(state.to_be_bytes()[0])
    });
    row.repeat(ROWS).into_iter().chain(noise).collect()
}

/// The number that a decoded picture shows; `None` where a digit is neither black nor white throughout, as in a damaged one.
fn number(luma: &[u8], stride: usize) -> Option<u64> {
    (0..DIGITS).try_fold(0, |number, digit| {
        let inner = digit * DIGIT + 4..(digit + 1) * DIGIT - 4;
        let mut pixels = (4..ROWS - 4).flat_map(|y| &luma[y * stride..][inner.clone()]);
        let first = *pixels.next()? > 125;
        pixels
            .all(|pixel| pixel.abs_diff(if first { 220 } else { 30 }) < 60)
            .then_some(number * 2 + u64::from(first))
    })
}

/// Writes frames at these times in ms to a file.
fn encode(path: &Path, times: impl Iterator<Item = u64>, encoder: &str, muxer: &str) {
    let pipeline = TestPipeline::start(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=GRAY8,width={WIDTH},height={HEIGHT},framerate=25/1 ! videoconvert \
         ! video/x-raw,format=I420 ! x264enc speed-preset=ultrafast {encoder} ! h264parse ! {muxer} ! filesink location={}",
        path.display()
    ));
    let source = pipeline.element("in");
    for (number, ms) in times.enumerate() {
        let mut buffer = gst::Buffer::from_mut_slice(picture(number as u64));
        let buffer_mut = buffer.get_mut().unwrap();
        buffer_mut.set_pts(gst::ClockTime::from_mseconds(ms));
        push(&source, buffer);
    }
    end(&source);
    pipeline.wait().succeeds();
}

/// Of each frame that is decoded the number of its record and the one that it shows, and the element's `frames-missing`.
fn decode(path: &Path) -> (Vec<(u64, Option<u64>)>, u64) {
    let records = path.with_extension("jsonl");
    let pipeline = TestPipeline::new(&format!(
        "filesrc location={} ! decodebin ! videoconvert ! video/x-raw,format=GRAY8 ! inferpublish name=it location={} \
         ! fakesink name=out",
        path.display(),
        records.display()
    ));
    let shown = Arc::new(Mutex::new(Vec::new()));
    let all = shown.clone();
    pipeline.watch("out", move |buffer, _| {
        let bytes = buffer.map_readable().unwrap();
        all.lock().unwrap().push(number(&bytes, WIDTH));
    });
    pipeline.play();
    // A decoder may call a damaged file an error: what was decoded counts.
    let _ = pipeline.wait();
    let missing = pipeline.element("it").property::<gst::Structure>("stats").get("frames-missing").unwrap();
    pipeline.stop();
    let text = std::fs::read_to_string(&records).unwrap();
    let number = |line: &str| serde_json::from_str::<Value>(line).unwrap()["frame"].as_u64().unwrap();
    let shown = std::mem::take(&mut *shown.lock().unwrap());
    (text.lines().map(number).zip(shown).collect(), missing)
}

/// A file with a steady rate, B-frames and a key frame a second.
fn steady(folder: &Path, encoder: &str, muxer: &str, name: &str) -> PathBuf {
    let path = folder.join(name);
    encode(&path, (0..FRAMES).map(|i| i * 40), &format!("key-int-max=25 {encoder}"), muxer);
    path
}

#[test]
fn frames_of_whole_files_are_numbered_as_they_are_decoded() {
    let folder = scratch("whole");
    for (name, encoder, muxer) in [
        ("plain.ts", "tune=zerolatency", "mpegtsmux"),
        ("b.mp4", "bframes=3 b-adapt=false", "mp4mux"),
        ("open.mkv", "bframes=3 b-adapt=false option-string=open-gop=1", "matroskamux"),
    ] {
        let (found, missing) = decode(&steady(&folder, encoder, muxer, name));
        let wanted: Vec<_> = (0..FRAMES).map(|i| (i, Some(i))).collect();
        assert_eq!((found, missing), (wanted, 0), "{name}");
    }
    // A camera that skips: the file has no frames there, and others count none.
    let times = || (0..FRAMES).map(|i| 40 * (i + i / 40) + u64::from(i % 7 == 6 && i < 60) * 13);
    for (name, encoder, muxer) in [
        ("varies.mp4", "bframes=0", "mp4mux"),
        ("varies-b.mp4", "bframes=3 b-adapt=false", "mp4mux"),
        ("varies.mkv", "bframes=0", "matroskamux"),
    ] {
        let path = folder.join(name);
        encode(&path, times(), encoder, muxer);
        let (found, missing) = decode(&path);
        let wanted: Vec<_> = (0..FRAMES).map(|i| (i, Some(i))).collect();
        assert_eq!((found, missing), (wanted, 0), "{name}");
    }
}

#[test]
fn what_is_cut_off_begins_at_0_and_ends_where_it_ends() {
    let folder = scratch("cut");
    let path = steady(&folder, "bframes=3 b-adapt=false", "mpegtsmux", "whole.ts");
    let bytes = std::fs::read(&path).unwrap();
    for (name, part) in
        [("end.ts", 0..bytes.len() * 6 / 10), ("middle.ts", bytes.len() * 3 / 10..bytes.len())]
    {
        let path = folder.join(name);
        std::fs::write(&path, &bytes[part]).unwrap();
        let (found, missing) = decode(&path);
        let first = found.iter().find_map(|(number, shown)| Some((*shown)? - number)).unwrap();
        // Of the last frame of all, there may be too little to show.
        assert!(found.len() > 50 && missing < 3, "{name}: {}, {missing} missing", found.len());
        assert_eq!(found[0].0, 0, "{name}");
        // A frame that is cut off shows what was there before.
        let others: Vec<_> = found
            .iter()
            .filter(|(number, shown)| shown.is_some_and(|shown| shown != number + first))
            .collect();
        assert!(others.len() < 3, "{name}: {others:?}");
    }
}

#[test]
fn damaged_frames_leave_a_gap_and_shift_nobody() {
    let folder = scratch("damaged");
    let mut all = 0;
    for (name, muxer) in [("whole.ts", "mpegtsmux"), ("whole.mp4", "mp4mux")] {
        let path = steady(&folder, "bframes=3 b-adapt=false", muxer, name);
        let bytes = std::fs::read(&path).unwrap();
        for share in [3, 5, 7] {
            let mut damaged = bytes.clone();
            let from = bytes.len() * share / 10;
            damaged[from..from + 900].fill(0);
            let path = folder.join(format!("damaged-{share}-{name}"));
            std::fs::write(&path, &damaged).unwrap();
            let (found, missing) = decode(&path);
            assert!(missing < 10, "{share} of {name}: {missing} are missing");
            all += missing;
            let right = found.iter().filter(|(number, shown)| Some(*number) == *shown).count();
            let others: Vec<_> = found.iter().filter(|(number, shown)| Some(*number) != *shown).collect();
            // What a decoder conceals shows what was there before.
            assert!(others.len() < 40 && right > 100, "{share} of {name}: {others:?}");
            let (last, shown) = found[found.len() - 1];
            assert_eq!(Some(last), shown, "{share} of {name}");
        }
    }
    assert!(all > 0, "no frame was lost");
}

#[test]
fn a_seek_without_a_flush_is_no_loss() {
    let file = scratch("no-flush").join("lines.json");
    let pipeline = TestPipeline::new(&format!(
        "inferpublish name=publish location={} ! fakesink name=out async=false",
        file.display()
    ));
    let pad = gst::Pad::builder(gst::PadDirection::Src).build();
    pad.set_active(true).unwrap();
    pad.link(&pipeline.element("publish").static_pad("sink").unwrap()).unwrap();
    pipeline.play();
    pad.push_event(gst::event::StreamStart::new("seeks"));
    let caps = "video/x-raw,format=RGB,width=8,height=8,framerate=100/1";
    pad.push_event(gst::event::Caps::new(&caps.parse().unwrap()));
    // Twenty frames from the begin, and twenty from the eighth second.
    for begin in [0, 800] {
        let mut segment = gst::FormattedSegment::<gst::ClockTime>::new();
        segment.set_start(gst::ClockTime::from_mseconds(10 * begin));
        segment.set_time(gst::ClockTime::from_mseconds(10 * begin));
        pad.push_event(gst::event::Segment::new(&segment));
        for frame in begin..begin + 20 {
            pad.push(filled(8 * 8 * 3, 0, frame)).unwrap();
        }
    }
    pad.push_event(gst::event::Eos::new());
    let report = pipeline.wait().succeeds();
    assert!(!report.warnings.iter().any(|warning| warning.contains("missing")), "{report:?}");
    let numbers: Vec<_> = crate::lines(&file).iter().map(|line| line["frame"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..40).collect::<Vec<_>>());
}
