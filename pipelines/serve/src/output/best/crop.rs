//! JPEG pictures of parts of frames, in any memory and format.

use gst::prelude::*;
use gst_app::{AppSink, AppSrc};

/// How long a picture may take.
const PATIENCE: gst::ClockTime = gst::ClockTime::from_seconds(5);

/// A pipeline that makes one picture after the other.
#[derive(Debug)]
pub struct Cropper {
    pipeline: gst::Pipeline,
    source: AppSrc,
    crop: gst::Element,
    pictures: AppSink,
}

impl Cropper {
    /// # Errors
    /// A sentence: an element is missing.
    pub fn new() -> Result<Self, String> {
        let line = "appsrc name=frames format=time ! cudainferdownload ! videoconvert ! videocrop name=crop ! videoconvert ! jpegenc quality=90 \
                    ! appsink name=pictures sync=false async=false max-buffers=1";
        let said = |why: &str| format!("snapshots cannot be made: {why}");
        let pipeline = gst::parse::launch(line).map_err(|error| said(error.message()))?;
        let pipeline = pipeline.downcast::<gst::Pipeline>().map_err(|_| said("no pipeline"))?;
        let source = pipeline.by_name("frames").and_downcast::<AppSrc>().ok_or_else(|| said("no appsrc"))?;
        let crop = pipeline.by_name("crop").ok_or_else(|| said("no videocrop"))?;
        let pictures =
            pipeline.by_name("pictures").and_downcast::<AppSink>().ok_or_else(|| said("no appsink"))?;
        pipeline.set_state(gst::State::Playing).map_err(|error| said(&error.to_string()))?;
        Ok(Self { pipeline, source, crop, pictures })
    }

    /// A picture of `[left, top, right, bottom]` of a frame of `size`.
    ///
    /// # Errors
    /// A sentence; then another cropper is needed.
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
        if self.source.caps().as_ref() != Some(caps) {
            self.source.set_caps(Some(caps));
        }
        let pushed = self.source.push_buffer(frame);
        let picture = pushed.ok().and_then(|_| self.pictures.try_pull_sample(PATIENCE));
        let bytes =
            picture.as_ref().and_then(|sample| sample.buffer()).and_then(|buffer| buffer.map_readable().ok());
        bytes.map(|bytes| bytes.to_vec()).ok_or_else(|| {
            match self.pipeline.bus().and_then(|bus| bus.pop_filtered(&[gst::MessageType::Error])) {
                Some(message) => format!(
                    "a snapshot could not be made: {:?}",
                    message.structure().map(ToString::to_string)
                ),
                None => "a snapshot could not be made in five seconds".to_owned(),
            }
        })
    }
}

impl Drop for Cropper {
    fn drop(&mut self) {
        let _ = self.pipeline.set_state(gst::State::Null);
    }
}
