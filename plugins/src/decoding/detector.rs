//! Whether outputs that an element cannot read are those of a detector, for the error to name gpunms.

use cudainfer_kernels::detect::{Decoder, DecoderKind, DetectError, Hints, choose};

use super::Incoming;

/// Decoders of one output whose shape shows it.
const GRID_DECODERS: [DecoderKind; 4] =
    [DecoderKind::Yolov5, DecoderKind::Yolov8, DecoderKind::Yolox, DecoderKind::EndToEnd];

impl Incoming<'_> {
    /// The error of the element made by `factory`, which cannot read the model's outputs, if they are a detector's.
    pub fn detector(&self, factory: &str) -> Option<String> {
        let is_detector = match self.as_detections(None) {
            // Maps of the centres of objects could be those of points, too.
            Ok(decoder) => !matches!(decoder.kind(), DecoderKind::Centernet | DecoderKind::Centerface),
            Err(e) => matches!(e, DetectError::Ambiguous { .. } | DetectError::Queries { .. }),
        };
        is_detector.then(|| self.in_place_of(factory))
    }

    /// The same for an element that could read the outputs: only if the number of anchors shows that they are a detector's, of
    /// whichever family.
    pub fn certain_detector(&self, factory: &str) -> Option<String> {
        let is_proven = |kind: &DecoderKind| self.as_detections(Some(*kind)).is_ok_and(|d| d.is_proven());
        GRID_DECODERS.iter().any(is_proven).then(|| self.in_place_of(factory))
    }

    fn as_detections(&self, kind: Option<DecoderKind>) -> Result<Decoder, DetectError> {
        choose(&self.model.outputs, self.model.input, kind, &Hints::default())
    }

    fn in_place_of(&self, factory: &str) -> String {
        let list: Vec<_> = self.model.outputs.iter().map(ToString::to_string).collect();
        let list = list.join(", ");
        let or = match factory {
            "segmask" => ", or set a model that gives its objects masks, such as YOLO11n-seg",
            _ => "",
        };
        format!(
            "the model's outputs {list} look like a detector's boxes. Put gpunms in place of {factory}{or}"
        )
    }
}
