//! From the outputs to maps on the frame, or in place of it.

use std::sync::Arc;

use cudainfer_kernels::device::{CudaStream, DevicePlane};
use cudainfer_kernels::geometry::{Affine, Rect};
use cudainfer_kernels::maps::{
    CudaMapReader, CudaPicture, MapReader, Picture, Place, Range, Region, Summary,
};

use super::settings::TensorMapPlan;
use super::video::{Pool, Video};
use crate::decoding::{Counts, Decode, Side};
use crate::memory::tensor::{TensorAllocator, device_memory};
use crate::meta::map::{self, Map};
use crate::meta::tensor::{Failure, OnDevice, Tensor, TensorSet};
use crate::notice::Remark;

/// Reads the maps of frames.
pub(super) struct Maps {
    pub plan: TensorMapPlan,
    /// The frame's width and height.
    pub frame: [usize; 2],
    /// Of the frames that are made, if any are.
    pub video: Option<Video>,
    pub reader: Option<Reader>,
    pub range: RangeCheck,
}

/// Made with the first tensor, where that is.
pub(super) enum Reader {
    Cpu(MapReader),
    Gpu(Box<OnGpu>),
}

/// In one stream of the GPU.
pub(super) struct OnGpu {
    reader: CudaMapReader,
    stream: Arc<CudaStream>,
    /// Memory for video.
    pool: Option<Pool>,
}

/// Whether a warning about values beyond the range was posted.
#[derive(Debug, Default)]
pub(super) struct RangeCheck {
    warned: bool,
    remark: Option<Remark>,
}

impl RangeCheck {
    fn see(&mut self, summary: &Summary, plan: &TensorMapPlan) {
        let (Range::Fixed(min, max), [true, false]) =
            (plan.params.range, [summary.out_of_range > 0, self.warned])
        else {
            return;
        };
        self.warned = true;
        if plan.params.channels == 2 {
            self.remark = Some(Remark::Warning(format!(
                "{} of the vectors in '{}' are longer than {max}: they have the colour of that length. Set range-max if it matters; \
                 the property stats counts them in out-of-range",
                summary.out_of_range, plan.tensor.name
            )));
            return;
        }
        let most = if plan.params.channels == 1 { 65535 } else { 255 };
        self.remark = Some(Remark::Warning(format!(
            "{} of the values in '{}' are not from {min} to {max}, but from {} to {}: they became 0 or {most}. Set range-min and \
             range-max if these samples matter; the property stats counts them in out-of-range",
            summary.out_of_range, plan.tensor.name, summary.min, summary.max
        )));
    }
}

impl Decode for Maps {
    fn decode(
        &mut self,
        sets: &[TensorSet],
        frame: &mut gst::BufferRef,
        side: &Side,
        counts: &mut Counts,
    ) -> Result<(), String> {
        let [set @ TensorSet { object: None, region: None, .. }] = sets else {
            return Err("maps are read of whole frames, not of regions: leave out fusedpreproc's roi".into());
        };
        let Self { plan, frame: frame_size, video, reader, range } = self;
        let tensor = named(set, &plan.tensor.name)?;
        let score = plan.score.as_deref().map(|name| score(named(set, name)?)).transpose()?;
        let size = [plan.shape.width, plan.shape.height];
        let place_of = |video: &Video| match video.place {
            Some(place) => Ok(place),
            None => Place::of_frame(size, plan.input, &set.to_frame, *frame_size),
        };
        let region =
            Region::inside(size, plan.input, &set.to_frame, *frame_size).map_err(|e| e.to_string())?;
        let place = video.as_ref().map(place_of).transpose().map_err(|e| e.to_string())?;
        let target = video.as_ref().zip(place.as_ref());
        let made = match side.on_device(std::slice::from_ref(tensor))? {
            Some((_, stream)) if plan.params.channels == 2 && target.is_some() => {
                stream.counters().fallbacks.add(1);
                on_cpu(plan, reader, tensor, &region, target, frame)
            }
            Some((tensors, stream)) => on_gpu(plan, reader, &tensors, &region, target, frame, &stream),
            None => on_cpu(plan, reader, tensor, &region, target, frame),
        };
        let summary = made.map_err(|e| e.to_string())?;
        let finite_score = score.filter(|score| score.is_finite());
        range.see(&summary, plan);
        let count = |n| usize::try_from(n).unwrap_or(usize::MAX);
        counts.add("maps", 1);
        counts.add("non-finite", count(summary.non_finite));
        counts.add("non-finite", usize::from(score.is_some() && finite_score.is_none()));
        counts.add("out-of-range", count(summary.out_of_range));
        if plan.params.channels != 3 || target.is_none() {
            let ends = |min: f32, max: f32| [f64::from(min), f64::from(max)];
            let samples = match plan.params.range {
                Range::Fixed(min, max) => Some(ends(min, max)),
                Range::Frame => (summary.finite > 0).then(|| ends(summary.min, summary.max)),
            };
            let cells_of = target.filter(|(video, _)| video.place.is_some());
            let rect = match cells_of {
                // The new frame has a pixel for each cell, from the region's first on.
                Some(_) => {
                    let first = region.first.map(|cell| -(cell as f32));
                    Rect { x: first[0], y: first[1], w: size[0] as f32, h: size[1] as f32 }
                }
                None => whole(&set.to_frame, plan.input),
            };
            let found = Map {
                name: plan.tensor.name.clone(),
                ty: plan.tensor.ty,
                width: size[0],
                height: size[1],
                channels: plan.shape.channels,
                layout: plan.shape.layout,
                data: tensor.data.clone(),
                rect,
                min_mean_max: summary.min_mean_max(),
                sum: (plan.shape.channels == 1 && summary.finite > 0).then_some(summary.sum),
                counts: plan.counts.clone(),
                non_finite: summary.non_finite,
                score: finite_score,
                range: samples.filter(|_| plan.params.channels == 1 && target.is_some()),
            };
            map::put(frame, &found);
        }
        Ok(())
    }

    fn remark(&mut self) -> Option<Remark> {
        self.range.remark.take()
    }
}

/// Where the network's input lies in the frame.
fn whole(to_frame: &Affine, [width, height]: [usize; 2]) -> Rect {
    to_frame.rect(&Rect { x: 0.0, y: 0.0, w: width as f32, h: height as f32 })
}

fn named<'a>(set: &'a TensorSet, name: &str) -> Result<&'a Tensor, String> {
    let tensor = set.tensors.iter().find(|t| t.desc.name == name);
    tensor.ok_or_else(|| format!("a frame came without the tensor '{name}'"))
}

/// The only number of a tensor; one on the device is downloaded.
fn score(tensor: &Tensor) -> Result<f64, String> {
    let read = || -> Result<Option<f64>, Failure> {
        Ok(tensor.map()?.view()?.to_f32().first().map(|score| f64::from(*score)))
    };
    read().map_err(|e| e.to_string())?.ok_or_else(|| format!("'{}' is empty", tensor.desc))
}

fn on_cpu(
    plan: &TensorMapPlan,
    reader: &mut Option<Reader>,
    tensor: &Tensor,
    region: &Region,
    target: Option<(&Video, &Place)>,
    frame: &mut gst::BufferRef,
) -> Result<Summary, Failure> {
    let mapped = tensor.map()?;
    let view = mapped.view()?;
    if !matches!(reader, Some(Reader::Cpu(_))) {
        *reader = Some(Reader::Cpu(MapReader::new(&plan.tensor, plan.params)?));
    }
    let Some(Reader::Cpu(reader)) = reader else { return Err("there is no reader".into()) };
    match target {
        None => Ok(reader.run(&view, region, None)?),
        Some((video, place)) => video.write(frame, |out, stride| {
            Ok(reader.run(&view, region, Some(Picture { place, out, stride }))?)
        }),
    }
}

/// Waits for the numbers that become metadata, and for video.
fn on_gpu(
    plan: &TensorMapPlan,
    reader: &mut Option<Reader>,
    tensors: &OnDevice<'_>,
    region: &Region,
    target: Option<(&Video, &Place)>,
    frame: &mut gst::BufferRef,
    stream: &Arc<CudaStream>,
) -> Result<Summary, Failure> {
    if !matches!(reader, Some(Reader::Gpu(made)) if Arc::ptr_eq(&made.stream, stream)) {
        let pool = target.map(|(video, _)| -> Result<Pool, Failure> {
            let [row, rows] = video.dense();
            Ok(Pool::on_device(&TensorAllocator::new(stream)?, row * rows)?)
        });
        *reader = Some(Reader::Gpu(Box::new(OnGpu {
            reader: CudaMapReader::new(&plan.tensor, plan.params, stream)?,
            stream: Arc::clone(stream),
            pool: pool.transpose()?,
        })));
    }
    let Some(Reader::Gpu(made)) = reader else { return Err("there is no reader".into()) };
    let OnGpu { reader, pool, .. } = made.as_mut();
    let mut start = |picture: Option<CudaPicture<'_>>| {
        tensors.read(stream, |views| {
            let [tensor, ..] = views else { return Err("there is no tensor".into()) };
            Ok(stream.sampled(|| reader.start(stream, tensor, region, picture))?)
        })
    };
    let (Some((video, place)), Some(pool)) = (target, pool.as_ref()) else {
        start(None)?;
        return Ok(reader.finish(stream)?);
    };
    let [row, _] = video.dense();
    let dense = pool.buffer()?;
    {
        let memory = device_memory(&dense).ok_or("a frame's memory is not on the device")?;
        memory.begin_write(stream)?;
        let done = start(Some(CudaPicture { place, out: DevicePlane::new(memory.slice(), row) }));
        // Also after an error: part of the work may have been enqueued.
        memory.end_write(stream)?;
        done?;
    }
    let summary = reader.finish(stream)?;
    let samples = dense.map_readable()?;
    video.write(frame, |rows, stride| {
        for (to, from) in rows.chunks_mut(stride).zip(samples.chunks(row)) {
            to.get_mut(..from.len()).ok_or("a frame's row is too short")?.copy_from_slice(from);
        }
        Ok(())
    })?;
    Ok(summary)
}
