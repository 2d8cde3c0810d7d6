//! Objects as peaks of class heat-maps: CenterNet (Zhou et al., "Objects as Points", 2019) and CenterFace (Xu et al., 2019).
//!
//! A cell is a candidate if no neighbour is stronger in the map of its best class, nor as strong and before it. Its
//! centre is `(cell + offset + point) * stride`, `point` being 0, in CenterFace 0.5.

use crate::tensor::TensorView;

use super::super::attached::{Extra, Meaning, Points, element};
use super::super::candidates::Collector;
use super::super::cuda::{At, Centers, Layout, Output, Scoring, Span};
use super::super::offer::{Evidence, Fit, Maps, Offer};
use super::super::{Activation, AxisOrder, DecoderKind, DetectError, SizeUnit};
use super::boxes::centered;
use super::matrix::{Shaped, misshapen};
use super::scan::{scan_columns, scan_rows};

#[derive(Clone, Debug)]
pub struct Plan {
    kind: DecoderKind,
    heat: Map,
    sizes: Map,
    offsets: Option<Map>,
    /// Two numbers a keypoint, in fractions of the box.
    landmarks: Option<Map>,
    grid: Grid,
    unit: SizeUnit,
    y_first: bool,
    point: f32,
    activation: Activation,
}

/// An output and its channels.
#[derive(Clone, Copy, Debug)]
struct Map {
    output: usize,
    channels: usize,
}

/// The cells that all maps have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grid {
    columns: usize,
    rows: usize,
    /// Tensor pixels a cell is wide and high.
    stride: usize,
    /// Whether the channels follow the cells.
    channels_last: bool,
}

pub fn wanted(kind: DecoderKind, offer: &Offer<'_>) -> String {
    let classes = if kind == DecoderKind::Centerface {
        offer.hints.classes.unwrap_or(1).to_string()
    } else {
        offer.class_term()
    };
    let landmarks =
        if kind == DecoderKind::Centerface { ", and landmarks with 2 for each of them" } else { "" };
    format!(
        "a float class heat-map [1, {classes}, h, w] or [1, h, w, {classes}] and, on the same grid of h = {}/s by w = {}/s \
         cells for one stride s, a map of sizes with 2 or 4 channels and, if there is one, a map of offsets with 2{landmarks}",
        offer.input[1], offer.input[0]
    )
}

pub fn fits(kind: DecoderKind, offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    let layouts = [false, true].into_iter();
    let mut fits: Vec<_> =
        layouts.filter_map(|channels_last| in_layout(kind, offer, channels_last)).collect();
    let most = fits.iter().map(|fit| fit.reads).max();
    fits.retain(|fit| Some(fit.reads) == most);
    fits
}

/// The reading of most outputs; of equal ones that whose heat-map comes first, as CenterNet writes it.
fn in_layout(kind: DecoderKind, offer: &Offer<'_>, channels_last: bool) -> Option<Fit<Plan>> {
    let maps: Vec<_> = offer.maps.iter().filter_map(|maps| Grid::of(maps, offer, channels_last)).collect();
    let classes = offer.hints.classes.or((kind == DecoderKind::Centerface).then_some(1));
    let is_heat = |map: &Map| {
        let others = is_size(offer, map) || is_offset(offer, map);
        map.channels > 0 && classes.is_none_or(|c| c == map.channels) && !others
    };
    let readings = maps.iter().filter(|(_, map)| is_heat(map)).filter_map(|(grid, heat)| {
        let beside = |(other, map): &&(Grid, Map)| map.output != heat.output && other == grid;
        let others: Vec<Map> = maps.iter().filter(beside).map(|(_, map)| *map).collect();
        roles(kind, offer, *grid, *heat, &others)
    });
    readings.reduce(|best, next| if next.reads > best.reads { next } else { best })
}

/// Whether the map's name is one of offsets.
fn is_offset(offer: &Offer<'_>, map: &Map) -> bool {
    map.channels == 2 && named(offer, map, &["off", "reg"])
}

/// Whether the map's name is one of sizes.
fn is_size(offer: &Offer<'_>, map: &Map) -> bool {
    matches!(map.channels, 2 | 4) && named(offer, map, &["wh", "size", "scale"])
}

fn named(offer: &Offer<'_>, map: &Map, parts: &[&str]) -> bool {
    let name = offer.outputs[map.output].name.to_ascii_lowercase();
    parts.iter().any(|part| name.contains(part))
}

/// Sizes, offsets and landmarks among the maps beside a heat-map: by their channels, then by their names, then in the order
/// in which CenterNet writes them.
fn roles(kind: DecoderKind, offer: &Offer<'_>, grid: Grid, heat: Map, others: &[Map]) -> Option<Fit<Plan>> {
    let sizes = others
        .iter()
        .find(|map| is_size(offer, map))
        .or_else(|| others.iter().find(|map| matches!(map.channels, 2 | 4) && !is_offset(offer, map)))?;
    let rest = || others.iter().filter(|map| map.output != sizes.output);
    let offsets = rest()
        .find(|map| is_offset(offer, map))
        .or_else(|| rest().find(|map| map.channels == 2 && !is_size(offer, map)));
    let face = kind == DecoderKind::Centerface;
    let is_landmarks = |map: &&Map| {
        face && offsets.is_none_or(|o| o.output != map.output)
            && map.channels.is_multiple_of(2)
            && offer.hints.keypoints.map_or(map.channels > 4, |k| map.channels == 2 * k)
    };
    let landmarks = rest().find(is_landmarks);
    if offer.hints.keypoints.is_some() && landmarks.is_none() {
        return None;
    }
    let hints = offer.hints;
    let plan = Plan {
        kind,
        heat,
        sizes: *sizes,
        offsets: offsets.copied(),
        landmarks: landmarks.copied(),
        grid,
        unit: hints.size_unit.unwrap_or(if face { SizeUnit::LogCells } else { SizeUnit::Cells }),
        y_first: hints.axis_order.unwrap_or(if face { AxisOrder::Yx } else { AxisOrder::Xy })
            == AxisOrder::Yx,
        point: if face { 0.5 } else { 0.0 },
        activation: hints.activation.unwrap_or(Activation::None),
    };
    let reads = 2 + usize::from(offsets.is_some()) + usize::from(landmarks.is_some());
    // Without landmarks it looks as centernet's.
    let far_fetched = face && landmarks.is_none();
    Some(Fit { evidence: Evidence::Open, plan, classes: Some(heat.channels), reads, far_fetched })
}

impl Grid {
    /// The grid and the channels of `maps`; none if it is not the input's at one stride.
    fn of(maps: &Maps, offer: &Offer<'_>, channels_last: bool) -> Option<(Self, Map)> {
        let [a, b, c] = maps.dims;
        let (channels, rows, columns) = if channels_last { (c, a, b) } else { (a, b, c) };
        let [width, height] = offer.input;
        if columns == 0 || rows == 0 {
            return None;
        }
        let stride = width.div_ceil(columns);
        let right = stride > 0 && width.div_ceil(stride) == columns && height.div_ceil(stride) == rows;
        let map = Map { output: maps.output, channels };
        right.then_some((Self { columns, rows, stride, channels_last }, map))
    }

    fn cells(&self) -> usize {
        self.columns * self.rows
    }

    /// Elements from a cell's number to the next cell's, and from one channel's to the next channel's.
    fn steps(&self, channels: usize) -> [usize; 2] {
        if self.channels_last { [channels, 1] } else { [1, self.cells()] }
    }

    /// The neighbours of a cell, and whether they lie before it.
    fn around(&self, cell: usize) -> impl Iterator<Item = (usize, bool)> {
        let (column, row) = (cell % self.columns, cell / self.columns);
        let columns = column.saturating_sub(1)..(column + 2).min(self.columns);
        let rows = row.saturating_sub(1)..(row + 2).min(self.rows);
        let width = self.columns;
        let all = rows.flat_map(move |row| columns.clone().map(move |column| row * width + column));
        all.filter(move |other| *other != cell).map(move |other| (other, other < cell))
    }
}

impl Plan {
    /// What makes its scores probabilities.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// Keypoints of each object.
    pub fn points(&self) -> usize {
        self.landmarks.map_or(0, |map| map.channels / 2)
    }

    /// Whether neighbouring scores are those of neighbouring cells.
    pub fn by_columns(&self) -> bool {
        !self.grid.channels_last
    }

    fn check<T: Shaped>(&self, outputs: &[T]) -> Result<(), DetectError> {
        for map in [Some(self.heat), Some(self.sizes), self.offsets, self.landmarks].into_iter().flatten() {
            let Grid { columns, rows, channels_last, .. } = self.grid;
            let dims =
                if channels_last { [rows, columns, map.channels] } else { [map.channels, rows, columns] };
            let tensor = &outputs[map.output];
            if tensor.maps() != Some(dims) {
                let [a, b, c] = dims;
                return Err(misshapen(self.kind, tensor, format!("[1, {a}, {b}, {c}]")));
            }
        }
        Ok(())
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        self.check(outputs)?;
        let scores = outputs[self.heat.output].to_f32();
        let sizes = outputs[self.sizes.output].to_f32();
        let offsets = self.offsets.map(|map| outputs[map.output].to_f32());
        let offset = |i: usize| offsets.as_ref().map_or(0.0, |offsets| offsets[i]);
        let [cell_step, class_step] = self.grid.steps(self.heat.channels);
        let take = |into: &mut Collector<'_>, cell: usize, class: u32, confidence: f32| {
            let at = |cell: usize| scores[cell * cell_step + class as usize * class_step];
            let score = at(cell);
            let beaten = |(other, before)| at(other) > score || before && at(other) == score;
            if !self.grid.around(cell).any(beaten) {
                into.take(cell, class, confidence, self.corners(cell, |i| sizes[i], offset));
            }
        };
        if self.grid.channels_last {
            scan_rows(&scores, self.heat.channels, self.activation, into, take);
        } else {
            scan_columns(&scores, self.grid.cells(), self.activation, into, take);
        }
        Ok(())
    }

    /// The corners of a cell's box in tensor pixels, of the elements of sizes and offsets.
    fn corners(&self, cell: usize, sizes: impl Fn(usize) -> f32, offsets: impl Fn(usize) -> f32) -> [f32; 4] {
        let Grid { columns, stride, .. } = self.grid;
        let stride = stride as f32;
        let pair = |[a, b]: [f32; 2]| if self.y_first { [b, a] } else { [a, b] };
        let [step, channel] = self.grid.steps(2);
        let [dx, dy] = pair([0, 1].map(|k| offsets(cell * step + k * channel)));
        let x = ((cell % columns) as f32 + dx + self.point) * stride;
        let y = ((cell / columns) as f32 + dy + self.point) * stride;
        let [step, channel] = self.grid.steps(self.sizes.channels);
        let size = |k: usize| {
            let value = sizes(cell * step + k * channel);
            match self.unit {
                SizeUnit::Cells => value * stride,
                SizeUnit::Pixels => value,
                SizeUnit::LogCells => value.exp() * stride,
            }
        };
        let [a, b] = pair([size(0), size(1)]);
        if self.sizes.channels == 2 {
            return centered(x, y, a, b);
        }
        let [c, d] = pair([size(2), size(3)]);
        [x - a, y - b, x + c, y + d]
    }

    /// The corners of the box of one detection.
    pub fn corners_of(&self, outputs: &[TensorView<'_>], cell: usize) -> [f32; 4] {
        let offset = |i| self.offsets.map_or(0.0, |map| element(&outputs[map.output], i));
        self.corners(cell, |i| element(&outputs[self.sizes.output], i), offset)
    }

    /// Where the landmarks are.
    pub fn extra<T: Shaped>(&self, outputs: &[T]) -> Result<Option<Extra>, DetectError> {
        self.check(outputs)?;
        Ok(self.landmarks.map(|map| {
            let [step, value_step] = self.grid.steps(map.channels);
            let points = Points {
                count: map.channels / 2,
                numbers: 2,
                y_first: self.y_first,
                activation: Activation::None,
                unit: None,
                with_row: false,
            };
            Extra { output: map.output, element: 0, step, value_step, meaning: Meaning::Points(points) }
        }))
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        self.check(outputs)?;
        let at = |map: Map| At { tensor: &outputs[map.output], element: 0 };
        let [cell_step, class_step] = self.grid.steps(self.heat.channels);
        let [box_step, value_step] = self.grid.steps(self.sizes.channels);
        let Grid { columns, stride, .. } = self.grid;
        let centers = Centers {
            sides: self.sizes.channels,
            unit: self.unit,
            y_first: self.y_first,
            offsets: self.offsets.map(at),
            offset_step: self.grid.steps(2)[0],
        };
        Layout::new(Scoring::Peaks, self.activation, self.heat.channels)?
            .steps([cell_step, class_step], [box_step, value_step])
            .with(at(self.heat), at(self.sizes), Span::cells(self.grid.cells(), columns, stride))?
            .centers(centers, self.point)
    }
}
