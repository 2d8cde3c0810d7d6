//! How wide lines are: by the frame's height, and at most in proportion to the object that they are drawn on.

use cudainfer_kernels::geometry::Rect;

use super::settings::Settings;

/// Rows of a frame for each pixel of a line's width.
const ROWS_A_PIXEL: f32 = 360.0;
/// The widest line in pixels that is chosen by the frame's height.
const WIDEST: f32 = 8.0;
/// The shorter side of a box is at least this many times the width of its border.
const BORDERS_A_BOX: f32 = 24.0;
/// The longer side of a skeleton is at least this many times the width of its limbs.
const LIMBS_A_BODY: f32 = 60.0;

/// The widths of lines on frames of one height.
#[derive(Clone, Copy, Debug)]
pub(super) struct Widths {
    /// What the property says, in pixels.
    chosen: Option<u32>,
    /// By the frame's height, in pixels.
    frame: f32,
    /// Whether the frame has fewer rows than half of those for each pixel of a line's width.
    small: bool,
}

impl Widths {
    /// On frames `height` pixels high.
    pub fn new(settings: &Settings, height: usize) -> Self {
        let chosen = (settings.thickness > 0).then_some(settings.thickness);
        let frame = height as f32 / ROWS_A_PIXEL;
        Self { chosen, frame: frame.clamp(1.0, WIDEST), small: frame < 0.5 }
    }

    /// Of lines that belong to no box: zones, trails and arrows.
    pub fn line(&self) -> f32 {
        self.chosen.map_or(self.frame, |width| width as f32)
    }

    /// Of the line around a rotated box.
    pub fn outline(&self, rect: &Rect) -> f32 {
        let side = rect.w.min(rect.h);
        self.chosen.map_or(self.frame.min(side / BORDERS_A_BOX).max(1.0), |width| width as f32)
    }

    /// Of the border of a box, in whole pixels.
    pub fn border(&self, rect: &Rect) -> u32 {
        self.chosen.unwrap_or_else(|| self.outline(rect).round() as u32)
    }

    /// Of the outline of masks, in whole pixels; 0, which is none, on small frames, where it would hide the masks.
    pub fn mask(&self) -> u32 {
        if self.small { 0 } else { self.line().round() as u32 }
    }

    /// Of the limbs of a skeleton whose longer side is `size` pixels long. The radius of its joints is the same.
    pub fn limb(&self, size: f32) -> f32 {
        (size / LIMBS_A_BODY).min(self.line()).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERSON: Rect = Rect { x: 5.0, y: 5.0, w: 120.0, h: 300.0 };

    #[test]
    fn lines_grow_with_the_frame_and_are_thin_on_small_objects() {
        let of = |height| Widths::new(&Settings::default(), height);
        assert_eq!([240, 720, 1080, 2160, 8640].map(|height| of(height).line()), [1.0, 2.0, 3.0, 6.0, 8.0]);
        let child = Rect { w: 30.0, h: 60.0, ..PERSON };
        assert_eq!([480, 1080, 2160].map(|height| of(height).border(&PERSON)), [1, 3, 5]);
        assert_eq!([480, 1080, 2160].map(|height| of(height).border(&child)), [1, 1, 1]);
        assert_eq!([60.0, 150.0, 900.0].map(|size| of(1080).limb(size)), [1.0, 2.5, 3.0]);
        assert_eq!([144, 240, 1080].map(|height| of(height).mask()), [0, 1, 3]);
        assert_eq!(of(1080).limb(f32::NAN), 3.0, "what has no size is as large as can be");
    }

    #[test]
    fn a_thickness_that_is_set_holds_for_boxes_of_any_size_and_is_the_most_for_limbs() {
        let widths = Widths::new(&Settings { thickness: 4, ..Settings::default() }, 480);
        let small = Rect { w: 9.0, h: 9.0, ..PERSON };
        assert_eq!(
            (widths.line(), widths.border(&small), widths.outline(&small), widths.mask()),
            (4.0, 4, 4.0, 4)
        );
        assert_eq!([60.0, 900.0].map(|size| widths.limb(size)), [1.0, 4.0]);
    }
}
