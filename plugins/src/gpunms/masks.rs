//! The tensors of a model with a mask head that gpunms passes on to segmask: the prototypes, and the coefficients of the
//! objects that it has put on the frame. Caps are negotiated so that only elements that read tensors get them.

use cudainfer_kernels::detect::{Decoder, Masks};
use cudainfer_kernels::tensor::{TensorDesc, TensorType};

use crate::caps::{self, MODEL, ModelOutputs, OUTPUTS, ROI};
use crate::decoding::hand_on;
use crate::meta::mask::COEFFICIENTS;
use crate::meta::tensor::{Tensor, TensorSet};

/// Chooses among the caps `offered` downstream: frames with the masks' tensors, if `decoder` has some and the caps of the
/// `peer` name tensors or allow nothing else; plain frames otherwise.
pub(super) fn fixate(
    incoming: &gst::Caps,
    offered: &gst::Caps,
    peer: Option<&gst::Caps>,
    decoder: impl FnOnce() -> Option<Decoder>,
) -> gst::Caps {
    let plain = hand_on::only(offered, false);
    let wanted = plain.is_empty() || hand_on::is_asked_for(peer);
    // A region's masks are in the region: nothing puts them together.
    let whole = incoming.structure(0).is_some_and(|s| !s.has_field(ROI));
    let fields = if wanted && whole { decoder().and_then(|d| fields(incoming, d.masks()?)) } else { None };
    match fields {
        Some(fields) => caps::with_fields(&hand_on::only(offered, true), &fields),
        None if plain.is_empty() => offered.clone(),
        None => plain,
    }
}

/// Their description in caps.
fn fields(incoming: &gst::Caps, masks: Masks) -> Option<gst::Structure> {
    let model = ModelOutputs::of(incoming).ok()?;
    let prototypes = model.outputs.get(masks.prototypes)?.clone();
    let coefficients = TensorDesc {
        name: COEFFICIENTS.into(),
        ty: TensorType::Float32,
        dims: vec![None, Some(masks.coefficients)],
    };
    let mut fields = gst::Structure::new_empty("tensors");
    fields.set(OUTPUTS, caps::outputs_value(&[prototypes, coefficients]));
    let incoming = incoming.structure(0)?;
    for name in ["tensor-width", "tensor-height", MODEL] {
        if let Ok(value) = incoming.value(name) {
            fields.set_value(name, value.clone());
        }
    }
    Some(fields)
}

/// The tensors of a frame whose objects have these coefficients, and which came with `set`.
pub(super) fn tensors(set: &TensorSet, masks: Masks, coefficients: &[f32]) -> Option<TensorSet> {
    let prototypes = set.tensors.get(masks.prototypes)?.clone();
    let count = coefficients.len() / masks.coefficients;
    let bytes: Vec<u8> = coefficients.iter().flat_map(|v| v.to_ne_bytes()).collect();
    let coefficients = Tensor {
        desc: TensorDesc::fixed(COEFFICIENTS, TensorType::Float32, &[count, masks.coefficients]),
        data: gst::Buffer::from_slice(bytes),
    };
    Some(TensorSet { tensors: vec![prototypes, coefficients], batch: None, ..set.clone() })
}
