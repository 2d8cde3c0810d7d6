//! The objects that frames have.

use gst_video::VideoRegionOfInterestMeta;

/// An object on a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Its class.
    pub label: String,
    /// Where it is.
    pub rect: Rect,
    /// 0 to 1.
    pub confidence: f64,
    /// The identity of its track, if it has one.
    pub track: Option<u64>,
}

/// The objects of a frame that a model has found; regions of other elements are left out.
pub fn objects(frame: &gst::BufferRef) -> impl Iterator<Item = Object> {
    frame.iter_meta::<VideoRegionOfInterestMeta>().filter_map(|region| {
        let detection = region.params().find(|param| param.name() == "detection")?;
        let tracking = region.params().find(|param| param.name() == "tracking");
        Some(Object {
            label: region.roi_type().to_owned(),
            rect: Rect::of(detection)?,
            confidence: detection.get("confidence").ok()?,
            track: tracking.and_then(|tracking| tracking.get("id").ok()),
        })
    })
}

/// A box in frame pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

impl Rect {
    /// That of the `detection` of an object.
    pub fn of(detection: &gst::StructureRef) -> Option<Self> {
        let number = |name: &str| detection.get::<f64>(name).ok();
        Some(Self { x: number("x")?, y: number("y")?, width: number("w")?, height: number("h")? })
    }

    /// The box with a margin (a fraction of its size), within a frame of this size, in whole pixels: left, upper, right and lower edge.
    pub fn with_margin(self, margin: f64, frame: [u32; 2]) -> Option<[u32; 4]> {
        let [width, height] = frame.map(f64::from);
        let (dx, dy) = (self.width * margin, self.height * margin);
        let within = |value: f64, most: f64| {
            let pixel = value.clamp(0.0, most).round();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and a frame's size"
            )]
            let pixel = pixel as u32;
            pixel
        };
        let (left, right) = (within(self.x - dx, width), within(self.x + self.width + dx, width));
        let (top, bottom) = (within(self.y - dy, height), within(self.y + self.height + dy, height));
        (right > left && bottom > top).then_some([left, top, right, bottom])
    }

    /// The intersection of both over their union, 0 to 1.
    pub fn overlap(self, other: Self) -> f64 {
        let common =
            |a: f64, b: f64, a_size: f64, b_size: f64| ((a + a_size).min(b + b_size) - a.max(b)).max(0.0);
        let both = common(self.x, other.x, self.width, other.width)
            * common(self.y, other.y, self.height, other.height);
        let union = self.width * self.height + other.width * other.height - both;
        if union > 0.0 { both / union } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_overlap_by_the_part_of_their_union_that_both_have() {
        let of = |x, y, width, height| Rect { x, y, width, height };
        assert_eq!(of(0.0, 0.0, 2.0, 2.0).overlap(of(1.0, 0.0, 2.0, 2.0)), 1.0 / 3.0);
        assert_eq!(of(0.0, 0.0, 2.0, 2.0).overlap(of(0.0, 0.0, 2.0, 2.0)), 1.0);
        assert_eq!(of(0.0, 0.0, 2.0, 2.0).overlap(of(3.0, 0.0, 2.0, 2.0)), 0.0);
        assert_eq!(of(0.0, 0.0, 0.0, 0.0).overlap(of(0.0, 0.0, 0.0, 0.0)), 0.0);
    }

    #[test]
    fn crops_stay_within_the_frame() {
        let rect = Rect { x: 10.0, y: 20.0, width: 100.0, height: 50.0 };
        assert_eq!(rect.with_margin(0.1, [640, 480]), Some([0, 15, 120, 75]));
        assert_eq!(rect.with_margin(0.0, [50, 40]), Some([10, 20, 50, 40]));
        assert_eq!(Rect { x: 700.0, ..rect }.with_margin(0.1, [640, 480]), None);
        assert_eq!(Rect { width: f64::NAN, ..rect }.with_margin(0.1, [640, 480]), None);
    }
}
