//! A map of where objects were: the seconds that they spent at each place, which fade.

use cudainfer_kernels::draw::{Mask, MaskInk, MaskOutline, Rgb};
use cudainfer_kernels::geometry::Rect;

/// Cells along the longer side of a frame.
const CELLS: usize = 96;
/// The least seconds for the strongest colour: places where objects stayed less are paler.
const LEAST_PEAK: f32 = 1.0;
/// The least peak in seconds that is remembered.
const GONE: f32 = 1.0 / 1024.0;
/// The colours, from little to much.
const COLORS: [Rgb; 3] = [Rgb(0, 0, 255), Rgb(255, 255, 0), Rgb(255, 0, 0)];

/// The map of a stream.
#[derive(Debug, Default)]
pub(super) struct Heat {
    /// The frame's width and height in pixels.
    frame: [usize; 2],
    /// Cells across and down.
    size: [usize; 2],
    /// Seconds, row by row; empty where there is nothing.
    seconds: Vec<f32>,
    last: Option<gst::ClockTime>,
}

/// A colour's part of the map, as bytes.
pub(super) struct Layer {
    data: gst::Buffer,
    size: [usize; 2],
    rect: Rect,
    color: Rgb,
}

impl Heat {
    /// Whether the map shows nothing.
    pub fn is_empty(&self) -> bool {
        self.seconds.is_empty()
    }

    /// The seconds from the previous frame to the one at `pts`, or `frame`, the time from frame to frame, if that is not known.
    pub fn elapsed(&mut self, pts: Option<gst::ClockTime>, frame: f64) -> f64 {
        let last = std::mem::replace(&mut self.last, pts);
        let passed = pts.zip(last).and_then(|(now, last)| now.checked_sub(last));
        passed.map_or(frame, |time| time.nseconds() as f64 / 1e9)
    }

    /// Takes in the boxes of a frame of this size, `elapsed` seconds after the previous one. Time from `half_life` seconds ago
    /// counts half; 0 never fades.
    pub fn update(
        &mut self,
        frame: [usize; 2],
        elapsed: f64,
        half_life: f64,
        boxes: impl Iterator<Item = Rect>,
    ) {
        if self.frame != frame {
            *self = Self { frame, last: self.last, ..Self::default() };
        }
        if !self.seconds.is_empty() && half_life > 0.0 {
            let kept = (-elapsed / half_life).exp2() as f32;
            self.seconds.iter_mut().for_each(|seconds| *seconds *= kept);
        }
        // A gap in the stream is no time in which an object stayed.
        let seconds = elapsed.min(1.0) as f32;
        for rect in boxes {
            self.add(&rect, seconds);
        }
        if self.peak() < GONE {
            self.seconds = Vec::new();
        }
    }

    /// The side of a cell in pixels.
    fn cell(&self) -> f32 {
        self.frame[0].max(self.frame[1]) as f32 / CELLS as f32
    }

    fn peak(&self) -> f32 {
        self.seconds.iter().copied().fold(0.0, f32::max)
    }

    /// Adds a box: an ellipse where it meets the ground, as wide as the box and half as high, the most in its middle.
    fn add(&mut self, rect: &Rect, seconds: f32) {
        let cell = self.cell();
        if self.seconds.is_empty() {
            self.size = self.frame.map(|side| (side as f32 / cell).ceil() as usize);
            self.seconds = vec![0.0; self.size[0] * self.size[1]];
        }
        let [x, y] = [(rect.x + rect.w / 2.0) / cell, rect.bottom() / cell];
        let radius = [(rect.w / 2.0 / cell).max(1.0), (rect.w / 4.0 / cell).max(1.0)];
        if ![x, y, radius[0], radius[1]].iter().all(|v| v.is_finite()) {
            return;
        }
        // Saturating: cells outside of the map are cut off.
        let range = |middle: f32, radius: f32, count: usize| {
            ((middle - radius).max(0.0) as usize).min(count)
                ..((middle + radius).ceil().max(0.0) as usize).min(count)
        };
        for row in range(y, radius[1], self.size[1]) {
            for column in range(x, radius[0], self.size[0]) {
                let far = ((column as f32 + 0.5 - x) / radius[0]).hypot((row as f32 + 0.5 - y) / radius[1]);
                self.seconds[row * self.size[0] + column] += seconds * (1.0 - far).max(0.0);
            }
        }
    }

    /// The painted layers, from little to much: by the square root of the seconds, so that places where people walk are visible
    /// beside those where they wait.
    pub fn layers(&self) -> Vec<Layer> {
        let peak = self.peak().max(LEAST_PEAK);
        let [w, h] = self.size.map(|count| count as f32 * self.cell());
        let shown = COLORS.iter().filter(|_| !self.is_empty());
        (0_u8..)
            .zip(shown)
            .map(|(number, color)| {
                let byte = |seconds: &f32| {
                    let strength = 3.0 * (seconds / peak).sqrt() - f32::from(number);
                    (255.0 * strength.clamp(0.0, 1.0)).round() as u8
                };
                let bytes: Vec<u8> = self.seconds.iter().map(byte).collect();
                let rect = Rect { x: 0.0, y: 0.0, w, h };
                Layer { data: gst::Buffer::from_slice(bytes), size: self.size, rect, color: *color }
            })
            .collect()
    }
}

/// The layers as masks of this opacity, 0 to 1.
pub(super) fn masks(layers: &[Layer], opacity: f32) -> impl Iterator<Item = Mask<&gst::Buffer>> {
    let opacity = (opacity * 255.0).round() as u8;
    layers.iter().map(move |Layer { data, size: [width, height], rect, color }| Mask {
        data,
        width: *width,
        height: *height,
        rect: *rect,
        ink: MaskInk::Cover(*color),
        opacity,
        outline: MaskOutline::default(),
        into_alpha: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: [usize; 2] = [192, 108];
    const FEET: Rect = Rect { x: 40.0, y: 20.0, w: 20.0, h: 40.0 };

    fn bytes(layer: &Layer) -> Vec<u8> {
        layer.data.map_readable().unwrap().to_vec()
    }

    /// The strongest cell of the map.
    fn strongest(heat: &Heat) -> (usize, usize) {
        let at = heat.seconds.iter().position(|seconds| *seconds == heat.peak()).unwrap();
        (at % heat.size[0], at / heat.size[0])
    }

    #[test]
    fn the_map_is_strongest_where_objects_stand_and_covers_nothing_far_from_there() {
        gst::init().unwrap();
        let mut heat = Heat::default();
        assert!(heat.is_empty() && heat.layers().is_empty());
        heat.update(FRAME, 0.5, 0.0, [FEET].into_iter());
        assert_eq!(heat.size, [96, 54]);
        // The feet are at 50, 60, in cells of two pixels.
        assert!(matches!(strongest(&heat), (24..=25, 29..=30)));
        for (i, seconds) in heat.seconds.iter().enumerate() {
            let (x, y) = (i % 96 * 2 + 1, i / 96 * 2 + 1);
            assert!(x.abs_diff(50) < 11 && y.abs_diff(60) < 6 || *seconds == 0.0, "{x}, {y}");
        }
        let layers = heat.layers();
        let sums: Vec<u32> =
            layers.iter().map(|layer| bytes(layer).iter().map(|b| u32::from(*b)).sum()).collect();
        assert!(sums[0] > sums[1] && sums[1] > sums[2], "{sums:?}");
        let shown: Vec<_> =
            masks(&layers, 0.5).map(|mask| (mask.width, mask.height, mask.rect, mask.opacity)).collect();
        assert_eq!(shown, [(96, 54, Rect { x: 0.0, y: 0.0, w: 192.0, h: 108.0 }, 128); 3]);
    }

    #[test]
    fn it_fades_by_half_in_its_half_life_and_is_forgotten_in_the_end() {
        let mut heat = Heat::default();
        heat.update(FRAME, 1.0, 10.0, [FEET].into_iter());
        let peak = heat.peak();
        for _ in 0..20 {
            heat.update(FRAME, 0.5, 10.0, std::iter::empty());
        }
        assert!((heat.peak() / peak - 0.5).abs() < 1e-4, "{} of {peak}", heat.peak());
        heat.update(FRAME, 1000.0, 0.0, std::iter::empty());
        assert!((heat.peak() / peak - 0.5).abs() < 1e-4, "0 never fades");
        heat.update(FRAME, 1000.0, 10.0, std::iter::empty());
        assert!(heat.is_empty());
    }

    #[test]
    fn gaps_frames_of_another_size_and_boxes_that_are_nowhere_do_no_harm() {
        let (mut one, mut other) = (Heat::default(), Heat::default());
        one.update(FRAME, 1.0, 0.0, [FEET].into_iter());
        let odd = [f32::NAN, f32::INFINITY, -1e30, 1e30].map(|x| Rect { x, ..FEET });
        other.update(FRAME, 3600.0, 0.0, odd.into_iter().chain([FEET]));
        assert_eq!(one.seconds, other.seconds, "a gap counts a second");
        other.update([64, 480], 1.0, 0.0, [FEET].into_iter());
        assert_eq!((other.size, other.seconds.len()), ([13, 96], 13 * 96));
        let at = |ms| Some(gst::ClockTime::from_mseconds(ms));
        assert_eq!(one.elapsed(at(40), 0.1), 0.1);
        assert_eq!(one.elapsed(at(140), 0.2), 0.1);
        assert_eq!(
            (one.elapsed(None, 0.2), one.elapsed(at(10), 0.2), one.elapsed(at(5), 0.2)),
            (0.2, 0.2, 0.2)
        );
    }
}
