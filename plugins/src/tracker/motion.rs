//! The camera's motion, if the tracker uses it.

use std::sync::Arc;

use cudainfer_kernels::camera::{CameraError, CudaShrink, Estimator, Shrink};
use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::geometry::{Affine, Rect};

use super::pixels::Pixels;

/// Embedder at one frame after the other.
#[derive(Default)]
pub(super) struct Camera {
    shrinker: Option<(Pixels, Shrinker)>,
    estimator: Estimator,
}

enum Shrinker {
    Cpu(Box<Shrink>),
    Gpu(Box<CudaShrink>, Arc<CudaStream>),
}

impl Camera {
    /// For frames of these caps; without `wanted`, no pixels are read.
    pub fn prepare(
        &mut self,
        caps: &gst::Caps,
        wanted: bool,
        stream: impl FnOnce() -> Result<Arc<CudaStream>, String>,
    ) -> Result<(), String> {
        self.shrinker = None;
        if !wanted {
            return Ok(());
        }
        let pixels = Pixels::of(caps, "camera-motion", stream)?;
        let failed = |e: CameraError| e.to_string();
        let shrinker = match pixels.stream.clone() {
            None => Shrinker::Cpu(Box::new(Shrink::new(pixels.format).map_err(failed)?)),
            Some(stream) => {
                Shrinker::Gpu(Box::new(CudaShrink::new(pixels.format, &stream).map_err(failed)?), stream)
            }
        };
        self.shrinker = Some((pixels, shrinker));
        Ok(())
    }

    /// The motion since the previous frame, where it is known; `boxes` move by themselves.
    pub fn see(&mut self, buffer: &gst::BufferRef, boxes: &[Rect]) -> Result<Option<Affine>, String> {
        let Self { shrinker, estimator, .. } = self;
        let failed = |e: CameraError| e.to_string();
        match shrinker {
            None => Ok(None),
            Some((pixels, Shrinker::Cpu(shrink))) => pixels
                .on_host(buffer, |frame| Ok(estimator.update(&shrink.run(frame).map_err(failed)?, boxes))),
            Some((pixels, Shrinker::Gpu(shrink, stream))) => pixels.on_device(buffer, stream, |frame| {
                stream.sampled(|| shrink.start(stream, frame)).map_err(failed)?;
                let picture = shrink.finish(stream).map_err(failed)?;
                Ok(picture.and_then(|picture| estimator.update(&picture, boxes)))
            }),
        }
    }

    /// The next frame is not a continuation of the last.
    pub fn forget(&mut self) {
        self.estimator.reset();
    }
}
