//! How many there are of what maps count: a line of text for each map, in the frame's upper left corner.

use cudainfer_kernels::draw::{Primitive, label_rect};
use cudainfer_kernels::geometry::Rect;

use super::colors::color_of_name;
use super::lettering::Caption;
use super::settings::Settings;
use crate::meta::map::Map;

/// The texts, with what is counted in each; none if labels are switched off.
pub(super) fn counts(maps: &[Map], settings: &Settings) -> Vec<(String, String)> {
    let of = |map: &Map| {
        let counted = map.counts.as_ref().filter(|_| settings.labels)?;
        Some((counted.clone(), format!("{counted}: {:.1}", map.sum.unwrap_or(0.0))))
    };
    maps.iter().filter_map(of).collect()
}

/// The texts as they are `written`, one below the other, `line` pixels apart. A label lies above its place.
pub(super) fn labels<'a>(
    counts: &[(String, String)],
    written: &'a [Caption],
    line: f32,
) -> impl Iterator<Item = Primitive<'a>> {
    let placed = counts.iter().zip(written).zip(places(line));
    placed.filter_map(|(((counted, _), caption), at)| caption.label(at, color_of_name(counted)))
}

/// Where these lie on a frame of this size.
pub(super) fn areas(written: &[Caption], line: f32, frame: [usize; 2]) -> impl Iterator<Item = Rect> {
    written
        .iter()
        .zip(places(line))
        .filter_map(move |(caption, at)| label_rect(at.into(), caption.size(), frame))
}

/// The lower left corners, `line` pixels apart.
fn places(line: f32) -> impl Iterator<Item = (f32, f32)> {
    (1u8..=u8::MAX).map(move |row| (0.0, f32::from(row) * line))
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::preproc::Layout;
    use cudainfer_kernels::tensor::TensorType;

    use super::*;

    fn map(counts: Option<&str>, sum: Option<f64>) -> Map {
        gst::init().unwrap();
        Map {
            name: "density".into(),
            ty: TensorType::Float32,
            width: 1,
            height: 1,
            channels: 1,
            layout: Layout::Nchw,
            data: gst::Buffer::new(),
            rect: Rect::default(),
            min_mean_max: None,
            sum,
            counts: counts.map(str::to_owned),
            non_finite: 0,
            score: None,
            range: None,
        }
    }

    #[test]
    fn only_maps_that_count_are_written_each_below_the_one_before() {
        let maps = [map(Some("people"), Some(12.34)), map(None, Some(5.0)), map(Some("cars"), None)];
        let counts = super::counts(&maps, &Settings::default());
        let written: Vec<_> = counts.iter().map(|(_, text)| Caption::built_in(text.clone(), 1)).collect();
        let labels: Vec<_> = labels(&counts, &written, 20.0)
            .map(|label| match label {
                Primitive::Label { x, y, text, .. } => (x, y, text.to_owned()),
                _ => panic!("{label:?}"),
            })
            .collect();
        assert_eq!(labels, [(0.0, 20.0, "people: 12.3".into()), (0.0, 40.0, "cars: 0.0".into())]);
        let off = Settings { labels: false, ..Settings::default() };
        assert!(super::counts(&maps, &off).is_empty());
    }
}
