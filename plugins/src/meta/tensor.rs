//! Tensors on a video buffer: the untagged custom meta `GstCudaInferTensorMeta`.
//!
//! Its `GstStructure` can be read from any language (`gst_buffer_get_custom_meta`):
//!
//! | field | type | what it is |
//! |---|---|---|
//! | `tensors` | `GstValueArray` of structures | `name` (string), `type` (string), `dims` (array of int), `data` (`GstBuffer`, dense, row-major) |
//! | `input-width`, `input-height` | int | size of the network's input tensor |
//! | `scale-x`, `scale-y`, `offset-x`, `offset-y` | double | the map to the frame: `frame = scale * tensor + offset`, in pixels |
//! | `batch`, `batch-row` | boxed, uint | behind trtinfer: the whole run's outputs, for the elements of this plugin, and which row is this frame's |

use std::sync::Arc;

use cudainfer_kernels::device::{Context, DeviceTensor, Stream};
use cudainfer_kernels::geometry::{Affine, Row};
use cudainfer_kernels::tensor::{TensorDesc, TensorError, TensorType, TensorView};
use gst::prelude::*;

use super::batch::Batch;
use crate::memory::tensor::{DeviceMemory, device_memory};

/// The meta's name.
pub const NAME: &str = "GstCudaInferTensorMeta";

/// Registers the meta; called once, when the plugin loads.
pub fn register() {
    if !gst::meta::CustomMeta::is_registered(NAME) {
        gst::meta::CustomMeta::register_simple(NAME);
    }
}

/// One tensor: description and data.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Name, type and dimensions, all known.
    pub desc: TensorDesc,
    /// The elements, dense and row-major.
    pub data: gst::Buffer,
}

/// All tensors of a frame.
#[derive(Clone, Debug)]
pub struct TensorSet {
    /// The network's inputs (behind fusedpreproc) or outputs (behind trtinfer).
    pub tensors: Vec<Tensor>,
    /// Width and height of the network's input tensor.
    pub input: [usize; 2],
    /// From the input tensor to the frame.
    pub to_frame: Affine,
    /// The batch that the tensors are a row of, and which.
    pub batch: Option<(Batch, usize)>,
}

/// A tensor's data, mapped for reading.
pub struct MappedTensor<'a> {
    name: &'a str,
    ty: TensorType,
    dims: Vec<usize>,
    map: gst::BufferMap<'a, gst::buffer::Readable>,
}

impl MappedTensor<'_> {
    /// The view that the kernels read.
    ///
    /// # Errors
    /// The data are not as long as the dimensions say.
    pub fn view(&self) -> Result<TensorView<'_>, TensorError> {
        TensorView::new(self.name, self.ty, &self.dims, self.map.as_slice())
    }
}

impl Tensor {
    fn dims(&self) -> Vec<usize> {
        self.desc.dims.iter().map(|d| d.unwrap_or(0)).collect()
    }

    /// Maps the data for reading; those on the device are downloaded.
    ///
    /// # Errors
    /// The memory cannot be mapped.
    pub fn map(&self) -> Result<MappedTensor<'_>, glib::BoolError> {
        Ok(MappedTensor {
            name: &self.desc.name,
            ty: self.desc.ty,
            dims: self.dims(),
            map: self.data.map_readable()?,
        })
    }

    fn to_structure(&self) -> gst::Structure {
        let dims = self.desc.dims.iter().map(|d| i32::try_from(d.unwrap_or(0)).unwrap_or(i32::MAX));
        gst::Structure::builder("tensor")
            .field("name", self.desc.name.as_str())
            .field("type", self.desc.ty.name())
            .field("dims", gst::Array::new(dims))
            .field("data", &self.data)
            .build()
    }

    fn from_structure(structure: &gst::StructureRef) -> Option<Self> {
        let dims = structure.get::<gst::ArrayRef>("dims").ok()?;
        Some(Self {
            desc: TensorDesc {
                name: structure.get("name").ok()?,
                ty: structure.get::<&str>("type").ok()?.parse().ok()?,
                dims: dims
                    .iter()
                    .map(|d| d.get::<i32>().ok().and_then(|d| usize::try_from(d).ok()))
                    .collect(),
            },
            data: structure.get("data").ok()?,
        })
    }
}

/// Any error.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The tensors of a frame that all lie in device memory.
pub struct OnDevice<'a>(Vec<(&'a Tensor, Vec<usize>, DeviceMemory<'a>)>);

impl<'a> OnDevice<'a> {
    /// The tensors on the device; `None` if one of them lies on the host.
    pub fn of(tensors: &'a [Tensor]) -> Option<Self> {
        let tensors = tensors.iter().map(|t| Some((t, t.dims(), device_memory(&t.data)?)));
        tensors.collect::<Option<_>>().map(OnDevice)
    }

    /// Where they lie.
    pub fn context(&self) -> Option<&Arc<Context>> {
        self.0.first().map(|(_, _, memory)| memory.context())
    }

    /// Enqueues `work` in `stream`, behind what writes the tensors and before what will overwrite them.
    ///
    /// # Errors
    /// What `work` says; a tensor that is not as long as its dimensions say; the driver's words.
    pub fn read<T>(
        &self,
        stream: &Stream,
        work: impl FnOnce(&[DeviceTensor<'_>]) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let views = self.0.iter().map(|(tensor, dims, memory)| {
            DeviceTensor::new(&tensor.desc.name, tensor.desc.ty, dims, memory.slice())
        });
        let views = views.collect::<Result<Vec<_>, _>>()?;
        self.0.iter().try_for_each(|(_, _, memory)| memory.begin_read(stream))?;
        let done = work(&views);
        // In any case: part of the work may have been enqueued.
        self.0.iter().try_for_each(|(_, _, memory)| memory.end_read(stream))?;
        done
    }
}

impl TensorSet {
    /// The batch that the tensors are a row of, and which; one of its own for a frame that comes alone. `frame` is the
    /// frame's width and height.
    pub fn batch(&self, frame: [usize; 2]) -> (Batch, usize) {
        let alone = || (Batch::new(self.tensors.clone(), vec![Row { to_frame: self.to_frame, frame }]), 0);
        self.batch.clone().unwrap_or_else(alone)
    }

    /// Puts the tensors on a buffer in place of those it carried.
    pub fn put(&self, buffer: &mut gst::BufferRef) {
        Self::remove(buffer);
        let Ok(mut meta) = gst::meta::CustomMeta::add(buffer, NAME) else { return };
        let s = meta.mut_structure();
        let tensors = self.tensors.iter().map(|t| t.to_structure().to_send_value());
        s.set("tensors", gst::Array::from_values(tensors));
        s.set("input-width", i32::try_from(self.input[0]).unwrap_or(i32::MAX));
        s.set("input-height", i32::try_from(self.input[1]).unwrap_or(i32::MAX));
        s.set("scale-x", self.to_frame.scale[0]);
        s.set("scale-y", self.to_frame.scale[1]);
        s.set("offset-x", self.to_frame.offset[0]);
        s.set("offset-y", self.to_frame.offset[1]);
        if let Some((batch, row)) = &self.batch {
            s.set("batch", batch);
            s.set("batch-row", u32::try_from(*row).unwrap_or(u32::MAX));
        }
    }

    /// Reads the tensors of a buffer; `None` where it carries none.
    pub fn of(buffer: &gst::BufferRef) -> Option<Self> {
        let meta = gst::meta::CustomMeta::from_buffer(buffer, NAME).ok()?;
        let s = meta.structure();
        let size = |field| usize::try_from(s.get::<i32>(field).ok()?).ok();
        let row = s.get::<u32>("batch-row").ok().and_then(|row| usize::try_from(row).ok());
        let tensors = s.get::<gst::ArrayRef>("tensors").ok()?;
        Some(Self {
            tensors: tensors
                .iter()
                .map(|t| Tensor::from_structure(t.get::<&gst::StructureRef>().ok()?))
                .collect::<Option<_>>()?,
            input: [size("input-width")?, size("input-height")?],
            to_frame: Affine::upright(
                [s.get("scale-x").ok()?, s.get("scale-y").ok()?],
                [s.get("offset-x").ok()?, s.get("offset-y").ok()?],
            ),
            batch: s.get("batch").ok().zip(row),
        })
    }

    /// Removes the tensors from a buffer and returns them.
    pub fn take(buffer: &mut gst::BufferRef) -> Option<Self> {
        let set = Self::of(buffer);
        Self::remove(buffer);
        set
    }

    fn remove(buffer: &mut gst::BufferRef) {
        while let Ok(meta) = gst::meta::CustomMeta::from_mut_buffer(buffer, NAME) {
            if meta.remove().is_err() {
                break;
            }
        }
    }
}
