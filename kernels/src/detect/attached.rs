//! What a model gives for an object besides its upright box: keypoints, the coefficients or the number of its mask, or the
//! rotated box. It is read only for the detections that remain after the suppression.

use half::f16;

use crate::associate::Oriented;
use crate::geometry::Affine;
use crate::tensor::{TensorType, TensorView};

use super::Activation;
use super::object_maps::Extent;
use super::rotated::Rotated;

/// What a frame's detections carry besides their boxes, in the detections' order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attached {
    /// [`super::Decoder::keypoints`] for each: x and y in frame pixels, not clamped to the frame, and the score, which is 1
    /// where the model gives none. All three are 0 where one is NaN or infinite: a point that is not there.
    pub keypoints: Vec<[f32; 3]>,
    /// As many for each as [`Masks::Prototypes`] says, as the model writes them.
    pub coefficients: Vec<f32>,
    /// Which of [`Masks::Maps`] is whose.
    pub rows: Vec<u32>,
    /// The rotated box of each, in frame pixels, not clamped to the frame, its angle from 0 to below a quarter turn (of text,
    /// along which it is read, above -pi/4 and at most 3 pi/4);
    /// [`super::Detection::rect`] is the upright box around it. Where the map to the frame has two scales, a rotated
    /// rectangle of the tensor is a parallelogram there; this is the rectangle about the same centre whose corners are
    /// nearest to its corners (least squares).
    pub rotated: Vec<Oriented>,
}

impl Attached {
    /// Leaves nothing.
    pub fn clear(&mut self) {
        self.keypoints.clear();
        self.coefficients.clear();
        self.rows.clear();
        self.rotated.clear();
    }
}

/// How a model writes the masks of its instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masks {
    /// An object's is the sum of the prototypes, each times its coefficient.
    Prototypes {
        /// Index of the prototypes' output, `[1, M, h, w]`.
        output: usize,
        /// Coefficients of each object, `M`.
        coefficients: usize,
    },
    /// A map for each query or box, `N` of them.
    Maps {
        /// Index of the maps' output, as [`super::object_maps`] reads it.
        output: usize,
        /// What each covers.
        extent: Extent,
    },
}

/// Where a model writes them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extra {
    /// The output.
    pub output: usize,
    /// The first anchor's first number, counted in elements.
    pub element: usize,
    /// Elements from an anchor's first number to the next anchor's.
    pub step: usize,
    /// Elements from an anchor's number to its next.
    pub value_step: usize,
    /// What the numbers are.
    pub meaning: Meaning,
}

/// What the numbers are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Meaning {
    /// Keypoints.
    Points(Points),
    /// That many keypoints, counted from their anchor; [`Spot`] says where those of an anchor are.
    Around(usize),
    /// That many coefficients.
    Coefficients(usize),
    /// Nothing but the anchor's number.
    Row,
    /// A rotated box: the first four numbers are its centre and size.
    Rotated(Angle),
}

/// Where a rotated box has its angle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Angle {
    /// Which of the anchor's numbers it is, from 0.
    pub place: usize,
    /// Tensor pixels per unit of centre and size.
    pub unit: [f32; 2],
}

/// How keypoints are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Points {
    /// How many.
    pub count: usize,
    /// Numbers of each: two coordinates, and a score if there are more. What follows it is left aside. Not 4, which means something
    /// else on a GPU.
    pub numbers: usize,
    /// Whether y comes before x.
    pub y_first: bool,
    /// What makes the score a probability.
    pub activation: Activation,
    /// Tensor pixels per unit; none where the unit is the object's box, counted from its top left corner.
    pub unit: Option<[f32; 2]>,
    /// Whether the anchor's number is wanted beside them, because its mask has the same.
    pub with_row: bool,
}

impl Points {
    /// One point in the frame. `corners` are those of its object's box in tensor pixels.
    fn place(&self, values: [f32; 3], corners: [f32; 4], map: &Affine) -> [f32; 3] {
        let [x, y] = if self.y_first { [values[1], values[0]] } else { [values[0], values[1]] };
        let (x, y) = match self.unit {
            Some([width, height]) => map.point(x * width, y * height),
            None => {
                let [left, top, right, bottom] = corners;
                map.point(left + x * (right - left), top + y * (bottom - top))
            }
        };
        let score = if self.numbers >= 3 { self.activation.probability(values[2]) } else { 1.0 };
        let point = [x, y, score];
        if point.iter().all(|v| v.is_finite()) { point } else { [0.0; 3] }
    }
}

impl Extra {
    /// Appends what belongs to one detection. `corners` gives its box in tensor pixels.
    pub fn read(
        &self,
        outputs: &[TensorView<'_>],
        anchor: usize,
        map: &Affine,
        corners: impl FnOnce() -> [f32; 4],
        into: &mut Attached,
    ) {
        let Some(tensor) = outputs.get(self.output) else { return };
        let first = self.element + anchor * self.step;
        let value = |i: usize| element(tensor, first + i * self.value_step);
        match self.meaning {
            Meaning::Rotated(_) => {
                into.rotated.extend(self.rotated(outputs, anchor).map(|rotated| rotated.in_frame(map)));
            }
            // Where they are, only the decoder knows.
            Meaning::Around(count) => into.keypoints.extend(std::iter::repeat_n([0.0; 3], count)),
            Meaning::Coefficients(count) => into.coefficients.extend((0..count).map(value)),
            Meaning::Row => into.rows.push(row_of(anchor)),
            Meaning::Points(points) => {
                if points.with_row {
                    into.rows.push(row_of(anchor));
                }
                let corners = if points.unit.is_none() { corners() } else { [0.0; 4] };
                into.keypoints.extend((0..points.count).map(|point| {
                    let of =
                        |k: usize| if k < points.numbers { value(point * points.numbers + k) } else { 1.0 };
                    points.place([of(0), of(1), of(2)], corners, map)
                }));
            }
        }
    }
}

impl Extra {
    /// The anchor's rotated box, where that is what is read.
    pub fn rotated(&self, outputs: &[TensorView<'_>], anchor: usize) -> Option<Rotated> {
        let Meaning::Rotated(Angle { place, unit: [ux, uy] }) = self.meaning else { return None };
        let tensor = outputs.get(self.output)?;
        let first = self.element + anchor * self.step;
        let [x, y, w, h, angle] = [0, 1, 2, 3, place].map(|i| element(tensor, first + i * self.value_step));
        Some(Rotated { center: [x * ux, y * uy], size: [w * ux, h * uy], angle })
    }
}

/// An anchor's number.
fn row_of(anchor: usize) -> u32 {
    u32::try_from(anchor).unwrap_or(u32::MAX)
}

/// An anchor's keypoints that are counted from it: x and y of one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    /// The output.
    pub output: usize,
    /// The first number's element there.
    pub element: usize,
    /// What they are counted from, in tensor pixels.
    pub center: [f32; 2],
    /// Tensor pixels per unit.
    pub unit: [f32; 2],
}

impl Spot {
    /// Appends that many keypoints; they have no scores.
    pub fn read(&self, count: usize, outputs: &[TensorView<'_>], map: &Affine, into: &mut Attached) {
        let Some(tensor) = outputs.get(self.output) else { return };
        let of = |point: usize, axis: usize| {
            self.center[axis] + element(tensor, self.element + 2 * point + axis) * self.unit[axis]
        };
        into.keypoints.extend((0..count).map(|point| {
            let (x, y) = map.point(of(point, 0), of(point, 1));
            if x.is_finite() && y.is_finite() { [x, y, 1.0] } else { [0.0; 3] }
        }));
    }
}

/// One element as float32; 0 where there is none.
pub(super) fn element(tensor: &TensorView<'_>, index: usize) -> f32 {
    let size = tensor.ty.size();
    let Some(bytes) = tensor.bytes().get(index * size..(index + 1) * size) else { return 0.0 };
    match tensor.ty {
        TensorType::Float32 => bytemuck::pod_read_unaligned(bytes),
        TensorType::Float16 => bytemuck::pod_read_unaligned::<f16>(bytes).to_f32(),
        TensorType::UInt8 | TensorType::Bool => f32::from(bytes[0]),
        TensorType::Int8 => f32::from(bytemuck::pod_read_unaligned::<i8>(bytes)),
        TensorType::Int32 => bytemuck::pod_read_unaligned::<i32>(bytes) as f32,
        TensorType::Int64 => bytemuck::pod_read_unaligned::<i64>(bytes) as f32,
    }
}
