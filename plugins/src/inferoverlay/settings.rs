//! What the properties hold.

use cudainfer_kernels::draw::blur::BlurMode;
use cudainfer_kernels::ground::SpeedUnit;

/// What to draw, and how large.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// Labels of the objects that are made unrecognisable, separated by commas; empty for none.
    pub blur: String,
    pub blur_mode: BlurMode,
    /// Cells along the longer side of an object.
    pub blur_cells: u32,
    /// The margin on each side, as a fraction of the box's.
    pub blur_margin: f32,
    /// Frames for which an object that is not found any more stays covered.
    pub blur_hold: u32,
    pub boxes: bool,
    pub labels: bool,
    pub confidences: bool,
    pub ids: bool,
    /// In which unit the speeds of objects are written.
    pub speed_unit: SpeedUnit,
    pub points: bool,
    pub skeleton: bool,
    pub masks: bool,
    pub zones: bool,
    /// How much of the frame a mask hides, 0..1.
    pub mask_opacity: f32,
    /// Labels of the objects that are drawn, separated by commas; empty for all.
    pub classes: String,
    /// The least confidence of objects and points that are drawn.
    pub min_confidence: f32,
    /// Draw only objects that belong to a track.
    pub tracked_only: bool,
    /// Frames that a trail shows; 0 draws none.
    pub trail_length: u32,
    /// Draw where tracks will be.
    pub arrows: bool,
    /// How many frames they look ahead.
    pub arrow_frames: u32,
    /// Show where objects were.
    pub heatmap: bool,
    /// Seconds after which a place's time counts half; 0 never fades.
    pub heatmap_decay: f64,
    /// Labels of the objects that count, separated by commas; empty for all.
    pub heatmap_classes: String,
    /// How much of the frame the map hides where it is strongest, 0..1.
    pub heatmap_opacity: f32,
    /// Pixels; 0 chooses by the frame's height and the object's size.
    pub thickness: u32,
    /// Family or file; empty for the system's sans-serif font, or the built-in letters if there is none.
    pub font: String,
    /// Multiple of 13 pixels; 0 chooses by the frame's height.
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
            speed_unit: SpeedUnit::default(),
            points: true,
            skeleton: true,
            masks: true,
            zones: true,
            mask_opacity: 0.5,
            classes: String::new(),
            min_confidence: 0.0,
            tracked_only: false,
            trail_length: 30,
            arrows: false,
            arrow_frames: 15,
            heatmap: false,
            heatmap_decay: 60.0,
            heatmap_classes: String::new(),
            heatmap_opacity: 0.5,
            thickness: 0,
            font: String::new(),
            text_scale: 0,
        }
    }
}
