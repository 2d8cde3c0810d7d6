//! How zones are drawn: their outlines and lines, an arrow to the side that is `in`, and their counts.

use cudainfer_kernels::draw::{Primitive, Rgb, label_rect};
use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::zones::ZoneKind;

use super::colors::color_of_name;
use super::lettering::Caption;
use super::settings::Settings;
use crate::meta::zone::Zone;

/// A zone's strokes and its caption.
pub(super) struct Figure {
    strokes: Vec<Vec<(f32, f32)>>,
    caption: String,
    /// Where the caption goes.
    at: (f32, f32),
    color: Rgb,
}

/// The zones as they are drawn with lines of this thickness; none if they are switched off.
pub(super) fn figures(zones: &[Zone], settings: &Settings, thickness: f32) -> Vec<Figure> {
    let drawn = zones.iter().filter(|_| settings.zones);
    drawn.filter_map(|zone| figure(zone, settings, thickness)).collect()
}

fn figure(zone: &Zone, settings: &Settings, thickness: f32) -> Option<Figure> {
    let points: Vec<_> = zone.points.iter().map(|[x, y]| (*x as f32, *y as f32)).collect();
    let at = points.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let counts = &zone.counts;
    let (strokes, counted) = match (zone.kind, &points[..]) {
        (ZoneKind::Line, [a, b]) => {
            let counted = format!("in {} out {}", counts.crossed_in, counts.crossed_out);
            let mut strokes = arrow(*a, *b, thickness);
            strokes.push(points);
            (strokes, counted)
        }
        _ => {
            let closed = |points: &[[f64; 2]]| {
                points.iter().chain(points.first()).map(|[x, y]| (*x as f32, *y as f32)).collect()
            };
            let outlines = std::iter::once(&zone.points).chain(&zone.holes);
            (
                outlines.map(|points| closed(points)).collect(),
                format!("{}, entered {}", counts.occupancy, counts.entered),
            )
        }
    };
    let caption = if settings.labels { format!("{}: {counted}", zone.name) } else { String::new() };
    Some(Figure { strokes, caption, at, color: color_of_name(&zone.name) })
}

/// From the middle of a line to its right side, as seen in its direction.
fn arrow(a: (f32, f32), b: (f32, f32), thickness: f32) -> Vec<Vec<(f32, f32)>> {
    let (along, length) = ((b.0 - a.0, b.1 - a.1), (b.0 - a.0).hypot(b.1 - a.1));
    let along = (along.0 / length, along.1 / length);
    let right = (-along.1, along.0);
    let middle = ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0);
    let size = 20.0 * thickness;
    let at = |forth: f32, aside: f32| {
        let (forth, aside) = (forth * size, aside * size);
        (middle.0 + forth * right.0 + aside * along.0, middle.1 + forth * right.1 + aside * along.1)
    };
    vec![vec![middle, at(1.0, 0.0)], vec![at(0.6, -0.4), at(1.0, 0.0), at(0.6, 0.4)]]
}

/// Their strokes.
pub(super) fn strokes(figures: &[Figure], thickness: f32) -> impl Iterator<Item = Primitive<'_>> {
    figures.iter().flat_map(move |Figure { strokes, color, .. }| {
        strokes.iter().map(move |points| Primitive::Polyline { points, thickness, color: *color })
    })
}

/// The text on each.
pub(super) fn captions(figures: &[Figure]) -> impl Iterator<Item = &String> {
    figures.iter().map(|figure| &figure.caption)
}

/// Where these captions lie on a frame of this size.
pub(super) fn areas(figures: &[Figure], written: &[Caption], frame: [usize; 2]) -> Vec<Rect> {
    let lying = figures.iter().zip(written);
    lying.filter_map(|(figure, caption)| label_rect(figure.at.into(), caption.size(), frame)).collect()
}

/// Their captions as they are `written`.
pub(super) fn labels<'a>(figures: &[Figure], written: &'a [Caption]) -> impl Iterator<Item = Primitive<'a>> {
    figures.iter().zip(written).filter_map(|(figure, caption)| caption.label(figure.at, figure.color))
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::zones::{Counts, Totals};

    use super::*;

    type Strokes = Vec<Vec<(f32, f32)>>;

    /// The strokes and the captions of two zones.
    fn drawn(settings: &Settings) -> (Strokes, Vec<(f32, f32, String)>) {
        let zone = |name, kind, points: &[[f64; 2]]| Zone::new(name, kind, points, &Totals::default());
        let counts = Counts { crossed_in: 3, crossed_out: 1, entered: 7, left: 5, occupancy: 2 };
        let zones = [
            zone("door", ZoneKind::Line, &[[100.0, 40.0], [50.0, 40.0]]),
            zone("yard", ZoneKind::Polygon, &[[0.0, 9.0], [9.0, 5.0], [9.0, 9.0]]),
        ]
        .map(|zone| Zone { counts, ..zone });
        let [door, yard] = zones;
        let zones = [door, Zone { holes: vec![vec![[7.0, 7.0], [8.0, 7.0], [8.0, 8.0]]], ..yard }];
        let figures = figures(&zones, settings, 1.0);
        let written: Vec<_> =
            super::captions(&figures).map(|text| Caption::built_in(text.clone(), 1)).collect();
        let (mut strokes, mut captions) = (Vec::new(), Vec::new());
        for primitive in super::strokes(&figures, 1.0).chain(super::labels(&figures, &written)) {
            match primitive {
                Primitive::Polyline { points, thickness: 1.0, .. } => strokes.push(points.to_vec()),
                Primitive::Label { x, y, text, .. } => captions.push((x, y, text.to_owned())),
                _ => panic!("{primitive:?}"),
            }
        }
        (strokes, captions)
    }

    #[test]
    fn an_arrow_shows_the_side_that_is_in_and_an_outline_is_closed() {
        let (strokes, captions) = drawn(&Settings::default());
        // The line goes to the left, so its right is up.
        assert_eq!(strokes[0], [(75.0, 40.0), (75.0, 20.0)]);
        assert_eq!(strokes[1][1], (75.0, 20.0));
        assert_eq!(strokes[2], [(100.0, 40.0), (50.0, 40.0)]);
        assert_eq!(strokes[3], [(0.0, 9.0), (9.0, 5.0), (9.0, 9.0), (0.0, 9.0)]);
        assert_eq!(strokes[4], [(7.0, 7.0), (8.0, 7.0), (8.0, 8.0), (7.0, 7.0)], "its hole");
        let wanted = [(100.0, 40.0, "door: in 3 out 1"), (9.0, 5.0, "yard: 2, entered 7")];
        assert_eq!(captions, wanted.map(|(x, y, text)| (x, y, text.to_owned())));
    }

    #[test]
    fn they_can_be_switched_off_and_so_can_their_captions() {
        let (strokes, captions) = drawn(&Settings { labels: false, ..Settings::default() });
        assert_eq!((strokes.len(), captions.len()), (5, 0));
        let (strokes, captions) = drawn(&Settings { zones: false, ..Settings::default() });
        assert_eq!((strokes.len(), captions.len()), (0, 0));
    }
}
