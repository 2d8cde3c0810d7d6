//! GStreamer's own analytics metadata, `GstAnalyticsRelationMeta`: results as the elements of GStreamer 1.24 and newer write and read
//! them.
//!
//! Regions of interest with our parameters ([`super::region`]) carry more and take precedence. The entries of the meta mirror
//! them, for other elements; entries that only other elements wrote are read as well. A region and a detection entry with the
//! same label and box are the same object. [`Forms`] is what an element writes.
//!
//! | entry | of | relation |
//! |---|---|---|
//! | object detection | each object with a detection or points: label, box in whole pixels, confidence (without a detection, the points' mean score); since 1.26 with the angle of a rotated box | |
//! | object tracking | each tracked object: identity, first and last seen, lost; an object that is lost has no detection entry | relate to, both ways |
//! | | each object that was found in another one's region | part of that one, which contains it |
//! | classification | each `classification` parameter: labels and confidences, the best first. What was found in the whole frame or in a fixed region is related to nothing | relate to, both ways |
//! | segmentation, since 1.26 | each mask but those of kind `alpha`. One of classes has a classification entry with the classes' names | relate to, both ways |
//! | keypoints and their group, since 1.30 | `keypoints`, in whole pixels; the skeleton's edges are relations among them | the object contains the group, the group is part of the object |

mod library;
mod masks;
mod read;
mod relations;
mod write;

use gst_video::video_meta::VideoRegionOfInterestMeta as Roi;

use self::library::{CAT, Functions};
use self::read::Reading;
use self::relations::{Entries as _, RelationMeta};
use super::mask;
use super::region::{Object, Region};
use crate::ignored;
use crate::property::Words;

/// The property `metadata`: the form in which results are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMetadata")]
#[allow(missing_docs)]
pub enum Metadata {
    #[default]
    #[enum_value(name = "both where GStreamer has analytics metadata (1.24), else roi", nick = "auto")]
    Auto,
    #[enum_value(name = "GstVideoRegionOfInterestMeta", nick = "roi")]
    Roi,
    #[enum_value(name = "GstAnalyticsRelationMeta, without new regions of interest", nick = "analytics")]
    Analytics,
    #[enum_value(name = "Both", nick = "both")]
    Both,
}

impl Words for Metadata {}

/// Text of the property.
pub(crate) const BLURB: &str = "As what results are written: regions of interest, which have everything, and GStreamer's analytics \
                                metadata, which other elements read";

/// What an element writes that not every version of the library can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Boxes, tracks and classes.
    Objects,
    /// Masks, since 1.26.
    Masks,
    /// Points, since 1.30.
    Keypoints,
    /// Named numbers, which it has no entries for.
    Values,
}

/// The forms in which an element writes results.
#[derive(Clone, Copy, Default)]
pub struct Forms {
    /// Whether objects that are new on a frame are left without a region of interest.
    without_regions: bool,
    analytics: Option<&'static Functions>,
}

impl Metadata {
    /// The forms that are possible with the library of this machine.
    ///
    /// # Errors
    /// A sentence, without the element's name: the library is missing, or cannot hold that.
    pub fn forms(self, contents: Contents) -> Result<Forms, String> {
        let needed = |name: &str| {
            library::open().map_err(|why| {
                format!(
                    "metadata={name} needs libgstanalytics of GStreamer 1.24 or newer, but {why}. Install \
                     libgstreamer-plugins-bad1.0-0 of such a version, or set metadata to auto or roi"
                )
            })
        };
        Ok(match self {
            Self::Roi => Forms::default(),
            Self::Auto => Forms { analytics: library::open().ok(), ..Forms::default() },
            Self::Both => Forms { analytics: Some(needed("both")?), ..Forms::default() },
            Self::Analytics => {
                let functions = needed("analytics")?;
                if matches!(contents, Contents::Values) {
                    return Err(
                        "metadata=analytics cannot hold values. Set metadata to auto, both or roi".into()
                    );
                }
                let lacks = match contents {
                    Contents::Masks if functions.segmentation.is_none() => Some(("masks", "1.26")),
                    Contents::Keypoints if functions.keypoints.is_none() => Some(("keypoints", "1.30")),
                    _ => None,
                };
                if let Some((what, version)) = lacks {
                    return Err(format!(
                        "metadata=analytics cannot hold {what} with this GStreamer: they need {version} or newer. Set metadata to \
                         auto, both or roi"
                    ));
                }
                Forms { without_regions: true, analytics: Some(functions) }
            }
        })
    }
}

impl Forms {
    /// Calls `work`, which puts objects on the frame as regions of interest, adds to those that are there, or puts masks on the frame,
    /// and brings the frame to the forms that are wanted.
    pub fn write<R>(self, frame: &mut gst::BufferRef, work: impl FnOnce(&mut gst::BufferRef) -> R) -> R {
        let Some(functions) = self.analytics else { return work(frame) };
        let (regions, masks) = (frame.iter_meta::<Roi>().count(), mask::masks(frame).len());
        let result = work(frame);
        let new_masks = mask::masks(frame).split_off(masks);
        write::mirror(functions, frame, &new_masks);
        if self.without_regions {
            remove_regions_after(regions, frame);
            if !new_masks.is_empty() {
                mask::remove_after(masks, frame);
            }
        }
        result
    }
}

/// Removes all regions of interest after the first `kept`.
fn remove_regions_after(kept: usize, frame: &mut gst::BufferRef) {
    let regions: Vec<_> =
        frame.iter_meta_mut::<Roi>().skip(kept).map(|mut region| region.as_mut_ptr()).collect();
    for region in regions {
        // SAFETY: the frame is writable, and the region is one of its metas: each is removed once.
        unsafe { gst::ffi::gst_buffer_remove_meta(frame.as_mut_ptr(), region.cast()) };
    }
}

/// Whether a buffer carries analytics metadata.
pub(super) fn any(buffer: &gst::BufferRef) -> bool {
    library::open().is_ok_and(|functions| functions.meta(buffer).is_some())
}

/// How many boxes a buffer's analytics metadata have.
pub(crate) fn boxes(buffer: &gst::BufferRef) -> usize {
    let entries = library::open().ok().and_then(|functions| RelationMeta::of(functions, buffer));
    entries.map_or(0, |entries| {
        let numbers = (0..).take(entries.len().min(read::MOST_ENTRIES));
        numbers.filter(|id| entries.kind(*id) == relations::EntryKind::Detection).count()
    })
}

/// Removes a buffer's analytics metadata, whose places are wrong in a frame of another size.
pub(crate) fn remove(buffer: &mut gst::BufferRef) {
    let Some(meta) = library::open().ok().and_then(|functions| functions.meta(buffer)) else { return };
    // SAFETY: the buffer is writable, and the meta is its own.
    unsafe { gst::ffi::gst_buffer_remove_meta(buffer.as_mut_ptr(), meta) };
}

/// The objects of these regions, completed by what only analytics metadata say, and those that only they describe, with
/// the numbers that no region has.
pub(super) fn objects(buffer: &gst::BufferRef, regions: Vec<Region>) -> Vec<Object> {
    let entries = library::open().ok().and_then(|functions| RelationMeta::of(functions, buffer));
    let Some(entries) = entries else { return regions.into_iter().map(|region| region.object).collect() };
    let reading = Reading::of(&entries);
    if reading.ignored > 0 {
        gst::debug!(CAT, "{} entries of a frame's analytics metadata are ignored", reading.ignored);
        ignored::note(reading.ignored);
    }
    let locations: Vec<_> = regions.iter().map(|region| write::location(entries.functions, region)).collect();
    let places = reading.places(&locations);
    let mut objects: Vec<_> = regions.into_iter().map(|region| region.object).collect();
    read::complete(&entries, &reading, &places, &mut objects);
    objects
}

#[cfg(test)]
mod tests;
