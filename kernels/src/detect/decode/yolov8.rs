//! YOLOv8, v9, v11: `[1, 4 + C, N]`, boxes as centre and size in tensor pixels, one row a channel; or transposed,
//! `[1, N, 4 + C]`, as some exporters write them. Their relatives for poses and masks have more channels after the classes.

use crate::tensor::TensorView;

use super::super::candidates::Collector;
use super::super::cuda::{At, Layout, Output, Scoring, Span};
use super::super::offer::{Evidence, Fit, Offer, Plane};
use super::super::{Activation, BoxFormat, DecoderKind, DetectError};
use super::boxes::BoxCoding;
use super::matrix::{Shaped, check, is_tall, single};
use super::scan::{scan_columns, take_wanted};

/// Channels before the class scores.
pub const BEFORE_CLASSES: usize = 4;

/// Where a plane has its anchors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchors {
    /// Each is a column; a channel is a row.
    Columns,
    /// Each is a row; a channel is a column.
    Rows,
}

impl Anchors {
    /// Both; the first is what the families' own exporters write.
    pub const ALL: [Self; 2] = [Self::Columns, Self::Rows];

    /// Anchors and channels of a matrix of these rows and columns.
    pub fn of<T>(self, rows: T, columns: T) -> [T; 2] {
        match self {
            Self::Columns => [columns, rows],
            Self::Rows => [rows, columns],
        }
    }
}

#[derive(Clone, Debug)]
pub struct Plan {
    /// What an error calls it.
    kind: DecoderKind,
    output: usize,
    anchors: Anchors,
    classes: Option<usize>,
    /// Channels after the class scores.
    more: usize,
    /// Whether the last of them is the boxes' angle.
    rotated: bool,
    boxes: BoxCoding,
    activation: Activation,
}

pub fn wanted(offer: &Offer<'_>) -> String {
    format!(
        "one float output [1, 4 + {0}, N] or [1, N, 4 + {0}] of decoded boxes and class scores, N = {1} with {2}",
        offer.class_term(),
        offer.grid.cells,
        offer.grid_term()
    )
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    let readings = Anchors::ALL.map(|anchors| {
        single(offer, |plane| {
            let [_, channels] = anchors.of(plane.rows, plane.columns);
            let classes = offer.classes_in(channels, BEFORE_CLASSES)?;
            let evidence = evidence(offer, plane, anchors)?;
            let plan = Plan::new(DecoderKind::Yolov8, offer, plane, anchors, classes, 0);
            Some(Fit { evidence, plan, classes, reads: 1, far_fetched: false })
        })
    });
    surest(readings)
}

/// How sure it is that the plane has its anchors there; none if it cannot have.
pub fn evidence(offer: &Offer<'_>, plane: &Plane, side: Anchors) -> Option<Evidence> {
    let [anchors, channels] = side.of(plane.rows, plane.columns);
    // Where the channels are open, it is the usual orientation or nothing is known.
    if side == Anchors::Rows && channels.is_none() {
        return None;
    }
    let evidence = offer.evidence(anchors, 1, false);
    // In the unusual orientation a number of anchors that happens to be some pyramid's is not enough.
    let sure = evidence == Evidence::Exact && side == Anchors::Columns;
    (sure || is_tall(anchors, channels)).then_some(evidence)
}

/// Of several ways to read the same planes, the usual ones first, the one with the best fit.
pub fn surest<P, const WAYS: usize>(readings: [Vec<Fit<P>>; WAYS]) -> Vec<Fit<P>> {
    let best = |fits: &Vec<Fit<P>>| fits.iter().map(|fit| (!fit.far_fetched, fit.evidence)).max();
    let mut surest = Vec::new();
    for reading in readings {
        if best(&reading) > best(&surest) {
            surest = reading;
        }
    }
    surest
}

impl Plan {
    /// Of `plane`, with `more` channels after those of the classes.
    pub fn new(
        kind: DecoderKind,
        offer: &Offer<'_>,
        plane: &Plane,
        anchors: Anchors,
        classes: Option<usize>,
        more: usize,
    ) -> Self {
        Self {
            kind,
            output: plane.output,
            anchors,
            classes,
            more,
            rotated: false,
            boxes: BoxCoding::new(offer.hints, BoxFormat::CenterSize, false, offer.input),
            activation: offer.hints.activation.unwrap_or(Activation::None),
        }
    }

    /// With boxes that are written so.
    pub fn coded(self, boxes: BoxCoding) -> Self {
        Self { boxes, ..self }
    }

    /// With boxes that are rotated by the angle in the last row.
    pub fn rotated(self) -> Self {
        Self { rotated: true, boxes: self.boxes.centered(), ..self }
    }

    /// Index of the output; its first element after the classes; the steps to the next anchor and to the next channel.
    pub fn behind_classes<T: Shaped>(
        &self,
        outputs: &[T],
    ) -> Result<(usize, usize, [usize; 2]), DetectError> {
        let [anchors, channels] = self.shape(outputs)?;
        let steps = self.steps(anchors, channels);
        Ok((self.output, (channels - self.more) * steps[1], steps))
    }

    /// Elements from an anchor to the next and from a channel to the next.
    fn steps(&self, anchors: usize, channels: usize) -> [usize; 2] {
        match self.anchors {
            Anchors::Columns => [1, anchors],
            Anchors::Rows => [channels, 1],
        }
    }

    /// Format and unit of its boxes.
    pub fn coding(&self) -> &BoxCoding {
        &self.boxes
    }

    /// What makes its scores probabilities.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// Whether neighbouring scores are those of neighbouring anchors.
    pub fn by_columns(&self) -> bool {
        self.anchors == Anchors::Columns
    }

    /// Anchors and channels.
    fn shape<T: Shaped>(&self, outputs: &[T]) -> Result<[usize; 2], DetectError> {
        let others = BEFORE_CLASSES + self.more;
        let wanted = || {
            let channels = match self.classes {
                Some(c) => (others + c).to_string(),
                None => format!("{others} + classes"),
            };
            match self.anchors {
                Anchors::Columns => format!("[1, {channels}, N]"),
                Anchors::Rows => format!("[1, N, {channels}]"),
            }
        };
        let [rows, columns] = check(self.kind, &outputs[self.output], wanted, |rows, columns| {
            let [_, channels] = self.anchors.of(rows, columns);
            channels > others && self.classes.is_none_or(|c| channels == others + c)
        })?;
        Ok(self.anchors.of(rows, columns))
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        let [anchors, channels] = self.shape(outputs)?;
        let tensor = &outputs[self.output];
        let steps = self.steps(anchors, channels);
        Layout::new(Scoring::Classes, self.activation, channels - BEFORE_CLASSES - self.more)?
            .steps(steps, steps)
            .coded(self.boxes.parts())
            .rotated(self.rotated.then_some(channels - 1))?
            .with(
                At { tensor, element: BEFORE_CLASSES * steps[1] },
                At { tensor, element: 0 },
                Span::all(anchors),
            )
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        let [anchors, channels] = self.shape(outputs)?;
        let classes = channels - BEFORE_CLASSES - self.more;
        let all = outputs[self.output].to_f32();
        let take =
            |into: &mut Collector<'_>, anchor, class, confidence, values, angle: Option<f32>| match angle {
                Some(angle) => {
                    into.take_rotated(anchor, class, confidence, &self.boxes.rotated(values, angle));
                }
                None => into.take(anchor, class, confidence, self.boxes.corners(values)),
            };
        match self.anchors {
            Anchors::Columns => {
                let (boxes, rest) = all.split_at(BEFORE_CLASSES * anchors);
                let scores = &rest[..classes * anchors];
                let last = &rest[rest.len() - anchors..];
                scan_columns(scores, anchors, self.activation, into, |into, anchor, class, confidence| {
                    let values = [0, 1, 2, 3].map(|k| boxes[k * anchors + anchor]);
                    take(into, anchor, class, confidence, values, self.rotated.then(|| last[anchor]));
                });
            }
            Anchors::Rows => {
                for (anchor, row) in all.chunks_exact(channels).enumerate() {
                    let &[a, b, c, d, ref rest @ ..] = row else { continue };
                    let angle = row.last().copied().filter(|_| self.rotated);
                    take_wanted(&rest[..classes], self.activation, into, |into, class, confidence| {
                        take(into, anchor, class, confidence, [a, b, c, d], angle);
                    });
                }
            }
        }
        Ok(())
    }
}
