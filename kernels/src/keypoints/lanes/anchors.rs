//! Where the rows and columns of Ultra-Fast-Lane-Detection are.

use crate::keypoints::KeypointsError;
use crate::tensor::TensorDesc;

/// The rows and columns on which a network finds lanes; what is `None` is open.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaneAnchors {
    /// As fractions of the picture's height.
    pub rows: Option<Vec<f32>>,
    /// As fractions of the picture's width.
    pub columns: Option<Vec<f32>>,
    /// The part of the picture, its lower one, that the network's input shows.
    pub crop: Option<f32>,
}

/// The first version's rows for CULane, of a picture that is 288 pixels high (`culane_row_anchor`).
const CULANE: [u16; 18] =
    [121, 131, 141, 150, 160, 170, 180, 189, 199, 209, 219, 228, 238, 248, 258, 267, 277, 287];

impl LaneAnchors {
    /// Those of the first version's networks with that many rows.
    pub(super) fn of_first(rows: usize) -> Self {
        let of_288 =
            |rows: &mut dyn Iterator<Item = u16>| Some(rows.map(|row| f32::from(row) / 288.0).collect());
        let rows = match rows {
            18 => of_288(&mut CULANE.into_iter()),
            // TuSimple's.
            56 => of_288(&mut (64..=284).step_by(4)),
            _ => None,
        };
        Self { rows, columns: None, crop: Some(1.0) }
    }

    /// Those of the second version's networks with that many rows and columns.
    pub(super) fn of_second(rows: usize, columns: usize) -> Self {
        let (first, last, crop) = match (rows, columns) {
            // CULane's and TuSimple's.
            (72, 81) => (0.42, 1.0, 0.6),
            (56, 41) => (160.0 / 720.0, 710.0 / 720.0, 0.8),
            _ => return Self::default(),
        };
        Self {
            rows: Some(spread(first, last, rows)),
            columns: Some(spread(0.0, 1.0, columns)),
            crop: Some(crop),
        }
    }

    /// What is open is as in `others`.
    pub(super) fn or(&self, others: Self) -> Self {
        Self {
            rows: self.rows.clone().or(others.rows),
            columns: self.columns.clone().or(others.columns),
            crop: self.crop.or(others.crop),
        }
    }

    /// The `count` rows of an output.
    pub(super) fn rows(&self, output: &TensorDesc, count: usize) -> Result<Vec<f32>, KeypointsError> {
        checked(self.rows.as_deref(), ["rows", "height"], output, count)
    }

    /// The `count` columns of an output.
    pub(super) fn columns(&self, output: &TensorDesc, count: usize) -> Result<Vec<f32>, KeypointsError> {
        checked(self.columns.as_deref(), ["columns", "width"], output, count)
    }

    /// The part of the picture that the input of the network with the output shows.
    pub(super) fn crop(&self, output: &TensorDesc) -> Result<f32, KeypointsError> {
        let crop = self.crop.filter(|crop| *crop > 0.0 && *crop <= 1.0);
        crop.ok_or_else(|| KeypointsError::LaneCrop(output.to_string()))
    }
}

fn checked(
    anchors: Option<&[f32]>,
    [what, side]: [&'static str; 2],
    output: &TensorDesc,
    count: usize,
) -> Result<Vec<f32>, KeypointsError> {
    let are_fractions = |anchors: &&[f32]| anchors.iter().all(|at| (0.0..=1.0).contains(at));
    let anchors = anchors.filter(are_fractions).unwrap_or_default();
    if anchors.len() == count {
        return Ok(anchors.to_vec());
    }
    Err(KeypointsError::LaneAnchors { output: output.to_string(), count, known: anchors.len(), what, side })
}

/// `count` numbers from the first to the last one, evenly.
fn spread(first: f64, last: f64, count: usize) -> Vec<f32> {
    let step = (last - first) / (count.max(2) - 1) as f64;
    (0..count).map(|i| (first + step * i as f64) as f32).collect()
}
