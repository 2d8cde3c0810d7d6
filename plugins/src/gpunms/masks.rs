//! The tensors of a model with a mask head that gpunms passes on to segmask: the prototypes, and the coefficients of the
//! objects that it has put on the frame. Caps are negotiated so that only elements that read tensors get them.

use cudainfer_kernels::detect::{Decoder, Masks};
use cudainfer_kernels::tensor::{TensorDesc, TensorType};

use crate::caps::{self, MODEL, ModelOutputs, OUTPUTS, ROI};
use crate::meta::mask::COEFFICIENTS;
use crate::meta::tensor::{Tensor, TensorSet};

/// The source pad's template: plain frames, and frames with these tensors.
pub(super) fn src_template() -> gst::Caps {
    let mut caps = caps::any_video();
    caps.merge(caps::with_feature(&caps::any_video()));
    caps
}

/// For BaseTransform's `transform_caps`: [`caps::consumed`], and downstream frames with tensors too.
pub(super) fn transform(
    direction: gst::PadDirection,
    from: &gst::Caps,
    filter: Option<&gst::Caps>,
) -> gst::Caps {
    let mut other = caps::consumed(direction, from, None);
    if direction == gst::PadDirection::Sink {
        let tensors = caps::with_feature(&other);
        other.merge(tensors);
    }
    match filter {
        Some(filter) => filter.intersect_with_mode(&other, gst::CapsIntersectMode::First),
        None => other,
    }
}

/// Chooses among the caps `offered` downstream: frames with the masks' tensors, if `decoder` has some and the caps of the
/// `peer` name tensors or allow nothing else; plain frames otherwise.
pub(super) fn fixate(
    incoming: &gst::Caps,
    offered: &gst::Caps,
    peer: Option<&gst::Caps>,
    decoder: impl FnOnce() -> Option<Decoder>,
) -> gst::Caps {
    let names_tensors = |caps: &gst::Caps| {
        // Tensors of regions are not these.
        let named = |(s, f): (&gst::StructureRef, &gst::CapsFeaturesRef)| {
            !f.is_any() && f.contains(caps::FEATURE) && !s.has_field(caps::ROI)
        };
        caps.iter_with_features().any(named)
    };
    let only = |tensors: bool| -> gst::Caps {
        let structures = offered.iter_with_features().filter(|(_, f)| f.contains(caps::FEATURE) == tensors);
        structures.map(|(s, f)| (s.to_owned(), f.to_owned())).collect()
    };
    let plain = only(false);
    let wanted = plain.is_empty() || peer.is_some_and(names_tensors);
    // A region's masks are in the region: nothing puts them together.
    let whole = incoming.structure(0).is_some_and(|s| !s.has_field(ROI));
    let fields = if wanted && whole { decoder().and_then(|d| fields(incoming, d.masks()?)) } else { None };
    match fields {
        Some(fields) => caps::with_fields(&only(true), &fields),
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
