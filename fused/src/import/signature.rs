//! What a file declares of its inputs and outputs, before any dimensions are given.

use std::collections::HashSet;

use cudainfer_kernels::tensor::TensorDesc;
use cudainfer_model::onnx::proto::{Model, Value};
use prost::Message;

use super::types;
use crate::FusedError;

/// The inputs and the outputs of a model that are tensors of numbers, as its file declares them: dimensions that it leaves open, or does
/// not state, are open. An output without any dimensions declared has none here.
///
/// # Errors
/// [`FusedError::Model`]: the file is no ONNX model.
pub fn signature(bytes: &[u8]) -> Result<[Vec<TensorDesc>; 2], FusedError> {
    let model = Model::decode(bytes).map_err(|e| FusedError::Model(e.to_string()))?;
    let file = model.graph.ok_or_else(|| FusedError::Model("it has no graph".into()))?;
    // Old files list their weights among the inputs.
    let weights: HashSet<&str> =
        file.initializers.iter().filter_map(|tensor| tensor.name.as_deref()).collect();
    let inputs =
        file.inputs.iter().filter(|input| !weights.contains(input.name.as_str())).filter_map(declared);
    Ok([inputs.collect(), file.outputs.iter().filter_map(declared).collect()])
}

fn declared(value: &Value) -> Option<TensorDesc> {
    let tensor = value.value_type()?.tensor?;
    let dims = tensor.shape.unwrap_or_default().dims;
    let dims = dims.iter().map(|dim| dim.size.and_then(|size| usize::try_from(size).ok())).collect();
    Some(TensorDesc { name: value.name.clone(), ty: types::tensor_type(tensor.element?)?, dims })
}
