//! Times ByteTrack of the crate `trackforge` on a MOTChallenge detection file: prints the median microseconds of an update.
//! The frames are repeated for as many seconds as kernels/examples/mot.rs --time repeats them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use trackforge::trackers::byte_track::ByteTrack;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: trackforge-speed DETECTIONS")?;
    let mut frames: BTreeMap<u32, Vec<([f32; 4], f32, i64)>> = BTreeMap::new();
    for line in std::fs::read_to_string(path)?.lines() {
        let v = line.split(',').map(str::parse).collect::<Result<Vec<f32>, _>>()?;
        let [frame, _, x, y, w, h, confidence, ..] = v[..] else { return Err("a line is too short".into()) };
        frames.entry(frame as u32).or_default().push(([x, y, w, h], confidence, 0));
    }
    // The paper's: high from 0.6, new from 0.7, 30 lost frames, IoU 0.2.
    let mut tracker = ByteTrack::new(0.6, 30, 0.8, 0.7);
    let mut times = Vec::new();
    let (begun, long) = (Instant::now(), Duration::from_secs(2));
    'all: loop {
        for frame in frames.values().cloned() {
            let start = Instant::now();
            std::hint::black_box(tracker.update(frame));
            times.push(start.elapsed());
            if begun.elapsed() > long && times.len() > 20 {
                break 'all;
            }
        }
    }
    let first = times.len().min(5);
    let counted = &mut times[first..];
    counted.sort_unstable();
    println!("{}", counted[counted.len() / 2].as_secs_f64() * 1e6);
    Ok(())
}
