//! JPEG pictures of parts of frames, in any memory and format.

use gst::prelude::*;
use gst_app::AppSink;

use super::fed::{FRAMES, FedPipeline};

/// How long a picture may take.
const PATIENCE: gst::ClockTime = gst::ClockTime::from_seconds(5);

/// A pipeline that makes one picture after the other.
#[derive(Debug)]
pub struct Cropper {
    pipeline: FedPipeline,
    crop: gst::Element,
    pictures: AppSink,
}

impl Cropper {
    /// # Errors
    /// A sentence: an element is missing.
    pub fn new() -> Result<Self, String> {
        let description = format!(
            "{FRAMES} ! cudainferdownload ! videoconvert ! videocrop name=crop ! videoconvert ! jpegenc quality=90 \
             ! appsink name=pictures sync=false async=false max-buffers=1"
        );
        Self::of(&description).map_err(|why| format!("pictures cannot be made: {why}"))
    }

    fn of(description: &str) -> Result<Self, String> {
        let pipeline = FedPipeline::new(description)?;
        let (crop, pictures) = (pipeline.element("crop")?, pipeline.element("pictures")?);
        pipeline.play()?;
        Ok(Self { pipeline, crop, pictures })
    }

    /// A picture of `[left, top, right, bottom]` of a frame of `size`.
    ///
    /// # Errors
    /// A sentence; after that, this value cannot be used any more.
    pub fn picture(
        &self,
        frame: gst::Buffer,
        caps: &gst::Caps,
        part: [u32; 4],
        size: [u32; 2],
    ) -> Result<Vec<u8>, String> {
        let [left, top, right, bottom] = part;
        let margins = [
            ("left", left),
            ("top", top),
            ("right", size[0].saturating_sub(right)),
            ("bottom", size[1].saturating_sub(bottom)),
        ];
        for (name, value) in margins {
            self.crop.set_property(name, i32::try_from(value).unwrap_or(i32::MAX));
        }
        let made = self.pipeline.make(frame, caps, &self.pictures, PATIENCE);
        made.map_err(|why| format!("a picture could not be made: {why}"))
    }
}
