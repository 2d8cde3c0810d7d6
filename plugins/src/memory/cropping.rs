//! Crop metadata (`GstVideoCropMeta`): the caps give the size of a part of the picture, and the frame's memory holds all of it.
//!
//! No element of ours reads such frames. None offers to in ALLOCATION queries, so that an element that crops does it to the
//! pixels, and a frame that carries crop metadata all the same is an error: its coordinates would be those of another picture.

use gst::prelude::*;
use gst_video::VideoCropMeta;

use super::MemoryError;

/// Metas that an element which reads or changes pixels may offer: they say where pixels lie, which is honoured, or something
/// about a frame that leaves its pixels what they are. Unknown metas do not count as such: an overlay that another element must
/// blend, a transformation, an enhancement.
const LEAVE_PIXELS: [&str; 13] = [
    "GstAnalyticsRelationMetaAPI",
    "GstAncillaryMetaAPI",
    "GstCudaInferOrderMetaAPI",
    "GstReferenceTimestampMetaAPI",
    "GstTensorMetaAPI",
    "GstVideoAFDMetaAPI",
    "GstVideoBarMetaAPI",
    "GstVideoCaptionMetaAPI",
    "GstVideoHDRMetaAPI",
    "GstVideoMetaAPI",
    "GstVideoRegionOfInterestMetaAPI",
    "GstVideoSEIUserDataUnregisteredMetaAPI",
    "GstVideoTimeCodeMetaAPI",
];

/// What an element does with the frames that it passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It reads or changes their pixels.
    Pixels,
    /// It reads or writes coordinates, or copies frames as they are.
    Metadata,
}

/// Takes out of the answer to an ALLOCATION query the metas that downstream would honour and an element with this use does not.
pub fn withhold(query: &mut gst::query::Allocation, usage: Use) {
    let withheld = |api: &str| match usage {
        Use::Pixels => !LEAVE_PIXELS.contains(&api),
        Use::Metadata => api == "GstVideoCropMetaAPI",
    };
    let metas: Vec<_> = query.allocation_metas().map(|(api, _)| withheld(api.name())).collect();
    for (index, withheld) in (0..).zip(metas).collect::<Vec<_>>().into_iter().rev() {
        if withheld {
            query.remove_nth_allocation_meta(index);
        }
    }
}

/// Whether `buffer`, of a stream with frames of this width and height, holds the whole picture.
///
/// # Errors
/// [`MemoryError::Cropped`].
pub fn check(buffer: &gst::BufferRef, [width, height]: [u32; 2]) -> Result<(), MemoryError> {
    let Some(crop) = buffer.meta::<VideoCropMeta>() else { return Ok(()) };
    // An element that always describes a crop may say that there is none.
    if crop.rect() == (0, 0, width, height) {
        return Ok(());
    }
    let (x, y, width, height) = crop.rect();
    Err(MemoryError::Cropped { x, y, width, height })
}

/// The same for a frame that comes into `element`, which posts the ERROR.
///
/// # Errors
/// [`gst::FlowError::Error`].
pub fn refuse(element: &impl IsA<gst::Element>, buffer: &gst::BufferRef) -> Result<(), gst::FlowError> {
    if buffer.meta::<VideoCropMeta>().is_none() {
        return Ok(());
    }
    let caps = element.static_pad("sink").and_then(|sink| sink.current_caps());
    let side = |field| u32::try_from(caps.as_ref()?.structure(0)?.get::<i32>(field).ok()?).ok();
    check(buffer, ["width", "height"].map(|field| side(field).unwrap_or(0))).map_err(|why| {
        let name = element.as_ref().name();
        gst::element_error!(element.as_ref(), gst::StreamError::Format, ("{name}: {why}"));
        gst::FlowError::Error
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_leaves_the_pixels_alone_is_offered_by_who_reads_them() {
        gst::init().unwrap();
        let offered = |usage| {
            let mut query = gst::query::Allocation::new(None, false);
            query.add_allocation_meta::<VideoCropMeta>(None);
            query.add_allocation_meta::<gst_video::VideoMeta>(None);
            query.add_allocation_meta::<gst_video::VideoOverlayCompositionMeta>(None);
            query.add_allocation_meta::<gst_video::VideoAffineTransformationMeta>(None);
            query.add_allocation_meta::<gst_video::VideoRegionOfInterestMeta>(None);
            withhold(&mut query, usage);
            query.allocation_metas().map(|(api, _)| api.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(offered(Use::Pixels), ["GstVideoMetaAPI", "GstVideoRegionOfInterestMetaAPI"]);
        let others = offered(Use::Metadata);
        assert!(others.len() == 4 && !others.iter().any(|api| api.contains("Crop")), "{others:?}");
    }

    #[test]
    fn a_crop_that_is_the_whole_frame_is_none() {
        gst::init().unwrap();
        let cropped = |rect| {
            let mut buffer = gst::Buffer::with_size(16).unwrap();
            VideoCropMeta::add(buffer.get_mut().unwrap(), rect);
            check(&buffer, [64, 48])
        };
        assert_eq!(cropped((0, 0, 64, 48)), Ok(()));
        for rect in [(2, 0, 64, 48), (0, 2, 64, 48), (0, 0, 62, 48), (0, 0, 64, 46)] {
            let (x, y, width, height) = rect;
            assert_eq!(cropped(rect), Err(MemoryError::Cropped { x, y, width, height }));
        }
    }
}
