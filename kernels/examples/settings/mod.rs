//! A tracker's parameters as words, `max-lost=60`: for the examples that run trackers with others than an algorithm's own.

use std::error::Error;
use std::str::FromStr;

use cudainfer_kernels::track::{Algorithm, TrackParams};

/// The parameters that words such as `algorithm=sort` and `max-lost=60` ask for, by the names of the element's properties; the others are the
/// algorithm's own, or what it has `for_poses`.
///
/// # Errors
/// A word is not NAME=VALUE, a name is none of a parameter, or its value is none.
pub fn params<'a>(
    words: impl Iterator<Item = &'a str> + Clone,
    for_poses: bool,
) -> Result<TrackParams, Box<dyn Error>> {
    let algorithm = words.clone().find_map(|word| word.strip_prefix("algorithm="));
    let own = TrackParams::of(algorithm.map_or(Ok(Algorithm::default()), str::parse)?);
    let mut params = if for_poses { own.for_poses() } else { own };
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(|| format!("'{word}' is not NAME=VALUE"))?;
        set(&mut params, name, value).map_err(|why| format!("{word}: {why}"))?;
    }
    Ok(params)
}

fn set(params: &mut TrackParams, name: &str, value: &str) -> Result<(), Box<dyn Error>> {
    fn put<T: FromStr<Err: Error + 'static>>(place: &mut T, value: &str) -> Result<(), Box<dyn Error>> {
        *place = value.parse()?;
        Ok(())
    }
    match name {
        "algorithm" => Ok(()),
        "min-confidence" => put(&mut params.min_confidence, value),
        "high-confidence" => put(&mut params.high_confidence, value),
        "new-confidence" => put(&mut params.new_confidence, value),
        "auto-confidence" => put(&mut params.auto_confidence, value),
        "min-hits" => put(&mut params.min_hits, value),
        "max-lost" => put(&mut params.max_lost, value),
        "max-tracks" => put(&mut params.max_tracks, value),
        "iou" => put(&mut params.iou, value),
        "iou-low" => put(&mut params.iou_low, value),
        "momentum" => put(&mut params.momentum, value),
        "momentum-frames" => put(&mut params.momentum_frames, value),
        "buffer" => put(&mut params.buffer, value),
        "buffer-wide" => put(&mut params.buffer_wide, value),
        "class-aware" => put(&mut params.class_aware, value),
        _ => Err("a tracker has no such parameter".into()),
    }
}
