//! YOLOv2's numbers (Redmon and Farhadi, "YOLO9000: Better, Faster, Stronger", 2017, section 2).

use gstcudainfer::kernels::geometry::Rect;
use gstcudainfer::kernels::tensor::TensorDesc;

/// The anchors' widths and heights in cells, as tinyyolov2 has them.
const ANCHORS: [[f32; 2]; 5] = [[1.08, 1.19], [3.42, 4.41], [6.63, 11.38], [9.42, 5.11], [16.62, 10.52]];

/// Boxes of a class that overlap more than this are of the same object.
const IOU: f32 = 0.45;

/// A box in tensor pixels.
#[derive(Clone, Debug)]
pub struct Found {
    pub rect: Rect,
    pub confidence: f32,
    pub class: u32,
}

/// The output of a network: `[1, 5 * (5 + classes), rows, columns]`.
pub struct Grid {
    classes: usize,
    rows: usize,
    columns: usize,
    /// Width and height of a cell, in tensor pixels.
    cell: [f32; 2],
}

impl Grid {
    /// For a network with these outputs and this width and height of the input.
    ///
    /// # Errors
    /// A sentence: the outputs are those of another network.
    pub fn new(outputs: &[TensorDesc], [width, height]: [usize; 2]) -> Result<Self, String> {
        if let [TensorDesc { dims, .. }] = outputs
            && let [_, Some(channels), Some(rows @ 1..), Some(columns @ 1..)] = dims[..]
            && channels > 25
            && channels.is_multiple_of(5)
        {
            let cell = [width as f32 / columns as f32, height as f32 / rows as f32];
            return Ok(Self { classes: channels / 5 - 5, rows, columns, cell });
        }
        let outputs: Vec<_> = outputs.iter().map(ToString::to_string).collect();
        let outputs = outputs.join(", ");
        Err(format!("the model has the outputs {outputs}, but YOLOv2 has one of 1x125xHxW for 20 classes"))
    }

    /// The boxes that are as sure as `threshold`, the surest first, and how many were left out because they are not finite.
    pub fn boxes(&self, values: &[f32], threshold: f32) -> (Vec<Found>, usize) {
        let (mut found, mut non_finite) = (Vec::new(), 0);
        let cells = self.rows * self.columns;
        for ((anchor, [width, height]), cell) in
            ANCHORS.into_iter().enumerate().flat_map(|a| (0..cells).map(move |cell| (a, cell)))
        {
            // Channel by channel, the values of a cell lie apart.
            let value = |channel| values[(anchor * (5 + self.classes) + channel) * cells + cell];
            let objectness = sigmoid(value(4));
            if objectness < threshold {
                continue;
            }
            let (class, probability) = softmax((0..self.classes).map(|class| value(5 + class)));
            let [x, y] = [cell % self.columns, cell / self.columns].map(|index| index as f32);
            let (x, y) = (x + sigmoid(value(0)), y + sigmoid(value(1)));
            let (w, h) = (width * value(2).exp(), height * value(3).exp());
            let [cell_width, cell_height] = self.cell;
            let rect = Rect {
                x: (x - w / 2.0) * cell_width,
                y: (y - h / 2.0) * cell_height,
                w: w * cell_width,
                h: h * cell_height,
            };
            let confidence = objectness * probability;
            if ![rect.x, rect.y, rect.w, rect.h, confidence].into_iter().all(f32::is_finite) {
                non_finite += 1;
            } else if confidence >= threshold {
                found.push(Found { rect, confidence, class });
            }
        }
        (suppress(found), non_finite)
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// The class with the highest probability, and that.
fn softmax(logits: impl Iterator<Item = f32> + Clone) -> (u32, f32) {
    let (class, most) = (0..)
        .zip(logits.clone())
        .fold((0, f32::NEG_INFINITY), |best, next| if next.1 > best.1 { next } else { best });
    (class, 1.0 / logits.map(|logit| (logit - most).exp()).sum::<f32>())
}

/// Leaves the surest of the boxes of a class that overlap.
fn suppress(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    let mut kept: Vec<Found> = Vec::new();
    for one in found {
        if kept.iter().all(|better| better.class != one.class || better.rect.iou(&one.rect) <= IOU) {
            kept.push(one);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use gstcudainfer::kernels::tensor::TensorType;

    use super::*;

    #[test]
    fn outputs_of_another_network_are_refused() {
        for dims in [&[1, 84, 8400][..], &[1, 25, 13, 13], &[1, 126, 13, 13], &[1, 125, 0, 13]] {
            let output = TensorDesc::fixed("out", TensorType::Float32, dims);
            let error = Grid::new(&[output], [416, 416]).err().unwrap();
            assert!(error.contains("out:float32:1x"), "{error}");
        }
    }

    #[test]
    fn a_box_that_is_not_finite_is_left_out_and_counted() {
        let output = TensorDesc::fixed("grid", TensorType::Float32, &[1, 125, 1, 1]);
        let grid = Grid::new(&[output], [32, 32]).unwrap();
        let mut values = [-9.0; 125];
        // The first anchor has NaN, the second an infinite width, the third a box.
        for (anchor, objectness, width) in [(0, f32::NAN, 0.0), (1, 9.0, 1000.0), (2, 9.0, 0.0)] {
            values[25 * anchor + 2] = width;
            values[25 * anchor + 4] = objectness;
            values[25 * anchor + 5] = 9.0;
        }
        let (found, non_finite) = grid.boxes(&values, 0.5);
        assert_eq!((found.len(), non_finite), (1, 2), "{found:?}");
        assert!((found[0].rect.w - 6.63 * 32.0).abs() < 1e-3);
    }
}
