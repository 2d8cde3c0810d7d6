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

#[cfg(test)]
mod tests {
    use cudainfer_kernels::tensor::TensorType;
    use cudainfer_model::onnx::proto::{Graph, Tensor};
    use cudainfer_model::onnx::samples::tensor_value;

    use super::*;

    #[test]
    fn weights_among_the_inputs_are_none_and_what_is_not_stated_is_open() {
        let graph = Graph {
            inputs: vec![tensor_value("images", 1, &["batch", "3"]), tensor_value("weights", 1, &["8"])],
            outputs: vec![tensor_value("scores", 10, &[])],
            initializers: vec![Tensor { name: Some("weights".into()), ..Tensor::default() }],
            ..Graph::default()
        };
        let bytes = Model { graph: Some(graph), ..Model::default() }.encode_to_vec();
        let [inputs, outputs] = signature(&bytes).unwrap();
        assert_eq!((inputs.len(), &inputs[0].dims[..]), (1, &[None, Some(3)][..]));
        assert_eq!(
            (outputs[0].name.as_str(), outputs[0].ty, outputs[0].dims.len()),
            ("scores", TensorType::Float16, 0)
        );
        assert!(signature(b"no model").is_err());
    }
}
