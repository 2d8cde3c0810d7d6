//! Warming a model up: the slow first runs of each size are made before frames need them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::device_bytes::Before;
use super::engine::Engine;
use super::search::{free_memory, memory_for};
use super::shape::{darkness, noise, zeros};
use super::start::StartPart;
use super::stop::Stop;
use super::{InferenceError, Progress, RunShape, SharedSession, WarmUp, row, watched};
use crate::sync::lock;

/// How long a session is left to others between two runs that warm it up.
pub(super) const GAP: Duration = Duration::from_millis(1);

impl Engine {
    /// Runs the model on zeros in every session and every size of batch that it will have, so that the first frames find
    /// everything chosen and allocated. Where the model leaves dimensions of its outputs open, they are learnt from that and from
    /// a run on noise, which a recurrent model makes with what it remembers of the first one; those that come out empty or different depend on the picture and stay open. Batches of other shapes run in
    /// between. Before that, the first shape starts the search for the fastest variant of the session. Returns the shape,
    /// complete, and how long a run of a whole batch takes.
    ///
    /// # Errors
    /// The model does not run, its outputs cannot be split by frame, or `stop` is set: [`InferenceError::Interrupted`].
    pub fn warm_up(
        &self,
        shape: RunShape,
        progress: &(dyn Fn(Progress) + Sync),
        stop: &Stop,
    ) -> Result<(Arc<RunShape>, Duration), InferenceError> {
        let counters = Arc::clone(&lock(&self.counters));
        let before = self.context.as_ref().and_then(|context| Before::of(context, &counters));
        let shape = self.times.time(StartPart::WarmUp, || self.complete(shape, stop))?;
        self.times.time(StartPart::Search, || self.choose_variant(&shape, progress, stop))?;
        // From now on another variant has to be warm for it, too.
        {
            let mut shapes = lock(&self.variant.shapes);
            shapes.retain(|shape| shape.strong_count() > 0);
            shapes.push(Arc::downgrade(&shape));
        }
        let what = format!("warming up for batches of {}", self.batch);
        let took = self.times.time(StartPart::WarmUp, || {
            watched(&what, progress, || {
                let mut took = Duration::ZERO;
                for session in &self.sessions {
                    let before = free_memory(&**lock(session));
                    let captured = lock(session).capturing();
                    took = run_all_sizes(session, &shape, self.batch, stop)?;
                    if stop.is_set() {
                        return Err(InferenceError::Interrupted);
                    }
                    self.variant.needs(memory_for(&self.config, before, free_memory(&**lock(session))));
                    self.times.add(StartPart::Graphs, lock(session).capturing().saturating_sub(captured));
                }
                Ok::<_, InferenceError>(took)
            })
        })?;
        self.taken.fetch_add(before.map_or(0, |before| before.taken()), Ordering::Relaxed);
        if self.config.warm_up == WarmUp::Complete && lock(&self.variant.rival).is_some() {
            self.upgrade(stop)?;
        }
        // Some engines are built only by the first run of their size.
        lock(&self.cache).finish();
        gst::info!(crate::log::ENGINE, "the start took: {}", self.times.sentence());
        Ok((shape, took))
    }

    pub(super) fn first_session(&self) -> Result<&SharedSession, InferenceError> {
        self.sessions.first().ok_or_else(|| InferenceError::Run("there is no session".into()))
    }

    /// The shape with the outputs' dimensions that the model leaves open, as runs on zeros and on noise have made them.
    fn complete(&self, mut shape: RunShape, stop: &Stop) -> Result<Arc<RunShape>, InferenceError> {
        if !shape.is_known() {
            let first = self.first_session()?;
            let zeros = gst::Buffer::from_slice(zeros(shape.picture_bytes())?);
            let noise = gst::Buffer::from_slice(noise(shape.picture_bytes(), shape.given, darkness(0, 1))?);
            let run = |image: &gst::Buffer, before| {
                let mut session = lock(first);
                let interrupt = session.interrupt();
                let made = stop.during(interrupt, || {
                    session.run_on_host(&shape, &vec![image.as_ref(); shape.pictures()], &[before])
                });
                let made = made.unwrap_or(Err(InferenceError::Interrupted))?;
                row(&made, 0, shape.rows(1))
            };
            let black = run(&zeros, None)?;
            let noisy = run(&noise, shape.remembered(&black));
            if stop.is_set() {
                return Err(InferenceError::Interrupted);
            }
            // A model that fails only on this picture is left to the frames.
            shape = shape.with_outputs([&black, noisy.as_ref().unwrap_or(&black)], self.batch)?;
            if self.batch > 1 && !shape.has_fixed_states() {
                return Err(InferenceError::Run(shape.other_states()));
            }
        }
        Ok(Arc::new(shape))
    }
}

/// Runs every size that a session has of a shape, for batches of up to `batch` frames, until it takes as long as all later runs,
/// or until `stop` is set. Returns how long a run of the largest size takes.
///
/// # Errors
/// The model does not run, or its outputs cannot be split by frame.
pub(super) fn run_all_sizes(
    session: &SharedSession,
    shape: &Arc<RunShape>,
    batch: usize,
    stop: &Stop,
) -> Result<Duration, InferenceError> {
    let zeros = gst::Buffer::from_slice(zeros(shape.picture_bytes())?);
    let images = vec![zeros.as_ref(); batch * shape.pictures()];
    let mut took = Duration::ZERO;
    let runs = lock(session).warm_up_runs();
    let sizes = shape.fixed.map_or_else(|| lock(session).sizes(batch), |_| vec![batch]);
    for frames in sizes {
        // Once more, when all is chosen, allocated and captured: that is how long it takes. The largest batches' outputs
        // are kept as long as frames will keep them, so that there is memory for as many.
        let mut kept = Vec::new();
        for _ in 0..runs {
            if stop.is_set() {
                return Ok(took);
            }
            let (outputs, rows) = {
                let mut session = lock(session);
                // Work that others have enqueued is not part of the time.
                session.finish()?;
                let started = Instant::now();
                let rows = session.rows(shape, frames);
                let outputs = stop.during(session.interrupt(), || {
                    session.run(shape, &images[..frames * shape.pictures()], &[])
                });
                let Some(outputs) = outputs else { return Ok(took) };
                let finished = session.finish();
                took = started.elapsed();
                // The picture belongs to no frame.
                if let Some(stream) = session.stream() {
                    stream.counters().reset();
                }
                finished?;
                (outputs?, rows)
            };
            row(&outputs, 0, rows)?;
            kept.extend((frames == batch).then_some(outputs));
            // Others use the session, and a thread that waits for a lock of the standard library gets it only where the lock
            // stays free for longer than the thread takes to wake up.
            std::thread::sleep(GAP);
        }
    }
    Ok(took)
}
