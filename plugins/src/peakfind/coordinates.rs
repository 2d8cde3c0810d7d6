//! The readers of outputs that the host reads: coordinates, and maps with tags.

use cudainfer_kernels::geometry::Affine;
use cudainfer_kernels::group::TagGrouper;
use cudainfer_kernels::keypoints::{
    CandidateReader, CellReader, IndividualReader, InstanceReader, KeypointsError, LaneReader, PointReader,
    PoseReader, RowReader,
};
use cudainfer_kernels::peaks::Outcome;
use cudainfer_kernels::tensor::{TensorDesc, TensorView};

use super::encoding::{Coding, candidates, individuals};
use super::found::Found;
use super::grouping::GroupingPlan;

/// A reader for each way in which coordinates are written, and for tags.
#[derive(Debug)]
pub(super) enum Reader {
    Points(PointReader),
    Instances(InstanceReader),
    Poses(PoseReader),
    Candidates(Box<CandidateReader>),
    Individuals(IndividualReader),
    Cells(CellReader),
    Lanes(LaneReader),
    Tags(Box<TagGrouper>),
}

impl Reader {
    /// The one for outputs of this coding; none if something else reads them, or they are too few.
    ///
    /// # Errors
    /// They do not fit.
    pub fn new(
        outputs: &[TensorDesc],
        input: [usize; 2],
        coding: &Coding,
        plan: &GroupingPlan,
    ) -> Result<Option<Self>, KeypointsError> {
        Ok(match (*coding, plan, outputs) {
            (Coding::Points(params, further), ..) => {
                let reader = further.points(outputs).map(|outputs| PointReader::new(&outputs, input, params));
                reader.transpose()?.map(Self::Points)
            }
            (Coding::Instances(params), _, [output]) => {
                Some(Self::Instances(InstanceReader::new(output, input, params)?))
            }
            (Coding::Poses(params, further), ..) => {
                let reader = further.poses(outputs).map(|outputs| PoseReader::new(&outputs, input, params));
                reader.transpose()?.map(Self::Poses)
            }
            (Coding::Candidates(params), GroupingPlan::Paf(paf), _) => {
                let reader =
                    candidates(outputs).map(|outputs| CandidateReader::new(&outputs, input, params, paf));
                reader.transpose()?.map(Box::new).map(Self::Candidates)
            }
            (Coding::Individuals(params), ..) => {
                let reader =
                    individuals(outputs).map(|outputs| IndividualReader::new(&outputs, input, params));
                reader.transpose()?.map(Self::Individuals)
            }
            (Coding::Cells(params), _, [output]) => {
                Some(Self::Cells(CellReader::new(output, input, params)?))
            }
            (Coding::Lanes { .. }, GroupingPlan::Lanes(params), _) => {
                let outputs: Vec<&TensorDesc> = outputs.iter().collect();
                Some(Self::Lanes(LaneReader::new(&outputs, input, params)?))
            }
            (Coding::Maps(params), GroupingPlan::Tags(tags, roles), _) => {
                let grouper = roles.of(outputs).map(|outputs| TagGrouper::new(outputs, input, params, tags));
                grouper.transpose()?.map(Box::new).map(Self::Tags)
            }
            _ => None,
        })
    }
}

impl RowReader for Reader {
    type Found = Found;

    fn outputs(&self) -> &[TensorDesc] {
        match self {
            Self::Points(reader) => reader.outputs(),
            Self::Instances(reader) => reader.outputs(),
            Self::Poses(reader) => reader.outputs(),
            Self::Candidates(reader) => reader.outputs(),
            Self::Individuals(reader) => reader.outputs(),
            Self::Cells(reader) => reader.outputs(),
            Self::Lanes(reader) => reader.outputs(),
            Self::Tags(grouper) => grouper.outputs(),
        }
    }

    fn run(
        &mut self,
        outputs: &[TensorView<'_>],
        to_frame: &Affine,
    ) -> Result<(Found, Outcome), KeypointsError> {
        fn into<T>(found: (T, Outcome), kind: fn(T) -> Found) -> (Found, Outcome) {
            (kind(found.0), found.1)
        }
        Ok(match self {
            Self::Points(reader) => into(reader.run(outputs, to_frame)?, Found::Points),
            Self::Instances(reader) => into(reader.run(outputs, to_frame)?, Found::Instances),
            Self::Poses(reader) => into(reader.run(outputs, to_frame)?, Found::Poses),
            Self::Candidates(reader) => into(reader.run(outputs, to_frame)?, Found::Poses),
            Self::Individuals(reader) => into(reader.run(outputs, to_frame)?, Found::Poses),
            Self::Cells(reader) => into(reader.run(outputs, to_frame)?, Found::Peaks),
            Self::Lanes(reader) => into(reader.run(outputs, to_frame)?, Found::Lanes),
            Self::Tags(grouper) => into(grouper.run(outputs, to_frame)?, Found::Poses),
        })
    }
}
