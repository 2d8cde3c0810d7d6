//! How far the masks of objects reach: segmentation is not bound to the box.

use cudainfer_kernels::geometry::Rect;

use super::covered::union;
use crate::meta::mask::{Mask, MaskKind};
use crate::meta::object::Object;

/// The box around an object's masks, in frame pixels; `None` where it has none, or they are empty. Masks on the GPU are
/// downloaded. A mask that cannot be read counts as full, so that nothing stays visible because of that.
pub(super) fn of_masks(object: &Object, masks: &[Mask]) -> Option<Rect> {
    let own = masks.iter().filter(|mask| mask.kind == MaskKind::Instance { object: object.id });
    own.filter_map(outline).reduce(|a, b| union(&a, &b))
}

fn outline(mask: &Mask) -> Option<Rect> {
    let Ok(data) = mask.data.map_readable() else { return Some(mask.rect) };
    let (mut left, mut right, mut top, mut bottom) = (usize::MAX, 0, usize::MAX, 0);
    for (y, row) in data.chunks_exact(mask.width.max(1)).take(mask.height).enumerate() {
        let Some(first) = row.iter().position(|sample| *sample != 0) else { continue };
        let last = row.iter().rposition(|sample| *sample != 0).unwrap_or(first);
        (left, right) = (left.min(first), right.max(last + 1));
        (top, bottom) = (top.min(y), y + 1);
    }
    let (w, h) = (mask.rect.w / mask.width as f32, mask.rect.h / mask.height as f32);
    let Rect { x, y, .. } = mask.rect;
    (left < right).then(|| {
        let [left, top, right, bottom] = [left, top, right, bottom].map(|side| side as f32);
        Rect::from_corners(x + left * w, y + top * h, x + right * w, y + bottom * h)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(object: i32, width: usize, samples: &'static [u8]) -> Mask {
        gst::init().unwrap();
        let rect = Rect { x: 10.0, y: 20.0, w: 40.0, h: 30.0 };
        let data = gst::Buffer::from_slice(samples);
        Mask { kind: MaskKind::Instance { object }, width, height: samples.len() / width, data, rect }
    }

    #[test]
    fn a_mask_reaches_as_far_as_its_samples_and_masks_of_others_do_not_count() {
        let object = Object { id: 3, ..Object::default() };
        #[rustfmt::skip]
        let cross = mask(3, 4, &[
            0, 0, 1, 0,
            0, 1, 1, 0,
            0, 0, 0, 0,
        ]);
        let wanted = Rect { x: 20.0, y: 20.0, w: 20.0, h: 20.0 };
        assert_eq!(of_masks(&object, &[mask(2, 1, &[1]), cross.clone()]), Some(wanted));
        let both = Rect { x: 10.0, y: 20.0, w: 40.0, h: 30.0 };
        assert_eq!(of_masks(&object, &[cross, mask(3, 1, &[1])]), Some(both));
        assert_eq!(of_masks(&object, &[mask(3, 2, &[0, 0]), mask(2, 1, &[1])]), None);
        let semantic = Mask { kind: MaskKind::Alpha { label: "person".into() }, ..mask(3, 1, &[1]) };
        assert_eq!(of_masks(&object, &[semantic]), None);
    }
}
