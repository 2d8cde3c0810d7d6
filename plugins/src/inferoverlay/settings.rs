//! What the properties hold.

use super::enums::BlurMode;

/// What to draw, and how large.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// Labels of the objects that are made unrecognisable, separated by commas; empty for none.
    pub blur: String,
    pub blur_mode: BlurMode,
    /// Cells along the longer side of an object.
    pub blur_cells: u32,
    /// How much more is covered on each side, as a fraction of the box's.
    pub blur_margin: f32,
    /// Frames for which an object that is not found any more stays covered.
    pub blur_hold: u32,
    pub boxes: bool,
    pub labels: bool,
    pub confidences: bool,
    pub ids: bool,
    pub points: bool,
    pub skeleton: bool,
    pub masks: bool,
    pub zones: bool,
    /// How much of the frame a mask hides, 0..1.
    pub mask_opacity: f32,
    /// Draw only objects that belong to a track.
    pub tracked_only: bool,
    /// Frames that a trail shows; 0 draws none.
    pub trail_length: u32,
    /// Pixels; 0 chooses by the frame's height.
    pub thickness: u32,
    /// Multiple of the font's size; 0 chooses by the frame's height.
    pub text_scale: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            blur: String::new(),
            blur_mode: BlurMode::Pixelate,
            blur_cells: 8,
            blur_margin: 0.1,
            blur_hold: 15,
            boxes: true,
            labels: true,
            confidences: true,
            ids: true,
            points: true,
            skeleton: true,
            masks: true,
            zones: true,
            mask_opacity: 0.5,
            tracked_only: false,
            trail_length: 30,
            thickness: 0,
            text_scale: 0,
        }
    }
}
