//! Makes the tensors of a frame where the frame is: one of the whole frame, or one for each region, all in one piece of
//! memory.

use std::collections::HashMap;
use std::sync::Arc;

use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::frame::FrameFormat;
use cudainfer_kernels::geometry::{Affine, Rect};
use cudainfer_kernels::homography::Homography;
use cudainfer_kernels::motion;
use cudainfer_kernels::preproc::{
    CudaPartPreproc, CudaPreproc, CudaRegionPreproc, CudaWarpPreproc, Part, PartPreproc, Preproc,
    PreprocError, PreprocParams, RegionPreproc,
};
use cudainfer_kernels::tensor::TensorDesc;
use gst::prelude::*;

use super::crop::{Crop, Cutout, CutoutKind};
use super::fixed::{self, FixedRegion};
use super::gate::View;
use super::points::{Misfit, Points};
use super::regions::{Chooser, ChosenRegions, Rules, Turns};
use crate::feedback::FoundObject;
use crate::memory::tensor::{TensorAllocator, device_memory, part};
use crate::memory::{Elsewhere, MappedCudaFrame, MappedHostFrame, host_pool, order};
use crate::meta::object::{Finding, attach, objects};
use crate::meta::tensor::{Region, Tensor, TensorSet};
use crate::notice::Limit;
use crate::video;

/// The parts of a frame that become tensors.
#[derive(Clone, Debug)]
pub(super) enum Cut {
    /// The whole frame: one tensor.
    Frame,
    /// The regions of objects, cut by their boxes or by their points.
    Objects(Box<Rules>, Crop, Option<Points>),
    /// The same regions of every frame.
    Fixed(Vec<FixedRegion>, Crop),
    /// The regions in which something moves, at most this many.
    Moving { crop: Crop, most: usize },
}

/// The result of negotiation.
pub(super) struct Maker {
    info: gst_video::VideoInfo,
    format: FrameFormat,
    preprocessor: Preprocessor,
    /// Of a tensor alone.
    desc: TensorDesc,
    input: [usize; 2],
    bytes: usize,
    source: TensorSource,
    pools: Pools,
    /// Where frames lie, if that is another CUDA context, and the number of the GPU that tensors are made on.
    pub elsewhere: Option<(Elsewhere, u32)>,
}

/// The parts of a frame that become tensors.
enum TensorSource {
    Frame(Affine),
    Objects(Box<Chooser>),
    Fixed(Vec<FixedRegion>),
    Moving { crop: Crop, most: usize },
}

/// What one tensor is made from: the frame, the region of an object, or a region that is the same in every frame.
struct Chosen {
    cutout: Cutout,
    object: Option<i32>,
    region: Option<Region>,
}

/// The choice for a frame.
#[derive(Default)]
struct Choice {
    chosen: Vec<Chosen>,
    /// How many of them are followed.
    followed: usize,
    /// The ids of objects that were put on the frame because they are followed.
    expected: Vec<i32>,
    skipped: Skipped,
    /// The parts of the frame that the model sees, where it does not see all of it.
    parts: Option<Vec<Rect>>,
}

/// What was made of a frame.
pub(super) struct Made {
    pub sets: Vec<TensorSet>,
    /// How many of the sets are of objects that are followed.
    pub followed: usize,
    /// The ids of objects that were put on the frame because they are followed.
    pub expected: Vec<i32>,
    pub skipped: Skipped,
    /// The parts of the frame that the model sees, where it does not see all of it because nothing moves there.
    pub parts: Option<Vec<Rect>>,
}

/// Objects of a frame that have no tensor.
#[derive(Default)]
pub(super) struct Skipped {
    /// How many.
    pub count: usize,
    /// Where there is no room for all.
    pub limit: Option<Limit>,
    /// What is wrong with the points of one that is cut by them.
    pub misfit: Option<Misfit>,
}

/// The places in a frame that the tensors are made from.
#[derive(Default)]
struct Places {
    /// Where what is found in the tensors lies, one for each.
    to_frame: Vec<Affine>,
    /// Where the tensors' pixels are taken from, as many.
    maps: Vec<Affine>,
    /// Of parts, as many as `to_frame`, and no maps.
    parts: Vec<Part>,
    /// Of warped regions, as many as `to_frame`, and no maps.
    warps: Vec<Homography>,
}

/// What makes tensors, where the frames lie.
enum Preprocessor {
    Cpu(MakerKind<Preproc, RegionPreproc, RegionPreproc, PartPreproc>),
    Gpu(MakerKind<CudaPreproc, CudaRegionPreproc, CudaWarpPreproc, CudaPartPreproc>, Arc<CudaStream>),
}

enum MakerKind<F, R, W, P> {
    Frame(Box<F>),
    Regions(Box<R>),
    Warped(Box<W>),
    Parts(Box<P>),
}

impl Maker {
    /// For frames of these caps, which the info was made of, in the memory of `stream`'s device, or on the host; `cut` says which
    /// parts of them become tensors.
    ///
    /// # Errors
    /// A sentence that names what cannot be made.
    pub fn new(
        caps: &gst::CapsRef,
        info: gst_video::VideoInfo,
        params: PreprocParams,
        cut: Cut,
        name: &str,
        stream: Option<Arc<CudaStream>>,
    ) -> Result<Self, String> {
        let format = video::frame_format(caps, &info)
            .ok_or_else(|| format!("frames of format {} are not read", info.format()))?;
        let input = [params.width, params.height];
        let ty = params.ty;
        let failed = |e: PreprocError| e.to_string();
        let kind = match &cut {
            Cut::Frame => None,
            Cut::Objects(_, crop, _) | Cut::Fixed(_, crop) | Cut::Moving { crop, .. } => Some(crop.kind()),
        };
        let (preprocessor, dims, bytes, to_frame) = match (stream, kind) {
            (None, None) => {
                let preproc = Preproc::new(format, params).map_err(failed)?;
                let facts = (preproc.dims(), preproc.bytes(), preproc.affine());
                (Preprocessor::Cpu(MakerKind::Frame(Box::new(preproc))), facts.0, facts.1, facts.2)
            }
            (None, Some(CutoutKind::Parts)) => {
                let preproc = PartPreproc::new(format, params).map_err(failed)?;
                let (dims, bytes) = (preproc.dims(), preproc.bytes());
                (Preprocessor::Cpu(MakerKind::Parts(Box::new(preproc))), dims, bytes, Affine::IDENTITY)
            }
            (None, Some(CutoutKind::Regions)) => {
                let preproc = RegionPreproc::new(format, params).map_err(failed)?;
                let (dims, bytes) = (preproc.dims(), preproc.bytes());
                (Preprocessor::Cpu(MakerKind::Regions(Box::new(preproc))), dims, bytes, Affine::IDENTITY)
            }
            (None, Some(CutoutKind::Warped)) => {
                let preproc = RegionPreproc::new(format, params).map_err(failed)?;
                let (dims, bytes) = (preproc.dims(), preproc.bytes());
                (Preprocessor::Cpu(MakerKind::Warped(Box::new(preproc))), dims, bytes, Affine::IDENTITY)
            }
            (Some(stream), None) => {
                let preproc = CudaPreproc::new(format, params, &stream).map_err(failed)?;
                let facts = (preproc.dims(), preproc.bytes(), preproc.affine());
                (Preprocessor::Gpu(MakerKind::Frame(Box::new(preproc)), stream), facts.0, facts.1, facts.2)
            }
            (Some(stream), Some(CutoutKind::Parts)) => {
                let preproc = CudaPartPreproc::new(format, params, &stream).map_err(failed)?;
                let (dims, bytes) = (preproc.dims(), preproc.bytes());
                (
                    Preprocessor::Gpu(MakerKind::Parts(Box::new(preproc)), stream),
                    dims,
                    bytes,
                    Affine::IDENTITY,
                )
            }
            (Some(stream), Some(CutoutKind::Regions)) => {
                let preproc = CudaRegionPreproc::new(format, params, &stream).map_err(failed)?;
                let (dims, bytes) = (preproc.dims(), preproc.bytes());
                (
                    Preprocessor::Gpu(MakerKind::Regions(Box::new(preproc)), stream),
                    dims,
                    bytes,
                    Affine::IDENTITY,
                )
            }
            (Some(stream), Some(CutoutKind::Warped)) => {
                let preproc = CudaWarpPreproc::new(format, params, &stream).map_err(failed)?;
                let (dims, bytes) = (preproc.dims(), preproc.bytes());
                let preprocessor = Preprocessor::Gpu(MakerKind::Warped(Box::new(preproc)), stream);
                (preprocessor, dims, bytes, Affine::IDENTITY)
            }
        };
        let allocator = match &preprocessor {
            Preprocessor::Cpu(_) => None,
            Preprocessor::Gpu(_, stream) => Some(TensorAllocator::new(stream).map_err(|e| e.to_string())?),
        };
        let source = match cut {
            Cut::Frame => TensorSource::Frame(to_frame),
            Cut::Objects(rules, crop, points) => {
                TensorSource::Objects(Box::new(Chooser::new(*rules, crop, points, bytes)))
            }
            Cut::Fixed(regions, _) => TensorSource::Fixed(regions),
            Cut::Moving { crop, most } => TensorSource::Moving { crop, most },
        };
        let pools = Pools { bytes, allocator, pools: HashMap::new() };
        Ok(Self {
            info,
            format,
            preprocessor,
            desc: TensorDesc::fixed(name, ty, &dims),
            input,
            bytes,
            source,
            pools,
            elsewhere: None,
        })
    }

    /// What the frames are.
    pub fn info(&self) -> &gst_video::VideoInfo {
        &self.info
    }

    /// Whether objects are followed.
    pub fn follows(&self) -> bool {
        matches!(&self.source, TensorSource::Objects(chooser) if chooser.follows())
    }

    /// Makes a frame's tensors; on the GPU that is only enqueued. `turns` are those of the frame's stream, `found` is what was found in
    /// its last frame, and `view` is what motion lets the model see.
    pub fn make(
        &mut self,
        buffer: &mut gst::BufferRef,
        turns: &mut Turns,
        found: &[FoundObject],
        view: &View,
    ) -> Result<Made, String> {
        let whole = matches!(self.source, TensorSource::Frame(_));
        let Choice { chosen, followed, expected, skipped, parts } =
            self.choose(buffer, turns, found, view)?;
        if chosen.is_empty() {
            return Ok(Made { sets: Vec::new(), followed, expected, skipped, parts });
        }
        let places = self.places(&chosen)?;
        let mut data = self.pools.acquire(places.to_frame.len())?;
        self.fill(buffer, &places, &mut data)?;
        let rows = chosen.iter().zip(places.to_frame).enumerate();
        let sets = rows.map(|(row, (&Chosen { object, region, .. }, to_frame))| {
            let data = if whole { data.clone() } else { self.row(&data, row)? };
            let tensors = vec![Tensor { desc: self.desc.clone(), data }];
            Ok(TensorSet { tensors, input: self.input, to_frame, batch: None, object, region, held: false })
        });
        Ok(Made { sets: sets.collect::<Result<_, String>>()?, followed, expected, skipped, parts })
    }

    /// The parts of a frame that become tensors. Puts the objects on it that are followed and that no element upstream has found.
    fn choose(
        &self,
        buffer: &mut gst::BufferRef,
        turns: &mut Turns,
        found: &[FoundObject],
        view: &View,
    ) -> Result<Choice, String> {
        let fixed = |&FixedRegion { region, cutout }: &FixedRegion| Chosen {
            cutout,
            object: None,
            region: Some(region),
        };
        Ok(match &self.source {
            TensorSource::Frame(to_frame) => Choice {
                chosen: vec![Chosen { cutout: Cutout::Map(*to_frame), object: None, region: None }],
                ..Choice::default()
            },
            TensorSource::Objects(chooser) => {
                let choice = chooser.choose(&objects(buffer), turns, found);
                let ChosenRegions {
                    regions,
                    followed,
                    made,
                    identities,
                    shown,
                    outside,
                    misfits,
                    misfit,
                    cut,
                    most,
                    is_set,
                } = choice;
                for object in &made {
                    object.put(buffer, &object.detected_outline().unwrap_or_default());
                }
                for (object, identity) in identities {
                    attach(buffer, object, &Finding::Tracking(identity));
                }
                let limit =
                    Limit { name: "max-regions", value: most, what: "objects", cut: Some(cut), is_set };
                let skipped = Skipped {
                    count: outside + misfits + cut + shown,
                    limit: (cut > 0).then_some(limit),
                    misfit,
                };
                let chosen = |(object, cutout)| Chosen { cutout, object: Some(object), region: None };
                Choice {
                    chosen: regions.into_iter().map(chosen).collect(),
                    followed,
                    expected: made.iter().map(|object| object.id).collect(),
                    skipped,
                    parts: None,
                }
            }
            TensorSource::Fixed(regions) => {
                Choice { chosen: regions.iter().map(fixed).collect(), ..Choice::default() }
            }
            TensorSource::Moving { crop, most } => {
                let whole = fixed::whole_frame(crop.frame);
                let rects = match view {
                    View::Moving(boxes) => motion::regions(boxes, crop.frame, crop.tensor, *most),
                    View::Whole | View::Nothing => vec![whole],
                };
                let chosen = fixed::cut(&rects, crop, true)?.iter().map(fixed).collect();
                Choice { chosen, parts: (rects != [whole]).then_some(rects), ..Choice::default() }
            }
        })
    }

    fn places(&self, chosen: &[Chosen]) -> Result<Places, String> {
        let mut places = Places::default();
        for chosen in chosen {
            let to_frame = match chosen.cutout {
                Cutout::Map(map) => {
                    places.maps.push(map);
                    map
                }
                Cutout::Moved { from, to_frame } => {
                    places.maps.push(from);
                    to_frame
                }
                Cutout::Warped(map) => {
                    places.warps.push(map);
                    map.nearest_affine(self.input)
                }
                Cutout::Part(part) => {
                    places.parts.push(part);
                    self.part_map(&part)?
                }
            };
            places.to_frame.push(to_frame);
        }
        Ok(places)
    }

    /// Where the tensor of a part lies in the frame.
    fn part_map(&self, part: &Part) -> Result<Affine, String> {
        let map = match &self.preprocessor {
            Preprocessor::Cpu(MakerKind::Parts(preproc)) => preproc.affine(part),
            Preprocessor::Gpu(MakerKind::Parts(preproc), _) => preproc.affine(part),
            Preprocessor::Cpu(_) | Preprocessor::Gpu(..) => {
                return Err("parts of the frame are not prepared for".into());
            }
        };
        map.map_err(|e| e.to_string())
    }

    fn fill(
        &mut self,
        buffer: &mut gst::BufferRef,
        Places { to_frame, maps, parts, warps }: &Places,
        data: &mut gst::Buffer,
    ) -> Result<(), String> {
        let bytes = self.bytes * to_frame.len();
        match &mut self.preprocessor {
            Preprocessor::Cpu(preproc) => {
                let mapped = MappedHostFrame::read(buffer, &self.info).map_err(|e| e.to_string())?;
                let frame = video::frame(&self.format, &mapped).map_err(|e| e.to_string())?;
                let tensor = data.get_mut().ok_or("the tensor is in use")?;
                let mut tensor = tensor.map_writable().map_err(|e| e.to_string())?;
                let tensor = tensor.as_mut_slice().get_mut(..bytes).ok_or("the tensor is too short")?;
                match preproc {
                    MakerKind::Frame(preproc) => preproc.run(&frame, tensor),
                    MakerKind::Regions(preproc) => preproc.run(&frame, maps, tensor),
                    MakerKind::Warped(preproc) => preproc.run(&frame, warps, tensor),
                    MakerKind::Parts(preproc) => preproc.run(&frame, parts, tensor),
                }
                .map_err(|e| e.to_string())?;
            }
            Preprocessor::Gpu(preproc, stream) => {
                let memory = device_memory(data).ok_or("the tensor does not lie on the GPU")?;
                let mapped = MappedCudaFrame::read(buffer, &self.info, stream).map_err(|e| e.to_string())?;
                let frame = video::device_frame(&self.format, &mapped).map_err(|e| e.to_string())?;
                let mut enqueue = || -> Result<(), PreprocError> {
                    memory.begin_write(stream)?;
                    let tensor = memory.slice().first(bytes);
                    stream.sampled(|| match preproc {
                        MakerKind::Frame(preproc) => preproc.run(stream, &[frame], tensor),
                        MakerKind::Regions(preproc) => preproc.run(stream, &frame, maps, tensor),
                        MakerKind::Warped(preproc) => preproc.run(stream, &frame, warps, tensor),
                        MakerKind::Parts(preproc) => preproc.run(stream, &frame, parts, tensor),
                    })?;
                    memory.end_write(stream)?;
                    Ok(())
                };
                enqueue().map_err(|e| e.to_string())?;
                let gpu = stream.context().device().ordinal;
                self.elsewhere = mapped.elsewhere().map(|elsewhere| (elsewhere, gpu));
                drop(mapped);
                // The frame goes on before it has been read.
                order::guard(buffer);
            }
        }
        Ok(())
    }

    /// A region's tensor. The memory goes back to its pool when the last tensor in it is released.
    fn row(&self, data: &gst::Buffer, row: usize) -> Result<gst::Buffer, String> {
        part(data, row * self.bytes, self.bytes).map_err(|e| e.to_string())
    }
}

/// Memory for tensors: a pool for each power of two of them, so that any number of regions finds some that was used before.
struct Pools {
    /// Of a tensor alone.
    bytes: usize,
    /// Of memory on the GPU.
    allocator: Option<TensorAllocator>,
    pools: HashMap<usize, gst::BufferPool>,
}

impl Pools {
    /// A buffer for `tensors` tensors, or more.
    fn acquire(&mut self, tensors: usize) -> Result<gst::Buffer, String> {
        let tensors = tensors.next_power_of_two();
        if !self.pools.contains_key(&tensors) {
            self.pools.insert(tensors, self.pool(tensors)?);
        }
        let pool = self.pools.get(&tensors).ok_or("there is no pool")?;
        let bytes = self.bytes * tensors;
        pool.acquire_buffer(None)
            .map_err(|_| format!("there is no memory for the tensors of a frame, {bytes} bytes"))
    }

    fn pool(&self, tensors: usize) -> Result<gst::BufferPool, String> {
        let bytes = self.bytes.checked_mul(tensors).filter(|bytes| u32::try_from(*bytes).is_ok());
        let bytes = bytes.ok_or("the tensors of a frame are larger than 4 GiB")?;
        let pool = match &self.allocator {
            Some(allocator) => allocator.pool(bytes),
            None => host_pool::pool(bytes),
        };
        pool.map_err(|e| e.to_string())
    }
}

impl Drop for Pools {
    fn drop(&mut self) {
        for pool in self.pools.values() {
            let _ = pool.set_active(false);
        }
    }
}
