//! Small gray pictures of frames, for elements that look for motion: made on the CPU or the GPU, wherever the frames are, with the same
//! bytes.

use std::sync::Arc;

use cudainfer_kernels::camera::{CameraError, CudaShrink, Picture, Shrink};
use cudainfer_kernels::device::CudaStream;

use crate::pixels::Pixels;

/// Makes pictures of frames of some caps.
pub(crate) struct Pictures {
    pixels: Pixels,
    shrinker: Shrinker,
}

enum Shrinker {
    Cpu(Box<Shrink>),
    Gpu(Box<CudaShrink>, Arc<CudaStream>),
}

impl Pictures {
    /// For the pixels that `property` needs. `size` gives the width and height of a picture from those of a frame, and `stream` the GPU's
    /// stream where frames lie there.
    ///
    /// # Errors
    /// A sentence: these frames cannot be read.
    pub fn new(
        caps: &gst::Caps,
        property: &str,
        size: impl FnOnce(usize, usize) -> [usize; 2],
        stream: impl FnOnce() -> Result<Arc<CudaStream>, String>,
    ) -> Result<Self, String> {
        let pixels = Pixels::of(caps, property, stream)?;
        let format = pixels.format;
        let size = size(format.width, format.height);
        let failed = |e: CameraError| e.to_string();
        let shrinker = match &pixels.stream {
            None => Shrinker::Cpu(Box::new(Shrink::to(size, format).map_err(failed)?)),
            Some(stream) => {
                let shrink = CudaShrink::to(size, format, stream).map_err(failed)?;
                Shrinker::Gpu(Box::new(shrink), Arc::clone(stream))
            }
        };
        Ok(Self { pixels, shrinker })
    }

    /// Looks at the picture of a frame. On the GPU it is waited for.
    ///
    /// # Errors
    /// A sentence.
    pub fn see<T: Default>(
        &mut self,
        buffer: &gst::BufferRef,
        look: impl FnOnce(&Picture<'_>) -> T,
    ) -> Result<T, String> {
        let failed = |e: CameraError| e.to_string();
        let Self { pixels, shrinker } = self;
        match shrinker {
            Shrinker::Cpu(shrink) => {
                pixels.on_host(buffer, |frame| Ok(look(&shrink.run(frame).map_err(failed)?)))
            }
            Shrinker::Gpu(shrink, stream) => pixels.on_device(buffer, stream, |frame| {
                stream.sampled(|| shrink.start(stream, frame)).map_err(failed)?;
                let picture = shrink.finish(stream).map_err(failed)?;
                Ok(picture.as_ref().map(look).unwrap_or_default())
            }),
        }
    }
}
