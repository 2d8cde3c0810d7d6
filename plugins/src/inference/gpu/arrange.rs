//! Bringing images that lie on the GPU to where the model reads them: in its type, and in the order that the session takes.

use cudainfer_kernels::channels_last::{ChannelsLastError, CudaChannelsLast};
use cudainfer_kernels::convert::CudaConvert;
use cudainfer_kernels::device::{CudaStream, DeviceSlice};

use crate::inference::image::ImageOrder;
use crate::inference::{InferenceError, RunShape};

/// The kernel that brings images there.
#[derive(Debug)]
pub(super) enum Arrange {
    AsModel(CudaConvert),
    ChannelsLast(CudaChannelsLast),
}

impl Arrange {
    /// For a session that takes the image in this order.
    ///
    /// # Errors
    /// [`ChannelsLastError::Device`].
    pub fn new(stream: &CudaStream, order: ImageOrder) -> Result<Self, ChannelsLastError> {
        Ok(match order {
            ImageOrder::AsModel => Self::AsModel(CudaConvert::new(stream)?),
            ImageOrder::ChannelsLast => Self::ChannelsLast(CudaChannelsLast::new(stream)?),
        })
    }

    /// Enqueues the work for any number of adjacent images: one launch or copy.
    ///
    /// # Errors
    /// [`InferenceError::Run`].
    pub fn start(
        &self,
        stream: &CudaStream,
        shape: &RunShape,
        from: DeviceSlice<'_>,
        to: DeviceSlice<'_>,
    ) -> Result<(), InferenceError> {
        let (given, ty) = (shape.given, shape.image.ty);
        let done = match self {
            Self::AsModel(convert) => {
                convert.start(stream, from, given, to, ty).map_err(ChannelsLastError::from)
            }
            Self::ChannelsLast(permute) => {
                let dims = shape.frame_dims();
                let channels = dims.get(1).copied().unwrap_or(0);
                let pixels = dims.iter().skip(2).product();
                permute.start(stream, from, given, to, ty, [channels, pixels])
            }
        };
        done.map_err(|e| InferenceError::Run(e.to_string()))
    }
}
