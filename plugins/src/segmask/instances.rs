//! The masks of single objects.

use std::sync::Arc;

use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::geometry::{Affine, Rect};
use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::segment::{CudaPrototypes, Prototypes, Region};
use cudainfer_kernels::tensor::TensorDesc;

use super::pools::Pools;
use super::whole::writable;
use crate::decoding;
use crate::memory::tensor::{TensorAllocator, device_memory, part};
use crate::meta::mask::{COEFFICIENTS, Kind, Mask};
use crate::meta::object::Object;
use crate::meta::tensor::{Failure, OnDevice, Tensor, TensorSet};

/// The least memory that masks of a frame get, so that few pools serve all numbers of objects.
const ROOM: usize = 64 << 10;

/// Makes the masks of a stream's objects, where its prototypes lie.
pub(super) struct Instances {
    prototypes: TensorDesc,
    input: [usize; 2],
    layout: Option<Layout>,
    kernels: Option<PrototypeKernels>,
    regions: Vec<Region>,
}

/// Known with the first prototypes.
enum PrototypeKernels {
    Cpu(Box<Prototypes>, Pools),
    /// In the stream that it was made for.
    Gpu(Box<CudaPrototypes>, Pools, Arc<CudaStream>),
}

impl Instances {
    pub fn new(prototypes: TensorDesc, input: [usize; 2], layout: Option<Layout>) -> Self {
        Self { prototypes, input, layout, kernels: None, regions: Vec::new() }
    }

    /// The masks of the last of `objects` that have a detection: as many as there are coefficients for.
    ///
    /// # Errors
    /// A sentence.
    pub fn make(
        &mut self,
        set: &TensorSet,
        objects: &[Object],
        side: &decoding::Side,
    ) -> Result<Vec<Mask>, String> {
        let find = |name: &str| {
            set.tensors
                .iter()
                .find(|t| t.desc.name == name)
                .ok_or_else(|| format!("a frame came without the tensor '{name}'"))
        };
        let (prototypes, coefficients) = (find(&self.prototypes.name)?, find(COEFFICIENTS)?);
        let mapped = coefficients.map().map_err(|e| e.to_string())?;
        let view = mapped.view().map_err(|e| e.to_string())?;
        let count = view.dims.first().copied().unwrap_or(0);
        let detected: Vec<_> =
            objects.iter().filter_map(|o| Some((o.id, o.detection.as_ref()?.rect))).collect();
        let Some(ours) = detected.len().checked_sub(count).map(|first| &detected[first..]) else {
            return Err(format!(
                "{count} rows of '{COEFFICIENTS}' arrived for {} detections: put segmask directly behind gpunms",
                detected.len()
            ));
        };
        if ours.is_empty() {
            return Ok(Vec::new());
        }
        let to_tensor = inverse(&set.to_frame).ok_or("the tensor does not lie in the frame")?;
        let boxes: Vec<_> = ours.iter().map(|(_, rect)| to_tensor.rect(rect)).collect();
        let values = view.to_f32();
        let made = match side.on_device(std::slice::from_ref(prototypes))? {
            Some((tensors, stream)) => self.on_gpu(&tensors, &boxes, &values, &stream),
            None => self.on_cpu(prototypes, &boxes, &values),
        };
        let (data, cells) = made.map_err(|e| e.to_string())?;
        let Some(data) = data else { return Ok(Vec::new()) };
        let scale = [0, 1].map(|axis| self.input[axis] as f32 / cells[axis] as f32);
        let masks = self.regions.iter().zip(ours).filter(|(region, _)| region.width > 0 && region.height > 0);
        masks
            .map(|(region, (object, _))| {
                let [x, y, w, h] = [region.x, region.y, region.width, region.height].map(|v| v as f32);
                let rect = Rect { x: x * scale[0], y: y * scale[1], w: w * scale[0], h: h * scale[1] };
                let size = |v: u32| usize::try_from(v).unwrap_or(0);
                let (width, height) = (size(region.width), size(region.height));
                Ok(Mask {
                    kind: Kind::Instance { object: *object },
                    width,
                    height,
                    data: part(&data, size(region.offset), width * height).map_err(|e| e.to_string())?,
                    rect: set.to_frame.rect(&rect),
                })
            })
            .collect()
    }

    /// All masks in one buffer, which is `None` where they have no cells, and the prototypes' width and height.
    fn on_cpu(
        &mut self,
        prototypes: &Tensor,
        boxes: &[Rect],
        coefficients: &[f32],
    ) -> Result<(Option<gst::Buffer>, [usize; 2]), Failure> {
        let mapped = prototypes.map()?;
        if !matches!(self.kernels, Some(PrototypeKernels::Cpu(..))) {
            let plan = Prototypes::new(&self.prototypes, self.input, self.layout)?;
            self.kernels = Some(PrototypeKernels::Cpu(Box::new(plan), Pools::default()));
        }
        let Some(PrototypeKernels::Cpu(plan, pools)) = &mut self.kernels else {
            return Err("there are no prototypes".into());
        };
        let bytes = plan.regions(boxes, &mut self.regions);
        if bytes == 0 {
            return Ok((None, plan.size()));
        }
        let mut masks = pools.buffer(room(bytes))?;
        plan.run(&mapped.view()?, coefficients, &self.regions, &mut writable(&mut masks)?[..bytes])?;
        Ok((Some(masks), plan.size()))
    }

    /// Nothing here waits: readers of the masks do.
    fn on_gpu(
        &mut self,
        tensors: &OnDevice<'_>,
        boxes: &[Rect],
        coefficients: &[f32],
        stream: &Arc<CudaStream>,
    ) -> Result<(Option<gst::Buffer>, [usize; 2]), Failure> {
        if !matches!(&self.kernels, Some(PrototypeKernels::Gpu(_, _, made_for)) if Arc::ptr_eq(made_for, stream))
        {
            let made = CudaPrototypes::new(&self.prototypes, self.input, self.layout, stream)?;
            let pools = Pools::on_device(TensorAllocator::new(stream)?);
            self.kernels = Some(PrototypeKernels::Gpu(Box::new(made), pools, Arc::clone(stream)));
        }
        let Some(PrototypeKernels::Gpu(prototypes, pools, _)) = &mut self.kernels else {
            return Err("there are no prototypes".into());
        };
        let size = prototypes.plan().size();
        let bytes = prototypes.plan().regions(boxes, &mut self.regions);
        if bytes == 0 {
            return Ok((None, size));
        }
        let masks = pools.buffer(room(bytes))?;
        let target = device_memory(&masks).ok_or("the masks' memory is not on the device")?;
        target.begin_write(stream)?;
        let regions = &self.regions;
        let done = tensors.read(stream, |views| {
            let [view, ..] = views else { return Err("there are no prototypes".into()) };
            let target = target.slice().first(bytes);
            Ok(stream.sampled(|| prototypes.run(stream, view, coefficients, regions, target))?)
        });
        // In any case: part of the work may have been enqueued.
        target.end_write(stream)?;
        done?;
        Ok((Some(masks), size))
    }
}

fn room(bytes: usize) -> usize {
    bytes.next_power_of_two().max(ROOM)
}

/// From the frame to the tensor; `None` where the tensor lies in no area of the frame.
fn inverse(map: &Affine) -> Option<Affine> {
    let Affine { scale: [a, d], skew: [b, c], offset: [x, y] } = *map;
    let determinant = a * d - b * c;
    let inverse = |v: f64| v / determinant;
    let offset = [inverse(b * y - d * x), inverse(c * x - a * y)];
    let found = Affine { scale: [inverse(d), inverse(a)], skew: [inverse(-b), inverse(-c)], offset };
    (determinant.is_finite() && determinant != 0.0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_leads_back_also_from_rotated_tensors() {
        for map in [
            Affine::upright([2.0, 0.5], [-3.0, 7.0]),
            Affine { scale: [1.5, 0.8], skew: [-0.4, 0.9], offset: [10.0, -20.0] },
        ] {
            let back = inverse(&map).unwrap();
            for (x, y) in [(0.0, 0.0), (12.5, -3.0), (640.0, 480.0)] {
                let (fx, fy) = map.point(x, y);
                let (bx, by) = back.point(fx, fy);
                assert!((bx - x).abs() < 1e-3 && (by - y).abs() < 1e-3, "{map:?}: {bx} {by}");
            }
        }
        assert_eq!(inverse(&Affine::upright([0.0, 1.0], [0.0, 0.0])), None);
    }
}
