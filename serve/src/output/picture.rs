//! One frame as JPEG, with or without results drawn on it: by a small pipeline for one request, or by one that makes pictures again
//! and again.

use super::fed::{FRAMES, FedPipeline};
use super::feed::DRAW;

/// How long a picture may take. Drawing and encoding take milliseconds; the first use of a GPU takes seconds.
const LIMIT: gst::ClockTime = gst::ClockTime::from_seconds(10);

/// The widths that a request may have, in pixels.
pub const WIDTHS: std::ops::RangeInclusive<u32> = 16..=4096;

/// Makes a JPEG of a stream's last frame, `width` pixels wide if that is given, with square pixels.
///
/// # Errors
/// A sentence: an element is missing or failed.
pub fn jpeg(sample: &gst::Sample, width: Option<u32>, overlay: bool) -> Result<Vec<u8>, String> {
    let (buffer, caps) =
        sample.buffer_owned().zip(sample.caps_owned()).ok_or("the stream's last frame has no caps")?;
    make(&description(&caps, width, overlay), &caps, buffer)
        .map_err(|why| format!("no picture was made: {why}"))
}

/// The pipeline's description.
fn description(caps: &gst::Caps, width: Option<u32>, overlay: bool) -> String {
    let frames = if overlay { format!("{DRAW} trail-length=0") } else { "cudainferdownload".into() };
    let size =
        width.map(|width| format!(",width={width},height={}", height(caps, width))).unwrap_or_default();
    format!(
        "{FRAMES} ! {frames} ! videoconvertscale \
         ! video/x-raw,format=I420,pixel-aspect-ratio=1/1{size} ! jpegenc ! appsink name=out sync=false"
    )
}

/// The height that keeps the picture's shape.
fn height(caps: &gst::Caps, width: u32) -> u32 {
    let Ok(info) = gst_video::VideoInfo::from_caps(caps) else { return width };
    let (n, d) = (u64::from(info.par().numer().unsigned_abs()), u64::from(info.par().denom().unsigned_abs()));
    let height =
        u64::from(width) * u64::from(info.height()) * d.max(1) / (u64::from(info.width()) * n.max(1)).max(1);
    u32::try_from(height.clamp(16, 16384)).unwrap_or(16)
}

fn make(description: &str, caps: &gst::Caps, mut buffer: gst::Buffer) -> Result<Vec<u8>, String> {
    let pipeline = FedPipeline::new(description)?;
    let sink = pipeline.element::<gst_app::AppSink>("out")?;
    // A single frame needs no time: the sink would wait for it, or it would lie outside the segment.
    let frame = buffer.make_mut();
    frame.set_pts(gst::ClockTime::ZERO);
    frame.set_dts(gst::ClockTime::NONE);
    pipeline.play()?;
    pipeline.make(buffer, caps, &sink, LIMIT)
}

/// From this width on, pictures have room for labels, in pixels.
const LABELLED: u32 = 480;

/// What is drawn on a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Drawn {
    /// The frame as it is.
    Nothing,
    /// Objects, without zones: for an editor that draws those itself.
    Objects,
    /// Objects and zones.
    All,
}

impl Drawn {
    /// By the parameters of a request, which are true if they are not given.
    pub fn asked(overlay: Option<bool>, zones: Option<bool>) -> Self {
        match (overlay.unwrap_or(true), zones.unwrap_or(true)) {
            (false, _) => Self::Nothing,
            (true, false) => Self::Objects,
            (true, true) => Self::All,
        }
    }

    /// The same, but nothing if the stream's own pipeline draws already.
    pub fn unless(self, draws: bool) -> Self {
        if draws { Self::Nothing } else { self }
    }
}

/// The elements that download frames and draw on them. Lines and letters become smaller with a picture that is `times` as small as its
/// frame, so that they are drawn larger on the frame.
pub(super) fn drawing(drawn: Drawn, times: u32, labels: bool) -> String {
    let size = match times {
        0 | 1 => String::new(),
        _ => format!("thickness={} text-scale={}", (2 * times).min(100), times.min(16)),
    };
    let size = if labels { size } else { format!("{size} labels=false confidences=false") };
    match drawn {
        Drawn::Nothing => "cudainferdownload".to_owned(),
        Drawn::Objects => format!("{DRAW} trail-length=0 zones=false {size}"),
        Drawn::All => format!("{DRAW} trail-length=0 {size}"),
    }
}

/// A pipeline that makes one small picture after the other of frames of the same caps.
pub struct Painter {
    pipeline: FedPipeline,
    pictures: gst_app::AppSink,
    caps: gst::Caps,
    drawn: Drawn,
    count: u64,
}

impl Painter {
    /// A picture of a frame that is `width` pixels wide, or as wide as the frame if that is less. A painter that does not fit is replaced;
    /// one that has failed is dropped.
    ///
    /// # Errors
    /// A sentence: an element is missing or failed.
    pub fn picture(
        painter: &mut Option<Self>,
        sample: &gst::Sample,
        width: u32,
        drawn: Drawn,
    ) -> Result<Vec<u8>, String> {
        let (buffer, caps) =
            sample.buffer_owned().zip(sample.caps_owned()).ok_or("the stream's last frame has no caps")?;
        let failed = |why| format!("no picture was made: {why}");
        let mut ready = match painter.take().filter(|painter| painter.caps == caps && painter.drawn == drawn)
        {
            Some(ready) => ready,
            None => Self::new(caps, width, drawn).map_err(failed)?,
        };
        let jpeg = ready.make(buffer).map_err(failed)?;
        *painter = Some(ready);
        Ok(jpeg)
    }

    fn new(caps: gst::Caps, width: u32, drawn: Drawn) -> Result<Self, String> {
        let pipeline = FedPipeline::new(&Self::description(&caps, width, drawn))?;
        let pictures = pipeline.element("out")?;
        pipeline.play()?;
        Ok(Self { pipeline, pictures, caps, drawn, count: 0 })
    }

    fn description(caps: &gst::Caps, width: u32, drawn: Drawn) -> String {
        let frame = gst_video::VideoInfo::from_caps(caps).map_or(width, |info| info.width().max(16));
        let width = width.min(frame).next_multiple_of(2);
        // In the smallest pictures, labels would hide the objects: identities stay.
        let frames = drawing(drawn, frame.div_ceil(width), width >= LABELLED);
        format!(
            "{FRAMES} ! {frames} ! videoconvertscale \
             ! video/x-raw,format=I420,pixel-aspect-ratio=1/1,width={width},height={} ! jpegenc quality=75 \
             ! appsink name=out sync=false async=false max-buffers=1",
            height(caps, width)
        )
    }

    fn make(&mut self, mut buffer: gst::Buffer) -> Result<Vec<u8>, String> {
        // Times of the stream may begin again; those of this pipeline go on.
        let frame = buffer.make_mut();
        frame.set_pts(gst::ClockTime::from_mseconds(self.count));
        frame.set_dts(gst::ClockTime::NONE);
        self.count += 1;
        self.pipeline.make(buffer, &self.caps, &self.pictures, LIMIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caps(text: &str) -> gst::Caps {
        gst::init().unwrap();
        text.parse().unwrap()
    }

    #[test]
    fn lines_and_letters_of_a_small_picture_are_drawn_large_and_no_picture_is_larger_than_its_frame() {
        let wide = caps("video/x-raw,format=I420,width=1920,height=1080");
        let small = Painter::description(&wide, 320, Drawn::Objects);
        assert!(small.contains("zones=false thickness=12 text-scale=6"), "{small}");
        assert!(small.contains("width=320,height=180") && small.contains("labels=false"), "{small}");
        assert!(!Painter::description(&wide, 640, Drawn::Objects).contains("labels"), "there is room");
        let frame =
            Painter::description(&caps("video/x-raw,format=I420,width=64,height=48"), 320, Drawn::All);
        assert!(frame.contains("width=64,height=48") && !frame.contains("text-scale"), "{frame}");
        assert!(!Painter::description(&wide, 320, Drawn::Nothing).contains("inferoverlay"));
    }

    #[test]
    fn the_shape_of_the_picture_is_kept() {
        let wide = caps("video/x-raw,format=I420,width=1920,height=1080");
        assert_eq!(height(&wide, 1280), 720);
        let anamorphic = caps("video/x-raw,format=I420,width=720,height=576,pixel-aspect-ratio=16/15");
        assert_eq!(height(&anamorphic, 768), 576);
        assert_eq!(height(&caps("video/x-raw,format=I420,width=4000,height=2"), 100), 16, "never nothing");
    }
}
