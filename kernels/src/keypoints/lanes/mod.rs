//! Lanes of a road as polylines. A network has a fixed number of places for the points of a lane; those that the lane does not reach
//! are absent.
//!
//! | outputs | networks |
//! |---|---|
//! | `[1, cells + 1, rows, lanes]` | Ultra-Fast-Lane-Detection (Qin et al., ECCV 2020): the cell in which each lane crosses each row; the last one stands for none |
//! | `[1, cells, rows, 4]`, `[1, cells, columns, 4]`, `[1, 2, rows, 4]`, `[1, 2, columns, 4]` | Ultra-Fast-Lane-Detection-v2 (Qin et al., TPAMI 2022): the same of rows and of columns, and whether the lane crosses them |
//! | `[1, N, 6 + rows]` | CLRNet (Zheng et al., CVPR 2022): lines, each with two logits, start, angle, length and an x for each row |

mod anchors;
mod crossings;
mod lines;
mod params;

pub use anchors::LaneAnchors;
use crossings::{Crossing, Crossings};
use lines::{Lines, Polyline};
pub use params::LaneParams;

use super::KeypointsError;
use super::reader::{RowReader, first_rows};
use crate::geometry::Affine;
use crate::group::{Keypoint, Pose};
use crate::peaks::Outcome;
use crate::tensor::{TensorDesc, TensorType, TensorView};

/// How many lanes the second version of Ultra-Fast-Lane-Detection finds.
const LANES: usize = 4;

/// A lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// Its number among the network's lanes, from left to right; none for CLRNet, whose lanes have no order.
    pub number: Option<usize>,
    /// Its points in the network's order: of rows from the top to the bottom, of columns from left to right, of CLRNet's lines from
    /// the bottom to the top. And how sure it is.
    pub pose: Pose,
}

/// Whose outputs they are.
#[derive(Debug)]
enum Form {
    /// Of the first version.
    Rows(Crossings),
    /// Of the second one, where lanes cross rows and where they cross columns.
    RowsAndColumns([Crossings; 2]),
    Lines(Lines),
}

/// Reads outputs that hold lanes.
#[derive(Debug)]
pub struct LaneReader {
    outputs: Vec<TensorDesc>,
    form: Form,
    input: [f32; 2],
    /// The part of the picture, its lower one, that the input shows.
    crop: f32,
    min_score: f32,
}

impl LaneReader {
    /// Prepares for `outputs` of the table above, in its order, float32 or float16, of a network whose input is `input` (width, height)
    /// pixels.
    ///
    /// # Errors
    /// Every [`KeypointsError`] that says what is wrong with the outputs or `params`.
    pub fn new(
        outputs: &[&TensorDesc],
        input: [usize; 2],
        params: &LaneParams,
    ) -> Result<Self, KeypointsError> {
        let is_float = |output: &&&TensorDesc| matches!(output.ty, TensorType::Float32 | TensorType::Float16);
        if let Some(other) = outputs.iter().find(|output| !is_float(output)) {
            return Err(KeypointsError::Type(other.to_string()));
        }
        let LaneParams { anchors, min_score, nms_distance, .. } = params;
        if nms_distance.is_nan() || min_score.is_some_and(f32::is_nan) {
            return Err(KeypointsError::Threshold);
        }
        let wrong = || {
            let outputs = outputs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            KeypointsError::LanesShape(outputs)
        };
        let unused =
            |output: &TensorDesc, keys| KeypointsError::LaneKeys { output: output.to_string(), keys };
        let (form, crop) = match outputs {
            [lines] if lines.dims.len() == 3 => {
                if *anchors != LaneAnchors::default() {
                    return Err(unused(lines, "lane-rows, lane-columns and lane-crop"));
                }
                (Form::Lines(Lines::new(lines, input[0], params).ok_or_else(wrong)?), 1.0)
            }
            [output] => {
                let [cells, rows, lanes] = dims(output).filter(|[cells, ..]| *cells > 2).ok_or_else(wrong)?;
                if anchors.columns.is_some() {
                    return Err(unused(output, "lane-columns"));
                }
                let anchors = anchors.or(LaneAnchors::of_first(rows));
                let crossings = Crossings { cells: cells - 1, anchors: anchors.rows(output, rows)?, lanes };
                (Form::Rows(crossings), anchors.crop(output)?)
            }
            [of_rows, of_columns, on_rows, on_columns] => {
                let fitting = |cells: &TensorDesc, exists: &TensorDesc| match (dims(cells)?, dims(exists)?) {
                    ([cells, anchors, LANES], [2, same, LANES]) if cells > 1 && anchors == same => {
                        Some([cells, anchors])
                    }
                    _ => None,
                };
                let [row_cells, rows] = fitting(of_rows, on_rows).ok_or_else(wrong)?;
                let [column_cells, columns] = fitting(of_columns, on_columns).ok_or_else(wrong)?;
                let anchors = anchors.or(LaneAnchors::of_second(rows, columns));
                let of = |cells, anchors| Crossings { cells, anchors, lanes: LANES };
                let rows = of(row_cells, anchors.rows(of_rows, rows)?);
                let columns = of(column_cells, anchors.columns(of_columns, columns)?);
                (Form::RowsAndColumns([rows, columns]), anchors.crop(of_rows)?)
            }
            _ => return Err(wrong()),
        };
        let min_score =
            min_score.unwrap_or(if matches!(form, Form::Lines(_)) { LaneParams::LINES } else { 0.0 });
        let outputs = outputs.iter().map(|output| (*output).clone()).collect();
        Ok(Self { outputs, form, input: input.map(|size| size as f32), crop, min_score })
    }

    /// The number of a lane's places for points, if all lanes have as many.
    pub fn points(&self) -> Option<usize> {
        match &self.form {
            Form::Rows(crossings) => Some(crossings.anchors.len()),
            Form::RowsAndColumns(_) => None,
            Form::Lines(lines) => Some(lines.rows),
        }
    }

    /// The part of the picture, its lower one, that the input must show.
    pub fn crop(&self) -> f32 {
        self.crop
    }

    /// A place in the picture, as fractions of its width and height, in the frame.
    fn keypoint(&self, [x, y]: [f32; 2], score: f32, to_frame: &Affine) -> Keypoint {
        let [width, height] = self.input;
        let (x, y) = to_frame.point(x * width, (1.0 - (1.0 - y) / self.crop) * height);
        Keypoint { x, y, z: None, score }
    }

    /// The lane, if it has the least score, which is the mean of its points'.
    fn lane(&self, number: usize, points: Vec<Option<Keypoint>>) -> Option<Lane> {
        let mut pose = Pose { points, ..Pose::default() };
        pose.score = pose.points.iter().flatten().map(|point| point.score).sum::<f32>() / pose.found() as f32;
        (pose.score >= self.min_score).then_some(Lane { number: Some(number), pose })
    }
}

/// The dimensions of a frame's values of an output `[1, C, A, L]`, none of which is 0.
fn dims(output: &TensorDesc) -> Option<[usize; 3]> {
    let [None | Some(1), Some(cells @ 1..), Some(anchors @ 1..), Some(lanes @ 1..)] = output.dims[..] else {
        return None;
    };
    Some([cells, anchors, lanes])
}

impl RowReader for LaneReader {
    /// The lanes that have the least score: from left to right, those of lines the surest first.
    type Found = Vec<Lane>;

    fn outputs(&self) -> &[TensorDesc] {
        &self.outputs
    }

    fn run(
        &mut self,
        outputs: &[TensorView<'_>],
        to_frame: &Affine,
    ) -> Result<(Vec<Lane>, Outcome), KeypointsError> {
        let values = first_rows(&self.outputs, outputs)?;
        let mut outcome = Outcome::default();
        let lanes = match (&self.form, &values[..]) {
            (Form::Rows(crossings), [values]) => {
                let lane = |number: usize| {
                    let found = crossings.with_none(values, number, &mut outcome.non_finite);
                    let on_row = |at: Crossing| self.keypoint([at.along, at.anchor], at.score, to_frame);
                    let points: Vec<_> = found.into_iter().map(|at| at.map(on_row)).collect();
                    if points.iter().flatten().count() > 2 { self.lane(number, points) } else { None }
                };
                (0..crossings.lanes).filter_map(lane).collect()
            }
            (Form::RowsAndColumns([rows, columns]), [of_rows, of_columns, on_rows, on_columns]) => {
                let lane = |number: usize| {
                    // The two lanes next to the car cross rows, the outer ones run too flat for them.
                    let is_beside = matches!(number, 1 | 2);
                    let (crossings, values, share) = if is_beside {
                        (rows, [&of_rows[..], on_rows], 2)
                    } else {
                        (columns, [&of_columns[..], on_columns], 4)
                    };
                    let found = crossings.with_existence(values, number, &mut outcome.non_finite);
                    let point = |at: Crossing| {
                        let place = if is_beside { [at.along, at.anchor] } else { [at.anchor, at.along] };
                        self.keypoint(place, at.score, to_frame)
                    };
                    let points: Vec<_> = found.into_iter().map(|at| at.map(point)).collect();
                    let is_lane = share * points.iter().flatten().count() > points.len();
                    if is_lane { self.lane(number, points) } else { None }
                };
                (0..LANES).filter_map(lane).collect()
            }
            (Form::Lines(lines), [values]) => {
                let (lanes, of_lines) = lines.read(values, self.min_score);
                outcome = of_lines;
                let lane = |Polyline { score, places }: Polyline| {
                    let point = |place| self.keypoint(place, score, to_frame);
                    let points = places.into_iter().map(|place| place.map(point)).collect();
                    Lane { number: None, pose: Pose { score, points, identity: None } }
                };
                lanes.into_iter().map(lane).collect()
            }
            _ => return Err(KeypointsError::Count { got: values.len(), wanted: self.outputs.len() }),
        };
        Ok((lanes, outcome))
    }
}
