//! From masks to entries, which share the masks' bytes.

use std::collections::HashMap;
use std::ffi::c_int;

use gst_video::{VideoFormat, VideoFrameFlags, VideoMeta};

use super::library::RELATE_TO;
use super::relations::{Writer, pixel};
use crate::memory::tensor::part;
use crate::meta::label::Label;
use crate::meta::mask::{Mask, MaskKind};

/// `GST_SEGMENTATION_TYPE_SEMANTIC`: the values are classes.
const SEMANTIC: c_int = 0;
/// `GST_SEGMENTATION_TYPE_INSTANCE`: the values are objects.
const INSTANCE: c_int = 1;

/// The confidence of a class whose confidence is not known.
const UNKNOWN: f32 = -1.0;

/// Classes that a byte can name.
const MOST_CLASSES: usize = 256;

/// Adds masks, if the library knows of masks: those of objects related to their boxes, whose entries are given by the objects'
/// numbers. A channel of 256 steps shows no regions, and is left out.
pub(super) fn add(writer: &mut Writer<'_>, masks: &[Mask], boxes: &HashMap<i32, u32>) {
    for mask in masks {
        match &mask.kind {
            MaskKind::Alpha { .. } => (),
            MaskKind::Instance { object } => {
                let entry = add_mask(writer, mask, INSTANCE, &mut [0, 1]);
                if let (Some(entry), Some(object)) = (entry, boxes.get(object)) {
                    writer.relate(*object, entry, [RELATE_TO; 2]);
                }
            }
            MaskKind::Classes { labels, .. } => {
                let mut values: Vec<u32> = (0..).take(labels.len().clamp(1, MOST_CLASSES)).collect();
                let entry = add_mask(writer, mask, SEMANTIC, &mut values);
                let mut labels: Vec<_> =
                    labels.iter().take(values.len()).map(|label| Label::named(label).quark()).collect();
                let mut levels = vec![UNKNOWN; labels.len()];
                let Some(entry) = entry.filter(|_| !labels.is_empty()) else { continue };
                if let Some(classes) = writer.classes(None, &mut labels, &mut levels) {
                    writer.relate(entry, classes, [RELATE_TO; 2]);
                }
            }
        }
    }
}

/// Adds a mask; `values` are those that may occur.
fn add_mask(writer: &mut Writer<'_>, mask: &Mask, segmentation: c_int, values: &mut [u32]) -> Option<u32> {
    let add = writer.functions.segmentation?;
    let [width, height] = [mask.width, mask.height].map(u32::try_from);
    let (width, height) = (width.ok()?, height.ok()?);
    // A buffer's own copy would bring what lies on the device to the host.
    let mut picture = part(&mask.data, 0, mask.data.size()).ok()?;
    let stride = [i32::try_from(mask.width).ok()?];
    let buffer = picture.get_mut()?;
    let flags = VideoFrameFlags::empty();
    VideoMeta::add_full(buffer, flags, VideoFormat::Gray8, width, height, &[0], &stride).ok()?;
    let [x, y] = [mask.rect.x, mask.rect.y].map(pixel);
    // Saturating: what is negative or NaN becomes 0.
    let [w, h] = [mask.rect.w, mask.rect.h].map(|side| side.round() as u32);
    // SAFETY: the buffer has the video meta that the library asks for, and belongs to the library from now on; the values are
    // copied.
    let added = writer.add(|meta, mtd| unsafe {
        let picture = gst::glib::translate::IntoGlibPtr::into_glib_ptr(picture);
        add(meta, picture, segmentation, values.len(), values.as_mut_ptr(), x, y, w, h, mtd)
    });
    added.map(|mtd| mtd.id)
}
