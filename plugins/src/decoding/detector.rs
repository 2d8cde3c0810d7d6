//! Whether outputs that an element cannot read are those of a detector, for the error to name gpunms.

use cudainfer_kernels::detect::{DecoderKind, DetectError, Hints, choose};

use super::Incoming;

impl Incoming<'_> {
    /// The error of the element made by `factory`, which cannot read the model's outputs, if they are a detector's.
    pub fn detector(&self, factory: &str) -> Option<String> {
        let outputs = &self.model.outputs;
        let is_detector = match choose(outputs, self.model.input, None, &Hints::default()) {
            // Maps of the centres of objects could be those of points, too.
            Ok(decoder) => !matches!(decoder.kind(), DecoderKind::Centernet | DecoderKind::Centerface),
            Err(e) => matches!(e, DetectError::Ambiguous { .. } | DetectError::Queries { .. }),
        };
        is_detector.then(|| {
            let list: Vec<_> = outputs.iter().map(ToString::to_string).collect();
            let list = list.join(", ");
            format!(
                "the model's outputs {list} look like a detector's boxes. Put gpunms in place of {factory}"
            )
        })
    }
}
