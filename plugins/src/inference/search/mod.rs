//! The fastest way to run a model, found by measuring. A runtime offers variants of a session, which differ in time and in the
//! last digits of their results; which one is the fastest depends on the model, the shape and the GPU. Each is opened beside the
//! best so far, must give the first one's outputs on noise ([`compare`]), and is timed in turns with the best. A variant that
//! fails, differs or is not faster is closed again.

mod compare;
mod groups;
mod trial;

use std::sync::Arc;
use std::time::Duration;

pub(super) use self::compare::{Tolerance, agree};
pub(super) use self::trial::{OnNoise, Sessions, free_memory, memory_for};
use super::cache::Choices;
use super::{InferenceError, RunShape, Session, WarmUp};
use crate::log::ENGINE as CAT;
use crate::meta::tensor::Tensor;

/// Runs of each of two sessions that are timed.
pub(super) const TIMED: usize = 30;
/// A variant takes over if it needs at most this share of the best one's time: a smaller difference is chance.
const GAIN: f64 = 0.98;
/// And if it saves at least this time: a run of a few kernels varies by that from one to the next.
const LEAST: Duration = Duration::from_micros(10);

/// What sessions are measured with.
pub(super) trait Bench {
    /// Opens the model in this variant.
    ///
    /// # Errors
    /// The runtime refuses it.
    fn open(&mut self, variant: &'static str) -> Result<Box<dyn Session>, InferenceError>;

    /// The outputs of the largest batch of noise, on the host; the session is warm then.
    ///
    /// # Errors
    /// The session does not run.
    fn outputs(&mut self, session: &mut dyn Session) -> Result<Vec<Tensor>, InferenceError>;

    /// How long a run of that batch takes.
    ///
    /// # Errors
    /// The session does not run.
    fn time(&mut self, session: &mut dyn Session) -> Result<Duration, InferenceError>;

    /// Whether there is device memory for another session beside the one that was measured first.
    fn has_room(&self) -> bool;
}

/// What a search has found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// The variant that the session is now.
    pub chosen: &'static str,
    /// Median times of those that could be compared, in the order in which they were tried.
    pub times: Vec<(&'static str, Duration)>,
    /// Whether every variant was tried. Where memory was short, a later start may find better.
    pub complete: bool,
}

impl Found {
    /// For the user: what was chosen, and how long a run takes.
    pub fn sentence(&self, frames: usize) -> String {
        let ms = |time: &Duration| format!("{:.3} ms", time.as_secs_f64() * 1e3);
        let of = |wanted: bool| self.times.iter().filter(move |(name, _)| (*name == self.chosen) == wanted);
        let frames = if frames == 1 { "a frame".to_owned() } else { format!("a batch of {frames} frames") };
        let chosen = of(true).map(|(_, time)| format!("; {frames} takes {}", ms(time))).collect::<String>();
        let others: Vec<String> = of(false).map(|(name, time)| format!("{} as {name}", ms(time))).collect();
        let instead = if others.is_empty() { String::new() } else { format!(", and {}", others.join(", ")) };
        let short =
            if self.complete { "" } else { ". Other ways were not timed, because device memory is short" };
        format!("the model runs as {}{chosen}{instead}{short}", self.chosen)
    }
}

/// Makes `session`, which is the variant `current`, the best of the variants for this shape: the one that `known` names, or else
/// the one that is measured to be the fastest. All variants must agree with the first one. Returns the result where it was
/// measured.
///
/// # Errors
/// The first variant does not run.
pub(super) fn choose(
    bench: &mut impl Bench,
    tolerance: Tolerance,
    known: Option<&str>,
    session: &mut Box<dyn Session>,
    current: &mut &'static str,
    variants: &[&'static str],
) -> Result<Option<Found>, InferenceError> {
    let Some((first, others)) = variants.split_first() else { return Ok(None) };
    let known = variants.iter().find(|variant| Some(**variant) == known);
    if let Some(known) = known {
        // A variant that has run once may fail with another driver or cuDNN.
        let runs = if known == current {
            bench.outputs(session.as_mut()).map(|_| ())
        } else {
            bench.open(known).and_then(|mut opened| {
                bench.outputs(opened.as_mut())?;
                (*session, *current) = (opened, known);
                Ok(())
            })
        };
        match runs {
            Ok(()) => return Ok(None),
            Err(InferenceError::Interrupted) => return Err(InferenceError::Interrupted),
            Err(e) => gst::warning!(CAT, "the model does not run as {known} any more, as it did before: {e}"),
        }
    }
    if *current != *first {
        // This variant was the best for another shape.
        *session = bench.open(first)?;
        *current = first;
    }
    let expected = bench.outputs(session.as_mut())?;
    let mut found = Found { chosen: first, times: Vec::new(), complete: true };
    for variant in others {
        if !bench.has_room() {
            gst::info!(
                CAT,
                "device memory is too short to try the model as {variant} beside {}",
                found.chosen
            );
            found.complete = false;
            break;
        }
        match trial(bench, tolerance, &expected, session.as_mut(), variant) {
            Ok((candidate, [best, time])) => {
                if found.times.is_empty() {
                    found.times.push((first, best));
                }
                found.times.push((variant, time));
                gst::debug!(CAT, "as {variant} a run takes {time:?}, as {} {best:?}", found.chosen);
                if is_faster(time, best) {
                    *session = candidate;
                    *current = variant;
                    found.chosen = variant;
                }
            }
            Err(LeftOut { why, for_now }) => {
                gst::debug!(CAT, "the model as {variant} is left out: {why}");
                // The next start may have enough memory.
                found.complete &= !for_now;
            }
        }
    }
    Ok(Some(found))
}

/// Whether a run of this time is faster than one of the other, beyond chance.
pub(super) fn is_faster(time: Duration, best: Duration) -> bool {
    time.as_secs_f64() < best.as_secs_f64() * GAIN && best.saturating_sub(time) >= LEAST
}

/// Why a variant cannot be chosen.
struct LeftOut {
    why: String,
    /// Whether only memory was short.
    for_now: bool,
}

/// The session of a variant, and the median times of `best` and of it.
fn trial(
    bench: &mut impl Bench,
    tolerance: Tolerance,
    expected: &[Tensor],
    best: &mut dyn Session,
    variant: &'static str,
) -> Result<(Box<dyn Session>, [Duration; 2]), LeftOut> {
    let failed = |e: InferenceError| LeftOut { for_now: e.is_memory(), why: e.to_string() };
    let mut candidate = bench.open(variant).map_err(failed)?;
    let outputs = bench.outputs(candidate.as_mut()).map_err(failed)?;
    compare::agree(expected, &outputs, tolerance).map_err(|why| LeftOut { why, for_now: false })?;
    let mut times = [const { Vec::new() }; 2];
    // In turns, so that a GPU that changes its clock does so for both.
    for _ in 0..TIMED {
        times[0].push(bench.time(best).map_err(failed)?);
        times[1].push(bench.time(candidate.as_mut()).map_err(failed)?);
    }
    Ok((candidate, times.map(median)))
}

/// The middle one.
pub(super) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// How a shape is named among the choices that are kept.
pub(super) fn shape_name(shape: &Arc<RunShape>) -> String {
    let constants = shape.constants.iter().map(|constant| {
        let dims: Vec<String> = constant.dims.iter().map(ToString::to_string).collect();
        format!(" {}:{}", constant.desc.name, dims.join("x"))
    });
    let pictures = if shape.looks_back() {
        format!(" of the frames before by {:?}", shape.ago())
    } else {
        String::new()
    };
    format!("{} from {}{pictures}{}", shape.image, shape.given, constants.collect::<String>())
}

/// Opens a model before its shape is known: as the first variant, which is warm soonest; or, if frames must wait for the best
/// (`warm_up`), as the one that was the best when it was last measured, unless that does not open any more.
///
/// # Errors
/// The first variant does not open.
pub(super) fn open_first<S>(
    choices: &Choices,
    variants: &[&'static str],
    warm_up: WarmUp,
    mut open: impl FnMut(&'static str) -> Result<S, InferenceError>,
) -> Result<(S, &'static str), InferenceError> {
    let first = variants.first().copied().unwrap_or_default();
    let best = choices.latest().filter(|_| warm_up == WarmUp::Complete);
    let best = variants.iter().copied().find(|variant| *variant != first && Some(*variant) == best);
    if let Some(best) = best {
        match open(best) {
            Ok(session) => return Ok((session, best)),
            Err(e) => gst::warning!(CAT, "the model does not open as {best} any more, as it did before: {e}"),
        }
    }
    Ok((open(first)?, first))
}

#[cfg(test)]
mod tests;
