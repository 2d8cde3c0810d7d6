//! The masks of objects of which each has outputs of its own: one of several maps, chosen by the model's scores or by its place.

use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::sanity::Survey;
use cudainfer_kernels::tensor::{TensorDesc, TensorView};

use super::instances::{Instances, Job};
use super::settings::Choice;
use crate::decoding::Side;
use crate::meta::mask::Mask;
use crate::meta::object::Object;
use crate::meta::tensor::{Failure, Tensor, TensorSet};

/// Makes the masks of a frame's objects.
pub(super) struct ObjectMasks {
    /// Of the maps as `[1, N, h, w]`, with the output's name.
    maps: TensorDesc,
    choice: Choice,
    pub instances: Instances,
}

impl ObjectMasks {
    pub fn new(maps: TensorDesc, choice: Choice, instances: Instances) -> Self {
        Self { maps, choice, instances }
    }

    /// A mask for each set, which is an object's. Scores on a GPU are downloaded and waited for, which counts as a fallback.
    ///
    /// # Errors
    /// A sentence.
    pub fn make(&mut self, sets: &[TensorSet], objects: &[Object], side: &Side) -> Result<Vec<Mask>, String> {
        let mut masks = Vec::with_capacity(sets.len());
        for set in sets {
            let object = set.object.ok_or("a frame came with tensors that are no object's")?;
            let find = |name: &str| {
                let found = set.tensors.iter().find(|tensor| tensor.desc.name == name);
                found.ok_or_else(|| format!("a frame came without the tensor '{name}'"))
            };
            let map = match &self.choice {
                Choice::Map(map) => *map,
                Choice::Best(scores) => {
                    let scores = find(scores)?;
                    if side.on_device([scores])?.is_some() {
                        side.count_fallback();
                    }
                    best(scores).map_err(|e| e.to_string())?
                }
            };
            let values = find(&self.maps.name)?;
            let values = Tensor { desc: self.maps.clone(), data: values.data.clone() };
            let known = objects.iter().find(|known| known.id == object);
            let [w, h] = set.input.map(|side| side as f32);
            let all = set.to_frame.rect(&Rect { x: 0.0, y: 0.0, w, h });
            let outline = known.and_then(Object::detected_outline).unwrap_or(all);
            let job = Job::of_one(object, outline, u32::try_from(map).unwrap_or(u32::MAX));
            masks.extend(self.instances.make_of(&values, &set.to_frame, &job, side)?);
        }
        Ok(masks)
    }
}

impl ObjectMasks {
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
