//! A worker's life: take a batch, run the model, bring the frames back.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use cudainfer_kernels::geometry::Row;
use gst::prelude::*;

use super::batcher::Batcher;
use super::cores;
use super::imp::CAT;
use super::instance::Instance;
use super::owner::Job;
use crate::engine::{EngineError, SharedSession, row};
use crate::meta::batch::Batch;
use crate::meta::tensor::{Tensor, TensorSet};
use crate::stats::nanoseconds;
use crate::sync::lock;

/// Batches that must have run before larger ones are tried again, times how often that was in vain.
const PATIENCE: u64 = 256;

/// Runs batches until the queue is stopped. `cores` are those that a run keeps busy.
pub(super) fn work(queue: &Batcher<Job>, session: &SharedSession, cores: usize) {
    let mut good = 0;
    loop {
        // While the GPU has enough to do, frames gather.
        if queue.rules().size > 1
            && let Err(e) = lock(session).wait_for_turn()
        {
            gst::debug!(CAT, "the next run will say it again: {e}");
        }
        let Some(mut batch) = queue.take() else { break };
        // A flush may have passed since they came.
        batch.retain(|job| job.owner.lane.wants(job.ticket));
        let Some(first) = batch.first() else { continue };
        let instance = Arc::clone(&first.instance);
        let jobs = batch.into_iter().filter_map(prepare).collect();
        if run(&instance, session, cores, jobs) {
            good += 1;
            if good >= PATIENCE * instance.step_downs.load(Ordering::Relaxed).max(1)
                && let Some(size) = instance.batcher.step_up()
            {
                gst::info!(CAT, "batches of {size} frames are tried again");
                good = 0;
            }
        } else {
            good = 0;
        }
    }
}

/// A frame with the tensors that it came with.
struct Prepared {
    job: Job,
    set: TensorSet,
    image: gst::Buffer,
}

/// Takes a frame's tensor off it; a frame that has none goes back with an error.
fn prepare(mut job: Job) -> Option<Prepared> {
    let set = TensorSet::take(job.buffer.make_mut());
    let wanted = &job.shape.image;
    let image = set.as_ref().and_then(|set| {
        let given = set.tensors.iter().find(|t| t.desc.name == wanted.name).or(set.tensors.first());
        given.filter(|t| (t.desc.ty, &t.desc.dims) == (job.shape.given, &wanted.dims)).map(|t| t.data.clone())
    });
    match (set, image) {
        (Some(set), Some(image)) => Some(Prepared { job, set, image }),
        _ => {
            let why = format!("a frame came without a tensor: it should carry {wanted}");
            job.finish(Err(why));
            None
        }
    }
}

/// Runs a batch and brings its frames back, whatever happens; returns whether it went as it should. One that does not fit in memory is
/// run in parts. Where it fails otherwise, each frame is tried alone, so that none pays for another's fault.
fn run(instance: &Arc<Instance>, session: &SharedSession, cores: usize, mut batch: Vec<Prepared>) -> bool {
    if batch.is_empty() {
        return true;
    }
    let busy = (cores > 0).then(|| cores::take(cores));
    let started = Instant::now();
    // A panic must not take the frames with it: their lanes would wait for them for ever.
    let outputs = panic::catch_unwind(AssertUnwindSafe(|| infer(session, &batch)))
        .unwrap_or_else(|_| Err(EngineError::Run("it panicked; this is a bug of cudainfer".into())));
    let took = nanoseconds(started.elapsed());
    drop(busy);
    let count = batch.len();
    if let Some(first) = batch.first() {
        instance.counters.move_to(&first.job.owner.counters);
    }
    for (index, Prepared { job, .. }) in batch.iter().enumerate() {
        let tally = &job.owner.tally;
        let mine = |other: &Prepared| Arc::ptr_eq(&other.job.owner, &job.owner);
        if !batch[..index].iter().any(mine) {
            tally.batches.fetch_add(1, Ordering::Relaxed);
            tally.batched.fetch_add(count as u64, Ordering::Relaxed);
        }
        tally.busy_ns.fetch_add(took / count as u64, Ordering::Relaxed);
        job.owner.counters.host_ns.add(took / count as u64);
    }
    match outputs {
        Ok((outputs, mut rows)) => {
            let places = batch.iter().map(|one| Row { to_frame: one.set.to_frame, frame: one.job.frame });
            let outputs = Batch::new(outputs, places.collect());
            for (index, Prepared { mut job, mut set, .. }) in batch.into_iter().enumerate() {
                set.tensors = rows.get_mut(index).map(std::mem::take).unwrap_or_default();
                set.batch = Some((outputs.clone(), index));
                set.put(job.buffer.make_mut());
                job.finish(Ok(()));
            }
            true
        }
        Err(e)
            if e.is_memory()
                && let Some(size) = instance.batcher.step_down(count) =>
        {
            instance.step_downs.fetch_add(1, Ordering::Relaxed);
            say_step_down(&batch, size, &e);
            while !batch.is_empty() {
                let rest = batch.split_off(size.min(batch.len()));
                run(instance, session, cores, std::mem::replace(&mut batch, rest));
            }
            false
        }
        Err(e) if count > 1 => {
            gst::warning!(CAT, "a batch of {count} frames failed, each is tried alone: {e}");
            for one in batch {
                run(instance, session, cores, vec![one]);
            }
            false
        }
        Err(e) => {
            batch.into_iter().for_each(|Prepared { job, .. }| job.finish(Err(e.to_string())));
            false
        }
    }
}

/// The outputs of the batch, and each frame's part of them.
fn infer(
    session: &SharedSession,
    batch: &[Prepared],
) -> Result<(Vec<Tensor>, Vec<Vec<Tensor>>), EngineError> {
    let first = batch.first().ok_or_else(|| EngineError::Run("there is no frame".into()))?;
    let shape = &first.job.shape;
    let images: Vec<&gst::BufferRef> = batch.iter().map(|one| one.image.as_ref()).collect();
    let (outputs, rows) = {
        let mut session = lock(session);
        let rows = session.rows(shape, images.len());
        (session.run(shape, &images)?, rows)
    };
    let parts = (0..images.len()).map(|index| row(&outputs, index, rows)).collect::<Result<_, _>>()?;
    Ok((outputs, parts))
}

fn say_step_down(batch: &[Prepared], size: usize, why: &EngineError) {
    let Some(element) = batch.first().and_then(|one| one.job.owner.element.upgrade()) else { return };
    let name = element.name();
    gst::element_warning!(
        element,
        gst::ResourceError::NoSpaceLeft,
        ("{name}: {why}. Batches have {size} frames at most from now on, until there is room again; batch-size={size} \
             would keep it so")
    );
}
