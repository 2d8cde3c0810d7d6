//! Final boxes in outputs of their own: boxes `[1, N, 4]`, scores `[1, N]` and labels `[1, N]` in any order, or boxes with
//! their score `[1, N, 5]` and labels; all of them without the batch's dimension, too. N may change from frame to frame.
//! torchvision, TensorFlow's Object Detection API, RT-DETR, D-FINE, MMDeploy and TensorRT's EfficientNMS write them so.

use crate::tensor::{TensorDesc, TensorView};

use super::super::attached::{Extra, Masks};
use super::super::candidates::Collector;
use super::super::cuda::{At, FinalLists, Layout, Output, Scoring, Span};
use super::super::object_maps::{self, Extent};
use super::super::offer::{Evidence, Fit, Offer, Plane};
use super::super::{Activation, BoxFormat, DecoderKind, DetectError};
use super::boxes::BoxCoding;
use super::finals::{self, Column, Finals, Labels};
use super::matrix::{Shaped, check, check_list};

const KIND: DecoderKind = DecoderKind::Detections;
/// Columns of boxes, and of boxes with their score.
const BOX: usize = 4;
const SCORED: usize = 5;

#[derive(Clone, Debug)]
pub struct Plan {
    boxes: usize,
    /// None where they are the fifth column of the boxes.
    scores: Option<usize>,
    labels: usize,
    count: Option<usize>,
    /// Index of the boxes' masks, and what they cover.
    masks: Option<(usize, Extent)>,
    coding: BoxCoding,
    meaning: Labels,
}

pub fn wanted(_: &Offer<'_>) -> String {
    "boxes [1, N, 4], scores [1, N] and labels [1, N], or boxes with scores [1, N, 5] and labels, and optionally the \
     number of boxes (where labels are not the only integers, 'label' or 'class' must be in their name, 'score' in that of \
     the scores, and 'num' in that of the number)"
        .into()
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    if let Some(fit) = tensorflow(offer) {
        return vec![fit];
    }
    let lists = lists(offer);
    let count = lists.iter().find(|list| list.is_count(offer)).map(|list| list.output);
    let planes = offer.planes.iter().filter(|p| matches!(p.columns, Some(BOX | SCORED)));
    let fits = planes.filter_map(|boxes| {
        let beside: Vec<_> = lists
            .iter()
            .filter(|list| Some(list.output) != count && list.output != boxes.output && list.suits(boxes))
            .collect();
        let labels = labels_among(offer, &beside)?;
        let scores = match boxes.columns {
            Some(SCORED) => None,
            _ => Some(scores_among(offer, &beside, labels)?),
        };
        let coding = BoxCoding::new(offer.hints, BoxFormat::Corners, false, offer.input);
        let read: Vec<_> = [Some(boxes.output), scores, Some(labels), count].into_iter().flatten().collect();
        let masks = masks(offer, boxes.rows, &read);
        let reads = read.len() + usize::from(masks.is_some());
        Some(fit(
            offer,
            Plan {
                boxes: boxes.output,
                scores,
                labels,
                count,
                masks,
                coding,
                meaning: Labels::new(offer.hints, false, offer.hints.classes),
            },
            reads,
        ))
    });
    fits.collect()
}

fn fit(offer: &Offer<'_>, plan: Plan, reads: usize) -> Fit<Plan> {
    Fit { evidence: Evidence::Open, plan, classes: offer.hints.classes, reads, far_fetched: false }
}

/// The outputs of TensorFlow's Object Detection API, by their names. Its classes are floats; EfficientNMS, which has the
/// same names in some exports, writes integers. The raw outputs beside them are left aside.
fn tensorflow(offer: &Offer<'_>) -> Option<Fit<Plan>> {
    let named = |name: &str| {
        let is = |output: &TensorDesc| output.name.split(':').next() == Some(name);
        let output = offer.outputs.iter().position(is)?;
        offer.is_float(output).then_some(output)
    };
    let boxes = named("detection_boxes")?;
    let plane = offer.planes.iter().find(|p| p.output == boxes && p.columns.is_none_or(|c| c == BOX))?;
    let named_masks = named("detection_masks");
    let plan = Plan {
        boxes,
        scores: Some(named("detection_scores")?),
        labels: named("detection_classes")?,
        count: Some(named("num_detections")?),
        masks: named_masks.and_then(|output| {
            let others: Vec<_> = (0..offer.outputs.len()).filter(|other| *other != output).collect();
            masks(offer, plane.rows, &others)
        }),
        coding: BoxCoding::new(offer.hints, BoxFormat::CornersYx, true, offer.input),
        meaning: Labels::new(offer.hints, true, offer.hints.classes),
    };
    Some(fit(offer, plan, offer.relevant()))
}

/// The masks of so many boxes, of which each covers its box or the input, besides these outputs.
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
fn scores_among(offer: &Offer<'_>, lists: &[&List], labels: usize) -> Option<usize> {
    let floats = || lists.iter().filter(|list| !list.is_integer(offer) && list.output != labels);
    only(floats()).or_else(|| only(floats().filter(|list| is_scores(offer, list))))
}

fn is_scores(offer: &Offer<'_>, list: &List) -> bool {
    ["score", "conf", "prob"].iter().any(|part| list.name(offer).contains(part))
}

/// The output, if there is only one.
fn only<'a>(mut lists: impl Iterator<Item = &'a &'a List>) -> Option<usize> {
    lists.next().filter(|_| lists.next().is_none()).map(|list| list.output)
}

impl Plan {
    /// Format and unit of its boxes.
    pub fn coding(&self) -> &BoxCoding {
        &self.coding
    }

    /// How masks are written.
    pub fn masks(&self) -> Option<Masks> {
        self.masks.map(|(output, extent)| Masks::Maps { output, extent })
    }

    /// Of an object with a mask, its row.
    pub fn extra(&self) -> Option<Extra> {
        self.masks.map(|_| Extra::row(self.boxes))
    }

    /// Boxes, and their columns.
    fn shape<T: Shaped>(&self, outputs: &[T]) -> Result<[usize; 2], DetectError> {
        let columns = if self.scores.is_some() { BOX } else { SCORED };
        let [rows, columns] =
            check(KIND, &outputs[self.boxes], || format!("[1, N, {columns}]"), |_, c| c == columns)?;
        for output in self.scores.iter().chain([&self.labels]) {
            check_list(KIND, &outputs[*output], rows)?;
        }
        if let Some(count) = self.count {
            check_list(KIND, &outputs[count], 1)?;
        }
        Ok([rows, columns])
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        let [rows, columns] = self.shape(outputs)?;
        let boxes = outputs[self.boxes].to_f32();
        let scores = self.scores.map(|output| outputs[output].to_f32());
        let labels = outputs[self.labels].to_f32();
        let finals = Finals {
            boxes: Column { values: &boxes, first: 0, step: columns },
            angles: None,
            scores: match &scores {
                Some(scores) => Column { values: scores, first: 0, step: 1 },
                None => Column { values: &boxes, first: BOX, step: columns },
            },
            labels: Column { values: &labels, first: 0, step: 1 },
            rows,
            count: finals::count(outputs, self.count),
        };
        finals.decode(self.meaning, &self.coding, into);
        Ok(())
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        let [rows, columns] = self.shape(outputs)?;
        let start = |output: usize| At { tensor: &outputs[output], element: 0 };
        let (scores, step) = match self.scores {
            Some(output) => (start(output), 1),
            None => (At { tensor: &outputs[self.boxes], element: BOX }, columns),
        };
        let lists = FinalLists {
            labels: start(self.labels),
            label_step: 1,
            count: self.count.map(start),
            first_label: self.meaning.first,
            last_class: self.meaning.last_class,
        };
        Layout::new(Scoring::Final, Activation::None, 1)?
            .rows(step, columns)
            .coded(self.coding.parts())
            .with(scores, start(self.boxes), Span::all(rows))?
            .finals(lists)
    }
}
