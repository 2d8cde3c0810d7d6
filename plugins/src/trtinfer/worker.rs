//! A worker: takes batches from the queue, runs the model on the frames or their regions, and returns the frames.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use gst::prelude::*;

use super::batcher::{Batchable, Batcher, StreamKey};
use super::cores;
use super::load::Load;
use super::pending::{Image, PendingFrame, prepare};
use super::request::Request;
use crate::inference::{FedTensors, InferenceError, Outlook, SharedSession, Stop, row};
use crate::log::TRTINFER as CAT;
use crate::meta::batch::Batch;
use crate::meta::tensor::Tensor;
use crate::nvtx;
use crate::sync::lock;
use crate::time::nanoseconds;
use crate::tracer::otlp::{Frame, Run};
use crate::tracer::spans;

/// Batches that must have run before larger ones are tried again, times how often that was in vain.
const PATIENCE: u64 = 256;

/// Runs batches until the queue is stopped; `runs` ends a run that is not wanted any more. A run keeps `cores` cores busy, and is counted in
/// `load`.
pub(super) fn work(
    queue: &Batcher<Request>,
    session: &SharedSession,
    runs: &Stop,
    cores: usize,
    load: &Load,
) {
    let mut patience = Patience::default();
    loop {
        // While the GPU has enough work, frames gather for a larger batch.
        let outlook = if queue.rules().size > 1 {
            lock(session).wait_for_turn().unwrap_or_else(|e| {
                gst::debug!(CAT, "the next run will report it again: {e}");
                Outlook::default()
            })
        } else {
            Outlook::default()
        };
        let Some(mut batch) = queue.take(outlook.busy_until, |frames| outlook.portion(frames)) else { break };
        let _turns = Turns::of(queue, &batch);
        // A flush may have passed since they came.
        batch.retain(|request| request.owner.lane.wants(request.ticket));
        let Some(first) = batch.first() else { continue };
        let taken = Instant::now();
        for Request { owner, entry, .. } in &batch {
            owner.tally.queueing.add_time(entry.waited_until(taken));
        }
        // Also after its last frame has gone back.
        let _instance = Arc::clone(&first.instance);
        let (frames, mut rows) = prepare(batch);
        let mut runner = OnSession { queue, session, runs, cores, load, frames };
        while !rows.is_empty() {
            let rest = rows.split_off(queue.size().min(rows.len()));
            let whole = run(&mut runner, std::mem::replace(&mut rows, rest));
            if patience.is_over(whole, queue.step_downs())
                && let Some(size) = queue.step_up()
            {
                gst::info!(CAT, "batches of {size} frames are tried again");
            }
        }
    }
}

/// The streams of a batch of which the model remembers something: their next frames wait until this is dropped.
struct Turns<'a> {
    queue: &'a Batcher<Request>,
    streams: Vec<StreamKey>,
}

impl<'a> Turns<'a> {
    fn of(queue: &'a Batcher<Request>, batch: &[Request]) -> Self {
        Self { queue, streams: batch.iter().filter_map(Batchable::stream).collect() }
    }
}

impl Drop for Turns<'_> {
    fn drop(&mut self) {
        self.queue.done(&self.streams);
    }
}

/// When larger batches are tried again.
#[derive(Debug, Default)]
struct Patience {
    /// Batches that went through whole, one after the other.
    good: u64,
}

impl Patience {
    /// After a batch that went through `whole` or did not; batches became smaller `step_downs` times so far.
    fn is_over(&mut self, whole: bool, step_downs: u64) -> bool {
        self.good = if whole { self.good + 1 } else { 0 };
        let over = self.good >= PATIENCE * step_downs.max(1);
        if over {
            self.good = 0;
        }
        over
    }
}

/// What runs batches of `B`.
trait Runner<B> {
    /// The result of a batch.
    type Output;

    /// Runs the model.
    fn infer(&mut self, batch: &[B]) -> Result<Self::Output, InferenceError>;

    /// Makes batches smaller, because there was not enough memory for this one; returns how large they are at most from now on, or
    /// nothing if there is no smaller one.
    fn shrink(&mut self, batch: &[B], why: &InferenceError) -> Option<usize>;

    /// Brings frames back.
    fn finish(&mut self, batch: Vec<B>, outcome: Result<Self::Output, InferenceError>);
}

/// Runs a batch, which is not empty, and brings its frames back, whatever happens; returns whether it went through whole. A batch
/// that does not fit in memory is run in parts. Where it fails otherwise, each frame is tried alone, so that none is lost for
/// another's fault.
fn run<B, R: Runner<B>>(runner: &mut R, mut batch: Vec<B>) -> bool {
    let mut size = batch.len();
    let mut whole = true;
    while !batch.is_empty() {
        let mut rest = batch.split_off(size.min(batch.len()));
        match runner.infer(&batch) {
            Ok(output) => runner.finish(batch, Ok(output)),
            Err(e) => {
                whole = false;
                let smaller = if e.is_memory() { runner.shrink(&batch, &e) } else { None };
                if let Some(smaller) = smaller.filter(|smaller| *smaller < batch.len()) {
                    size = smaller;
                    batch.append(&mut rest);
                    continue;
                }
                if batch.len() == 1 {
                    runner.finish(batch, Err(e));
                } else {
                    gst::warning!(CAT, "a batch of {} frames failed, each is tried alone: {e}", batch.len());
                    for one in batch {
                        run(runner, vec![one]);
                    }
                }
            }
        }
        batch = rest;
    }
    whole
}

/// Runs batches in a session.
struct OnSession<'a> {
    queue: &'a Batcher<Request>,
    session: &'a SharedSession,
    runs: &'a Stop,
    cores: usize,
    load: &'a Load,
    /// Those that have not gone back.
    frames: Vec<Option<PendingFrame>>,
}

impl OnSession<'_> {
    fn frames<'a>(&'a self, batch: &'a [Image]) -> impl Iterator<Item = &'a PendingFrame> {
        batch.iter().filter_map(|image| self.frames.get(image.frame)?.as_ref())
    }

    /// The frames of the batch that the tracer has sampled went through the model together.
    fn tell_sampled(&self, batch: &[Image], began: Instant, took: Duration) {
        let mut sampled: Vec<&Arc<Frame>> = Vec::new();
        let mut name = None;
        for PendingFrame { request, .. } in self.frames(batch) {
            // A frame may have several images in the batch.
            if let Some(frame) = &request.sampled
                && !sampled.iter().any(|known| Arc::ptr_eq(known, frame))
            {
                sampled.push(frame);
                name = name.or_else(|| Some(request.owner.element.upgrade()?.name()));
            }
        }
        if let Some(element) = name {
            Run { element: &element, began, took, images: batch.len() as u64 }.add(&sampled);
        }
    }

    /// A set of a frame has been through the model, or has failed to. After the last one, the frame goes back.
    fn count(&mut self, frame: usize, failure: Option<String>) {
        let Some(slot) = self.frames.get_mut(frame) else { return };
        if let Some(done) = slot.take_if(|frame| frame.count(failure)) {
            done.go_back();
        }
    }
}

impl Runner<Image> for OnSession<'_> {
    /// The outputs of the batch, and each image's part of them.
    type Output = (Vec<Tensor>, Vec<Vec<Tensor>>);

    fn infer(&mut self, batch: &[Image]) -> Result<Self::Output, InferenceError> {
        let first =
            self.frames(batch).next().ok_or_else(|| InferenceError::Run("there is no frame".into()))?;
        let remembered = |frame: usize| self.frames.get(frame)?.as_ref()?.request.memory.as_ref()?.state();
        let fed: Vec<_> =
            batch.iter().map(|image| image.fed.clone().or_else(|| remembered(image.frame))).collect();
        let busy = (self.cores > 0).then(|| cores::take(self.cores));
        let _range = nvtx::range_of(&first.request.owner.element);
        let _working = spans::working_of(&first.request.owner.element);
        let started = Instant::now();
        // A panic must not take the frames with it: their lanes would wait for them forever.
        let outputs = panic::catch_unwind(AssertUnwindSafe(|| {
            let wanted =
                || self.frames(batch).any(|frame| frame.request.owner.lane.wants(frame.request.ticket));
            loop {
                match infer(self.session, self.runs, &wanted, &first.request, batch, &fed) {
                    // The interrupt was meant for another run.
                    Err(InferenceError::Interrupted) if wanted() => {}
                    done => break done,
                }
            }
        }))
        .unwrap_or_else(|_| {
            Err(InferenceError::Run("it panicked. This is a bug of cudainfer: please report it".into()))
        });
        let took = started.elapsed();
        drop(busy);
        let count = batch.len() as u64;
        self.load.add(took, batch.len(), Instant::now());
        spans::ran(started, took, count);
        self.tell_sampled(batch, started, took);
        let took = nanoseconds(took);
        for (index, PendingFrame { request, .. }) in self.frames(batch).enumerate() {
            let tally = &request.owner.tally;
            let mine = |other: &PendingFrame| Arc::ptr_eq(&other.request.owner, &request.owner);
            if !self.frames(batch).take(index).any(mine) {
                tally.batches.fetch_add(1, Ordering::Relaxed);
                tally.batched.fetch_add(count, Ordering::Relaxed);
                tally.batch_sizes.add(count);
                tally.runs.add(took);
            }
            tally.busy_ns.fetch_add(took / count, Ordering::Relaxed);
            request.owner.counters.host_ns.add(took / count);
        }
        outputs
    }

    fn shrink(&mut self, batch: &[Image], why: &InferenceError) -> Option<usize> {
        let size = self.queue.step_down(batch.len())?;
        if let Some(first) = self.frames(batch).next() {
            say_step_down(first, size, why);
        }
        Some(size)
    }

    fn finish(&mut self, batch: Vec<Image>, outcome: Result<Self::Output, InferenceError>) {
        let (mut outputs, mut rows) = match outcome {
            Ok(outputs) => outputs,
            Err(e) => {
                let frames = batch.into_iter().map(|image| image.frame);
                return frames.for_each(|frame| self.count(frame, Some(e.to_string())));
            }
        };
        let place = |image: &Image| self.frames.get(image.frame)?.as_ref()?.place(image.set);
        let places = batch.iter().filter_map(place).collect();
        for (image, row) in batch.iter().zip(&mut rows) {
            let Some(PendingFrame { request, .. }) = self.frames.get(image.frame).and_then(Option::as_ref)
            else {
                continue;
            };
            if let Some(memory) = &request.memory {
                if memory.state().is_none() {
                    request.owner.tally.state_starts.fetch_add(1, Ordering::Relaxed);
                }
                memory.remember(request.shape.remembered(row));
                row.retain(|tensor| request.shape.is_result(&tensor.desc));
                outputs.retain(|tensor| request.shape.is_result(&tensor.desc));
            }
        }
        let outputs = Batch::new(outputs, places);
        for (index, Image { frame, set, .. }) in batch.into_iter().enumerate() {
            if let Some(frame) = self.frames.get_mut(frame).and_then(Option::as_mut) {
                let tensors = rows.get_mut(index).map(std::mem::take).unwrap_or_default();
                frame.answer(set, tensors, (outputs.clone(), index));
            }
            self.count(frame, None);
        }
    }
}

/// The outputs of the batch, and each image's part of them.
fn infer(
    session: &SharedSession,
    runs: &Stop,
    wanted: &dyn Fn() -> bool,
    first: &Request,
    batch: &[Image],
    fed: &[Option<FedTensors>],
) -> Result<(Vec<Tensor>, Vec<Vec<Tensor>>), InferenceError> {
    let images: Vec<&gst::BufferRef> =
        batch.iter().flat_map(|image| &image.pictures).map(AsRef::as_ref).collect();
    let (outputs, rows) = {
        let mut session = lock(session);
        let rows = session.rows(&first.shape, batch.len());
        let interrupt = session.interrupt();
        let run = || {
            // The elements that gave the frames up before this moment had no run to end.
            if wanted() { session.run(&first.shape, &images, fed) } else { Err(InferenceError::Interrupted) }
        };
        let outputs = runs.during(interrupt, run);
        let outputs = outputs.unwrap_or(Err(InferenceError::Interrupted));
        // Read while this thread holds the session: what it counts for other runs is not this frame's.
        if let Some(stream) = session.stream() {
            stream.counters().move_to(&first.owner.counters);
        }
        (outputs?, rows)
    };
    let parts = (0..batch.len()).map(|index| row(&outputs, index, rows)).collect::<Result<_, _>>()?;
    Ok((outputs, parts))
}

fn say_step_down(frame: &PendingFrame, size: usize, why: &InferenceError) {
    let Some(element) = frame.request.owner.element.upgrade() else { return };
    let name = element.name();
    gst::element_warning!(
        element,
        gst::ResourceError::NoSpaceLeft,
        ("{name}: {why}. Batches have {size} frames at most from now on, until there is room again; batch-size={size} \
             would keep it so")
    );
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::batcher::{self, Rules};
    use super::*;

    struct Number(usize);

    impl batcher::Batchable for Number {
        fn fits(&self, _: &Self) -> bool {
            true
        }
    }

    /// A machine with memory for `room` frames, and a frame that always fails.
    struct Machine {
        queue: Batcher<Number>,
        room: usize,
        bad: usize,
        /// Frames of each run that was tried.
        tried: Vec<usize>,
        /// What came back: the frame, and of how many frames its batch was, or whether memory was the reason that it failed.
        back: Vec<(usize, Result<usize, bool>)>,
    }

    impl Runner<Number> for Machine {
        type Output = usize;

        fn infer(&mut self, batch: &[Number]) -> Result<usize, InferenceError> {
            self.tried.push(batch.len());
            if batch.len() > self.room {
                Err(InferenceError::Memory("full".into()))
            } else if batch.iter().any(|Number(n)| *n == self.bad) {
                Err(InferenceError::Run("bad".into()))
            } else {
                Ok(batch.len())
            }
        }

        fn shrink(&mut self, batch: &[Number], _: &InferenceError) -> Option<usize> {
            self.queue.step_down(batch.len())
        }

        fn finish(&mut self, batch: Vec<Number>, outcome: Result<usize, InferenceError>) {
            let outcome = outcome.map_err(|e| e.is_memory());
            self.back.extend(batch.into_iter().map(|Number(n)| (n, outcome)));
        }
    }

    fn machine(size: usize, room: usize, bad: usize) -> Machine {
        let rules = Rules { size, min: 0, timeout: Duration::ZERO, in_flight: 2 * size };
        let (tried, back) = Default::default();
        Machine { queue: Batcher::new(rules), room, bad, tried, back }
    }

    /// Runs `count` frames in batches as large as the queue makes them; returns whether they went whole.
    fn frames(machine: &mut Machine, count: usize) -> Vec<bool> {
        let client = machine.queue.join(Some(count));
        (0..count).for_each(|n| machine.queue.submit(client, 0, Number(n)));
        let mut whole = Vec::new();
        while machine.back.len() < count {
            let batch = machine.queue.take(None, |frames| frames).unwrap();
            whole.push(run(machine, batch));
        }
        whole
    }

    /// All frames in order, each in a batch of this size, or none.
    fn came(machine: &Machine) -> Vec<Result<usize, bool>> {
        assert!(machine.back.iter().map(|(n, _)| *n).eq(0..machine.back.len()));
        machine.back.iter().map(|(_, outcome)| *outcome).collect()
    }

    #[test]
    fn where_memory_is_short_batches_are_halved_and_no_frame_is_lost() {
        let mut machine = machine(8, 3, usize::MAX);
        assert_eq!(frames(&mut machine, 13), [false, true, true, true]);
        assert_eq!(machine.tried, [8, 4, 2, 2, 2, 2, 2, 2, 1]);
        assert_eq!((machine.queue.step_downs(), machine.queue.size()), (2, 2));
        let all: Vec<_> = [2; 12].into_iter().chain([1]).map(Ok).collect();
        assert_eq!(came(&machine), all);
    }

    #[test]
    fn a_frame_for_which_there_is_no_memory_at_all_fails_alone_with_the_reason() {
        let mut machine = machine(4, 0, usize::MAX);
        frames(&mut machine, 3);
        assert_eq!(machine.queue.size(), 1);
        assert_eq!(came(&machine), [Err(true); 3]);
    }

    #[test]
    fn a_frame_that_fails_costs_none_of_its_batch() {
        let mut machine = machine(4, 4, 2);
        assert_eq!(frames(&mut machine, 5), [false, true]);
        assert_eq!(came(&machine), [Ok(1), Ok(1), Err(false), Ok(1), Ok(1)]);
        assert_eq!(
            (machine.queue.step_downs(), machine.queue.size()),
            (0, 4),
            "that is not the memory's fault"
        );
        // Both at once.
        let mut machine = self::machine(4, 2, 1);
        frames(&mut machine, 4);
        assert_eq!(came(&machine), [Ok(1), Err(false), Ok(2), Ok(2)]);
        assert_eq!(machine.queue.size(), 2);
    }

    #[test]
    fn larger_batches_are_tried_again_later_and_later_and_stay_when_there_is_room() {
        let mut machine = machine(8, 4, usize::MAX);
        let mut patience = Patience::default();
        let mut until_tried = |machine: &mut Machine| {
            let mut runs = 0;
            loop {
                machine.back.clear();
                let whole = frames(machine, machine.queue.size()).iter().all(|whole| *whole);
                runs += 1;
                if patience.is_over(whole, machine.queue.step_downs()) && machine.queue.step_up().is_some() {
                    return runs;
                }
            }
        };
        // The first run fails; the second time it has failed twice.
        assert_eq!([until_tried(&mut machine), until_tried(&mut machine)], [PATIENCE + 1, 2 * PATIENCE + 1]);
        assert_eq!(machine.queue.size(), 8);
        machine.room = 8;
        machine.back.clear();
        assert_eq!(frames(&mut machine, 8), [true]);
        assert_eq!((machine.queue.size(), machine.queue.step_up()), (8, None));
    }
}
