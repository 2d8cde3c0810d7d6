//! Reasons why a model finds less than it could in a stream: each is reported once for a stream.

use std::collections::BTreeSet;

use gst_video::prelude::*;
use gst_video::{
    VideoAffineTransformationMeta, VideoBufferFlags, VideoInfo, VideoInterlaceMode, VideoOrientationMethod,
};

use crate::caps;
use crate::colorimetry::Colorimetry;
use crate::streams::PerStream;

/// How much wider or narrower than a square pixels may be without a message. Within it are the pixels of 4:3 in PAL and NTSC;
/// those of 16:9 in either are beyond.
const NEARLY_SQUARE: std::ops::RangeInclusive<f64> = 0.85..=1.18;

/// Doubts that are remembered of a stream, so that one whose caps change without end does not fill the memory.
const MOST: usize = 16;

/// Elements and bins' pads that are looked at upstream.
const MOST_ELEMENTS: usize = 256;

/// What has been reported of a stream.
#[derive(Debug, Default)]
pub(super) struct Reported(BTreeSet<String>);

impl PerStream for Reported {
    fn for_new_stream(&self) -> Self {
        Self::default()
    }

    /// A seek changes none of these.
    fn forget(&mut self) {}
}

impl Reported {
    /// The doubts that have not been reported yet; from now on they count as reported.
    pub fn only_new(&mut self, doubts: Vec<String>) -> Vec<String> {
        doubts.into_iter().filter(|doubt| self.0.len() < MOST && self.0.insert(doubt.clone())).collect()
    }
}

/// Doubts about the frames of `incaps`, which `info` was made of, as the input that `outcaps` describe.
pub(super) fn of_caps(incaps: &gst::CapsRef, info: &VideoInfo, outcaps: &gst::CapsRef) -> Vec<String> {
    let mut doubts = Colorimetry::of(incaps, info).doubts;
    if info.interlace_mode() == VideoInterlaceMode::Interleaved {
        doubts.push(interlaced("interlace-mode=interleaved"));
    }
    doubts.extend(cut(info, outcaps));
    let stretched = outcaps.structure(0).is_some_and(|s| s.get(caps::RESIZE) == Ok("stretch"));
    let aspect = info.par();
    let ratio = f64::from(aspect.numer()) / f64::from(aspect.denom().max(1));
    if !NEARLY_SQUARE.contains(&ratio) && !stretched {
        let shape = if ratio > 1.0 { "narrower" } else { "wider" };
        doubts.push(format!(
            "the pixels of the frames are not square (pixel-aspect-ratio={}/{}), so everything is {shape} in the tensor than it \
             is, and a model may find less. Put videoscale ! video/x-raw,pixel-aspect-ratio=1/1 before this element, or set \
             resize=stretch for a model that was trained with it",
            aspect.numer(),
            aspect.denom()
        ));
    }
    doubts
}

/// A doubt about frames that keep their size and are larger than the tensor.
fn cut(info: &VideoInfo, outcaps: &gst::CapsRef) -> Option<String> {
    let s = outcaps.structure(0).filter(|s| s.get(caps::RESIZE) == Ok("pad"))?;
    let side = |field| s.get::<i32>(field).ok().and_then(|side| u32::try_from(side).ok());
    let (width, height) = (side("tensor-width")?, side("tensor-height")?);
    (info.width() > width || info.height() > height).then(|| {
        format!(
            "resize=pad keeps the size of the frames, and of {}x{} pixels the tensor of {width}x{height} shows the upper left part \
             only. Leave width and height open, or set another resize",
            info.width(),
            info.height()
        )
    })
}

/// A doubt about the frames that come into `sink`, from these tags, which demuxers and parsers write for the video of turned
/// cameras, also from a JPEG's EXIF.
pub(super) fn of_tags(sink: &gst::Pad, tags: &gst::TagListRef) -> Option<String> {
    let orientation = tags.get::<gst::tags::ImageOrientation>()?;
    let orientation = orientation.get();
    let doubtful = orientation != "rotate-0" && !is_turned_upstream(sink.clone());
    doubtful.then(|| turned(&format!("the tag image-orientation is {orientation}")))
}

/// Whether an element upstream turns frames. Until GStreamer 1.22.4 videoflip leaves the tag as it is, and so do other elements.
fn is_turned_upstream(mut pad: gst::Pad) -> bool {
    for _ in 0..MOST_ELEMENTS {
        let Some(peer) = pad.peer() else { return false };
        if peer.parent_element().is_some_and(|element| turns(&element)) {
            return true;
        }
        // Of an element with several inputs the first stands for all; the pads of bins lead in and out.
        let Ok(Some(next)) = peer.iterate_internal_links().next() else { return false };
        pad = next;
    }
    false
}

fn turns(element: &gst::Element) -> bool {
    let direction = element
        .has_property_with_type("video-direction", VideoOrientationMethod::static_type())
        .then(|| element.property::<VideoOrientationMethod>("video-direction"));
    direction.is_some_and(|direction| direction != VideoOrientationMethod::Identity)
}

/// A doubt about a single frame.
pub(super) fn of_frame(frame: &gst::BufferRef, info: &VideoInfo) -> Option<String> {
    const IDENTITY: [[f32; 4]; 4] =
        [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    if frame.meta::<VideoAffineTransformationMeta>().is_some_and(|meta| *meta.matrix() != IDENTITY) {
        return Some(turned("they carry a GstVideoAffineTransformationMeta"));
    }
    let mixed = info.interlace_mode() == VideoInterlaceMode::Mixed;
    (mixed && frame.video_flags().contains(VideoBufferFlags::INTERLACED))
        .then(|| interlaced("interlace-mode=mixed"))
}

fn turned(why: &str) -> String {
    format!(
        "the frames must be turned before they are shown ({why}), but tensors are made of them as they are, and models find \
         little or nothing in turned pictures. Put videoflip video-direction=auto before this element"
    )
}

fn interlaced(mode: &str) -> String {
    format!(
        "the frames are interlaced ({mode}): what moves has comb-like edges, and a model finds less. Put deinterlace before this \
         element"
    )
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    #[test]
    fn a_doubt_is_reported_once_and_a_stream_of_ever_new_ones_ends() {
        let mut reported = Reported::default();
        let doubts = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(reported.only_new(doubts.clone()), doubts);
        reported.forget();
        assert!(reported.only_new(doubts).is_empty());
        let new = (0..100).map(|i| i.to_string()).collect();
        assert_eq!(reported.only_new(new).len(), MOST - 2);
    }

    #[test]
    fn only_pixels_of_another_shape_and_frames_of_two_moments_are_doubted() {
        gst::init().unwrap();
        let of = |fields: &str, resize: &str| {
            let incaps = format!("video/x-raw,format=I420,width=64,height=48,{fields}");
            let incaps = gst::Caps::from_str(&incaps).unwrap();
            let outcaps = gst::Caps::builder("video/x-raw").field(caps::RESIZE, resize).build();
            of_caps(&incaps, &VideoInfo::from_caps(&incaps).unwrap(), &outcaps).join(" ")
        };
        for fine in ["framerate=30/1", "pixel-aspect-ratio=12/11", "pixel-aspect-ratio=8/9"] {
            assert_eq!(of(fine, "letterbox"), "", "{fine}");
        }
        for (fields, part) in [
            ("pixel-aspect-ratio=64/45", "narrower"),
            ("pixel-aspect-ratio=32/27", "narrower"),
            ("pixel-aspect-ratio=1/2", "wider"),
            ("interlace-mode=interleaved,field-order=top-field-first", "deinterlace"),
        ] {
            assert!(of(fields, "letterbox").contains(part), "{fields}");
        }
        assert_eq!(of("pixel-aspect-ratio=64/45", "stretch"), "");
        assert_eq!(of("interlace-mode=mixed", "letterbox"), "");
    }
}
