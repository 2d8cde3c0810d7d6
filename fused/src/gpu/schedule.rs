//! In which streams steps run, and whether their kernels overlap: what is the fastest depends on the network, so that it is timed.

use std::sync::Arc;

use cudainfer_kernels::device::{CudaStream, DeviceError, Event};

use super::GpuError;
use super::cudnn::Handle;
use super::launch::Launch;
use super::network::Options;
use super::timing::Stopwatch;
use crate::plan::{Lanes, Order};

/// Runs that are timed together.
const RUNS: usize = 5;

/// In which streams steps run.
#[derive(Debug)]
pub(super) struct Schedule {
    lanes: Lanes,
    /// The lanes' streams but for the first, which is the run's own.
    streams: Vec<Arc<CudaStream>>,
    /// By step: its end, where other lanes wait for it.
    ends: Vec<Option<Event>>,
    begin: Event,
    /// Whether kernels may begin before those ahead of them are over.
    overlap: bool,
}

impl Schedule {
    fn new(lanes: Lanes, overlap: bool, stream: &CudaStream) -> Result<Self, DeviceError> {
        let context = stream.context();
        let streams = (1..lanes.count)
            .map(|_| CudaStream::for_network(context, stream.counters()).map(Arc::new))
            .collect::<Result<_, _>>()?;
        let mut ends: Vec<Option<Event>> = lanes.steps.iter().map(|_| None).collect();
        for waited in lanes.steps.iter().flat_map(|lane| &lane.waits).chain(&lanes.ends()) {
            if ends[*waited].is_none() {
                ends[*waited] = Some(Event::new(context)?);
            }
        }
        Ok(Self { lanes, streams, ends, begin: Event::new(context)?, overlap })
    }

    /// The one with which `run` is done soonest, and how long that takes in nanoseconds; 0 where there is only one, or others do not
    /// let runs be recorded.
    pub fn fastest(
        order: &Order,
        stream: &CudaStream,
        options: Options,
        mut run: impl FnMut(&mut Self) -> Result<(), GpuError>,
    ) -> Result<(Self, u64), GpuError> {
        let single = || Lanes::single(order.needs.len());
        if !options.beside {
            return Ok((Self::new(single(), false, stream)?, 0));
        }
        let stopwatch = Stopwatch::new(stream)?;
        let mut best: Option<(Self, u64)> = None;
        for (lanes, overlap) in
            [(Lanes::of(order), true), (Lanes::of(order), false), (single(), true), (single(), false)]
        {
            let mut schedule = Self::new(lanes, overlap, stream)?;
            run(&mut schedule)?;
            stream.synchronize()?;
            // SAFETY: what a run uses lives as long as the network that is being made.
            let time = unsafe { stopwatch.time(stream, RUNS, || run(&mut schedule)) }?;
            let Some(time) = time else { return Ok((schedule, 0)) };
            if best.as_ref().is_none_or(|(_, least)| time < *least) {
                best = Some((schedule, time));
            }
        }
        best.map_or_else(|| Ok((Self::new(single(), false, stream)?, 0)), Ok)
    }

    /// In words.
    pub fn name(&self) -> String {
        let overlap = if self.overlap { ", launches overlap" } else { "" };
        format!("{} streams{overlap}", self.lanes.count)
    }

    /// Enqueues all steps: in `stream`, and in streams that begin after what is in it and that it waits for.
    pub fn enqueue(
        &mut self,
        steps: &[Launch],
        mut handle: Option<&mut Handle>,
        stream: &CudaStream,
    ) -> Result<(), GpuError> {
        stream.record(&self.begin)?;
        let mut begun = vec![false; self.lanes.count];
        begun[0] = true;
        for ((step, lane), end) in steps.iter().zip(&self.lanes.steps).zip(&self.ends) {
            let on = lane.index.checked_sub(1).map_or(stream, |other| &*self.streams[other]);
            if !begun[lane.index] {
                on.wait(&self.begin)?;
                begun[lane.index] = true;
            }
            for waited in lane.waits.iter().filter_map(|waited| self.ends[*waited].as_ref()) {
                on.wait(waited)?;
            }
            step.enqueue(handle.as_deref_mut(), on, self.overlap)?;
            if let Some(end) = end {
                on.record(end)?;
            }
        }
        for end in self.lanes.ends().iter().filter_map(|step| self.ends[*step].as_ref()) {
            stream.wait(end)?;
        }
        Ok(())
    }
}
