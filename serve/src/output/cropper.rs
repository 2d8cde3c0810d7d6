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
    /// The caps of the picture where its size is limited, and the pixels of its longer edge.
    size: Option<(gst::Element, u32)>,
    pictures: AppSink,
}

impl Cropper {
    /// Pictures are as large as the part that they show.
    ///
    /// # Errors
    /// A sentence: an element is missing.
    pub fn new() -> Result<Self, String> {
        Self::of(None)
    }

    /// Pictures have at most as many pixels on their longer edge: larger ones are made smaller.
    ///
    /// # Errors
    /// A sentence: an element is missing.
    pub fn up_to(longest: u32) -> Result<Self, String> {
        Self::of(Some(longest))
    }

    fn of(longest: Option<u32>) -> Result<Self, String> {
        let converted = match longest {
            Some(_) => "videoconvertscale ! capsfilter name=size",
            None => "videoconvert",
        };
        let description = format!(
            "{FRAMES} ! cudainferdownload ! videoconvert ! videocrop name=crop ! {converted} ! jpegenc quality=90 \
             ! appsink name=pictures sync=false async=false max-buffers=1"
        );
        Self::built(&description, longest).map_err(|why| format!("pictures cannot be made: {why}"))
    }

    fn built(description: &str, longest: Option<u32>) -> Result<Self, String> {
        let pipeline = FedPipeline::new(description)?;
        let (crop, pictures) = (pipeline.element("crop")?, pipeline.element("pictures")?);
        let size =
            longest.map(|longest| Ok::<_, String>((pipeline.element("size")?, longest))).transpose()?;
        pipeline.play()?;
        Ok(Self { pipeline, crop, size, pictures })
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
        if let Some((filter, longest)) = &self.size {
            let [width, height] =
                within([right.saturating_sub(left), bottom.saturating_sub(top)], *longest).map(i32::try_from);
            let caps = gst::Caps::builder("video/x-raw")
                .field("width", width.unwrap_or(i32::MAX))
                .field("height", height.unwrap_or(i32::MAX))
                .build();
            filter.set_property("caps", caps);
        }
        let made = self.pipeline.make(frame, caps, &self.pictures, PATIENCE);
        made.map_err(|why| format!("a picture could not be made: {why}"))
    }
}

/// A size of the same shape whose longer edge has at most as many pixels.
fn within(size: [u32; 2], longest: u32) -> [u32; 2] {
    let [width, height] = size.map(u64::from);
    let most = u64::from(longest).max(1);
    let edge = width.max(height).max(most);
    [width, height].map(|pixels| u32::try_from(pixels * most / edge).unwrap_or(u32::MAX).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_picture_keeps_its_shape_and_a_small_one_its_size() {
        for (size, expected) in [
            ([1280, 720], [640, 360]),
            ([720, 1280], [360, 640]),
            ([640, 640], [640, 640]),
            ([17, 3], [17, 3]),
            ([100_000, 2], [640, 1]),
        ] {
            assert_eq!(within(size, 640), expected, "{size:?}");
        }
    }
}
