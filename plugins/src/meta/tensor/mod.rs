//! Tensors on a video buffer: the untagged custom meta `GstCudaInferTensorMeta`.
//!
//! Its `GstStructure` can be read from any language (`gst_buffer_get_custom_meta`):
//!
//! | field | type | what it is |
//! |---|---|---|
//! | `tensors` | `GstValueArray` of structures | `name` (string), `type` (string), `dims` (array of int), `data` (`GstBuffer`, dense, row-major) |
//! | `input-width`, `input-height` | int | size of the network's input tensor |
//! | `scale-x`, `scale-y`, `offset-x`, `offset-y` | double | the map to the frame: `frame = scale * tensor + offset`, in pixels |
//! | `batch`, `batch-row` | boxed, uint | downstream of trtinfer: the outputs of the whole run, for the elements of this plugin, and the row of this frame |
//!
//! With `fusedpreproc roi=objects`, `tiles` and `list` there is one field instead: `regions`, a `GstValueArray` of structures, one for each
//! region and none if there was no object, each with the fields above and with `object` (int), the `id` of the object whose
//! region it is, and `skew-x`, `skew-y` (double), because regions may be rotated:
//! `frame.x = scale-x * tensor.x + skew-x * tensor.y + offset-x`, and `frame.y` likewise. Tiles and regions of a list have no
//! `object` and no `skew-x` and `skew-y`, but `region-x`, `region-y`, `region-width` and `region-height` (double): the region
//! in frame pixels; and `region-isolated` (boolean): whether the tensor shows nothing of the frame around it.

mod set;

pub use set::{Region, TensorSet};

use std::sync::Arc;

use cudainfer_kernels::device::{Context, CudaStream, DeviceTensor};
use cudainfer_kernels::tensor::{TensorDesc, TensorError, TensorType, TensorView};

use crate::memory::tensor::{DeviceMemory, device_memory};
use crate::strings;

/// The meta's name.
pub const NAME: &str = "GstCudaInferTensorMeta";

/// Registers the meta; called once, when the plugin loads.
pub fn register() {
    super::list::register(NAME);
}

/// One tensor: description and data.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Name, type and dimensions, all known.
    pub desc: TensorDesc,
    /// The elements, dense and row-major.
    pub data: gst::Buffer,
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
    /// The data does not have the length that its dimensions ask for.
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

    pub(super) fn to_structure(&self) -> gst::Structure {
        let dims = self.desc.dims.iter().map(|d| i32::try_from(d.unwrap_or(0)).unwrap_or(i32::MAX));
        gst::Structure::builder("tensor")
            .field("name", self.desc.name.as_str())
            .field("type", self.desc.ty.name())
            .field("dims", gst::Array::new(dims))
            .field("data", &self.data)
            .build()
    }

    pub(super) fn from_structure(structure: &gst::StructureRef) -> Option<Self> {
        let dims = structure.get::<gst::ArrayRef>("dims").ok()?;
        Some(Self {
            desc: TensorDesc {
                name: strings::field(structure, "name")?,
                ty: strings::field(structure, "type")?.parse().ok()?,
                dims: dims
                    .iter()
                    .map(|d| d.get::<i32>().ok().and_then(|d| usize::try_from(d).ok()))
                    .collect(),
            },
            data: structure.get::<gst::Buffer>("data").ok()?,
        })
    }
}

/// Any error.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The tensors of a frame that all lie in device memory.
pub struct OnDevice<'a>(Vec<(&'a Tensor, DeviceMemory<'a>)>);

impl<'a> OnDevice<'a> {
    /// The tensors on the device; `None` if one of them lies on the host.
    pub fn of(tensors: impl IntoIterator<Item = &'a Tensor>) -> Option<Self> {
        let tensors = tensors.into_iter().map(|tensor| Some((tensor, device_memory(&tensor.data)?)));
        tensors.collect::<Option<_>>().map(OnDevice)
    }

    /// Where they lie.
    pub fn context(&self) -> Option<&Arc<Context>> {
        self.0.first().map(|(_, memory)| memory.context())
    }

    /// Enqueues `work` in `stream`, after what writes the tensors and before what will overwrite them.
    ///
    /// # Errors
    /// The error of `work`; a tensor that is not as long as its dimensions say; the driver's words.
    pub fn read<T>(
        &self,
        stream: &CudaStream,
        work: impl FnOnce(&[DeviceTensor<'_>]) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let dims: Vec<_> = self.0.iter().map(|(tensor, _)| tensor.dims()).collect();
        let views = self.0.iter().zip(&dims).map(|((tensor, memory), dims)| {
            DeviceTensor::new(&tensor.desc.name, tensor.desc.ty, dims, memory.slice())
        });
        let views = views.collect::<Result<Vec<_>, _>>()?;
        self.0.iter().try_for_each(|(_, memory)| memory.begin_read(stream))?;
        let done = work(&views);
        // Also after an error: part of the work may have been enqueued.
        self.0.iter().try_for_each(|(_, memory)| memory.end_read(stream))?;
        done
    }
}
