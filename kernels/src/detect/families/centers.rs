//! Objects as peaks of class heat-maps: CenterNet (Zhou et al., "Objects as Points", 2019) and CenterFace (Xu et al., 2019).
//!
//! A cell is a candidate if no neighbour is stronger in the map of its best class, nor as strong and before it. Its
//! centre is `(cell + offset + point) * stride`, `point` being 0, in CenterFace 0.5.

use crate::detect::attached::{Meaning, Points};
use crate::detect::grid::Grid;
use crate::detect::layout::{Centers, Coding, Field, Layout, Scoring, Table};
use crate::detect::offer::{Evidence, Fit, Maps, Offer};
use crate::detect::{Activation, AxisOrder, DecoderKind, SizeUnit};

/// An output and its channels.
#[derive(Clone, Copy, Debug)]
struct Map {
    output: usize,
    channels: usize,
}

/// The cells that all maps have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapCells {
    pub columns: usize,
    pub rows: usize,
    /// Tensor pixels a cell is wide and high.
    pub stride: usize,
}

impl MapCells {
    /// Of maps of this size; none if they are not the input's at one stride.
    pub fn of(rows: usize, columns: usize, [width, height]: [usize; 2]) -> Option<Self> {
        if columns == 0 || rows == 0 {
            return None;
        }
        let stride = width.div_ceil(columns);
        let right = stride > 0 && width.div_ceil(stride) == columns && height.div_ceil(stride) == rows;
        right.then_some(Self { columns, rows, stride })
    }

    /// As a grid of one level.
    pub fn grid(self) -> Grid {
        Grid::of_one(self.columns * self.rows, self.columns, self.stride)
    }
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

pub fn fits(kind: DecoderKind, offer: &Offer<'_>) -> Vec<Fit> {
    let layouts = [false, true].into_iter();
    let mut fits: Vec<_> =
        layouts.filter_map(|channels_last| in_layout(kind, offer, channels_last)).collect();
    let most = fits.iter().map(|fit| fit.reads).max();
    fits.retain(|fit| Some(fit.reads) == most);
    fits
}

/// The reading of most outputs; of equal ones that whose heat-map comes first, as CenterNet writes it.
fn in_layout(kind: DecoderKind, offer: &Offer<'_>, channels_last: bool) -> Option<Fit> {
    let maps: Vec<_> = offer.maps.iter().filter_map(|maps| map_of(maps, offer, channels_last)).collect();
    let classes = offer.hints.classes.or((kind == DecoderKind::Centerface).then_some(1));
    let is_heat = |map: &Map| {
        let others = is_size(offer, map) || is_offset(offer, map);
        map.channels > 0 && classes.is_none_or(|c| c == map.channels) && !others
    };
    let readings = maps.iter().filter(|(_, map)| is_heat(map)).filter_map(|(grid, heat)| {
        let beside = |(other, map): &&(MapCells, Map)| map.output != heat.output && other == grid;
        let others: Vec<Map> = maps.iter().filter(beside).map(|(_, map)| *map).collect();
        roles(kind, offer, (*grid, channels_last), *heat, &others)
    });
    readings.reduce(|best, next| if next.reads > best.reads { next } else { best })
}

/// The cells and the channels of `maps`; none if they are not the input's at one stride.
fn map_of(maps: &Maps, offer: &Offer<'_>, channels_last: bool) -> Option<(MapCells, Map)> {
    let [a, b, c] = maps.dims;
    let (channels, rows, columns) = if channels_last { (c, a, b) } else { (a, b, c) };
    MapCells::of(rows, columns, offer.input).map(|cells| (cells, Map { output: maps.output, channels }))
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
fn roles(
    kind: DecoderKind,
    offer: &Offer<'_>,
    (cells, channels_last): (MapCells, bool),
    heat: Map,
    others: &[Map],
) -> Option<Fit> {
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
    let maps = Roles { heat, sizes: *sizes, offsets: offsets.copied(), landmarks: landmarks.copied() };
    let reads = 2 + usize::from(offsets.is_some()) + usize::from(landmarks.is_some());
    let layout = Layout { grid: Some(cells.grid()), ..maps.layout(kind, offer, channels_last) };
    // Without landmarks it looks as centernet's.
    let far_fetched = face && landmarks.is_none();
    let fit = Fit::new(Evidence::Open, layout, Some(heat.channels));
    Some(fit.reading(reads).far_fetched(far_fetched))
}

/// Which map is which.
struct Roles {
    heat: Map,
    sizes: Map,
    offsets: Option<Map>,
    /// Two numbers a keypoint, in fractions of the box.
    landmarks: Option<Map>,
}

impl Roles {
    /// Where their numbers lie.
    fn layout(&self, kind: DecoderKind, offer: &Offer<'_>, channels_last: bool) -> Layout {
        let (hints, face) = (offer.hints, kind == DecoderKind::Centerface);
        let table = |map: Map| Table::maps(map.output, map.channels, channels_last);
        let usual = if face { AxisOrder::Yx } else { AxisOrder::Xy };
        let y_first = hints.axis_order.unwrap_or(usual) == AxisOrder::Yx;
        let centers = Centers {
            sides: self.sizes.channels,
            unit: hints.size_unit.unwrap_or(if face { SizeUnit::LogCells } else { SizeUnit::Cells }),
            pixels: 1.0,
            y_first,
            point: if face { 0.5 } else { 0.0 },
            offsets: self.offsets.map(|_| Field::new(2, 0)),
            of_each_class: false,
        };
        let points = self.landmarks.map(|map| Points {
            count: map.channels / 2,
            numbers: 2,
            y_first,
            activation: Activation::None,
            unit: None,
            with_row: false,
        });
        let maps = [Some(self.heat), Some(self.sizes), self.offsets, self.landmarks];
        let tables: Vec<_> = maps.into_iter().flatten().map(table).collect();
        let last = Field::new(tables.len() - 1, 0);
        Layout {
            boxes: Field::new(1, 0),
            scores: Field::new(0, 0),
            scoring: Scoring::Peaks,
            extra: points.map(|points| (last, Meaning::Points(points))),
            ..Layout::new(kind, tables, Coding::Centers(centers), offer.activation())
        }
    }
}
