//! The kernels that the element drives, on the CPU or the GPU: peaks alone or grouped, SimCC, coordinates.

use cudainfer_kernels::device::{CudaStream, DeviceTensor};
use cudainfer_kernels::geometry::{Affine, RowFrame};
use cudainfer_kernels::group::{
    CudaDisplacementGrouper, CudaPafGrouper, DisplacementGrouper, DisplacementOutputs, GroupError, PafGrouper,
};
use cudainfer_kernels::keypoints::{CoordinateParams, CudaReader, CudaSimcc, RowReader, SimccReader};
use cudainfer_kernels::peaks::{CudaPeaks, Outcome, PeakFinder, PeaksError};
use cudainfer_kernels::sanity::{Expected, Survey};
use cudainfer_kernels::tensor::{TensorDesc, TensorView};

use super::coordinates::Reader;
use super::encoding::Coding;
use super::found::Found;
use super::grouping::GroupingPlan;
use crate::decoding::RowDecoder;
use crate::meta::tensor::Failure;

/// What is searched for, in which outputs.
pub(super) struct Search {
    /// The confidence maps first; SimCC's along x and along y.
    pub outputs: Vec<TensorDesc>,
    pub plan: GroupingPlan,
    /// Width and height of the network's input.
    pub input: [usize; 2],
    pub coding: Coding,
}

pub(super) enum OnCpu {
    Peaks(Box<PeakFinder>),
    Paf(Box<PafGrouper>),
    Displacements(Box<DisplacementGrouper>),
    Simcc(Box<SimccReader>),
    Coordinates(Box<Reader>),
}

pub(super) enum OnGpu {
    Peaks(Box<CudaPeaks>),
    Paf(Box<CudaPafGrouper>),
    Displacements(Box<CudaDisplacementGrouper>),
    Simcc(Box<CudaSimcc>),
    Coordinates(Box<CudaReader<Reader>>),
}

const MISSING: &str = "the model has fewer outputs than are read";

impl Search {
    /// The reader of coordinates, or of maps with tags.
    fn reader(&self) -> Result<Reader, Failure> {
        Reader::new(&self.outputs, self.input, &self.coding, &self.plan)?.ok_or_else(|| MISSING.into())
    }

    /// All that the results depend on besides the tensors.
    pub fn key(&self) -> String {
        let Self { outputs, plan, coding, .. } = self;
        format!("{outputs:?} {coding:?} {plan:?}")
    }
}

impl RowDecoder for Search {
    type Cpu = OnCpu;
    type Gpu = OnGpu;
    type Found = (Found, Outcome);

    fn cpu(&self) -> Result<OnCpu, Failure> {
        let Self { input, coding, .. } = *self;
        let params = match (coding, &self.outputs[..]) {
            (Coding::Maps(params), _) if !matches!(self.plan, GroupingPlan::Tags(..)) => params,
            (Coding::Simcc(params), [x, y]) => {
                return Ok(OnCpu::Simcc(Box::new(SimccReader::new(x, y, input, params)?)));
            }
            _ => return Ok(OnCpu::Coordinates(Box::new(self.reader()?))),
        };
        match (&self.plan, &self.outputs[..]) {
            (GroupingPlan::Frame | GroupingPlan::Each, [maps, others @ ..]) => {
                let finder = PeakFinder::with_offsets(maps, others.first(), input, params)?;
                Ok(OnCpu::Peaks(Box::new(finder)))
            }
            (GroupingPlan::Paf(paf), [maps, fields]) => {
                Ok(OnCpu::Paf(Box::new(PafGrouper::new(maps, fields, input, params, paf)?)))
            }
            (GroupingPlan::Displacements(plan), [maps, offsets, forward, backward]) => {
                let outputs = DisplacementOutputs { maps, offsets, forward, backward };
                let grouper = DisplacementGrouper::new(&outputs, input, params, plan)?;
                Ok(OnCpu::Displacements(Box::new(grouper)))
            }
            _ => Err(MISSING.into()),
        }
    }

    fn gpu(&self, stream: &CudaStream) -> Result<OnGpu, Failure> {
        let Self { input, coding, .. } = *self;
        let params = match (coding, &self.outputs[..]) {
            (Coding::Maps(params), _) if !matches!(self.plan, GroupingPlan::Tags(..)) => params,
            (Coding::Simcc(params), [x, y]) => {
                return Ok(OnGpu::Simcc(Box::new(CudaSimcc::new(x, y, input, params, stream)?)));
            }
            _ => return Ok(OnGpu::Coordinates(Box::new(CudaReader::new(self.reader()?, stream)?))),
        };
        match (&self.plan, &self.outputs[..]) {
            (GroupingPlan::Frame | GroupingPlan::Each, [maps, others @ ..]) => {
                let finder = CudaPeaks::with_offsets(maps, others.first(), input, params, stream)?;
                Ok(OnGpu::Peaks(Box::new(finder)))
            }
            (GroupingPlan::Paf(paf), [maps, fields]) => {
                let grouper = CudaPafGrouper::new(maps, fields, input, params, paf, stream)?;
                Ok(OnGpu::Paf(Box::new(grouper)))
            }
            (GroupingPlan::Displacements(plan), [maps, offsets, forward, backward]) => {
                let outputs = DisplacementOutputs { maps, offsets, forward, backward };
                let grouper = CudaDisplacementGrouper::new(&outputs, input, params, plan, stream)?;
                Ok(OnGpu::Displacements(Box::new(grouper)))
            }
            _ => Err(MISSING.into()),
        }
    }

    fn run(cpu: &mut OnCpu, tensors: &[TensorView<'_>], row: &RowFrame) -> Result<(Found, Outcome), Failure> {
        let to_frame = &row.to_frame;
        let (mut peaks, mut poses) = (Vec::new(), Vec::new());
        Ok(match (cpu, tensors) {
            (OnCpu::Peaks(finder), [maps, others @ ..]) => {
                let outcome = finder.run_with(maps, others.first(), to_frame, &mut peaks)?;
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
            (OnCpu::Simcc(reader), [x, y]) => {
                let outcome = reader.run(x, y, to_frame, &mut peaks)?;
                (Found::Peaks(peaks), outcome)
            }
            (OnCpu::Coordinates(reader), tensors) => reader.run(tensors, to_frame)?,
            _ => return Err(MISSING.into()),
        })
    }

    fn start(
        gpu: &mut OnGpu,
        stream: &CudaStream,
        tensors: &[DeviceTensor<'_>],
        rows: &[RowFrame],
    ) -> Result<(), Failure> {
        let to_frame: Vec<Affine> = rows.iter().map(|row| row.to_frame).collect();
        gpu.start(stream, tensors, &to_frame)
    }

    fn finish(gpu: &mut OnGpu, stream: &CudaStream) -> Result<Vec<(Found, Outcome)>, Failure> {
        gpu.finish(stream)
    }

    fn has_room_now(failure: &Failure) -> bool {
        let peaks = match failure.downcast_ref() {
            Some(GroupError::Peaks(error)) => Some(error),
            _ => failure.downcast_ref(),
        };
        peaks == Some(&PeaksError::NoRoom)
    }

    fn expected(&self) -> Option<Expected> {
        match self.coding {
            Coding::Maps(params) => Some(params.expected()),
            Coding::Points(params, _)
            | Coding::Instances(params)
            | Coding::Poses(params, _)
            | Coding::Candidates(params)
            | Coding::Individuals(params) => Some(params.expected()),
            // SimCC's scores are of any height, and its points in the input.
            Coding::Simcc(_) => None,
            // A softmax is of probabilities, and a place is that of a pixel.
            Coding::Cells(_) => None,
            // The same is true of lanes.
            Coding::Lanes { .. } => None,
        }
    }

    fn survey(&self, tensors: &[TensorView<'_>]) -> Option<Survey> {
        if let GroupingPlan::Tags(..) = self.plan {
            let Ok(Reader::Tags(mut grouper)) = self.reader() else { return None };
            return Some(Survey::of_scores(grouper.maps(tensors).ok()?.iter().copied()));
        }
        if let Coding::Maps(_) = self.coding {
            let maps = tensors.first()?.to_f32();
            return Some(Survey::of_scores(maps.iter().copied()));
        }
        let row = RowFrame { to_frame: Affine::IDENTITY, frame: self.input };
        let (found, _) = Self::run(&mut self.cpu().ok()?, tensors, &row).ok()?;
        let mut survey = Survey::default();
        if let Coding::Points(CoordinateParams { format: Some(format), .. }, _)
        | Coding::Poses(CoordinateParams { format: Some(format), .. }, _) = self.coding
            && format.scores() > 0
        {
            let numbers = tensors.first()?.to_f32();
            for point in numbers.chunks_exact(format.numbers()) {
                point.iter().skip(format.coordinates()).for_each(|score| survey.score(*score));
            }
        }
        found.points().for_each(|point| survey.point(point));
        Some(survey)
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
            (Self::Peaks(finder), [maps, others @ ..]) => {
                finder.start_with(stream, maps, others.first(), to_frame)?;
            }
            (Self::Paf(grouper), [maps, fields]) => grouper.start(stream, maps, fields, to_frame)?,
            (Self::Displacements(grouper), [maps, offsets, forward, backward]) => {
                let [maps, offsets, forward, backward] = [maps, offsets, forward, backward].map(|v| *v);
                let outputs = DisplacementOutputs { maps, offsets, forward, backward };
                grouper.start(stream, &outputs, to_frame)?;
            }
            (Self::Simcc(reader), [x, y]) => reader.start(stream, x, y, to_frame)?,
            (Self::Coordinates(reader), outputs) => reader.start(stream, outputs, to_frame)?,
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
            Self::Simcc(reader) => reader.finish(stream, &mut peaks)?,
            Self::Coordinates(reader) => return Ok(reader.finish(stream)?),
        };
        let found = peaks.into_iter().map(Found::Peaks).chain(poses.into_iter().map(Found::Poses));
        Ok(found.zip(outcomes).collect())
    }
}
