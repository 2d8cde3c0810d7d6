//! What pixels say about motion from frame to frame: that of the camera, and that of what boxes show.

use std::sync::Arc;

use cudainfer_kernels::boxflow::BoxFlow;
use cudainfer_kernels::camera::{Estimator, Picture, picture_size};
use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::geometry::{Affine, Rect};
use cudainfer_kernels::track::Track;

use crate::pictures::Pictures;

/// Looks at one frame after the other.
#[derive(Default)]
pub(super) struct Motion {
    pictures: Option<Pictures>,
    camera: Option<Estimator>,
    flow: Option<BoxFlow>,
}

/// What is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    pub camera: bool,
    pub flow: bool,
}

/// The motion since the previous frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Moved {
    /// The camera's, where it is known.
    pub camera: Option<Affine>,
    /// For each detection of the last frame that had any where its object is now, as far as it is known.
    pub flow: Vec<Option<Rect>>,
}

impl Motion {
    /// For frames of these caps; where nothing is wanted, no pixels are read.
    pub fn prepare(
        &mut self,
        caps: &gst::Caps,
        wanted: Wanted,
        stream: impl FnOnce() -> Result<Arc<CudaStream>, String>,
    ) -> Result<(), String> {
        self.pictures = None;
        self.camera = wanted.camera.then(|| self.camera.take().unwrap_or_default());
        self.flow = wanted.flow.then(|| self.flow.take().unwrap_or_default());
        if wanted != Wanted::default() {
            let property = if wanted.camera { "camera-motion" } else { "between=flow" };
            self.pictures = Some(Pictures::new(caps, property, picture_size, stream)?);
        }
        Ok(())
    }

    /// What it was prepared for.
    pub fn wanted(&self) -> Wanted {
        Wanted { camera: self.camera.is_some(), flow: self.flow.is_some() }
    }

    /// The motion since the previous frame, `elapsed` frames ago. `boxes` are those of this frame's objects, which move by themselves, and
    /// `places` has the objects of the last detections where they were in the previous frame.
    pub fn see(
        &mut self,
        buffer: &gst::BufferRef,
        boxes: &[Rect],
        places: impl Iterator<Item = (usize, Track)>,
        elapsed: f64,
    ) -> Result<Moved, String> {
        let Self { pictures: Some(pictures), camera, flow } = self else { return Ok(Moved::default()) };
        pictures.see(buffer, |picture| Moved {
            camera: camera.as_mut().and_then(|camera| camera.update(picture, boxes)),
            flow: flow.as_mut().map(|flow| ways(flow, picture, places, elapsed)).unwrap_or_default(),
        })
    }

    /// The next frame is not a continuation of the last.
    pub fn forget(&mut self) {
        self.camera.iter_mut().for_each(Estimator::reset);
        self.flow.iter_mut().for_each(BoxFlow::reset);
    }
}

/// Where the objects are now, by the numbers of their places.
fn ways(
    flow: &mut BoxFlow,
    picture: &Picture<'_>,
    places: impl Iterator<Item = (usize, Track)>,
    elapsed: f64,
) -> Vec<Option<Rect>> {
    let way = |track: &Track| track.velocity.map(|velocity| velocity * elapsed as f32);
    let (numbers, rects): (Vec<_>, Vec<_>) =
        places.map(|(number, track)| (number, (track.rect, way(&track)))).unzip();
    let mut now = vec![None; numbers.iter().max().map_or(0, |last| last + 1)];
    for (number, rect) in numbers.into_iter().zip(flow.update(picture, rects.into_iter())) {
        if let Some(place) = now.get_mut(number) {
            *place = rect;
        }
    }
    now
}
