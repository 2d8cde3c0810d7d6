//! The tensors of a model with masks that gpunms passes on to segmask: the prototypes, and the coefficients of the objects that
//! it has put on the frame; or the maps of all queries or boxes, and the numbers of those that belong to the objects. Caps are
//! negotiated so that only elements that read tensors get them.

use cudainfer_kernels::detect::{Attached, Decoder, Masks};
use cudainfer_kernels::tensor::{TensorDesc, TensorType};

use crate::caps::{self, MODEL, ModelOutputs, OUTPUTS, ROI};
use crate::decoding::hand_on;
use crate::meta::mask::{COEFFICIENTS, rows_name};
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
    // A region's masks are in the region: no element puts them together.
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
    let (output, rows) = match masks {
        Masks::Prototypes { output, coefficients } => {
            let dims = vec![None, Some(coefficients)];
            (output, TensorDesc { name: COEFFICIENTS.into(), ty: TensorType::Float32, dims })
        }
        Masks::Maps { output, extent } => {
            let name = rows_name(extent).into();
            (output, TensorDesc { name, ty: TensorType::Int32, dims: vec![None] })
        }
    };
    let values = model.outputs.get(output)?.clone();
    let mut fields = gst::Structure::new_empty("tensors");
    fields.set(OUTPUTS, caps::outputs_value(&[values, rows]));
    let incoming = incoming.structure(0)?;
    for name in ["tensor-width", "tensor-height", MODEL] {
        if let Ok(value) = incoming.value(name) {
            fields.set_value(name, value.clone());
        }
    }
    Some(fields)
}

/// The tensors of a frame whose objects carry `attached`, and which came with `set`.
pub(super) fn tensors(set: &TensorSet, masks: Masks, attached: &Attached) -> Option<TensorSet> {
    let (output, desc, bytes) = match masks {
        Masks::Prototypes { output, coefficients: each } => {
            let Attached { coefficients, .. } = attached;
            let dims = [coefficients.len() / each, each];
            let bytes: Vec<u8> = coefficients.iter().flat_map(|v| v.to_ne_bytes()).collect();
            (output, TensorDesc::fixed(COEFFICIENTS, TensorType::Float32, &dims), bytes)
        }
        Masks::Maps { output, extent } => {
            let Attached { rows, .. } = attached;
            let bytes: Vec<u8> = rows.iter().flat_map(|v| v.to_ne_bytes()).collect();
            (output, TensorDesc::fixed(rows_name(extent), TensorType::Int32, &[rows.len()]), bytes)
        }
    };
    let values = set.tensors.get(output)?.clone();
    let rows = Tensor { desc, data: gst::Buffer::from_slice(bytes) };
    Some(TensorSet { tensors: vec![values, rows], batch: None, ..set.clone() })
}
