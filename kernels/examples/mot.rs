//! Runs a tracker on a MOTChallenge detection file and prints the tracks in the same format.
//!
//! ```text
//! cargo run --release -p cudainfer-kernels --example mot -- --algorithm sort det.txt > tracks.txt
//! ```
//!
//! With `--interval N`, N frames between two have no detections, and the tracks are carried on there.
//! With `--each SETTINGS FOLDER` instead of an algorithm, each line of the file SETTINGS is a run of its own, whose words are parameters, such as
//! `algorithm=auto max-lost=60`; the tracks of the first go to FOLDER/0.txt, and so on.
//! With `--second-pass fill` or `join` instead of an algorithm, the file has tracks, of any tracker, and what the second pass makes of them
//! is printed; `--fill-gap N` and `--join-gap N` are the frames that gaps may have.
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
use cudainfer_kernels::track::second_pass::{self, Piece, Sighting};
use cudainfer_kernels::track::{TrackParams, Tracker, TrackerInput};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["--each", settings, folder, path] = words[..] {
        return each(settings, Path::new(folder), &read(&std::fs::read_to_string(path)?)?);
    }
    if let ["--second-pass", pass @ ("fill" | "join"), "--fill-gap", fill, "--join-gap", join, path] =
        words[..]
    {
        let join = if pass == "join" { Some(join.parse()?) } else { None };
        return second_pass(&std::fs::read_to_string(path)?, fill.parse()?, join);
    }
    let (algorithm, path, interval, trackers) = match words[..] {
        ["--algorithm", algorithm, path] => (algorithm, path, 0, None),
        ["--algorithm", algorithm, "--interval", interval, path] => {
            (algorithm, path, interval.parse()?, None)
        }
        ["--algorithm", algorithm, "--time", trackers, path] => (algorithm, path, 0, Some(trackers.parse()?)),
        _ => {
            return Err("usage: mot --algorithm NAME [--interval FRAMES | --time TRACKERS] DETECTIONS, or mot --each SETTINGS \
                        FOLDER DETECTIONS, or mot --second-pass fill|join --fill-gap FRAMES --join-gap FRAMES TRACKS"
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

/// Prints tracks with their gaps filled, and before that joined, as inferpublish does.
fn second_pass(text: &str, fill_gap: u32, join_gap: Option<u32>) -> Result<(), Box<dyn Error>> {
    let mut pieces = BTreeMap::<u64, Piece>::new();
    for (frame, id, detection) in rows(text)? {
        let sighting =
            Sighting { frame: frame as u64, rect: detection.rect, confidence: Some(detection.confidence) };
        let id = id as u64;
        pieces.entry(id).or_insert(Piece { id, class: 0, seen: Vec::new() }).seen.push(sighting);
    }
    let mut pieces: Vec<_> = pieces.into_values().collect();
    pieces.iter_mut().for_each(|piece| piece.seen.sort_by_key(|seen| seen.frame));
    let first = join_gap.map_or_else(|| (0..pieces.len()).collect(), |gap| second_pass::joined(&pieces, gap));
    let mut objects = BTreeMap::<u64, Vec<Sighting>>::new();
    for (piece, first) in pieces.iter().zip(first) {
        objects.entry(pieces[first].id).or_default().extend(&piece.seen);
    }
    let mut all = Vec::new();
    for (id, mut seen) in objects {
        seen.sort_by_key(|seen| seen.frame);
        let gaps = seen.windows(2).flat_map(|pair| second_pass::filled(&pair[0], &pair[1], fill_gap));
        all.extend(gaps.chain(seen.iter().copied()).map(|seen| (seen.frame, id, seen)));
    }
    all.sort_by_key(|(frame, id, _)| (*frame, *id));
    let mut out = std::io::BufWriter::new(std::io::stdout());
    for (frame, id, Sighting { rect: Rect { x, y, w, h }, confidence, .. }) in all {
        let confidence = confidence.unwrap_or(0.0);
        writeln!(out, "{frame},{id},{x:.2},{y:.2},{w:.2},{h:.2},{confidence:.4},-1,-1,-1")?;
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
    for (frame, _, detection) in rows(text)? {
        frames.entry(frame).or_default().push(detection);
    }
    Ok(frames)
}

/// Frame, identity and box of a row.
type Row = (usize, f32, Detection);

fn rows(text: &str) -> Result<Vec<Row>, Box<dyn Error>> {
    let row = |(number, line): (usize, &str)| {
        let fields: Result<Vec<f32>, _> = line.split(',').map(|field| field.trim().parse()).collect();
        let fields = fields.map_err(|e| format!("line {}: {e}", number + 1))?;
        let [_, id, x, y, w, h, confidence, ..] = fields[..] else {
            return Err(format!("line {} has fewer than seven fields", number + 1).into());
        };
        let frame = line.split(',').next().unwrap_or("").trim().parse()?;
        Ok((frame, id, Detection { rect: Rect { x, y, w, h }, confidence, class: 0 }))
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(row).collect()
}
