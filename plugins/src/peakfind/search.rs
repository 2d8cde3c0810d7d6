//! The kernels that the element drives: peaks alone or grouped, on the CPU or the GPU.

use cudainfer_kernels::device::{CudaStream, DeviceTensor};
use cudainfer_kernels::geometry::{Affine, Row};
use cudainfer_kernels::group::{
    CudaDisplacementGrouper, CudaPafGrouper, DisplacementGrouper, DisplacementOutputs, PafGrouper, Pose,
};
use cudainfer_kernels::peaks::{CudaPeaks, Outcome, Params, Peak, PeakFinder};
use cudainfer_kernels::sanity::{Expected, Survey};
use cudainfer_kernels::tensor::{TensorDesc, TensorView};

use super::grouping::Plan;
use crate::decoding::RowDecoder;
use crate::meta::tensor::Failure;

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
    /// Width and height of the network's input.
    pub input: [usize; 2],
    pub params: Params,
}

pub(super) enum OnCpu {
    Peaks(Box<PeakFinder>),
    Paf(Box<PafGrouper>),
    Displacements(Box<DisplacementGrouper>),
}

pub(super) enum OnGpu {
    Peaks(Box<CudaPeaks>),
    Paf(Box<CudaPafGrouper>),
    Displacements(Box<CudaDisplacementGrouper>),
}

const MISSING: &str = "the model has fewer outputs than are read";

impl Search {
    /// All that the results depend on besides the tensors.
    pub fn key(&self) -> String {
        let Self { outputs, plan, params, .. } = self;
        format!("{outputs:?} {params:?} {plan:?}")
    }
}

impl RowDecoder for Search {
    type Cpu = OnCpu;
    type Gpu = OnGpu;
    type Found = (Found, Outcome);

    fn cpu(&self) -> Result<OnCpu, Failure> {
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

    fn gpu(&self, stream: &CudaStream) -> Result<OnGpu, Failure> {
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

    fn run(cpu: &mut OnCpu, tensors: &[TensorView<'_>], row: &Row) -> Result<(Found, Outcome), Failure> {
        let to_frame = &row.to_frame;
        let (mut peaks, mut poses) = (Vec::new(), Vec::new());
        Ok(match (cpu, tensors) {
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

    fn start(
        gpu: &mut OnGpu,
        stream: &CudaStream,
        tensors: &[DeviceTensor<'_>],
        rows: &[Row],
    ) -> Result<(), Failure> {
        let to_frame: Vec<Affine> = rows.iter().map(|row| row.to_frame).collect();
        gpu.start(stream, tensors, &to_frame)
    }

    fn finish(gpu: &mut OnGpu, stream: &CudaStream) -> Result<Vec<(Found, Outcome)>, Failure> {
        gpu.finish(stream)
    }

    fn expected(&self) -> Expected {
        self.params.expected()
    }

    fn survey(&self, tensors: &[TensorView<'_>]) -> Option<Survey> {
        let maps = tensors.first()?.to_f32();
        Some(Survey::of_scores(maps.iter().copied()))
    }
}

impl OnGpu {
    fn start(
        &mut self,
        stream: &CudaStream,
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

    fn finish(&mut self, stream: &CudaStream) -> Result<Vec<(Found, Outcome)>, Failure> {
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
