//! Objects that are queries with classes and masks, without boxes: the frame gets an object for each, and its mask.

use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::segment::{ObjectQueries, QueryObject};

use super::instances::{Instances, Job};
use crate::decoding::{Counts, Side};
use crate::meta::mask::Mask;
use crate::meta::object::{DetectionParam, Object, next_ids, objects};
use crate::meta::tensor::{Failure, Tensor, TensorSet};
use crate::model::ModelInfo;

/// Finds a frame's objects, on the host, and makes their masks.
pub(super) struct QueryObjects {
    kernel: ObjectQueries,
    /// The names of the outputs with classes and masks.
    outputs: [String; 2],
    pub instances: Instances,
    info: ModelInfo,
    /// The frame's width and height.
    frame: [usize; 2],
}

impl QueryObjects {
    pub fn new(
        kernel: ObjectQueries,
        outputs: [String; 2],
        instances: Instances,
        info: ModelInfo,
        frame: [usize; 2],
    ) -> Self {
        Self { kernel, outputs, instances, info, frame }
    }

    /// Puts the objects on a frame, and returns their masks. Outputs on a GPU are downloaded, which counts as a fallback.
    ///
    /// # Errors
    /// A sentence.
    pub fn make(
        &mut self,
        set: &TensorSet,
        frame: &mut gst::BufferRef,
        side: &Side,
        counts: &mut Counts,
    ) -> Result<Vec<Mask>, String> {
        let [classes, values] = [set.tensor(&self.outputs[0])?, set.tensor(&self.outputs[1])?];
        if side.on_device([classes, values])?.is_some() {
            side.count_fallback();
        }
        let (found, non_finite) = self.found(classes, values).map_err(|e| e.to_string())?;
        counts.add("non-finite", non_finite);
        let ids = next_ids(&objects(frame));
        let mut masks = Vec::with_capacity(found.len());
        for (id, object) in ids.zip(found) {
            let rect = self.outline(&object, set);
            let class = u32::try_from(object.class).unwrap_or(u32::MAX);
            let detection = DetectionParam { rect, confidence: object.score, label_id: class };
            let label = self.info.label(class);
            Object { id, label, detection: Some(detection), ..Object::default() }.put(frame, &rect);
            let job = Job::of_one(id, rect, u32::try_from(object.query).unwrap_or(u32::MAX));
            masks.extend(self.instances.make_of(values, &set.to_frame, &job, side)?);
        }
        Ok(masks)
    }

    fn found(&self, classes: &Tensor, values: &Tensor) -> Result<(Vec<QueryObject>, usize), Failure> {
        let (classes, values) = (classes.map()?, values.map()?);
        Ok(self.kernel.run(&classes.view()?, &values.view()?)?)
    }

    /// The box around the cells of an object's mask, as far as it lies in the frame.
    fn outline(&self, object: &QueryObject, set: &TensorSet) -> Rect {
        let size = self.kernel.size();
        let scale = [0, 1].map(|axis| set.input[axis] as f32 / size[axis] as f32);
        let [x, y, w, h] = object.cells.map(|cells| cells as f32);
        let rect = Rect { x: x * scale[0], y: y * scale[1], w: w * scale[0], h: h * scale[1] };
        let rect = set.to_frame.rect(&rect);
        let [width, height] = self.frame.map(|side| side as f32);
        let (x, y) = (rect.x.clamp(0.0, width), rect.y.clamp(0.0, height));
        Rect { x, y, w: rect.right().clamp(x, width) - x, h: rect.bottom().clamp(y, height) - y }
    }
}
