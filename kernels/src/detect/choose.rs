//! Which decoder reads a model's outputs: from their shapes, or the requested one if it fits.

use crate::tensor::{TensorDesc, TensorView};
use crate::words::Words as _;

use super::attached::Masks;
use super::candidates::Collector;
use super::families::{family, needs_activation, needs_anchors, needs_format};
use super::family::Hint;
use super::layout::{Coding, Layout, Ranking, Scores};
use super::locate::Located;
use super::offer::{Decoding, Evidence, Fit, Offer};
use super::params::out_of_range;
use super::reader;
use super::rotated::Rotated;
use super::shaped::Shaped;
use super::{Activation, Background, DecoderKind, DetectError, DetectParams, Hints, Nms};

/// A decoder that fits a model's outputs; made by [`choose`].
#[derive(Clone, Debug)]
pub struct Decoder {
    kind: DecoderKind,
    classes: Option<usize>,
    decoding: Decoding,
    outputs: usize,
    proven: bool,
    keeps_anchors: bool,
}

impl Decoder {
    /// Its family.
    pub fn kind(&self) -> DecoderKind {
        self.kind
    }

    /// What the only class is called where nobody names it.
    pub fn usual_label(&self) -> Option<&'static str> {
        self.kind.usual_label(self.keypoints())
    }

    /// Number of classes, background not counted, where the shapes or the hints say it.
    pub fn classes(&self) -> Option<usize> {
        self.classes
    }

    /// Whether the shapes fit it well: the number of anchors is what the strides give, or there is no such number. Otherwise the
    /// shapes can be read so, and little speaks for it.
    pub fn is_proven(&self) -> bool {
        self.proven
    }

    /// Whether its final boxes are as many as there are anchors, so that nobody can have suppressed any.
    pub fn keeps_anchors(&self) -> bool {
        self.keeps_anchors
    }

    /// Keypoints of each object; 0 where the model gives none.
    pub fn keypoints(&self) -> usize {
        self.layout().map_or(0, Layout::keypoints)
    }

    /// How it writes masks, if it does.
    pub fn masks(&self) -> Option<Masks> {
        self.layout().and_then(|layout| layout.masks)
    }

    /// Whether boxes are rotated.
    pub fn is_rotated(&self) -> bool {
        self.layout().is_none_or(|layout| layout.angle.is_some())
    }

    /// What suppresses overlapping boxes if that is not set ([`DetectParams::nms`]): nothing if only peaks are candidates, or the model
    /// has suppressed them itself, by the number of its boxes, or was trained to find nothing twice.
    pub fn usual_nms(&self) -> Nms {
        match () {
            () if self.keeps_anchors => Nms::ClassWise,
            () if self.is_suppressed() => Nms::None,
            () => family(self.kind).usual.nms,
        }
    }

    /// Where its numbers lie; none of a map of text.
    pub(super) fn layout(&self) -> Option<&Layout> {
        self.decoding.layout()
    }

    /// Whether each box has one label, and not a score for each class.
    pub(super) fn has_labels(&self) -> bool {
        self.layout().is_none_or(Layout::has_labels)
    }

    /// Whether the model has certainly suppressed overlaps itself; final boxes in outputs of their own may be of any model.
    fn is_suppressed(&self) -> bool {
        self.has_labels() && self.kind != DecoderKind::Detections
    }

    /// How confidences come about.
    pub(super) fn scores(&self) -> Scores {
        let text = Scores { activation: Activation::None, background: Background::None, factors: 1 };
        self.layout().map_or(text, Layout::scores)
    }

    /// Whether boxes are in 0..1 of the tensor, not in its pixels; `None` where they are in neither.
    pub(super) fn is_normalized(&self) -> Option<bool> {
        self.layout().and_then(Layout::is_normalized)
    }

    /// Whether every class of an anchor is looked at if that is not set, as the model's own library does
    /// ([`DetectParams::multi_label`]).
    pub fn usual_multi_label(&self) -> bool {
        self.layout().is_some_and(|layout| layout.ranking != Ranking::Best)
    }

    /// Boxes that are kept if that is not set ([`DetectParams::top_k_after`]): as many as the model has queries, if its own library
    /// ranks all classes of all queries and keeps that many.
    pub fn usual_top_k_after(&self) -> usize {
        match self.layout().map(|layout| layout.ranking) {
            Some(Ranking::All { kept: Some(kept) }) => kept,
            _ => DetectParams::default().top_k_after,
        }
    }

    /// Refuses parameters that it would have to ignore.
    pub(super) fn check(&self, params: &DetectParams) -> Result<(), DetectError> {
        let soft = match params.nms {
            Nms::SoftLinear => Some("soft-linear"),
            Nms::SoftGaussian { .. } => Some("soft-gaussian"),
            Nms::ClassWise | Nms::Agnostic | Nms::None => None,
        };
        if let Some(nms) = soft.filter(|_| self.is_rotated() && self.kind != DecoderKind::Db) {
            let wanted = "class-wise, class-agnostic or none for decoder yolo-obb, whose boxes are rotated";
            return Err(out_of_range("nms", nms, wanted));
        }
        if params.multi_label && self.has_labels() {
            let kind = self.kind;
            let wanted =
                format!("does not apply to decoder {kind}, whose boxes have one class each: drop it");
            return Err(DetectError::Hint { hint: "multi-label", wanted });
        }
        let suppressed = self.is_suppressed() && params.nms == Nms::None;
        if params.clip_before_nms && (suppressed || self.is_rotated()) {
            let boxes = if self.is_rotated() { "are rotated" } else { "are suppressed already" };
            let wanted = format!("does not apply to decoder {}, whose boxes {boxes}: drop it", self.kind);
            return Err(DetectError::Hint { hint: "clip-before-nms", wanted });
        }
        Ok(())
    }

    /// Centre and size of each anchor's prior box in tensor pixels; or width, height and scale of the centre of each anchor of a cell,
    /// level by level, where boxes are multiples of them.
    pub(super) fn prior_boxes(&self) -> Option<&[[f32; 4]]> {
        match &self.layout()?.coding {
            Coding::Priors { boxes, .. } | Coding::Anchored { sizes: boxes, .. } => Some(boxes),
            _ => None,
        }
    }

    /// Collects the candidates of one frame; checks the actual dimensions.
    pub(super) fn read(
        &self,
        outputs: &[TensorView<'_>],
        into: &mut Collector<'_>,
    ) -> Result<Read<'_>, DetectError> {
        self.check_count(outputs.len())?;
        match &self.decoding {
            Decoding::Text(text) => text.lines(outputs, into).map(Read::Lines),
            Decoding::Layout(layout) => {
                let located = layout.locate(outputs)?;
                reader::read(layout, &located, outputs, into);
                Ok(Read::Boxes(layout, located))
            }
        }
    }

    /// Where the kernels find the numbers of a batch's frames; checks the actual dimensions.
    pub(super) fn locate<T: Shaped>(&self, outputs: &[T]) -> Result<(&Layout, Located), DetectError> {
        self.check_count(outputs.len())?;
        match &self.decoding {
            Decoding::Text(text) => Err(text.not_on_gpu(outputs)),
            Decoding::Layout(layout) => Ok((layout, layout.locate(outputs)?)),
        }
    }

    fn check_count(&self, given: usize) -> Result<(), DetectError> {
        if given == self.outputs { Ok(()) } else { Err(DetectError::Outputs { given, wanted: self.outputs }) }
    }
}

/// What has been read of a frame.
#[allow(
    clippy::large_enum_variant,
    reason = "there is one a frame, on the stack, and nearly all are the large one"
)]
#[derive(Debug)]
pub(super) enum Read<'a> {
    /// Boxes of anchors, where these numbers are.
    Boxes(&'a Layout, Located),
    /// Lines of text, whose boxes in tensor pixels these are, by the candidates' anchors.
    Lines(Vec<Rotated>),
}

/// Finds the decoder for `outputs`, all of the model's outputs in its order, at an input tensor of `input`
/// (width, height) pixels.
///
/// With `requested`, that decoder is taken if it fits, and outputs that it does not read are left aside.
/// Without, the shapes decide: every output must be accounted for (save those of five dimensions, YOLOv5's raw
/// heads), and among the decoders that fit, those whose number of anchors is right at these strides beat those
/// whose shape has no number to check, and these beat those whose number is wrong. So `[1, 300, 6]` at 640x640 is
/// end-to-end, since a yolov5 would have 25200 anchors there; `[1, 25200, 6]` is a yolov5 of one class. Which dimension
/// is the anchors' follows from that there are more of them than channels. With one anchor a cell, `[1, 8400, 85]` may be a
/// yolov5 or a yolox of 80 classes or a yolov8 of 81: labels rule out the one or the other, never both of the first two.
/// A number of keypoints among the hints rules out all decoders without; with
/// neither that nor the classes named, `[1, 56, N]` may be a yolov8 of 52 classes or a yolo-pose of COCO's 17 points. A yolo-obb
/// is never chosen unasked, queries and detectnet-v2 only by their outputs' names, and yolo-anchors only with anchors. If several remain, the caller must say which.
///
/// Dimensions may be open; what is open is checked with each frame. Only float32 and float16 outputs are read; labels and
/// numbers of boxes may be integers.
///
/// # Errors
/// [`DetectError::NoFit`], [`DetectError::RowFormat`], [`DetectError::Queries`], [`DetectError::Anchors`], [`DetectError::Classifier`], [`DetectError::Maps`], [`DetectError::Labels`],
/// [`DetectError::Keypoints`], [`DetectError::Ambiguous`], with `requested`
/// [`DetectError::Unfit`] or [`DetectError::SeveralOutputs`], and [`DetectError::Hint`] for a hint that is wrong or of no use
/// to the decoder.
pub fn choose(
    outputs: &[TensorDesc],
    input: [usize; 2],
    requested: Option<DecoderKind>,
    hints: &Hints,
) -> Result<Decoder, DetectError> {
    hints.validate()?;
    let offer = Offer::new(outputs, input, hints);
    let offered = || outputs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    // Of one channel, its rows would be taken for boxes and scores.
    if requested.is_none() && is_map(&offer) {
        return Err(DetectError::Maps { offered: offered() });
    }
    if matches!(requested, None | Some(DecoderKind::Queries)) && needs_activation(&offer, requested.is_some())
    {
        return Err(DetectError::Queries { offered: offered() });
    }
    let decoder = match (<[_; 1]>::try_from(fits(&offer, requested)), requested) {
        (Ok([(kind, fit)]), _) => {
            // With an anchor count that does not match, a grid decoder has fitted in shape only.
            if kind == DecoderKind::Yolox && fit.evidence == Evidence::Weak {
                let wanted = (family(kind).wanted)(&offer);
                return Err(DetectError::Unfit { kind, offered: offered(), input, wanted });
            }
            let proven = fit.evidence > Evidence::Weak;
            let (classes, decoding, outputs) = (fit.classes, fit.decoding, outputs.len());
            let finals = decoding.layout().filter(|layout| layout.has_labels());
            let keeps_anchors =
                finals.is_some_and(|layout| offer.has_anchors(layout.output_of(layout.boxes)));
            Decoder { kind, classes, decoding, outputs, proven, keeps_anchors }
        }
        (Err(none), _) if none.is_empty() => return Err(no_fit(&offer, requested, offered())),
        (Err(_), Some(kind)) => {
            return Err(DetectError::SeveralOutputs { kind, offered: offered() });
        }
        (Err(several), None) => {
            let mut candidates: Vec<_> = several.iter().map(|(kind, fit)| (*kind, fit.classes)).collect();
            candidates.dedup_by_key(|(kind, _)| *kind);
            // Rows of final boxes in an order that is not stated are not chosen without a hint, but they may be what is meant.
            let certain = several.iter().any(|(_, fit)| fit.evidence == Evidence::Exact);
            let named = candidates.iter().any(|(kind, _)| *kind == DecoderKind::EndToEnd);
            if !certain && !named && needs_format(&offer) {
                candidates.push((DecoderKind::EndToEnd, None));
            }
            if let [(kind, _)] = candidates[..] {
                return Err(DetectError::SeveralOutputs { kind, offered: offered() });
            }
            return Err(DetectError::Ambiguous { offered: offered(), input, candidates });
        }
    };
    family(decoder.kind).check(hints)?;
    Ok(decoder)
}

/// The best fits of the decoder that is requested, or of all that may be chosen unasked.
fn fits(offer: &Offer<'_>, requested: Option<DecoderKind>) -> Vec<(DecoderKind, Fit)> {
    match requested {
        Some(kind) => best(offer, &[kind], |_| true),
        None => {
            let kinds: Vec<_> = DecoderKind::ALL
                .iter()
                .copied()
                .filter(|kind| offer.hints.keypoints.is_none() || family(*kind).takes(Hint::Keypoints))
                .collect();
            best(offer, &kinds, |fit| fit.reads == offer.relevant() && !fit.far_fetched)
        }
    }
}

/// Why nothing fits.
fn no_fit(offer: &Offer<'_>, requested: Option<DecoderKind>, offered: String) -> DetectError {
    let input = offer.input;
    if matches!(requested, None | Some(DecoderKind::EndToEnd)) && needs_format(offer) {
        return DetectError::RowFormat { offered };
    }
    if matches!(requested, None | Some(DecoderKind::YoloAnchors)) && needs_anchors(offer) {
        return DetectError::Anchors { offered, input };
    }
    if let Some(labels) = offer.hints.classes {
        let hints = Hints { classes: None, ..offer.hints.clone() };
        let unlabelled = fits(&Offer::new(offer.outputs, input, &hints), requested);
        // What is asked for is taken with little evidence, too, but a yolox.
        let is_asked = requested.is_some_and(|kind| kind != DecoderKind::Yolox);
        let found = unlabelled.iter().filter(|(_, fit)| is_asked || fit.evidence > Evidence::Weak);
        let found: Vec<_> = found
            .filter_map(|(kind, fit)| {
                let classes = fit.classes?;
                let word = if classes == 1 { "class" } else { "classes" };
                Some(format!("{classes} {word} as {kind} reads them"))
            })
            .collect();
        if !found.is_empty() {
            return DetectError::Labels { offered, found: found.join(", or "), labels };
        }
    }
    if let Some(keypoints) = offer.hints.keypoints {
        let hints = Hints { keypoints: None, ..offer.hints.clone() };
        let unnumbered = fits(&Offer::new(offer.outputs, input, &hints), requested);
        let found = unnumbered.iter().filter(|(_, fit)| fit.evidence > Evidence::Weak);
        let found = found
            .map(|(kind, fit)| (kind, fit.decoding.layout().map_or(0, Layout::keypoints)))
            .filter(|(_, points)| *points > 0);
        let found: Vec<_> = found.map(|(kind, points)| format!("{points} as {kind} reads them")).collect();
        if !found.is_empty() {
            return DetectError::Keypoints { offered, found: found.join(", or "), keypoints };
        }
    }
    match requested {
        Some(kind) => DetectError::Unfit { kind, offered, input, wanted: (family(kind).wanted)(offer) },
        None if !offer.outputs.is_empty() && offer.outputs.iter().all(is_row_of_scores) => {
            DetectError::Classifier { offered }
        }
        None => DetectError::NoFit { offered, input },
    }
}

/// Whether an output is `[1, C]`, or that and dimensions of 1 after it, as a classifier's scores are.
fn is_row_of_scores(output: &TensorDesc) -> bool {
    matches!(&output.dims[..], [None | Some(1), classes, rest @ ..]
        if *classes != Some(1) && rest.iter().all(|d| *d == Some(1)))
}

/// Whether the only output has the input's height and width in four dimensions, both divided by the same number, as masks and
/// confidence maps have.
fn is_map(offer: &Offer<'_>) -> bool {
    let [width, height] = offer.input;
    let is_reduced = |rows: usize, columns: usize| {
        columns > 1
            && rows > 1
            && width.is_multiple_of(columns)
            && height.is_multiple_of(rows)
            && width / columns == height / rows
    };
    match (offer.outputs, &offer.maps[..]) {
        ([_], [maps]) => {
            let [a, b, c] = maps.dims;
            is_reduced(b, c) || is_reduced(a, b)
        }
        _ => false,
    }
}

/// The fits of `kinds` with the best evidence.
fn best(
    offer: &Offer<'_>,
    kinds: &[DecoderKind],
    admissible: impl Fn(&Fit) -> bool,
) -> Vec<(DecoderKind, Fit)> {
    let mut fits: Vec<_> = kinds
        .iter()
        .flat_map(|&kind| (family(kind).fits)(offer).into_iter().map(move |fit| (kind, fit)))
        .filter(|(_, fit)| admissible(fit))
        .collect();
    let evidence = fits.iter().map(|(_, fit)| fit.evidence).max();
    fits.retain(|(_, fit)| Some(fit.evidence) == evidence);
    fits
}
