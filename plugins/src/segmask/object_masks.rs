//! The masks of objects of which each has outputs of its own: one of several maps, chosen by the model's scores or by its place.

use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::sanity::Survey;
use cudainfer_kernels::tensor::{TensorDesc, TensorView};

use super::instances::{Instances, Job};
use super::settings::Choice;
use crate::decoding::Side;
use crate::meta::mask::Mask;
use crate::meta::tensor::{Failure, Tensor, TensorSet};

/// Makes the masks of a frame's objects.
pub(super) struct ObjectMasks {
    /// Of the maps as `[1, N, h, w]`, with the output's name.
    maps: TensorDesc,
    choice: Choice,
    pub instances: Instances,
    /// The frame's width and height.
    frame: [usize; 2],
    /// Whether masks are as large as the frame.
    upsample: bool,
}

impl ObjectMasks {
    pub fn new(
        maps: TensorDesc,
        choice: Choice,
        instances: Instances,
        frame: [usize; 2],
        upsample: bool,
    ) -> Self {
        Self { maps, choice, instances, frame, upsample }
    }

    /// A mask for each set, which is an object's. Scores on a GPU are downloaded and waited for, which counts as a fallback.
    ///
    /// # Errors
    /// A sentence.
    pub fn make(&mut self, sets: &[TensorSet], side: &Side) -> Result<Vec<Mask>, String> {
        let mut masks = Vec::with_capacity(sets.len());
        for set in sets {
            let object = set.object.ok_or("a frame came with tensors that are no object's")?;
            let map = match &self.choice {
                Choice::Map(map) => *map,
                Choice::Best(scores) => {
                    let scores = set.tensor(scores)?;
                    if side.on_device([scores])?.is_some() {
                        side.count_fallback();
                    }
                    best(scores).map_err(|e| e.to_string())?
                }
            };
            let values = set.tensor(&self.maps.name)?;
            let values = Tensor { desc: self.maps.clone(), data: values.data.clone() };
            let [w, h] = set.input.map(|side| side as f32);
            let seen = set.to_frame.rect(&Rect { x: 0.0, y: 0.0, w, h });
            self.check(&seen, set)?;
            let job = Job::of_one(object, seen, u32::try_from(map).unwrap_or(u32::MAX));
            masks.extend(self.instances.make_of(&values, &set.to_frame, &job, side)?);
        }
        Ok(masks)
    }

    /// Refuses masks that would not lie where the model has seen them: those of rotated regions, and pixels of the frame beyond what it
    /// has seen, which have no value.
    fn check(&self, seen: &Rect, set: &TensorSet) -> Result<(), String> {
        if set.to_frame.skew != [0.0; 2] {
            return Err("an object's region is rotated, and masks are made of upright ones: set another roi-crop of fusedpreproc, or take a \
                        detector with upright boxes"
                .into());
        }
        let [width, height] = self.frame.map(|side| side as f32);
        let is_whole =
            seen.x < 1.0 && seen.y < 1.0 && seen.right() > width - 1.0 && seen.bottom() > height - 1.0;
        if self.upsample && !is_whole {
            return Err("upsample makes masks of the frame's size, and the model has seen a part of the frame: leave upsample out".into());
        }
        Ok(())
    }

    /// Statistics of the values.
    pub fn survey(&self, values: &TensorView<'_>) -> Option<Survey> {
        let dims: Vec<usize> = self.maps.dims.iter().map(|dim| dim.unwrap_or(0)).collect();
        self.instances.survey(&TensorView::new(&self.maps.name, self.maps.ty, &dims, values.bytes()).ok()?)
    }
}

/// The place of the highest score; those that are no numbers are the lowest.
fn best(scores: &Tensor) -> Result<usize, Failure> {
    let mapped = scores.map()?;
    let scores = mapped.view()?.to_f32().into_owned();
    let number = |score: f32| if score.is_nan() { f32::NEG_INFINITY } else { score };
    let mut best = 0;
    for (index, score) in scores.iter().enumerate() {
        if number(*score) > number(scores[best]) {
            best = index;
        }
    }
    Ok(best)
}
