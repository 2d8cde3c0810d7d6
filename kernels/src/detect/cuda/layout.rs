//! Where a decoder's numbers lie in its tensors, as the kernels want to know it: `cuda/layout.cuh`.

use crate::device::{DeviceError, DeviceTensor};
use crate::tensor::TensorType;

use super::super::decode::Shaped;
use super::super::grid::Level;
use super::super::{Activation, Background, BoxFormat, DetectError, SizeUnit};

/// Levels that one launch decodes (`MAX_LEVELS`).
const MAX_LEVELS: usize = 8;

/// From a level's source to the one with what else there is of it (`BESIDE`).
const BESIDE: usize = MAX_LEVELS / 2;

/// Candidates that a row has room for, if anchors have several: 7 MB. What is beyond is counted as truncated.
const MOST_CANDIDATES: usize = 1 << 18;

/// How an anchor's confidence is found; numbered as in the kernel.
#[derive(Clone, Copy, Debug)]
pub enum Scoring {
    /// It is its best class score.
    Classes = 0,
    /// Objectness, which follows the box, times its best class score.
    Objectness = 1,
    /// Its first score is the confidence; its class is a label elsewhere.
    Final = 2,
    /// As `Classes`, if no neighbouring anchor's score is higher in that class.
    Peaks = 3,
    /// The square root of its score times a second one, which another tensor has.
    Root = 4,
}

/// A model's output for a batch, of which the first `rows` frames are read. There may be more: padding.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    /// All of it.
    pub tensor: DeviceTensor<'a>,
    /// Frames that are read.
    pub rows: usize,
}

impl Output<'_> {
    /// Bytes from one frame's elements to the next frame's.
    pub fn row_bytes(&self) -> u64 {
        match *self.tensor.dims {
            [batch, ..] if batch > 0 => (self.tensor.bytes() / batch) as u64,
            _ => 0,
        }
    }
}

impl Shaped for Output<'_> {
    fn name(&self) -> &str {
        self.tensor.name
    }

    fn dims(&self) -> &[usize] {
        &self.tensor.dims
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn holds(&self, batch: usize) -> bool {
        batch >= self.rows.max(1)
    }
}

/// A place in the first row of a tensor, counted in elements.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The tensor.
    pub tensor: &'a Output<'a>,
    /// The element.
    pub element: usize,
}

impl At<'_> {
    pub fn address(&self) -> Result<u64, DetectError> {
        let tensor = &self.tensor.tensor;
        let bytes = u64::try_from(self.element * tensor.ty.size()).map_err(|_| too_large(self.element))?;
        Ok(tensor.pointer() + bytes)
    }
}

/// Anchors that lie one after the other in their tensors.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    first: usize,
    anchors: usize,
    columns: usize,
    stride: usize,
}

impl Span {
    /// All anchors of a model whose boxes need no grid.
    pub fn all(anchors: usize) -> Self {
        Self { first: 0, anchors, columns: 1, stride: 1 }
    }

    /// The cells of a map.
    pub fn cells(cells: usize, columns: usize, stride: usize) -> Self {
        Self { first: 0, anchors: cells, columns, stride }
    }

    /// The cells of a level.
    pub fn of(level: &Level) -> Self {
        Self { first: level.first, anchors: level.cells, columns: level.columns, stride: level.stride }
    }
}

/// `Source` in the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Source {
    scores: u64,
    boxes: u64,
    score_row: u64,
    box_row: u64,
    score_type: u32,
    box_type: u32,
    anchors: u32,
    first: u32,
    columns: u32,
    stride: f32,
}

/// `Layout` in the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    score_step: u64,
    box_step: u64,
    box_value_step: u64,
    coding: u32,
    activation: u32,
    background: u32,
    scoring: u32,
    score_columns: u32,
    bins: u32,
    point: f32,
    unit: [f32; 2],
    levels: u32,
    sources: [Source; MAX_LEVELS],
    class_step: u64,
    offset_step: u64,
    sides: u32,
    size_unit: u32,
    y_first: u32,
    has_offsets: u32,
    label_step: u64,
    has_count: u32,
    first_label: u32,
    last_class: f32,
    per_anchor: u32,
    angle: u32,
    per_cell: u32,
    anchor_sizes: u64,
    form: u32,
    formula: u32,
    class_box_step: u64,
}

const _: () = assert!(size_of::<Source>() == 56 && size_of::<Layout>() == 600);

/// `GRID`, `DISTANCES`, `CENTERS`, `SIDES`, `PRIORS` and `ANCHORED` in the kernel; the numbers before are those of [`BoxFormat`].
const GRID: u32 = 4;
const DISTANCES: u32 = 5;
const CENTERS: u32 = 6;
const SIDES: u32 = 7;
const PRIORS: u32 = 8;
const ANCHORED: u32 = 9;

/// How boxes lie around the centres of cells.
#[derive(Clone, Copy, Debug)]
pub struct Centers<'a> {
    /// Numbers of a size: 2 or 4.
    pub sides: usize,
    /// Their unit.
    pub unit: SizeUnit,
    /// Whether y comes before x.
    pub y_first: bool,
    /// The first offset, where the model has some; their channels are as far from each other as those of the sizes.
    pub offsets: Option<At<'a>>,
    /// Elements from a cell's offset to the next cell's.
    pub offset_step: usize,
}

/// Boxes that are multiples of anchors.
#[derive(Clone, Copy, Debug)]
pub struct Anchored {
    /// The order of the dimensions, `Form` in the kernel.
    pub form: u32,
    /// What a box is made by, `Formula` in the kernel.
    pub formula: u32,
    /// Anchors of a cell.
    pub per_cell: usize,
}

/// What there is of final boxes besides boxes and confidences.
#[derive(Clone, Copy, Debug)]
pub struct FinalLists<'a> {
    /// The first box's label; none where all boxes are of class 0.
    pub labels: Option<At<'a>>,
    /// Elements to the next box's.
    pub label_step: usize,
    /// The number of boxes, if the model says it.
    pub count: Option<At<'a>>,
    /// The first class's label.
    pub first_label: u32,
    /// The last class.
    pub last_class: f32,
}

impl Layout {
    /// Of `score_columns` scores an anchor, background included. Without anchors yet.
    pub fn new(scoring: Scoring, activation: Activation, score_columns: usize) -> Result<Self, DetectError> {
        Ok(Self {
            score_step: 0,
            box_step: 0,
            box_value_step: 1,
            coding: BoxFormat::CenterSize as u32,
            activation: activation as u32,
            background: Background::None as u32,
            scoring: scoring as u32,
            score_columns: size(score_columns)?,
            bins: 0,
            point: 0.0,
            unit: [1.0; 2],
            levels: 0,
            sources: [Source::default(); MAX_LEVELS],
            class_step: 1,
            offset_step: 0,
            sides: 0,
            size_unit: 0,
            y_first: 0,
            has_offsets: 0,
            label_step: 0,
            has_count: 0,
            first_label: 0,
            last_class: 0.0,
            per_anchor: 1,
            angle: 0,
            per_cell: 1,
            anchor_sizes: 0,
            form: 0,
            formula: 0,
            class_box_step: 0,
        })
    }

    /// An anchor's scores follow one another, and so do the numbers of its box; the next anchor's come that many
    /// elements later.
    pub fn rows(self, score_step: usize, box_step: usize) -> Self {
        self.steps([score_step, 1], [box_step, 1])
    }

    /// That many elements lie from an anchor's first score to the next anchor's and from an anchor's score to its next, and
    /// that many for boxes.
    pub fn steps(self, score: [usize; 2], values: [usize; 2]) -> Self {
        let [[score_step, class_step], [box_step, box_value_step]] =
            [score, values].map(|s| s.map(|n| n as u64));
        Self { score_step, class_step, box_step, box_value_step, ..self }
    }

    /// Boxes of this format, and tensor pixels per unit of theirs.
    pub fn coded(self, (format, unit): (BoxFormat, [f32; 2])) -> Self {
        Self { coding: format as u32, unit, ..self }
    }

    /// Boxes that are rotated by this one of the numbers that follow their first, if any.
    pub fn rotated(self, angle: Option<usize>) -> Result<Self, DetectError> {
        Ok(Self { angle: size(angle.unwrap_or(0))?, ..self })
    }

    /// Boxes relative to their cell, with logarithmic sizes.
    pub fn in_cells(self) -> Self {
        Self { coding: GRID, ..self }
    }

    /// Boxes as distributions over distances from the cell's point, which lies `point` cells in.
    pub fn distances(self, bins: usize, point: f32) -> Result<Self, DetectError> {
        Ok(Self { coding: DISTANCES, bins: size(bins)?, point, ..self })
    }

    /// Boxes as the distances of their sides from the corner of the cell, in cells, of which each has that many anchors.
    pub fn sides(self, per_cell: usize) -> Result<Self, DetectError> {
        Ok(Self { coding: SIDES, per_cell: size(per_cell)?, ..self })
    }

    /// Boxes as offsets from prior boxes, with factors on those of centres and sizes.
    pub fn around_priors(self, variances: [f32; 2]) -> Self {
        Self { coding: PRIORS, unit: variances, ..self }
    }

    /// Boxes that are multiples of anchors, whose numbers lie together with their scores.
    pub fn anchored(self, Anchored { form, formula, per_cell }: Anchored) -> Result<Self, DetectError> {
        Ok(Self { coding: ANCHORED, form, formula, per_cell: size(per_cell)?, ..self })
    }

    /// The prior boxes lie there on the device, four float32 each, and take the source after the only level's; or the anchors'
    /// sizes.
    pub fn with_priors(mut self, address: u64) -> Self {
        if self.coding == ANCHORED {
            return Self { anchor_sizes: address, ..self };
        }
        let [_, slot, ..] = &mut self.sources;
        *slot = Source { boxes: address, box_type: TensorType::Float32 as u32, ..Source::default() };
        self
    }

    /// Boxes around centres, which lie `point` cells in. Follows [`Layout::with`]: the offsets take the next source.
    pub fn centers(self, centers: Centers<'_>, point: f32) -> Result<Self, DetectError> {
        let mut layout = Self {
            coding: CENTERS,
            point,
            offset_step: centers.offset_step as u64,
            sides: size(centers.sides)?,
            size_unit: centers.unit as u32,
            y_first: u32::from(centers.y_first),
            has_offsets: u32::from(centers.offsets.is_some()),
            ..self
        };
        if let (Some(at), [_, slot, ..]) = (centers.offsets, &mut layout.sources) {
            let (boxes, box_row) = (at.address()?, at.tensor.row_bytes());
            *slot = Source { boxes, box_row, box_type: at.tensor.tensor.ty as u32, ..Source::default() };
        }
        Ok(layout)
    }

    /// Each class of an anchor has a box of its own, that many elements after that of the class before; sizes in pixels are that many
    /// tensor pixels a unit.
    pub fn box_of_each_class(self, step: usize, unit: f32) -> Self {
        Self { class_box_step: step as u64, unit: [unit; 2], ..self }
    }

    /// Final boxes. Follows [`Layout::with`]: labels and number take the next source, as its scores and boxes.
    pub fn finals(self, lists: FinalLists<'_>) -> Result<Self, DetectError> {
        let mut layout = Self {
            label_step: lists.label_step as u64,
            has_count: u32::from(lists.count.is_some()),
            first_label: lists.first_label,
            last_class: lists.last_class,
            ..self
        };
        let [_, slot, ..] = &mut layout.sources;
        if let Some(labels) = lists.labels {
            slot.scores = labels.address()?;
            slot.score_row = labels.tensor.row_bytes();
            slot.score_type = labels.tensor.tensor.ty as u32;
        }
        if let Some(count) = lists.count {
            slot.boxes = count.address()?;
            slot.box_row = count.tensor.row_bytes();
            slot.box_type = count.tensor.tensor.ty as u32;
        }
        Ok(layout)
    }

    /// With this background column among the scores.
    pub fn beside(self, background: Background) -> Self {
        Self { background: background as u32, ..self }
    }

    /// Adds anchors whose first score and first box lie there.
    pub fn with(mut self, scores: At<'_>, boxes: At<'_>, span: Span) -> Result<Self, DetectError> {
        let Some(slot) = self.sources.get_mut(self.levels as usize) else {
            let wanted = format!(
                "has more than the {MAX_LEVELS} strides that are decoded on the GPU: compute on the CPU"
            );
            return Err(DetectError::Hint { hint: "strides", wanted });
        };
        *slot = Source {
            scores: scores.address()?,
            boxes: boxes.address()?,
            score_row: scores.tensor.row_bytes(),
            box_row: boxes.tensor.row_bytes(),
            score_type: scores.tensor.tensor.ty as u32,
            box_type: boxes.tensor.tensor.ty as u32,
            anchors: size(span.anchors)?,
            first: size(span.first)?,
            columns: size(span.columns)?,
            stride: span.stride as f32,
        };
        self.levels += 1;
        Ok(self)
    }

    /// What else there is of the anchors that [`Layout::with`] added last: their second score, their landmarks.
    pub fn beside_them(
        mut self,
        scores: Option<At<'_>>,
        landmarks: Option<At<'_>>,
    ) -> Result<Self, DetectError> {
        if scores.is_none() && landmarks.is_none() {
            return Ok(self);
        }
        let levels = self.levels as usize;
        let Some(slot) = self.sources.get_mut(levels + BESIDE - 1).filter(|_| levels <= BESIDE) else {
            let wanted = format!(
                "has more than the {BESIDE} strides that are decoded on the GPU with landmarks or with two scores: compute on \
                 the CPU"
            );
            return Err(DetectError::Hint { hint: "strides", wanted });
        };
        if let Some(at) = scores {
            slot.scores = at.address()?;
            slot.score_row = at.tensor.row_bytes();
            slot.score_type = at.tensor.tensor.ty as u32;
        }
        if let Some(at) = landmarks {
            slot.boxes = at.address()?;
            slot.box_row = at.tensor.row_bytes();
            slot.box_type = at.tensor.tensor.ty as u32;
        }
        Ok(self)
    }

    /// Every class of an anchor may be a candidate.
    pub fn multi_label(self) -> Self {
        Self { per_anchor: self.score_columns.max(1), ..self }
    }

    /// Candidates that there is room for of each row: one for each anchor, or for each class of an anchor up to a limit.
    ///
    /// # Errors
    /// [`DetectError::Device`], where 32 bits do not distinguish them.
    pub fn candidates(&self) -> Result<usize, DetectError> {
        let all = self.anchors() * self.per_anchor as usize;
        size(all)?;
        Ok(all.min(MOST_CANDIDATES.max(self.anchors())))
    }

    /// Candidates that an anchor may become.
    pub fn per_anchor(&self) -> u32 {
        self.per_anchor
    }

    /// Whether an anchor's objectness alone may rule it out, by the fifth number of its box.
    pub fn has_objectness(&self) -> bool {
        self.scoring == Scoring::Objectness as u32 && self.coding != DISTANCES
    }

    /// Anchors of all levels, in one row.
    pub fn anchors(&self) -> usize {
        self.sources.iter().map(|source| source.anchors as usize).sum()
    }

    /// Blocks of `anchors` anchors that the largest level takes, levels, and rows.
    pub fn grid(&self, anchors: u32, rows: usize) -> Result<[u32; 3], DetectError> {
        let blocks = self.sources.iter().map(|source| source.anchors.div_ceil(anchors)).max();
        Ok([blocks.unwrap_or(0).max(1), self.levels.max(1), size(rows)?])
    }
}

pub fn size(n: usize) -> Result<u32, DetectError> {
    u32::try_from(n).map_err(|_| too_large(n))
}

/// What is not counted in 32 bits does not fit the GPU's memory either.
fn too_large(n: usize) -> DetectError {
    DeviceError::OutOfMemory { bytes: n, call: "detect" }.into()
}
