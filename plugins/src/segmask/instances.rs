//! The masks of single objects.

use std::sync::Arc;

use cudainfer_kernels::detect::Extent;
use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::geometry::{Affine, Rect};
use cudainfer_kernels::sanity::{Expected, Survey};
use cudainfer_kernels::segment::{
    CudaInstanceMasks, CudaPrototypes, InstanceMasks, Instances as Objects, Prototypes, Region, Window,
};
use cudainfer_kernels::tensor::{TensorDesc, TensorView};

use super::pools::Pools;
use super::settings::Each;
use super::whole::writable;
use crate::decoding;
use crate::memory::tensor::{TensorAllocator, device_memory, part};
use crate::meta::mask::{COEFFICIENTS, Mask, MaskKind, OBJECTS, rows_name};
use crate::meta::object::Object;
use crate::meta::tensor::{Failure, OnDevice, Tensor, TensorSet};

/// The least memory for the masks of a frame, so that few pools serve all numbers of objects.
const ROOM: usize = 64 << 10;

/// Makes the masks of a stream's objects, where the tensor that they are made of lies.
pub(super) struct Instances {
    /// The name of that tensor.
    values: String,
    /// The name of the tensor with a row for each object.
    rows: &'static str,
    input: [usize; 2],
    /// The frame's width and height.
    frame: [usize; 2],
    /// Whether each mask has a sample for each pixel of the frame that it covers.
    upsample: bool,
    method: Method,
    host: Option<Pools>,
    /// With the stream that it was made for.
    gpu: Option<(OnGpu, Pools, Arc<CudaStream>)>,
}

/// How masks are computed: what does that on the CPU, and where the masks of a frame lie.
enum Method {
    Sums(Box<Prototypes>, Vec<Region>),
    Samples(Box<InstanceMasks>, Extent, Vec<Window>),
}

enum OnGpu {
    Sums(Box<CudaPrototypes>),
    Samples(Box<CudaInstanceMasks>),
}

/// A frame's objects that have masks.
pub(super) struct Job {
    ids: Vec<i32>,
    /// Their boxes in frame pixels.
    boxes: Vec<Rect>,
    coefficients: Vec<f32>,
    /// For maps: the number of each object's map.
    rows: Vec<u32>,
}

/// Which of the bytes of all masks are those of one, and where on the frame it lies.
struct MaskBytes {
    width: usize,
    height: usize,
    offset: usize,
    rect: Rect,
}

impl Instances {
    /// Of the tensor `values`, for frames of this width and height.
    ///
    /// # Errors
    /// A sentence: a tensor that does not fit `each`.
    pub fn new(
        values: &TensorDesc,
        input: [usize; 2],
        frame: [usize; 2],
        each: Each,
    ) -> Result<Self, String> {
        let samples = |masks, extent| Method::Samples(Box::new(masks), extent, Vec::new());
        let in_words = |e: cudainfer_kernels::segment::SegmentError| e.to_string();
        let (method, upsample, rows) = match each {
            Each::Prototypes { layout, upsample: false } => {
                let prototypes = Prototypes::new(values, input, layout).map_err(in_words)?;
                (Method::Sums(Box::new(prototypes), Vec::new()), false, COEFFICIENTS)
            }
            Each::Prototypes { layout, upsample } => {
                let masks = InstanceMasks::of_prototypes(values, input, layout).map_err(in_words)?;
                (samples(masks, Extent::Input), upsample, COEFFICIENTS)
            }
            Each::Maps { extent, activation, threshold, upsample } => {
                let masks = InstanceMasks::of_maps(values, input, extent, activation, threshold);
                (samples(masks.map_err(in_words)?, extent), upsample, rows_name(extent))
            }
        };
        Ok(Self { values: values.name.clone(), rows, input, frame, upsample, method, host: None, gpu: None })
    }

    /// The masks of those of `objects` that there are rows for.
    ///
    /// # Errors
    /// A sentence.
    pub fn make(
        &mut self,
        set: &TensorSet,
        objects: &[Object],
        side: &decoding::Side,
    ) -> Result<Vec<Mask>, String> {
        let values = set.tensor(&self.values)?;
        let Some(job) = Job::new(set.tensor(self.rows)?, set.tensor(OBJECTS)?, objects)? else {
            return Ok(Vec::new());
        };
        self.make_of(values, &set.to_frame, &job, side)
    }

    /// The masks of the objects of a job, made of `values`.
    ///
    /// # Errors
    /// A sentence.
    pub fn make_of(
        &mut self,
        values: &Tensor,
        to_frame: &Affine,
        job: &Job,
        side: &decoding::Side,
    ) -> Result<Vec<Mask>, String> {
        let bytes = self.place(to_frame, job)?;
        if bytes == 0 {
            return Ok(Vec::new());
        }
        let made = match side.on_device(std::slice::from_ref(values))? {
            Some((tensors, stream)) => self.on_gpu(&tensors, &job.coefficients, bytes, &stream),
            None => self.on_cpu(values, &job.coefficients, bytes),
        };
        let data = made.map_err(|e| e.to_string())?;
        let places = self.places(to_frame, job).into_iter().zip(&job.ids);
        places
            .filter(|(place, _)| place.width > 0 && place.height > 0)
            .map(|(MaskBytes { width, height, offset, rect }, object)| {
                let data = part(&data, offset, width * height).map_err(|e| e.to_string())?;
                Ok(Mask { kind: MaskKind::Instance { object: *object }, width, height, data, rect })
            })
            .collect()
    }

    /// The expected values; `None` for prototypes, which may be anything.
    pub fn expected(&self) -> Option<Expected> {
        let Method::Samples(masks, ..) = &self.method else { return None };
        masks.expected()
    }

    /// Statistics of the values.
    pub fn survey(&self, values: &TensorView<'_>) -> Option<Survey> {
        let Method::Samples(masks, ..) = &self.method else { return None };
        masks.survey(values)
    }

    /// Decides where the masks lie; returns how many bytes they have.
    fn place(&mut self, to_frame: &Affine, job: &Job) -> Result<usize, String> {
        match &mut self.method {
            Method::Sums(prototypes, regions) => {
                let to_tensor = to_frame.inverse().ok_or("the tensor does not lie in the frame")?;
                let boxes: Vec<_> = job.boxes.iter().map(|rect| to_tensor.rect(rect)).collect();
                Ok(prototypes.regions(&boxes, regions))
            }
            Method::Samples(masks, _, windows) if self.upsample => {
                let Job { boxes, rows, .. } = job;
                let objects = Objects { boxes, rows, to_frame: *to_frame, frame: self.frame };
                masks.pixels(&objects, windows).map_err(|e| e.to_string())
            }
            Method::Samples(masks, _, windows) => Ok(masks.cells(&job.rows, windows)),
        }
    }

    /// The place of each object's mask, on the frame too.
    fn places(&self, to_frame: &Affine, job: &Job) -> Vec<MaskBytes> {
        let place = |[width, height, offset]: [u32; 3], rect| {
            let [width, height, offset] =
                [width, height, offset].map(|v| usize::try_from(v).unwrap_or(usize::MAX));
            MaskBytes { width, height, offset, rect }
        };
        match &self.method {
            Method::Sums(prototypes, regions) => {
                let cells = prototypes.size();
                let scale = [0, 1].map(|axis| self.input[axis] as f32 / cells[axis] as f32);
                let places = regions.iter().map(|region| {
                    let Region { width, height, offset, .. } = *region;
                    let [x, y, w, h] = [region.x, region.y, width, height].map(|v| v as f32);
                    let rect = Rect { x: x * scale[0], y: y * scale[1], w: w * scale[0], h: h * scale[1] };
                    place([width, height, offset], to_frame.rect(&rect))
                });
                places.collect()
            }
            Method::Samples(_, extent, windows) => {
                let [w, h] = self.input.map(|side| side as f32);
                let input = to_frame.rect(&Rect { x: 0.0, y: 0.0, w, h });
                let places = windows.iter().zip(&job.boxes).map(|(window, object)| {
                    let Window { width, height, offset, .. } = *window;
                    let [x, y, w, h] = [window.x, window.y, width, height].map(|v| v as f32);
                    let rect = match (self.upsample, extent) {
                        (true, _) => Rect { x, y, w, h },
                        (false, Extent::Input) => input,
                        (false, Extent::Box) => *object,
                    };
                    place([width, height, offset], rect)
                });
                places.collect()
            }
        }
    }

    /// All masks in one buffer.
    fn on_cpu(
        &mut self,
        values: &Tensor,
        coefficients: &[f32],
        bytes: usize,
    ) -> Result<gst::Buffer, Failure> {
        let mapped = values.map()?;
        let view = mapped.view()?;
        let mut masks = self.host.get_or_insert_with(Pools::default).buffer(room(bytes))?;
        {
            let mut target = writable(&mut masks)?;
            let target = &mut target[..bytes];
            match &self.method {
                Method::Sums(prototypes, regions) => prototypes.run(&view, coefficients, regions, target)?,
                Method::Samples(samples, _, windows) => samples.run(&view, coefficients, windows, target)?,
            }
        }
        Ok(masks)
    }

    /// Nothing here waits: readers of the masks do.
    fn on_gpu(
        &mut self,
        tensors: &OnDevice<'_>,
        coefficients: &[f32],
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<gst::Buffer, Failure> {
        let Self { method, gpu, .. } = self;
        if !matches!(gpu, Some((.., made_for)) if Arc::ptr_eq(made_for, stream)) {
            let made = match method {
                Method::Sums(prototypes, _) => {
                    OnGpu::Sums(Box::new(CudaPrototypes::of((**prototypes).clone(), stream)?))
                }
                Method::Samples(samples, ..) => {
                    OnGpu::Samples(Box::new(CudaInstanceMasks::new((**samples).clone(), stream)?))
                }
            };
            *gpu = Some((made, Pools::on_device(TensorAllocator::new(stream)?), Arc::clone(stream)));
        }
        let Some((kernels, pools, _)) = gpu else { return Err("there are no kernels".into()) };
        let masks = pools.buffer(room(bytes))?;
        let target = device_memory(&masks).ok_or("the masks' memory is not on the device")?;
        target.begin_write(stream)?;
        let done = tensors.read(stream, |views| {
            let [view, ..] = views else { return Err("there is nothing to make masks of".into()) };
            let target = target.slice().first(bytes);
            Ok(stream.sampled(|| match (kernels, &*method) {
                (OnGpu::Sums(kernels), Method::Sums(_, regions)) => {
                    kernels.run(stream, view, coefficients, regions, target)
                }
                (OnGpu::Samples(kernels), Method::Samples(_, _, windows)) => {
                    kernels.run(stream, view, coefficients, windows, target)
                }
                // What was made follows from the method.
                _ => Ok(()),
            })?)
        });
        // Also after an error: part of the work may have been enqueued.
        target.end_write(stream)?;
        done?;
        Ok(masks)
    }
}

impl Job {
    /// Of one object, whose mask is this map of its values.
    pub fn of_one(object: i32, outline: Rect, map: u32) -> Self {
        Self { ids: vec![object], boxes: vec![outline], coefficients: Vec::new(), rows: vec![map] }
    }

    /// `None` if no object has a row of the tensor `rows`; those with the ids in `ids` have one each.
    fn new(rows: &Tensor, ids: &Tensor, objects: &[Object]) -> Result<Option<Self>, String> {
        let words = |e: gst::glib::BoolError| e.to_string();
        let (rows_mapped, ids_mapped) = (rows.map().map_err(words)?, ids.map().map_err(words)?);
        let view = rows_mapped.view().map_err(|e| e.to_string())?;
        let ids = ids_mapped.view().map_err(|e| e.to_string())?;
        let ids: Vec<_> = ids.bytes().as_chunks().0.iter().map(|id| i32::from_ne_bytes(*id)).collect();
        if view.dims.first() != Some(&ids.len()) {
            return Err(format!("'{}' has not a row for each of {} objects", rows.desc, ids.len()));
        }
        // Objects of other programs may have the same ids; they were there before.
        let box_of = |id: &i32| {
            objects.iter().rev().find_map(|o| o.detection.as_ref().filter(|_| o.id == *id).map(|d| d.rect))
        };
        let boxes: Option<Vec<_>> = ids.iter().map(box_of).collect();
        let boxes = boxes.ok_or_else(|| {
            format!(
                "{} rows of '{}' arrived, but not all of their objects are on the frame: put segmask directly after gpunms",
                ids.len(),
                rows.desc.name
            )
        })?;
        let (mut coefficients, mut numbers) = (Vec::new(), Vec::new());
        if rows.desc.name == COEFFICIENTS {
            coefficients = view.to_f32().into_owned();
        } else {
            numbers = view.bytes().as_chunks().0.iter().map(|row| u32::from_ne_bytes(*row)).collect();
        }
        Ok((!ids.is_empty()).then_some(Self { ids, boxes, coefficients, rows: numbers }))
    }
}

fn room(bytes: usize) -> usize {
    bytes.next_power_of_two().max(ROOM)
}
