//! The parts of a frame that are made unrecognisable: the boxes of the objects that `blur` names and of their masks, a little
//! larger, and for some frames those of objects that are not found any more.

mod covered;
mod labels;
mod outlines;
mod sights;

use cudainfer_kernels::draw::blur::BlurMode;
use cudainfer_kernels::geometry::Rect;

pub(super) use covered::Covered;
pub(super) use labels::Labels;

use super::choice::ObjectChoice;
use super::settings::Settings;
use crate::meta::mask::Mask;
use crate::meta::object::Object;

/// The parts that are made unrecognisable in a frame, and how.
#[derive(Clone, Debug)]
pub(super) struct Cover {
    pub mode: BlurMode,
    pub cells: u32,
    /// Frame pixels.
    pub boxes: Vec<Rect>,
    /// How many of the boxes are of objects that are not on this frame.
    pub held: usize,
}

impl Cover {
    /// For a frame with these objects and masks; `covered` is the state of its stream.
    pub fn of(
        choice: Option<&ObjectChoice>,
        objects: &[Object],
        masks: &[Mask],
        covered: &mut Covered,
        settings: &Settings,
    ) -> Self {
        let sights: Vec<_> = choice.map(|choice| sights::sights(choice, objects, masks)).unwrap_or_default();
        let (boxes, held) = covered.update(&sights, settings.blur_hold);
        let boxes = boxes.iter().map(|rect| grown(rect, settings.blur_margin)).collect();
        Self { mode: settings.blur_mode, cells: settings.blur_cells, boxes, held }
    }
}

/// The box with a margin on each side, which is this fraction of the side.
fn grown(rect: &Rect, margin: f32) -> Rect {
    let (x, y) = (rect.w * margin, rect.h * margin);
    Rect { x: rect.x - x, y: rect.y - y, w: rect.w + 2.0 * x, h: rect.h + 2.0 * y }
}
