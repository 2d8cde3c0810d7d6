//! Queries of a transformer: DETR and its descendants. Boxes and logits apart, `[1, Q, 4]` and `[1, Q, C]`, or boxes and
//! probabilities side by side, `[1, Q, 4 + C]`. Apart with keypoints `[1, Q, K, V]` of each query as well: x and y in 0 to 1 of the
//! input, the logit of the score, and what is left aside (RF-DETR's precision). What is said of the libraries holds for transformers
//! 5.23, rfdetr 1.11 and Ultralytics 8.4.

use crate::detect::attached::{Masks, Meaning, Points};
use crate::detect::family::{Family, Hint, Usual};
use crate::detect::layout::{Anchors, BoxCoding, Coding, Field, Layout, Ranking, Shape, Table};
use crate::detect::object_maps::{self, Extent};
use crate::detect::offer::{Evidence, Fit, Offer};
use crate::detect::{Activation, Background, BoxFormat, DecoderKind};

use super::boxes_scores::{Pair, apart, pairs};
use super::heads::{self, BOX};
use super::points_beside;

pub const FAMILY: Family = Family {
    kind: DecoderKind::Queries,
    wanted,
    fits,
    takes: &[
        Hint::BoxFormat,
        Hint::Normalized,
        Hint::Activation,
        Hint::Softmax,
        Hint::Background,
        Hint::BackgroundLast,
        Hint::Keypoints,
    ],
    usual: Usual::UNIQUE,
};

fn wanted(offer: &Offer<'_>) -> String {
    let classes = offer.class_term();
    let background = if offer.hints.background_columns() > 0 { " + background" } else { "" };
    let points = offer
        .hints
        .keypoints
        .map_or_else(String::new, |k| format!(", keypoints [1, Q, {k}, 3] with 'keypoint' in their name,"));
    format!(
        "two float outputs, boxes [1, Q, 4]{points} and scores [1, Q, {classes}{background}], or one of boxes and probabilities \
         [1, Q, 4 + {classes}] without background"
    )
}

fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    let of_pose = points_beside::named(offer);
    let pairs: Vec<_> =
        pairs(offer).into_iter().filter(|pair| !of_pose.contains(&pair.scores.output)).collect();
    if pairs.is_empty() {
        return if offer.hints.keypoints.is_some() { Vec::new() } else { joined(offer) };
    }
    let named: Vec<_> = pairs.iter().copied().filter(|pair| Names::of(offer, pair).is_some()).collect();
    let is_named = !named.is_empty();
    let fit = |pair: Pair| {
        let scoring = scoring(offer, &pair)?;
        let classes = offer.classes_in(pair.scores.columns, scoring.1.columns())?;
        let layout = of_pair(offer, pair, scoring, classes, &of_pose)?;
        // What else there is beside outputs of these names, hidden states or masks, is left aside.
        let (evidence, reads) = if is_named {
            (Evidence::Exact, offer.relevant())
        } else {
            (Evidence::Open, layout.tables.len())
        };
        Some(Fit::new(evidence, layout, classes).reading(reads).far_fetched(!is_named))
    };
    if is_named { named } else { pairs }.into_iter().filter_map(fit).collect()
}

/// Boxes and scores in outputs of their own. transformers' post-processing of RT-DETR, D-FINE and RF-DETR ranks the sigmoids of all
/// `Q * C` pairs of query and class and keeps `Q`, as does rfdetr; that of DETR and YOLOS, and Ultralytics' to 8.4.50, takes the best
/// class of each query.
fn of_pair(
    offer: &Offer<'_>,
    pair: Pair,
    scoring: (Activation, Background),
    classes: Option<usize>,
    of_pose: &[usize],
) -> Option<Layout> {
    let coding = BoxCoding::new(offer.hints, BoxFormat::CenterSize, true, offer.input);
    let queries = pair.boxes.rows.or(pair.scores.rows);
    let ranking = match scoring.0 {
        Activation::Softmax => Ranking::Best,
        Activation::Sigmoid | Activation::None => {
            Ranking::All { kept: queries.filter(|queries| *queries > 0) }
        }
    };
    let others = [&[pair.boxes.output, pair.scores.output], of_pose].concat();
    let masks = object_maps::among(offer.outputs, queries, &others);
    let unit = coding.unit;
    let mut layout = Layout {
        ranking,
        // Of an object with a mask, a map of the input, its query tells which.
        extra: masks.map(|_| (Field::new(0, 0), Meaning::Row)),
        masks: masks.map(|output| Masks::Maps { output, extent: Extent::Input }),
        ..apart(FAMILY.kind, pair, coding, scoring, classes)
    };
    let points = of_pose.iter().find_map(|output| points_of(offer, *output, queries));
    if let Some((output, [count, numbers])) = points {
        let activation = if scoring.0 == Activation::Softmax { Activation::None } else { scoring.0 };
        let points = Points {
            count,
            numbers,
            y_first: false,
            activation,
            unit: Some(unit),
            with_row: masks.is_some(),
        };
        layout.extra = Some((Field::new(layout.tables.len(), 0), Meaning::Points(points)));
        layout.tables.push(Table::new(output, Shape::Points { points: count, numbers }));
    }
    // Where keypoints are expected, they must be there.
    (points.is_some() || offer.hints.keypoints.is_none()).then_some(layout)
}

/// The number of keypoints that an output has for each of that many queries, and of the numbers of each.
fn points_of(offer: &Offer<'_>, output: usize, queries: Option<usize>) -> Option<(usize, [usize; 2])> {
    let [None | Some(1), rows, Some(count @ 1..), Some(numbers @ (2 | 3 | 5..=15))] =
        offer.outputs[output].dims[..]
    else {
        return None;
    };
    let fits = rows.is_none() || queries.is_none() || rows == queries;
    let expected = offer.hints.keypoints.is_none_or(|k| k == count);
    (fits && expected).then_some((output, [count, numbers]))
}

/// Boxes and probabilities in one output: a shape like many others, which is only read so if that is asked for.
fn joined(offer: &Offer<'_>) -> Vec<Fit> {
    let hints = offer.hints;
    if hints.background_columns() > 0 || hints.activation == Some(Activation::Softmax) {
        return Vec::new();
    }
    offer.of_each_plane(|plane| {
        let classes = offer.classes_in(plane.columns, BOX)?;
        let coding = BoxCoding::new(hints, BoxFormat::CenterSize, true, offer.input);
        let layout = heads::plain(FAMILY.kind, offer, plane, Anchors::Rows, classes, 0);
        let layout = Layout { coding: Coding::Plain(coding), ..layout };
        Some(Fit::new(Evidence::Open, layout, classes).far_fetched(true))
    })
}

/// What exporters call the outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    /// `pred_boxes` with `logits` or `pred_logits`: transformers, libreyolo, the models' own repositories.
    Logits,
    /// `dets` with `labels`: RF-DETR's own exporter.
    RfDetr,
}

impl Names {
    fn of(offer: &Offer<'_>, pair: &Pair) -> Option<Self> {
        let name = |output: usize| offer.outputs[output].name.to_ascii_lowercase();
        let (boxes, scores) = (name(pair.boxes.output), name(pair.scores.output));
        if boxes.contains("pred_boxes") && scores.contains("logits") {
            Some(Self::Logits)
        } else {
            (boxes == "dets" && scores == "labels").then_some(Self::RfDetr)
        }
    }
}

/// What makes the scores probabilities, and which column is the background: as the hints say it, else as names and the number of
/// classes tell it. None where nothing tells it.
fn scoring(offer: &Offer<'_>, pair: &Pair) -> Option<(Activation, Background)> {
    let hints = offer.hints;
    let counts = pair.scores.columns.zip(hints.classes);
    let one_more = counts.is_some_and(|(columns, classes)| columns == classes + 1);
    let as_many = counts.is_some_and(|(columns, classes)| columns == classes);
    let activation = match hints.activation {
        Some(activation) => activation,
        None if Names::of(offer, pair) == Some(Names::RfDetr) => Activation::Sigmoid,
        // DETR learns what is no object as a class of its own; its descendants, whose classes are independent, do not.
        None if one_more || hints.background_columns() > 0 => Activation::Softmax,
        None if as_many => Activation::Sigmoid,
        None => return None,
    };
    let background = hints.background.unwrap_or(match activation {
        Activation::Softmax => Background::Last,
        // RF-DETR keeps a last column for what is no class.
        Activation::Sigmoid | Activation::None if one_more => Background::Last,
        Activation::Sigmoid | Activation::None => Background::None,
    });
    Some((activation, background))
}

/// Whether the outputs are queries', by their names or because that was `asked` for, and nothing tells how to read the scores.
pub fn needs_activation(offer: &Offer<'_>, asked: bool) -> bool {
    let pairs = pairs(offer);
    let mut queries = pairs.iter().filter(|pair| asked || Names::of(offer, pair).is_some()).peekable();
    queries.peek().is_some() && queries.all(|pair| scoring(offer, pair).is_none())
}
