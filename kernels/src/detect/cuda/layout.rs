//! A layout that has been located in a batch's tensors, packed as the kernels want it: `cuda/layout.cuh`.

use crate::detect::DetectError;
use crate::detect::layout::{Centers, Coding, Labels, Layout, Scoring};
use crate::detect::locate::{At, Located, LocatedLevel, Steps};
use crate::tensor::TensorType;

use super::output::Output;
use super::size::size;

/// Levels that one launch decodes (`MAX_LEVELS`).
const MAX_LEVELS: usize = 8;

/// From a level's source to the one with what else there is of it (`BESIDE`).
const BESIDE: usize = MAX_LEVELS / 2;

/// Candidates that a row has room for, if anchors have several: 7 MB. What is beyond is counted as truncated.
const MOST_CANDIDATES: usize = 1 << 18;

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
pub struct PackedLayout {
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

const _: () = assert!(size_of::<Source>() == 56 && size_of::<PackedLayout>() == 600);

/// `GRID`, `DISTANCES`, `CENTERS`, `SIDES`, `PRIORS`, `ANCHORED` and `LINEAR_PRIORS` in the kernel; the numbers before are those of [`crate::detect::BoxFormat`].
const GRID: u32 = 4;
const DISTANCES: u32 = 5;
const CENTERS: u32 = 6;
const SIDES: u32 = 7;
const PRIORS: u32 = 8;
const ANCHORED: u32 = 9;
const LINEAR_PRIORS: u32 = 10;

/// `CLASSES`, `OBJECTNESS`, `FINAL`, `PEAKS` and `ROOT` in the kernel.
const CLASSES: u32 = 0;
const OBJECTNESS: u32 = 1;
const FINAL: u32 = 2;
const PEAKS: u32 = 3;
const ROOT: u32 = 4;

impl Source {
    /// The same with scores there.
    fn scored(self, at: At, outputs: &[Output<'_>]) -> Result<Self, DetectError> {
        let output = Output::of(outputs, at.output)?;
        let (scores, score_row) = (output.address(at.element)?, output.row_bytes());
        Ok(Self { scores, score_row, score_type: output.tensor.ty as u32, ..self })
    }

    /// The same with boxes there.
    fn boxed(self, at: At, outputs: &[Output<'_>]) -> Result<Self, DetectError> {
        let output = Output::of(outputs, at.output)?;
        let (boxes, box_row) = (output.address(at.element)?, output.row_bytes());
        Ok(Self { boxes, box_row, box_type: output.tensor.ty as u32, ..self })
    }
}

impl PackedLayout {
    /// Of these outputs, in which the layout has been located.
    ///
    /// # Errors
    /// [`DetectError::Hint`] where there are more strides than the kernels read.
    pub fn new(layout: &Layout, located: &Located, outputs: &[Output<'_>]) -> Result<Self, DetectError> {
        let packed = Self::numbers(layout, located)?.scored(&layout.scoring, located);
        let packed = packed.coded(layout, located)?.with_levels(layout, located, outputs)?;
        packed.with_second_source(located, outputs)
    }

    /// What does not depend on coding and scoring. Without anchors yet.
    fn numbers(layout: &Layout, located: &Located) -> Result<Self, DetectError> {
        // Raw heads have their numbers by `form`.
        let of = |Steps { anchor, channel }: Steps| [anchor as u64, channel as u64];
        let ([score_step, class_step], [box_step, box_value_step]) = (of(located.scores), of(located.boxes));
        let per_cell = located.levels.first().map_or(1, |level| level.cells.per_cell);
        Ok(Self {
            score_step,
            box_step,
            box_value_step,
            coding: 0,
            activation: layout.activation as u32,
            background: layout.background as u32,
            scoring: CLASSES,
            score_columns: size(located.columns)?,
            bins: 0,
            point: 0.0,
            unit: [1.0; 2],
            levels: 0,
            sources: [Source::default(); MAX_LEVELS],
            class_step,
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
            angle: size(located.angle.unwrap_or(0))?,
            per_cell: size(per_cell)?,
            anchor_sizes: 0,
            form: layout.form().map_or(0, |form| form as u32),
            formula: 0,
            class_box_step: 0,
        })
    }

    /// With that scoring.
    fn scored(self, scoring: &Scoring, located: &Located) -> Self {
        match scoring {
            Scoring::Classes => Self { scoring: CLASSES, ..self },
            Scoring::Objectness => Self { scoring: OBJECTNESS, ..self },
            Scoring::Peaks => Self { scoring: PEAKS, ..self },
            Scoring::Root => Self { scoring: ROOT, ..self },
            Scoring::Final(finals) => {
                let Labels { first, last_class } = finals.meaning;
                let label_step = located.labels.map_or(0, |labels| labels.steps.anchor as u64);
                let has_count = u32::from(located.count.is_some());
                Self { scoring: FINAL, label_step, has_count, first_label: first, last_class, ..self }
            }
        }
    }

    /// With that coding of boxes.
    fn coded(self, layout: &Layout, located: &Located) -> Result<Self, DetectError> {
        Ok(match &layout.coding {
            Coding::Plain(coding) => Self { coding: coding.format as u32, unit: coding.unit, ..self },
            Coding::Grid => Self { coding: GRID, ..self },
            Coding::Distances { bins, point } => {
                Self { coding: DISTANCES, bins: size(*bins)?, point: *point, ..self }
            }
            Coding::Centers(centers) => self.centered(centers, located)?,
            Coding::Sides => Self { coding: SIDES, ..self },
            Coding::Priors { variances, linear, .. } => {
                Self { coding: if *linear { LINEAR_PRIORS } else { PRIORS }, unit: *variances, ..self }
            }
            Coding::Anchored { formula, .. } => Self { coding: ANCHORED, formula: *formula as u32, ..self },
        })
    }

    /// With boxes around cells' points.
    fn centered(self, centers: &Centers, located: &Located) -> Result<Self, DetectError> {
        let to_next_class = if centers.of_each_class { centers.sides * located.boxes.channel } else { 0 };
        Ok(Self {
            coding: CENTERS,
            point: centers.point,
            unit: [centers.pixels; 2],
            offset_step: located.offsets.map_or(0, |offsets| offsets.steps.anchor as u64),
            sides: size(centers.sides)?,
            size_unit: centers.unit as u32,
            y_first: u32::from(centers.y_first),
            has_offsets: u32::from(located.offsets.is_some()),
            class_box_step: to_next_class as u64,
            ..self
        })
    }

    /// With the anchors of all levels.
    fn with_levels(
        mut self,
        layout: &Layout,
        located: &Located,
        outputs: &[Output<'_>],
    ) -> Result<Self, DetectError> {
        let is_raw = matches!(layout.coding, Coding::Anchored { .. });
        for (index, level) in located.levels.iter().enumerate() {
            let Some(slot) = self.sources.get_mut(index) else {
                return Err(too_many_strides(MAX_LEVELS, ""));
            };
            // Where the scores of raw heads are, their form tells.
            let scores = if is_raw { level.boxes } else { level.scores };
            let cells = &level.cells;
            *slot = Source {
                anchors: size(cells.cells)?,
                first: size(cells.first)?,
                columns: size(cells.columns)?,
                stride: cells.stride as f32,
                ..Source::default().scored(scores, outputs)?.boxed(level.boxes, outputs)?
            };
            self.levels += 1;
            self.put_beside(index, level, outputs)?;
        }
        Ok(self)
    }

    /// What else there is of a level's anchors: their second score, their landmarks.
    fn put_beside(
        &mut self,
        index: usize,
        level: &LocatedLevel,
        outputs: &[Output<'_>],
    ) -> Result<(), DetectError> {
        if level.second.is_none() && level.landmarks.is_none() {
            return Ok(());
        }
        let Some(slot) = self.sources.get_mut(index + BESIDE).filter(|_| index < BESIDE) else {
            return Err(too_many_strides(BESIDE, " with landmarks or with two scores"));
        };
        if let Some(at) = level.second {
            *slot = slot.scored(at, outputs)?;
        }
        if let Some(at) = level.landmarks {
            *slot = slot.boxed(at, outputs)?;
        }
        Ok(())
    }

    /// What takes the source after the only level's: labels and the number of boxes, as its scores and boxes, or offsets, as boxes.
    fn with_second_source(mut self, located: &Located, outputs: &[Output<'_>]) -> Result<Self, DetectError> {
        let [_, slot, ..] = &mut self.sources;
        if let Some(labels) = located.labels {
            *slot = slot.scored(labels.at, outputs)?;
        }
        if let Some(at) = located.count.or(located.offsets.map(|offsets| offsets.at)) {
            *slot = slot.boxed(at, outputs)?;
        }
        Ok(self)
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
        self.scoring == OBJECTNESS && self.coding != DISTANCES
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

/// That a model has more strides than the kernels read, if it has what `with` says.
fn too_many_strides(most: usize, with: &str) -> DetectError {
    let wanted =
        format!("has more than the {most} strides that are decoded on the GPU{with}: compute on the CPU");
    DetectError::Hint { hint: "strides", wanted }
}

#[cfg(test)]
mod tests {
    use crate::detect::{DecoderKind, Hints, choose};
    use crate::device::{DeviceSlice, DeviceTensor};
    use crate::tensor::TensorDesc;

    use super::super::packed;
    use super::*;

    /// The packed layout of two frames of outputs that lie 4096 bytes apart, the first at 4096.
    fn layout(text: &str, kind: DecoderKind, hints: &Hints) -> PackedLayout {
        let descs: Vec<TensorDesc> = text.split(' ').map(|output| output.parse().unwrap()).collect();
        let decoder = choose(&descs, [64, 64], Some(kind), hints).unwrap();
        let tensors = descs.iter().zip(1..).map(|(desc, place)| {
            let dims: Vec<_> = std::iter::once(2).chain(desc.dims[1..].iter().flatten().copied()).collect();
            let bytes = desc.ty.size() * dims.iter().product::<usize>();
            // SAFETY: nobody reads it.
            let data = unsafe { DeviceSlice::from_raw(4096 * place, bytes) };
            DeviceTensor::new(&desc.name, desc.ty, &dims, data).unwrap()
        });
        packed(&decoder, &tensors.collect::<Vec<_>>(), 2).unwrap().0
    }

    #[test]
    fn levels_in_one_output_begin_where_those_before_end() {
        let hints = Hints { classes: Some(5), ..Hints::default() };
        let packed = layout("o:float32:1x84x37", DecoderKind::Nanodet, &hints);
        assert_eq!((packed.coding, packed.bins, packed.score_columns, packed.levels), (DISTANCES, 8, 5, 3));
        assert_eq!((packed.score_step, packed.box_step, packed.box_value_step), (37, 37, 1));
        for (level, first) in [0, 64, 80].into_iter().enumerate() {
            let source = packed.sources[level];
            let row = 4096 + 4 * 37 * first;
            assert_eq!((source.scores, source.boxes, source.first), (row, row + 4 * 5, first as u32));
            assert_eq!((source.score_row, source.box_row), (4 * 84 * 37, 4 * 84 * 37));
        }
    }

    #[test]
    fn what_else_there_is_of_boxes_takes_the_source_after_the_only_level() {
        let text = "num_dets:int32:1x1 boxes:float32:1x9x4 scores:float16:1x9 labels:int64:1x9";
        let packed = layout(text, DecoderKind::Detections, &Hints::default());
        let [level, lists, ..] = packed.sources;
        assert_eq!((packed.scoring, packed.has_count, packed.label_step, packed.levels), (FINAL, 1, 1, 1));
        assert_eq!((level.boxes, level.scores, level.anchors), (2 * 4096, 3 * 4096, 9));
        assert_eq!((lists.boxes, lists.scores), (4096, 4 * 4096));
        assert_eq!((level.score_row, lists.score_row, lists.box_row), (2 * 9, 8 * 9, 4));
        let text = "hm:float32:1x3x16x16 wh:float32:1x2x16x16 reg:float32:1x2x16x16";
        let packed = layout(text, DecoderKind::Centernet, &Hints::default());
        assert_eq!((packed.scoring, packed.coding, packed.has_offsets, packed.sides), (PEAKS, CENTERS, 1, 2));
        assert_eq!((packed.sources[0].boxes, packed.sources[1].boxes), (2 * 4096, 3 * 4096));
        assert_eq!((packed.class_step, packed.box_value_step, packed.offset_step), (256, 256, 1));
    }
}
