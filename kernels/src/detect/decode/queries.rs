//! Queries of a transformer: DETR and its descendants. Boxes and logits apart, `[1, Q, 4]` and `[1, Q, C]`, or boxes and
//! probabilities side by side, `[1, Q, 4 + C]`. What is said of the libraries holds for transformers 5.23, rfdetr 1.11 and
//! Ultralytics 8.4.

use crate::tensor::TensorView;

use super::super::attached::{Extra, Masks};
use super::super::candidates::Collector;
use super::super::cuda::{Layout, Output};
use super::super::object_maps::{self, Extent};
use super::super::offer::{Evidence, Fit, Offer};
use super::super::{Activation, Background, BoxFormat, DecoderKind, DetectError};
use super::boxes::BoxCoding;
use super::boxes_scores::{self, Pair, pairs};
use super::matrix::single;
use super::scores::Scores;
use super::yolov8::{self, Anchors, BEFORE_CLASSES};

const KIND: DecoderKind = DecoderKind::Queries;

#[derive(Clone, Debug)]
pub enum Plan {
    /// Boxes and scores in outputs of their own.
    Apart {
        plan: boxes_scores::Plan,
        /// Queries, if the model fixes their number.
        queries: Option<usize>,
        /// Index of their boxes and of their masks.
        boxes: usize,
        masks: Option<usize>,
    },
    /// Boxes and scores in one output.
    Joined(yolov8::Plan),
}

pub fn wanted(offer: &Offer<'_>) -> String {
    let classes = offer.class_term();
    let background = if offer.hints.background_columns() > 0 { " + background" } else { "" };
    format!(
        "two float outputs, boxes [1, Q, 4] and scores [1, Q, {classes}{background}], or one of boxes and probabilities \
         [1, Q, 4 + {classes}] without background"
    )
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    let pairs = pairs(offer);
    if pairs.is_empty() {
        return joined(offer);
    }
    let named: Vec<_> = pairs.iter().copied().filter(|pair| Names::of(offer, pair).is_some()).collect();
    let is_named = !named.is_empty();
    let fit = |pair: Pair| {
        let (activation, background) = scoring(offer, &pair)?;
        let classes = offer.classes_in(pair.scores.columns, background.columns())?;
        let coding = BoxCoding::new(offer.hints, BoxFormat::CenterSize, true, offer.input);
        let plan = boxes_scores::Plan::new(KIND, pair, coding, activation, background).with_classes(classes);
        let (queries, boxes) = (pair.boxes.rows.or(pair.scores.rows), pair.boxes.output);
        let masks = object_maps::among(offer.outputs, queries, &[boxes, pair.scores.output]);
        let plan = Plan::Apart { plan, queries, boxes, masks };
        // What else there is beside outputs of these names, hidden states or masks, is left aside.
        let (evidence, reads) =
            if is_named { (Evidence::Exact, offer.relevant()) } else { (Evidence::Open, 2) };
        Some(Fit { evidence, plan, classes, reads, far_fetched: !is_named })
    };
    if is_named { named } else { pairs }.into_iter().filter_map(fit).collect()
}

/// Boxes and probabilities in one output: a shape like many others, which is only read so if that is asked for.
fn joined(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    let hints = offer.hints;
    if hints.background_columns() > 0 || hints.activation == Some(Activation::Softmax) {
        return Vec::new();
    }
    single(offer, |plane| {
        let classes = offer.classes_in(plane.columns, BEFORE_CLASSES)?;
        let coding = BoxCoding::new(hints, BoxFormat::CenterSize, true, offer.input);
        let plan = yolov8::Plan::new(KIND, offer, plane, Anchors::Rows, classes, 0).coded(coding);
        let plan = Plan::Joined(plan);
        Some(Fit { evidence: Evidence::Open, plan, classes, reads: 1, far_fetched: true })
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

impl Plan {
    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        match self {
            Self::Apart { plan, .. } => plan.layout(outputs),
            Self::Joined(plan) => plan.layout(outputs),
        }
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        match self {
            Self::Apart { plan, .. } => plan.decode(outputs, into),
            Self::Joined(plan) => plan.decode(outputs, into),
        }
    }

    /// How masks are written: a map of the input for each query.
    pub fn masks(&self) -> Option<Masks> {
        let Self::Apart { masks: Some(output), .. } = *self else { return None };
        Some(Masks::Maps { output, extent: Extent::Input })
    }

    /// Of an object with a mask, its query.
    pub fn extra(&self) -> Option<Extra> {
        let Self::Apart { boxes, masks: Some(_), .. } = *self else { return None };
        Some(Extra::row(boxes))
    }

    /// How it scores.
    pub fn scores(&self) -> Scores {
        match self {
            Self::Apart { plan, .. } => plan.scores(),
            Self::Joined(plan) => Scores::of(plan.activation()),
        }
    }

    /// Format and unit of its boxes.
    pub fn coding(&self) -> &BoxCoding {
        match self {
            Self::Apart { plan, .. } => plan.coding(),
            Self::Joined(plan) => plan.coding(),
        }
    }

    /// How many pairs of query and class are kept, if every class of a query may be an object. transformers' post-processing of
    /// RT-DETR, D-FINE and RF-DETR ranks the sigmoids of all `Q * C` and keeps `Q`, as does rfdetr; that of DETR and YOLOS, and
    /// Ultralytics' to 8.4.50, takes the best class of each query.
    pub fn pairs_kept(&self) -> Option<Option<usize>> {
        match self {
            Self::Apart { plan, queries, .. } if plan.activation() != Activation::Softmax => {
                Some(queries.filter(|queries| *queries > 0))
            }
            _ => None,
        }
    }
}
