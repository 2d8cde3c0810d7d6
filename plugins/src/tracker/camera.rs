//! How the camera moves, where the tracker asks.

use std::sync::Arc;

use cudainfer_kernels::camera::{CameraError, CudaShrink, Estimator, Shrink};
use cudainfer_kernels::device::Stream;
use cudainfer_kernels::geometry::{Affine, Rect};

use super::pixels::Pixels;

/// Looks at one frame after the other.
#[derive(Default)]
pub(super) struct Camera {
    eye: Option<(Pixels, Eye)>,
    estimator: Estimator,
}

enum Eye {
    Cpu(Box<Shrink>),
    Gpu(Box<CudaShrink>, Arc<Stream>),
}

impl Camera {
    /// For frames of these caps; without `wanted`, nothing is looked at.
    pub fn prepare(
        &mut self,
        caps: &gst::Caps,
        wanted: bool,
        stream: impl FnOnce() -> Result<Arc<Stream>, String>,
    ) -> Result<(), String> {
        self.eye = None;
        if !wanted {
            return Ok(());
        }
        let pixels = Pixels::of(caps, "camera-motion", stream)?;
        let failed = |e: CameraError| e.to_string();
        let eye = match pixels.stream.clone() {
            None => Eye::Cpu(Box::new(Shrink::new(pixels.format).map_err(failed)?)),
            Some(stream) => {
                Eye::Gpu(Box::new(CudaShrink::new(pixels.format, &stream).map_err(failed)?), stream)
            }
        };
        self.eye = Some((pixels, eye));
        Ok(())
    }

    /// The motion since the frame before, where it is known; `boxes` move by themselves.
    pub fn see(&mut self, buffer: &gst::BufferRef, boxes: &[Rect]) -> Result<Option<Affine>, String> {
        let Self { eye, estimator, .. } = self;
        let failed = |e: CameraError| e.to_string();
        match eye {
            None => Ok(None),
            Some((pixels, Eye::Cpu(shrink))) => pixels
                .on_host(buffer, |frame| Ok(estimator.update(&shrink.run(frame).map_err(failed)?, boxes))),
            Some((pixels, Eye::Gpu(shrink, stream))) => pixels.on_device(buffer, stream, |frame| {
                stream.sampled(|| shrink.start(stream, frame)).map_err(failed)?;
                let picture = shrink.finish(stream).map_err(failed)?;
                Ok(picture.and_then(|picture| estimator.update(&picture, boxes)))
            }),
        }
    }

    /// The next frame has nothing to do with the last.
    pub fn forget(&mut self) {
        self.estimator.reset();
    }
}
