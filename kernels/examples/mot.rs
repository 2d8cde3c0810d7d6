//! Runs a tracker on a MOTChallenge detection file and prints the tracks in the same format.
//!
//! ```text
//! cargo run --release -p cudainfer-kernels --example mot -- --algorithm sort det.txt > tracks.txt
//! ```
//!
//! With `--interval N`, N frames between two have no detections, and the tracks are carried on there.
//! With `--each SETTINGS FOLDER` instead of an algorithm, each line of the file SETTINGS is a run of its own, whose words are parameters, such as
//! `algorithm=auto max-lost=60`; the tracks of the first go to FOLDER/0.txt, and so on.
//! With `--time N` it passes every frame to N trackers in turns, over and over for two seconds, and prints the median
//! microseconds of an update instead.
//!
//! A line is `frame,id,x,y,w,h,confidence,…`; frames count from 1. The boxes that are printed are the filter's.

mod settings;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use cudainfer_kernels::detect::Detection;
use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::track::{TrackParams, Tracker, TrackerInput};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["--each", settings, folder, path] = words[..] {
        return each(settings, Path::new(folder), &read(&std::fs::read_to_string(path)?)?);
    }
    let (algorithm, path, interval, trackers) = match words[..] {
        ["--algorithm", algorithm, path] => (algorithm, path, 0, None),
        ["--algorithm", algorithm, "--interval", interval, path] => {
            (algorithm, path, interval.parse()?, None)
        }
        ["--algorithm", algorithm, "--time", trackers, path] => (algorithm, path, 0, Some(trackers.parse()?)),
        _ => {
            return Err("usage: mot --algorithm NAME [--interval FRAMES | --time TRACKERS] DETECTIONS, or mot --each SETTINGS \
                        FOLDER DETECTIONS"
                .into());
        }
    };
    let params = TrackParams::of(algorithm.parse()?);
    let frames = read(&std::fs::read_to_string(path)?)?;
    if let Some(trackers) = trackers {
        println!("{}", time(&params, &frames, trackers)?);
        return Ok(());
    }
    track(params, &frames, interval, std::io::stdout())
}

/// Runs a tracker for each line of the file `settings`.
fn each(settings: &str, folder: &Path, frames: &Frames) -> Result<(), Box<dyn Error>> {
    for (number, line) in std::fs::read_to_string(settings)?.lines().enumerate() {
        let params = settings::params(line.split_whitespace(), false)?;
        track(params, frames, 0, std::fs::File::create(folder.join(format!("{number}.txt")))?)?;
    }
    Ok(())
}

/// Runs a tracker over the frames and writes its tracks.
fn track(
    params: TrackParams,
    frames: &Frames,
    interval: usize,
    out: impl Write,
) -> Result<(), Box<dyn Error>> {
    let mut tracker = Tracker::new(params)?;
    let (mut tracks, mut detections) = (Vec::new(), &[][..]);
    let mut out = std::io::BufWriter::new(out);
    for frame in 1..=frames.keys().next_back().copied().unwrap_or(0) {
        let since = (frame - 1) % (interval + 1);
        if since == 0 {
            detections = frames.get(&frame).map_or(&[][..], Vec::as_slice);
            tracker.update(detections, &mut tracks);
        } else {
            tracker.pass_frame(&TrackerInput::of(&[]), &mut tracks);
        }
        for (detection, track) in detections.iter().zip(&tracks) {
            if let Some(track) = track {
                let Rect { x, y, w, h } = track.rect;
                let (id, confidence) = (track.id, detection.confidence);
                writeln!(out, "{frame},{id},{x:.2},{y:.2},{w:.2},{h:.2},{confidence:.4},-1,-1,-1")?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

/// The median microseconds of an update.
fn time(params: &TrackParams, frames: &Frames, trackers: usize) -> Result<f64, Box<dyn Error>> {
    let mut trackers: Vec<Tracker> =
        (0..trackers).map(|_| Tracker::new(params.clone())).collect::<Result<_, _>>()?;
    let (mut tracks, mut times) = (Vec::new(), Vec::new());
    let (begun, long) = (Instant::now(), Duration::from_secs(2));
    for frame in frames.values().cycle() {
        for tracker in &mut trackers {
            let start = Instant::now();
            tracker.update(frame, &mut tracks);
            times.push(start.elapsed());
        }
        if begun.elapsed() > long && times.len() > 20 * trackers.len() {
            break;
        }
    }
    // There are no tracks yet in the first frames.
    let counted = times.get_mut(5 * trackers.len()..).ok_or("there are no frames")?;
    counted.sort_unstable();
    Ok(counted.get(counted.len() / 2).ok_or("there are no frames")?.as_secs_f64() * 1e6)
}

/// The detections by frame.
type Frames = BTreeMap<usize, Vec<Detection>>;

fn read(text: &str) -> Result<Frames, Box<dyn Error>> {
    let mut frames = Frames::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let fields: Result<Vec<f32>, _> = line.split(',').map(|field| field.trim().parse()).collect();
        let fields = fields.map_err(|e| format!("line {}: {e}", number + 1))?;
        let [_, _, x, y, w, h, confidence, ..] = fields[..] else {
            return Err(format!("line {} has fewer than seven fields", number + 1).into());
        };
        let frame = line.split(',').next().unwrap_or("").trim().parse()?;
        let detection = Detection { rect: Rect { x, y, w, h }, confidence, class: 0 };
        frames.entry(frame).or_default().push(detection);
    }
    Ok(frames)
}
