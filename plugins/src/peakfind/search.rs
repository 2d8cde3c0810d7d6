//! The kernels that the element drives: peaks alone or grouped, on the CPU or the GPU.

use std::sync::Arc;

use cudainfer_kernels::device::{DeviceTensor, Stream};
use cudainfer_kernels::geometry::Affine;
use cudainfer_kernels::group::{
    CudaDisplacementGrouper, CudaPafGrouper, DisplacementGrouper, DisplacementOutputs, PafGrouper, Pose,
};
use cudainfer_kernels::peaks::{CudaPeaks, Outcome, Params, Peak, PeakFinder};
use cudainfer_kernels::tensor::{TensorDesc, TensorView};

use super::grouping::Plan;
use crate::meta::batch::Batch;
use crate::meta::tensor::{Failure, OnDevice, Tensor};

/// What a frame or a region of it has.
#[derive(Clone, Debug)]
pub(super) enum Found {
    Peaks(Vec<Peak>),
    Poses(Vec<Pose>),
}

/// What is looked for, in which outputs.
pub(super) struct Search {
    /// The confidence maps first.
    pub outputs: Vec<TensorDesc>,
    pub plan: Plan,
    input: [usize; 2],
    params: Params,
    /// All that the results depend on besides the tensors.
    key: String,
    side: Option<Side>,
}

/// Where it is looked for, known with the first tensors.
enum Side {
    Cpu(OnCpu),
    /// In the stream that it was made for.
    Gpu(OnGpu, Arc<Stream>),
}

enum OnCpu {
    Peaks(Box<PeakFinder>),
    Paf(Box<PafGrouper>),
    Displacements(Box<DisplacementGrouper>),
}

enum OnGpu {
    Peaks(Box<CudaPeaks>),
    Paf(Box<CudaPafGrouper>),
    Displacements(Box<CudaDisplacementGrouper>),
}

const MISSING: &str = "the model has fewer outputs than are read";

impl Search {
    /// # Errors
    /// What is wrong with outputs and parameters, as far as it can be known before there are tensors.
    pub fn new(
        plan: Plan,
        outputs: Vec<TensorDesc>,
        input: [usize; 2],
        params: Params,
    ) -> Result<Self, Failure> {
        let key = format!("{outputs:?} {params:?} {plan:?}");
        let this = Self { outputs, plan, input, params, key, side: None };
        this.on_cpu()?;
        Ok(this)
    }

    fn on_cpu(&self) -> Result<OnCpu, Failure> {
        let Self { input, params, .. } = *self;
        let peaks = |maps| Ok(OnCpu::Peaks(Box::new(PeakFinder::new(maps, input, params)?)));
        match (&self.plan, &self.outputs[..]) {
            (Plan::Frame | Plan::Each, [maps, ..]) => peaks(maps),
            (Plan::Paf(paf), [maps, fields]) => {
                Ok(OnCpu::Paf(Box::new(PafGrouper::new(maps, fields, input, params, paf)?)))
            }
            (Plan::Displacements(plan), [maps, offsets, forward, backward]) => {
                let outputs = DisplacementOutputs { maps, offsets, forward, backward };
                let grouper = DisplacementGrouper::new(&outputs, input, params, plan)?;
                Ok(OnCpu::Displacements(Box::new(grouper)))
            }
            _ => Err(MISSING.into()),
        }
    }

    fn on_gpu(&self, stream: &Stream) -> Result<OnGpu, Failure> {
        let Self { input, params, .. } = *self;
        match (&self.plan, &self.outputs[..]) {
            (Plan::Frame | Plan::Each, [maps, ..]) => {
                Ok(OnGpu::Peaks(Box::new(CudaPeaks::new(maps, input, params, stream)?)))
            }
            (Plan::Paf(paf), [maps, fields]) => {
                let grouper = CudaPafGrouper::new(maps, fields, input, params, paf, stream)?;
                Ok(OnGpu::Paf(Box::new(grouper)))
            }
            (Plan::Displacements(plan), [maps, offsets, forward, backward]) => {
                let outputs = DisplacementOutputs { maps, offsets, forward, backward };
                let grouper = CudaDisplacementGrouper::new(&outputs, input, params, plan, stream)?;
                Ok(OnGpu::Displacements(Box::new(grouper)))
            }
            _ => Err(MISSING.into()),
        }
    }

    /// The tensors of `all` that are read, in the order of the outputs.
    ///
    /// # Errors
    /// A sentence that names the one that is missing.
    pub fn tensors(&self, all: &[Tensor]) -> Result<Vec<Tensor>, String> {
        let tensor = |output: &TensorDesc| {
            let missing = || format!("a frame came without the tensor '{}'", output.name);
            all.iter().find(|t| t.desc.name == output.name).cloned().ok_or_else(missing)
        };
        self.outputs.iter().map(tensor).collect()
    }

    /// One frame's or region's tensors on the CPU.
    pub fn find_on_cpu(
        &mut self,
        tensors: &[Tensor],
        to_frame: &Affine,
    ) -> Result<(Found, Outcome), Failure> {
        let mapped = tensors.iter().map(Tensor::map).collect::<Result<Vec<_>, _>>()?;
        let views = mapped.iter().map(|mapped| mapped.view()).collect::<Result<Vec<TensorView<'_>>, _>>()?;
        if !matches!(self.side, Some(Side::Cpu(_))) {
            self.side = Some(Side::Cpu(self.on_cpu()?));
        }
        let Some(Side::Cpu(side)) = &mut self.side else { return Err(MISSING.into()) };
        let (mut peaks, mut poses) = (Vec::new(), Vec::new());
        Ok(match (side, &views[..]) {
            (OnCpu::Peaks(finder), [maps, ..]) => {
                let outcome = finder.run(maps, to_frame, &mut peaks)?;
                (Found::Peaks(peaks), outcome)
            }
            (OnCpu::Paf(grouper), [maps, fields]) => {
                let outcome = grouper.run(maps, fields, to_frame, &mut poses)?;
                (Found::Poses(poses), outcome)
            }
            (OnCpu::Displacements(grouper), [maps, offsets, forward, backward]) => {
                let [maps, offsets, forward, backward] = [maps, offsets, forward, backward].map(|v| *v);
                let outputs = DisplacementOutputs { maps, offsets, forward, backward };
                let outcome = grouper.run(&outputs, to_frame, &mut poses)?;
                (Found::Poses(poses), outcome)
            }
            _ => return Err(MISSING.into()),
        })
    }

    /// The one place where the host waits for the GPU: here results become metadata. Whichever frame or region of a batch comes
    /// first has all of it searched.
    pub fn find_on_gpu(
        &mut self,
        batch: &Batch,
        row: usize,
        tensors: &OnDevice<'_>,
        stream: &Arc<Stream>,
    ) -> Result<(Found, Outcome), Failure> {
        let key = self.key.clone();
        let found = batch.once(&key, || {
            if !matches!(&self.side, Some(Side::Gpu(_, made_for)) if Arc::ptr_eq(made_for, stream)) {
                self.side = Some(Side::Gpu(self.on_gpu(stream)?, Arc::clone(stream)));
            }
            let Some(Side::Gpu(side, _)) = &mut self.side else { return Err(MISSING.into()) };
            let to_frame: Vec<Affine> = batch.rows().iter().map(|row| row.to_frame).collect();
            tensors.read(stream, |views| stream.sampled(|| side.start(stream, views, &to_frame)))?;
            side.finish(stream)
        })?;
        found.get(row).cloned().ok_or_else(|| "the batch has no such frame".into())
    }
}

impl OnGpu {
    fn start(
        &mut self,
        stream: &Stream,
        views: &[DeviceTensor<'_>],
        to_frame: &[Affine],
    ) -> Result<(), Failure> {
        match (self, views) {
            (Self::Peaks(finder), [maps, ..]) => finder.start(stream, maps, to_frame)?,
            (Self::Paf(grouper), [maps, fields]) => grouper.start(stream, maps, fields, to_frame)?,
            (Self::Displacements(grouper), [maps, offsets, forward, backward]) => {
                let [maps, offsets, forward, backward] = [maps, offsets, forward, backward].map(|v| *v);
                let outputs = DisplacementOutputs { maps, offsets, forward, backward };
                grouper.start(stream, &outputs, to_frame)?;
            }
            _ => return Err(MISSING.into()),
        }
        Ok(())
    }

    fn finish(&mut self, stream: &Stream) -> Result<Vec<(Found, Outcome)>, Failure> {
        let (mut peaks, mut poses) = (Vec::new(), Vec::new());
        let outcomes = match self {
            Self::Peaks(finder) => finder.finish(stream, &mut peaks)?,
            Self::Paf(grouper) => grouper.finish(stream, &mut poses)?,
            Self::Displacements(grouper) => grouper.finish(stream, &mut poses)?,
        };
        let found = peaks.into_iter().map(Found::Peaks).chain(poses.into_iter().map(Found::Poses));
        Ok(found.zip(outcomes).collect())
    }
}
