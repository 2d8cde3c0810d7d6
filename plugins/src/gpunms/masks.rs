//! The tensors that gpunms adds to the outputs of a model with masks, for segmask: the coefficients of the objects that it has put
//! on the frame, or the numbers of those maps of all queries or boxes that belong to them; and which objects these are.

use cudainfer_kernels::detect::{Attached, Masks};
use cudainfer_kernels::tensor::{TensorDesc, TensorType};

use crate::caps::{self, MASKS, ModelOutputs};
use crate::meta::mask::{COEFFICIENTS, OBJECTS, rows_name};
use crate::meta::tensor::Tensor;

/// Their description in caps.
pub(super) fn fields(incoming: &gst::CapsRef, masks: Option<Masks>) -> gst::Structure {
    let described = || {
        let model = ModelOutputs::of(incoming).ok()?;
        let (output, rows) = match masks? {
            Masks::Prototypes { output, coefficients } => {
                let dims = vec![None, Some(coefficients)];
                (output, TensorDesc { name: COEFFICIENTS.into(), ty: TensorType::Float32, dims })
            }
            Masks::Maps { output, extent } => (output, numbers(rows_name(extent), None)),
        };
        Some(caps::outputs_value(&[model.outputs.get(output)?.clone(), rows, numbers(OBJECTS, None)]))
    };
    gst::Structure::builder("tensors").field_if_some(MASKS, described()).build()
}

/// The tensors of a frame whose objects, with these ids, carry `attached`.
pub(super) fn tensors(masks: Masks, attached: &Attached, ids: &[i32]) -> Vec<Tensor> {
    let integers = |name: &str, values: Vec<u8>| Tensor {
        desc: numbers(name, Some(values.len() / size_of::<i32>())),
        data: gst::Buffer::from_slice(values),
    };
    let rows = match masks {
        Masks::Prototypes { coefficients: each, .. } => {
            let Attached { coefficients, .. } = attached;
            let dims = [coefficients.len() / each, each];
            let bytes: Vec<u8> = coefficients.iter().flat_map(|v| v.to_ne_bytes()).collect();
            let desc = TensorDesc::fixed(COEFFICIENTS, TensorType::Float32, &dims);
            Tensor { desc, data: gst::Buffer::from_slice(bytes) }
        }
        Masks::Maps { extent, .. } => {
            integers(rows_name(extent), attached.rows.iter().flat_map(|v| v.to_ne_bytes()).collect())
        }
    };
    vec![rows, integers(OBJECTS, ids.iter().flat_map(|id| id.to_ne_bytes()).collect())]
}

fn numbers(name: &str, count: Option<usize>) -> TensorDesc {
    TensorDesc { name: name.into(), ty: TensorType::Int32, dims: vec![count] }
}
