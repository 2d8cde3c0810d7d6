//! The number of a frame is that of the decoded frame in the file. Each frame of these files shows its own number.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use cudainfer_tests::{TestPipeline, end, push, scratch};
use gst::prelude::*;
use serde_json::Value;

const FRAMES: u64 = 150;
const WIDTH: usize = 160;
const HEIGHT: usize = 32;
/// The columns of a digit of a frame's number: black for 0, white for 1, from the left.
const DIGIT: usize = 16;
const DIGITS: usize = WIDTH / DIGIT;

/// A picture of a number.
fn picture(number: u64) -> Vec<u8> {
    let row: Vec<u8> =
        (0..WIDTH).map(|x| if number >> (DIGITS - 1 - x / DIGIT) & 1 == 1 { 220 } else { 30 }).collect();
    row.repeat(HEIGHT)
}

/// The number that a decoded picture shows; `None` where a digit is neither black nor white throughout, as in a damaged one.
fn number(luma: &[u8], stride: usize) -> Option<u64> {
    (0..DIGITS).try_fold(0, |number, digit| {
        let inner = digit * DIGIT + 4..(digit + 1) * DIGIT - 4;
        let mut pixels = (4..HEIGHT - 4).flat_map(|y| &luma[y * stride..][inner.clone()]);
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
        assert!(found.len() > 50 && missing == 0, "{name}: {}", found.len());
        for (at, (number, shown)) in found.iter().enumerate() {
            assert_eq!(*number, at as u64, "{name}");
            assert!(shown.is_none_or(|shown| shown == number + first), "{name}: {number} shows {shown:?}");
        }
    }
}

#[test]
fn damaged_frames_leave_a_gap_and_shift_nobody() {
    let folder = scratch("damaged");
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
            // So small are the pictures that 900 bytes hold some dozens.
            assert!(missing > 0 && missing < 75, "{share} of {name}: {missing} are missing");
            let right = found.iter().filter(|(number, shown)| Some(*number) == *shown).count();
            let others: Vec<_> = found.iter().filter(|(number, shown)| Some(*number) != *shown).collect();
            // What a decoder conceals shows what was there before.
            assert!(others.len() < 25 && right > 75, "{share} of {name}: {others:?}");
            let (last, shown) = found[found.len() - 1];
            assert_eq!(Some(last), shown, "{share} of {name}");
        }
    }
}
