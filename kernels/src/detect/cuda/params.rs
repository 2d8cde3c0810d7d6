//! The kernels' parameters, field by field as in `cuda/detect.cuh`, `cuda/detect.cu`, `cuda/nms.cuh`, `cuda/nms_small.cu`, `cuda/nms_rotated.cu`
//! and `cuda/gather.cu`.

use crate::associate::Oriented;
use crate::geometry::{self, Rect};

use super::super::DetectError;
use super::super::attached::{Angle, Attached, Extra, Meaning};
use super::layout::PackedLayout;
use super::output::Output;
use super::size::size;

/// `Candidates` in the kernels: device addresses, as all numbers of 64 bits here.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Candidates {
    pub keys: u64,
    pub boxes: u64,
    pub classes: u64,
}

/// `ClassTable` in the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ClassTable {
    pub entries: u64,
    pub length: u32,
    pub other: f32,
}

/// Rows that one launch decodes (`MOST_ROWS`).
pub const MOST_ROWS: usize = 56;

/// `Row` in the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct PackedRow {
    scale: [f64; 2],
    skew: [f64; 2],
    offset: [f64; 2],
    frame: [f32; 2],
}

/// `Row` on the device, for the kernels that follow, and where in it the frame's size is.
pub const ROW_BYTES: usize = size_of::<PackedRow>();
pub const FRAME_IN_ROW: u64 = 48;

impl PackedRow {
    /// The first [`MOST_ROWS`] of `rows`.
    pub fn all(rows: &[geometry::RowFrame]) -> [Self; MOST_ROWS] {
        let mut all = [Self::default(); MOST_ROWS];
        for (slot, row) in all.iter_mut().zip(rows) {
            let geometry::Affine { scale, skew, offset } = row.to_frame;
            *slot = Self { scale, skew, offset, frame: row.frame.map(|side| side as f32) };
        }
        all
    }
}

/// `Decode` in the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Decode {
    pub row_bytes: u64,
    pub counts: u64,
    pub row: u64,
    pub candidates: Candidates,
    pub thresholds: ClassTable,
    pub lowest: f32,
    pub min_size: [f32; 2],
    pub first_row: u32,
    pub capacity: u32,
    /// [`super::super::DetectParams::clip_before_nms`], 0 or 1.
    pub clip_before_nms: u32,
    pub layout: PackedLayout,
    pub rows: [PackedRow; MOST_ROWS],
}

/// `Nms` in the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Suppress {
    pub row_bytes: u64,
    pub report_bytes: u64,
    pub counts: u64,
    pub frame: u64,
    pub candidates: Candidates,
    pub boxes: u64,
    pub ranked: u64,
    pub softened: u64,
    pub found: u64,
    pub selected: u64,
    pub matrix: u64,
    pub gone: u64,
    pub report: u64,
    pub limits: ClassTable,
    pub top_k_before: u32,
    pub top_k_after: u32,
    pub start: u32,
    pub window: u32,
    pub among: u32,
    pub decay: u32,
    pub iou: f32,
    pub sigma: f32,
    pub last: u32,
    pub capacity: u32,
    pub delivered: u64,
    pub wanted: u32,
    pub padding: u32,
}

/// `Small` in the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SuppressSmall {
    pub nms: Suppress,
    pub ranks: u64,
    pub marks: u64,
    pub room: u32,
    pub padding: u32,
}

/// `RotatedNms` in the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SuppressRotated {
    pub nms: Suppress,
    pub boxes: Gathered,
    pub per_anchor: u32,
    pub padding: u32,
}

/// `Gather` in the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Gather {
    pub row_bytes: u64,
    pub report_bytes: u64,
    pub row: u64,
    pub ranked: u64,
    pub found: u64,
    pub delivered: u64,
    pub report: u64,
    pub values: Gathered,
    pub layout: PackedLayout,
}

/// `Values` in the kernel: what there is of a detection besides its box, and where.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Gathered {
    values: u64,
    values_row: u64,
    step: u64,
    value_step: u64,
    ty: u32,
    /// Points or coefficients of a detection.
    count: u32,
    numbers: u32,
    y_first: u32,
    activation: u32,
    unit: [f32; 2],
    /// Which of a rotated box's numbers is its angle.
    angle: u32,
}

/// `COEFFICIENTS`, `ROW`, `IN_BOX`, `AROUND` and `WITH_ROW` in the kernel, in place of a point's numbers and added to them; `ROTATED` is not looked at there,
/// because rotated boxes have a kernel of their own.
const COEFFICIENTS: u32 = 1;
const ROW: u32 = 4;
const IN_BOX: u32 = 16;
const AROUND: u32 = 64;
const WITH_ROW: u32 = 128;
const ROTATED: u32 = 32;

impl Gathered {
    /// Of one of these outputs.
    pub fn new(extra: &Extra, outputs: &[Output<'_>]) -> Result<Self, DetectError> {
        let tensor = Output::of(outputs, extra.output)?;
        let values = tensor.address(extra.element)?;
        let all = Self {
            values,
            values_row: tensor.row_bytes(),
            step: extra.step as u64,
            value_step: extra.value_step as u64,
            ty: tensor.tensor.ty as u32,
            count: 0,
            numbers: COEFFICIENTS,
            y_first: 0,
            activation: 0,
            unit: [1.0; 2],
            angle: 0,
        };
        Ok(match extra.meaning {
            Meaning::Coefficients(count) => Self { count: size(count)?, ..all },
            Meaning::Row => Self { count: 1, numbers: ROW, ..all },
            Meaning::Rotated(Angle { place, unit }) => {
                Self { count: 1, numbers: ROTATED, unit, angle: size(place)?, ..all }
            }
            Meaning::Around(count) => Self { count: size(count)?, numbers: 2 + AROUND, ..all },
            Meaning::Points(points) => Self {
                // The row's number is a point more.
                count: size(points.count)? + u32::from(points.with_row),
                numbers: size(points.numbers)?
                    + if points.unit.is_none() { IN_BOX } else { 0 }
                    + if points.with_row { WITH_ROW } else { 0 },
                y_first: u32::from(points.y_first),
                activation: points.activation as u32,
                unit: points.unit.unwrap_or([1.0; 2]),
                ..all
            },
        })
    }

    /// Points or coefficients of a detection; 1 for a rotated box and for a row, also for one beside points.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// Whether they are rotated boxes.
    pub fn are_rotated(&self) -> bool {
        self.numbers == ROTATED
    }

    /// Reads those of all detections.
    pub fn read(&self, report: &[u8], into: &mut Attached) {
        match self.numbers {
            COEFFICIENTS => {
                let coefficient = |bytes| bytemuck::pod_read_unaligned::<f32>(bytes);
                into.coefficients.extend(report.chunks_exact(COEFFICIENT_BYTES).map(coefficient));
            }
            ROW => {
                let row = |bytes| bytemuck::pod_read_unaligned::<u32>(bytes);
                into.rows.extend(report.chunks_exact(COEFFICIENT_BYTES).map(row));
            }
            ROTATED => into.rotated.extend(report.chunks_exact(ROTATED_BYTES).map(|bytes| {
                let [x, y, w, h, angle] = bytemuck::pod_read_unaligned::<[f32; 5]>(bytes);
                Oriented { rect: Rect { x, y, w, h }, angle }
            })),
            numbers => {
                let point = |bytes| bytemuck::pod_read_unaligned::<[f32; 3]>(bytes);
                for object in report.chunks_exact(self.bytes().max(POINT_BYTES)) {
                    let points = match object.split_last_chunk::<POINT_BYTES>() {
                        Some((points, [a, b, c, d, ..])) if numbers & WITH_ROW != 0 => {
                            into.rows.push(u32::from_ne_bytes([*a, *b, *c, *d]));
                            points
                        }
                        _ => object,
                    };
                    into.keypoints.extend(points.chunks_exact(POINT_BYTES).map(point));
                }
            }
        }
    }

    /// Bytes of a detection's, in the report.
    pub fn bytes(&self) -> usize {
        self.count()
            * match self.numbers {
                COEFFICIENTS | ROW => COEFFICIENT_BYTES,
                ROTATED => ROTATED_BYTES,
                _ => POINT_BYTES,
            }
    }
}

const _: () = assert!(size_of::<Decode>() == 3824 && size_of::<Suppress>() == 192);
const _: () = assert!(size_of::<Gathered>() == 64 && size_of::<Gather>() == 720 && ROW_BYTES == 56);
const _: () = assert!(size_of::<SuppressRotated>() == 264 && size_of::<SuppressSmall>() == 216);

/// Candidates of a frame that the small kernels take, and what it reports as their number where there are more (`MOST` and
/// `TOO_MANY`).
pub const MOST_SMALL: usize = 2048;
pub const TOO_MANY: usize = u32::MAX as usize;

/// `Counts` in the kernels, and what a report begins with.
pub const COUNTS_BYTES: usize = 16;
/// `Detection` in the kernels.
pub const DETECTION_BYTES: usize = 24;
/// A keypoint in the report, a coefficient, and a rotated box.
pub const POINT_BYTES: usize = 12;
pub const COEFFICIENT_BYTES: usize = 4;
pub const ROTATED_BYTES: usize = 20;
