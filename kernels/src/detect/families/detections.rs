//! Final boxes in outputs of their own: boxes `[1, N, 4]`, scores `[1, N]` and labels `[1, N]` in any order, or boxes with
//! their score `[1, N, 5]` and labels; all of them without the batch's dimension, too. N may change from frame to frame.
//! torchvision, TensorFlow's Object Detection API, RT-DETR, D-FINE, MMDeploy and TensorRT's EfficientNMS write them so.
//!
//! With the keypoints of each box, `[1, N, K, 3]` or `[N, K, 3]`, in an output of its own: RTMO as MMDeploy exports it, which has
//! no labels, and torchvision's Keypoint R-CNN, whose third number says only that the point is there; with y first,
//! `[1, N, K, 2]` in 0..1, TensorFlow's.

use crate::detect::attached::{Masks, Meaning, Points};
use crate::detect::family::{Family, Hint, Usual};
use crate::detect::layout::{
    BoxCoding, Channels, Coding, Count, Field, Finals, Labels, Layout, Scoring, Shape, Table,
};
use crate::detect::object_maps::{self, Extent};
use crate::detect::offer::{Evidence, Fit, Offer, Plane};
use crate::detect::{Activation, BoxFormat, DecoderKind};
use crate::tensor::TensorDesc;

use super::points_beside;

pub const FAMILY: Family = Family {
    kind: DecoderKind::Detections,
    wanted,
    fits,
    takes: &[Hint::BoxFormat, Hint::Normalized, Hint::Background, Hint::Keypoints],
    usual: Usual::UNIQUE,
};

/// Columns of boxes, and of boxes with their score.
const BOX: usize = 4;
const SCORED: usize = 5;
/// Which output is which.
struct Roles {
    boxes: usize,
    /// None where they are the fifth column of the boxes.
    scores: Option<usize>,
    /// None where all boxes are of one class.
    labels: Option<usize>,
    count: Option<usize>,
    points: Option<PointList>,
    /// Index of the boxes' masks, and what they cover.
    masks: Option<(usize, Extent)>,
    coding: BoxCoding,
    meaning: Labels,
}

/// An output of keypoints for each box.
#[derive(Clone, Copy, Debug)]
struct PointList {
    output: usize,
    /// Keypoints of a box.
    count: usize,
    /// Two coordinates, and a score if it is three.
    numbers: usize,
    /// Whether y comes first, as in TensorFlow's.
    y_first: bool,
}

fn wanted(offer: &Offer<'_>) -> String {
    let points = match offer.hints.keypoints {
        Some(points) => {
            format!(
                "keypoints [1, N, {points}, 3] or [1, N, {points}, 2] with 'keypoint' in their name, and optionally"
            )
        }
        None => "optionally keypoints [1, N, K, 3] with 'keypoint' in their name, and".into(),
    };
    format!(
        "boxes [1, N, 4], scores [1, N] and labels [1, N], or boxes with scores [1, N, 5] and labels, which may be missing beside \
         keypoints, {points} the number of boxes (where labels are not the only integers, 'label' or 'class' must be in their \
         name, 'score' in that of the scores, and 'num' in that of the number)"
    )
}

fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    if let Some(fit) = tensorflow(offer) {
        let expected = offer.hints.keypoints;
        let found = fit.decoding.layout().map_or(0, Layout::keypoints);
        return if expected.is_none_or(|k| k == found) { vec![fit] } else { vec![] };
    }
    let of_pose = points_beside::named(offer);
    let lists: Vec<_> = lists(offer).into_iter().filter(|list| !of_pose.contains(&list.output)).collect();
    let count = lists.iter().find(|list| list.is_count(offer)).map(|list| list.output);
    let is_box = |p: &&Plane| matches!(p.columns, Some(BOX | SCORED)) && !of_pose.contains(&p.output);
    let planes = offer.planes.iter().filter(is_box);
    let fits = planes.filter_map(|boxes| {
        let beside: Vec<_> = lists
            .iter()
            .filter(|list| Some(list.output) != count && list.output != boxes.output && list.suits(boxes))
            .collect();
        let points = points_among(offer, &of_pose, boxes)?;
        let needed = usize::from(boxes.columns == Some(BOX));
        let labels = match labels_among(offer, &beside) {
            None if points.is_some() && beside.len() <= needed && is_of_one_class(offer) => None,
            labels => Some(labels?),
        };
        let scores = match boxes.columns {
            Some(SCORED) => None,
            _ => Some(scores_among(offer, &beside, labels)?),
        };
        let coding = BoxCoding::new(offer.hints, BoxFormat::Corners, false, offer.input);
        // What else there is of keypoints, torchvision's scores, is left aside.
        let of_pose = if points.is_some() { of_pose.as_slice() } else { &[] };
        let lists = [Some(boxes.output), scores, labels, count].into_iter().flatten();
        let read: Vec<_> = lists.chain(of_pose.iter().copied()).collect();
        let masks = masks(offer, boxes.rows, &read);
        let reads = read.len() + usize::from(masks.is_some());
        let classes = if labels.is_none() { Some(1) } else { offer.hints.classes };
        let meaning = Labels::new(offer.hints, false, offer.hints.classes);
        let roles = Roles { boxes: boxes.output, scores, labels, count, points, masks, coding, meaning };
        let evidence = if points.is_some() { Evidence::Exact } else { Evidence::Open };
        Some(Fit::new(evidence, roles.layout(), classes).reading(reads))
    });
    fits.collect()
}

/// Whether boxes may be without labels.
fn is_of_one_class(offer: &Offer<'_>) -> bool {
    let hints = offer.hints;
    hints.classes.is_none_or(|classes| classes == 1) && hints.background_columns() == 0
}

/// The keypoints of these boxes, if there are any; none where they are expected, but not there.
fn points_among(offer: &Offer<'_>, of_pose: &[usize], boxes: &Plane) -> Option<Option<PointList>> {
    let expected = offer.hints.keypoints;
    let lists = of_pose.iter().filter_map(|&output| {
        let (rows, count, numbers) = match offer.outputs[output].dims[..] {
            [None | Some(1), rows, count, numbers] | [rows, count, numbers] => (rows, count?, numbers?),
            _ => return None,
        };
        let same_rows = rows.is_none() || boxes.rows.is_none() || rows == boxes.rows;
        let fits = same_rows && count > 0 && expected.is_none_or(|k| k == count) && matches!(numbers, 2 | 3);
        fits.then_some(PointList { output, count, numbers, y_first: false })
    });
    let found = lists.max_by_key(|points| points.numbers);
    (found.is_some() || expected.is_none()).then_some(found)
}

/// The outputs of TensorFlow's Object Detection API, by their names. Its classes are floats; EfficientNMS, which has the
/// same names in some exports, writes integers. The raw outputs beside them are left aside.
fn tensorflow(offer: &Offer<'_>) -> Option<Fit> {
    let named = |name: &str| {
        let is = |output: &TensorDesc| output.name.split(':').next() == Some(name);
        let output = offer.outputs.iter().position(is)?;
        offer.is_float(output).then_some(output)
    };
    let boxes = named("detection_boxes")?;
    let plane = offer.planes.iter().find(|p| p.output == boxes && p.columns.is_none_or(|c| c == BOX))?;
    let points = named("detection_keypoints").and_then(|output| match offer.outputs[output].dims[..] {
        [None | Some(1), _, Some(count @ 1..), Some(numbers @ 2)] => {
            Some(PointList { output, count, numbers, y_first: true })
        }
        _ => None,
    });
    let named_masks = named("detection_masks");
    let roles = Roles {
        boxes,
        scores: Some(named("detection_scores")?),
        labels: Some(named("detection_classes")?),
        count: Some(named("num_detections")?),
        points,
        masks: named_masks.and_then(|output| {
            let others: Vec<_> = (0..offer.outputs.len()).filter(|other| *other != output).collect();
            masks(offer, plane.rows, &others)
        }),
        coding: BoxCoding::new(offer.hints, BoxFormat::CornersYx, true, offer.input),
        meaning: Labels::new(offer.hints, true, offer.hints.classes),
    };
    Some(Fit::new(Evidence::Open, roles.layout(), offer.hints.classes).reading(offer.relevant()))
}

/// The masks of that many boxes, of which each covers its box or the input, besides these outputs.
fn masks(offer: &Offer<'_>, rows: Option<usize>, besides: &[usize]) -> Option<(usize, Extent)> {
    let output = object_maps::among(offer.outputs, rows, besides)?;
    Some((output, object_maps::extent(&offer.outputs[output], offer.input)))
}

/// An output of a number for each box.
struct List {
    output: usize,
    length: Option<usize>,
}

impl List {
    fn name(&self, offer: &Offer<'_>) -> String {
        offer.outputs[self.output].name.to_ascii_lowercase()
    }

    /// Whether it is the number of boxes.
    fn is_count(&self, offer: &Offer<'_>) -> bool {
        self.length.is_none_or(|length| length == 1) && self.name(offer).contains("num")
    }

    fn is_integer(&self, offer: &Offer<'_>) -> bool {
        !offer.is_float(self.output)
    }

    /// Whether it may have a number for each of these boxes.
    fn suits(&self, boxes: &Plane) -> bool {
        self.length.is_none() || boxes.rows.is_none() || self.length == boxes.rows
    }
}

fn lists(offer: &Offer<'_>) -> Vec<List> {
    let lists = offer.outputs.iter().enumerate().filter_map(|(output, desc)| {
        let length = match desc.dims[..] {
            [] => Some(1),
            [length] => length,
            [None | Some(1), length] | [None | Some(1), length, Some(1)] => length,
            _ => return None,
        };
        Some(List { output, length })
    });
    lists.collect()
}

/// The only integers, or those that are named so, or what the scores leave.
fn labels_among(offer: &Offer<'_>, lists: &[&List]) -> Option<usize> {
    let named =
        |list: &List| ["label", "class", "categor"].iter().any(|part| list.name(offer).contains(part));
    let integers = only(lists.iter().filter(|list| list.is_integer(offer)));
    let by_name = || only(lists.iter().filter(|list| named(list)));
    let left = || {
        let left = only(lists.iter().filter(|list| !is_scores(offer, list)))?;
        (lists.len() == 2).then_some(left)
    };
    integers.or_else(by_name).or_else(left)
}

/// The only floats that are not the labels, or those that are named so.
fn scores_among(offer: &Offer<'_>, lists: &[&List], labels: Option<usize>) -> Option<usize> {
    let floats = || lists.iter().filter(|list| !list.is_integer(offer) && Some(list.output) != labels);
    only(floats()).or_else(|| only(floats().filter(|list| is_scores(offer, list))))
}

fn is_scores(offer: &Offer<'_>, list: &List) -> bool {
    ["score", "conf", "prob"].iter().any(|part| list.name(offer).contains(part))
}

/// The output, if there is only one.
fn only<'a>(mut lists: impl Iterator<Item = &'a &'a List>) -> Option<usize> {
    lists.next().filter(|_| lists.next().is_none()).map(|list| list.output)
}

impl Roles {
    /// Where their numbers lie.
    fn layout(self) -> Layout {
        let columns = if self.scores.is_some() { BOX } else { SCORED };
        let mut tables = vec![Table::rows(self.boxes, Count::Any("N"), Channels::Exactly(columns))];
        let mut add = |table: Table| {
            tables.push(table);
            Field::new(tables.len() - 1, 0)
        };
        let scores = self.scores.map_or(Field::new(0, BOX), |output| add(Table::list(output)));
        let labels = self.labels.map(|output| add(Table::list(output)));
        let count = self.count.map(|output| add(Table::new(output, Shape::Number)));
        let points = self.points.map(|PointList { output, count, numbers, y_first }| {
            let unit = Some(self.coding.unit);
            let with_row = self.masks.is_some();
            let points = Points { count, numbers, y_first, activation: Activation::None, unit, with_row };
            (add(Table::new(output, Shape::Points { points: count, numbers })), Meaning::Points(points))
        });
        let row = self.masks.map(|_| (Field::new(0, 0), Meaning::Row));
        Layout {
            scores,
            scoring: Scoring::Final(Finals { labels, count, meaning: self.meaning }),
            extra: points.or(row),
            masks: self.masks.map(|(output, extent)| Masks::Maps { output, extent }),
            ..Layout::new(FAMILY.kind, tables, Coding::Plain(self.coding), Activation::None)
        }
    }
}
