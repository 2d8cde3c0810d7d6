//! One frame as JPEG, with or without results drawn on it: each request has a small pipeline of its own.

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
    let pushed = pipeline.push(buffer, caps).and_then(|_| pipeline.source.end_of_stream());
    let made = pushed.ok().and_then(|_| sink.try_pull_sample(LIMIT));
    let late = || format!("it was not there within {LIMIT:.0}");
    let made = made.ok_or_else(|| pipeline.failure().unwrap_or_else(late))?;
    let map = made.buffer().and_then(|b| b.map_readable().ok()).ok_or("it cannot be read")?;
    Ok(map.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caps(text: &str) -> gst::Caps {
        gst::init().unwrap();
        text.parse().unwrap()
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
