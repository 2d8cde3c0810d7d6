//! From the outputs to masks on the frame, or in place of it.

use std::sync::{Arc, Mutex};

use cudainfer_kernels::sanity::{Expected, Survey};
use cudainfer_kernels::segment::LogitsSurvey;

use super::improve::Improver;
use super::instances::Instances;
use super::object_masks::ObjectMasks;
use super::queries::Queries;
use super::query_objects::QueryObjects;
use super::settings::Size;
use super::target::MaskTarget;
use super::whole::{Part, Smoothed, Wanted, Whole};
use crate::decoding::{Counts, Decode, Side};
use crate::meta::mask::{self, Mask, MaskKind};
use crate::meta::object::objects;
use crate::meta::tensor::{Tensor, TensorSet};
use crate::notice::Remark;
use crate::streams::Streams;
use crate::sync::lock;

/// Makes the masks of frames.
pub(super) struct Masks {
    /// The tensor with the logits, the prototypes or the maps.
    pub tensor: String,
    /// What makes the tensor with the logits, where it is no output of the model.
    pub queries: Option<Queries>,
    pub maker: MaskMaker,
    /// What the logits of a whole frame are judged by; `None` for the masks of objects.
    pub logits: Option<LogitsSurvey>,
    /// The frame's width and height.
    pub frame: [usize; 2],
    pub size: Size,
    /// What becomes of a soft mask before it is delivered.
    pub improver: Option<Improver>,
    pub result: MaskTarget,
    /// The element's streams: they outlast caps, which may change whenever another stream has its turn.
    pub streams: Arc<Mutex<Streams<Smoothed>>>,
    pub range: RangeCheck,
}

/// Whether a warning about class numbers that a byte cannot hold was posted.
#[derive(Debug, Default)]
pub(super) struct RangeCheck {
    warned: bool,
    remark: Option<Remark>,
}

impl RangeCheck {
    /// `outside` class numbers of a frame do not fit in a byte.
    fn see(&mut self, outside: usize, tensor: &str) {
        if outside == 0 || std::mem::replace(&mut self.warned, true) {
            return;
        }
        self.remark = Some(Remark::Warning(format!(
            "{outside} of the class numbers in '{tensor}' are not from 0 to 255: these cells became class 0. The property stats \
             counts them in out-of-range"
        )));
    }
}

/// The maker of the masks, and their kind.
pub(super) enum MaskMaker {
    Whole(Box<Whole>, MaskKind),
    Instances(Box<Instances>),
    Objects(Box<ObjectMasks>),
    Queries(Box<QueryObjects>),
}

/// Puts the masks of objects on their frame.
fn put(frame: &mut gst::BufferRef, masks: &[Mask], counts: &mut Counts) {
    mask::put(frame, masks);
    counts.add("masks", masks.len());
}

impl Decode for Masks {
    fn decode(
        &mut self,
        sets: &[TensorSet],
        frame: &mut gst::BufferRef,
        side: &Side,
        counts: &mut Counts,
    ) -> Result<(), String> {
        let Self {
            tensor, queries, maker, frame: frame_size, size, improver, result, streams, range, ..
        } = self;
        match maker {
            MaskMaker::Queries(queries) => {
                let [set @ TensorSet { region: None, .. }] = sets else {
                    return Err("objects of queries are found in whole frames, not in regions: leave out fusedpreproc's roi".into());
                };
                let masks = queries.make(set, frame, side, counts)?;
                put(frame, &masks, counts);
            }
            MaskMaker::Objects(masks) => {
                put(frame, &masks.make(sets, side)?, counts);
            }
            MaskMaker::Instances(instances) => {
                let [set @ TensorSet { region: None, .. }] = sets else {
                    return Err("masks of objects are made of whole frames, not of regions: leave out fusedpreproc's roi".into());
                };
                let masks = instances.make(set, &objects(frame), side)?;
                put(frame, &masks, counts);
            }
            MaskMaker::Whole(whole, kind) => {
                let mut scores: Vec<Tensor> = Vec::new();
                if let Some(queries) = queries {
                    let made = sets.iter().map(|set| queries.make(set, side, counts));
                    scores = made.collect::<Result<_, _>>()?;
                }
                let side = queries.as_ref().map_or(side, |queries| &queries.side);
                let mut parts = Vec::with_capacity(sets.len());
                for (index, set) in sets.iter().enumerate() {
                    let logits = scores.get(index).map_or_else(|| set.tensor(tensor), Ok)?;
                    let region = set.region.map(|region| region.rect);
                    parts.push(Part { tensor: logits, to_frame: set.to_frame, region });
                }
                let one = *size == Size::Frame || improver.is_some() || !matches!(result, MaskTarget::Meta);
                let wanted = Wanted { frame: *frame_size, frame_size: one };
                let mut made = whole.make(&parts, &wanted, side, &mut lock(streams))?;
                if let (Some(improver), [mask]) = (improver, &mut made.masks[..]) {
                    mask.data = improver.run(&mask.data, made.cell, side)?;
                }
                let count = |n| usize::try_from(n).unwrap_or(usize::MAX);
                let (non_finite, outside) = (count(made.non_finite), count(made.out_of_range));
                range.see(outside, tensor);
                counts.add("masks", made.masks.len());
                result.deliver(made.masks, kind, frame, side)?;
                counts.add("non-finite", non_finite);
                counts.add("out-of-range", outside);
            }
        }
        Ok(())
    }

    fn remark(&mut self) -> Option<Remark> {
        self.range.remark.take()
    }

    fn expected(&self) -> Option<Expected> {
        match &self.maker {
            MaskMaker::Instances(instances) => instances.expected(),
            MaskMaker::Objects(masks) => masks.instances.expected(),
            MaskMaker::Queries(queries) => queries.instances.expected(),
            MaskMaker::Whole(..) => self.logits.as_ref().map(LogitsSurvey::expected),
        }
    }

    fn survey(&self, set: &TensorSet) -> Option<Survey> {
        let values = set.tensor(&self.tensor).ok()?.map().ok()?;
        let view = values.view().ok()?;
        match &self.maker {
            MaskMaker::Instances(instances) => instances.survey(&view),
            MaskMaker::Objects(masks) => masks.survey(&view),
            MaskMaker::Queries(queries) => queries.instances.survey(&view),
            MaskMaker::Whole(..) => self.logits.as_ref()?.run(&view),
        }
    }
}
