//! The parts of a frame that a detector looks at where something moves.

use crate::geometry::Rect;

/// A region shows this much more on each side than the box of what moves, as a share of the box's longer side.
const MARGIN: f32 = 0.15;
/// The share of the frame from which on regions are not worth it: the frame itself is one.
const MOST_OF_FRAME: f32 = 0.6;

/// Regions that show all of `boxes` (frame pixels), with a margin, where they lie in the frame: each has at least the size `least` (width and
/// height in frame pixels: the detector's own, so that small objects are not made smaller), and its shape. Boxes that fit in one region share
/// it. The whole frame alone, if the regions would be more than `most`, or nearly as large together.
pub fn regions(boxes: &[Rect], frame: [usize; 2], least: [usize; 2], most: usize) -> Vec<Rect> {
    let frame = frame.map(|side| side as f32);
    let least = [0, 1].map(|axis| (least[axis] as f32).min(frame[axis]));
    let whole = Rect { x: 0.0, y: 0.0, w: frame[0], h: frame[1] };
    let mut groups: Vec<Rect> = vec![];
    for rect in boxes {
        let wide = widened(rect).common(&whole);
        // Where it costs least.
        let joined = groups.iter().map(|group| union(group, &wide));
        let cheapest = joined
            .enumerate()
            .map(|(place, both)| (shaped(&both, least, frame).area(), place, both))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let alone = shaped(&wide, least, frame).area();
        match cheapest {
            Some((together, place, both))
                if together < shaped(&groups[place], least, frame).area() + alone =>
            {
                groups[place] = both;
            }
            _ => groups.push(wide),
        }
    }
    let regions: Vec<Rect> = groups.iter().map(|group| shaped(group, least, frame)).collect();
    let sum: f32 = regions.iter().map(Rect::area).sum();
    if regions.len() > most || sum > MOST_OF_FRAME * whole.area() {
        return vec![whole];
    }
    regions
}

fn widened(rect: &Rect) -> Rect {
    let margin = MARGIN * rect.w.max(rect.h);
    Rect { x: rect.x - margin, y: rect.y - margin, w: rect.w + 2.0 * margin, h: rect.h + 2.0 * margin }
}

fn union(a: &Rect, b: &Rect) -> Rect {
    Rect::from_corners(a.x.min(b.x), a.y.min(b.y), a.right().max(b.right()), a.bottom().max(b.bottom()))
}

/// A box grown around its centre to the least size or a multiple of it, moved into the frame; as much of that as the frame has.
fn shaped(rect: &Rect, least: [f32; 2], frame: [f32; 2]) -> Rect {
    let scale = (rect.w / least[0]).max(rect.h / least[1]).max(1.0);
    let side = |axis: usize| (least[axis] * scale).min(frame[axis]);
    let [w, h] = [side(0), side(1)];
    let [x, y] = [rect.x + (rect.w - w) / 2.0, rect.y + (rect.h - h) / 2.0];
    Rect { x: x.clamp(0.0, frame[0] - w), y: y.clamp(0.0, frame[1] - h), w, h }
}
