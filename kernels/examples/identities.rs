//! Runs a tracker on boxes or poses of a text file and prints the identity of each.
//!
//! ```text
//! cargo run -p cudainfer-kernels --example identities -- auto 2 oks instances.csv > identities.txt
//! ```
//!
//! The arguments are the algorithm, the number of individuals (0: no limit), what is compared (`iou`, or `oks`, with even sigmas),
//! the file, and more parameters, such as `sigmas=0.3` and `max-lost=60`; with `boxes=detector` boxes are not those around the points, and parameters those for boxes. A line of it is `frame,confidence,x,y,w,h,x1,y1,x2,y2,…`: the box, and then its points, of which there may be none;
//! one that is missing is `nan,nan`. Frames count from 0 and ascend; those between two lines have no instances. The output has a line
//! for each of these, in their order: the identity, or 0.

mod settings;

use std::error::Error;
use std::io::Write;

use cudainfer_kernels::detect::Detection;
use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::track::{Poses, Tracker, TrackerInput};

/// The standard deviation of a point, as a share of its object's scale: the element's, of points of which nothing is known.
const EVEN: f32 = 0.4;

/// Says that a detector has boxed the objects.
const BOXED: &str = "boxes=detector";

/// The instances of one frame.
#[derive(Default)]
struct Frame {
    detections: Vec<Detection>,
    points: Vec<(f32, f32)>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [algorithm, individuals, similarity, path, more @ ..] = &words[..] else {
        return Err("usage: identities ALGORITHM INDIVIDUALS iou|oks INSTANCES [NAME=VALUE...]".into());
    };
    let is_boxed = more.iter().any(|word| word == BOXED);
    let sigma = more.iter().find_map(|word| word.strip_prefix("sigmas=")).map_or(Ok(EVEN), str::parse)?;
    let first = [format!("algorithm={algorithm}"), format!("max-tracks={individuals}")];
    let words = first
        .iter()
        .chain(more)
        .map(String::as_str)
        .filter(|word| !word.starts_with("sigmas=") && *word != BOXED);
    let oks = match similarity.as_str() {
        "iou" => false,
        "oks" => true,
        other => return Err(format!("'{other}' is neither iou nor oks").into()),
    };
    let frames = read(&std::fs::read_to_string(path)?)?;
    let params = settings::params(words, !is_boxed && frames.iter().any(|frame| !frame.points.is_empty()))?;
    let mut tracker = Tracker::new(params)?;
    let mut tracks = Vec::new();
    let mut out = std::io::BufWriter::new(std::io::stdout());
    for Frame { detections, points } in &frames {
        let sigmas = vec![sigma; if oks { points.len() / detections.len().max(1) } else { 0 }];
        let around_points = vec![oks && !is_boxed; detections.len()];
        let poses = Poses { points, sigmas: &sigmas, around_points: &around_points };
        tracker.update_frame(&TrackerInput { poses, ..TrackerInput::of(detections) }, &mut tracks);
        for track in &tracks {
            writeln!(out, "{}", track.map_or(0, |track| track.id))?;
        }
    }
    Ok(())
}

/// Every frame up to the last that has an instance.
fn read(text: &str) -> Result<Vec<Frame>, Box<dyn Error>> {
    let mut frames: Vec<Frame> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        let fields: Result<Vec<f32>, _> = line.split(',').skip(1).map(|field| field.trim().parse()).collect();
        let fields = fields.map_err(|e| format!("line {number}: {e}"))?;
        let frame: usize = line.split(',').next().unwrap_or_default().trim().parse()?;
        let [confidence, x, y, w, h, ref points @ ..] = fields[..] else {
            return Err(format!("line {number} has fewer than six fields").into());
        };
        if frame + 1 < frames.len() {
            return Err(format!("line {number}: frame {frame} is before the previous one").into());
        }
        frames.resize_with(frame + 1, Frame::default);
        let here = frames.last_mut().ok_or("there is no frame")?;
        here.detections.push(Detection { rect: Rect { x, y, w, h }, confidence, class: 0 });
        here.points.extend(points.chunks_exact(2).map(|point| (point[0], point[1])));
    }
    Ok(frames)
}
