//! The types of operators' outputs, as far as they are not those of the first input.

use super::super::proto::{Attribute, BOOL, FLOAT, FLOAT16, INT64, Node, Tensor};
use super::error::NoFloat16Form;

/// The types of a node's outputs, in the model as it is; `known` has those of its inputs.
///
/// # Errors
/// The types of the operator are not known.
pub(super) fn of_outputs(
    node: &Node,
    known: impl Fn(&str) -> Option<i32>,
) -> Result<Vec<i32>, NoFloat16Form> {
    let operator = node.operator.as_str();
    let unknown = || NoFloat16Form::Unknown(operator.to_owned());
    if operator.ends_with("QuantizeLinear")
        || operator.ends_with("quantizeLinear")
        || operator.contains("Integer")
        || operator.starts_with("QLinear")
    {
        return Err(NoFloat16Form::Quantised(operator.to_owned()));
    }
    let own = node.domain.as_deref().is_none_or(|domain| domain.is_empty() || domain == "ai.onnx");
    // Graphs inside of a node read values from outside.
    if !own || node.attributes.iter().any(|attribute| attribute.g.is_some() || !attribute.graphs.is_empty()) {
        return Err(unknown());
    }
    let input = |slot: usize| node.inputs.get(slot).and_then(|name| known(name)).ok_or_else(unknown);
    let attribute = |name: &str| node.attribute(name).and_then(|a| a.i).and_then(|i| i32::try_from(i).ok());
    let first = match operator {
        "Shape" | "Size" | "ArgMax" | "ArgMin" | "NonZero" | "NonMaxSuppression" => INT64,
        "Equal" | "Less" | "LessOrEqual" | "Greater" | "GreaterOrEqual" | "And" | "Or" | "Not" | "Xor"
        | "IsNaN" | "IsInf" => BOOL,
        "Cast" => attribute("to").ok_or_else(unknown)?,
        "CastLike" | "Where" => input(1)?,
        "OneHot" => input(2)?,
        "ConstantOfShape" => {
            node.attribute("value").and_then(|value| value.t.as_ref()?.data_type).unwrap_or(FLOAT)
        }
        "RandomNormal" | "RandomUniform" => attribute("dtype").unwrap_or(FLOAT),
        "EyeLike" | "RandomNormalLike" | "RandomUniformLike" | "Multinomial" | "Bernoulli" => {
            attribute("dtype").map_or_else(|| input(0), Ok)?
        }
        operator if operator.starts_with("Sequence") || operator.starts_with("Optional") => {
            return Err(unknown());
        }
        _ => input(0)?,
    };
    let others = match operator {
        "TopK" | "MaxPool" | "Unique" => INT64,
        "Dropout" => BOOL,
        _ => first,
    };
    Ok((0..node.outputs.len()).map(|output| if output == 0 { first } else { others }).collect())
}

/// Whether an operator's input is float32 whatever the others are: scales.
pub(super) fn is_always_float32(operator: &str, slot: usize) -> bool {
    matches!((operator, slot), ("Resize", 1 | 2) | ("Upsample", 1))
}

/// The float32 tensor that a node of no inputs gives.
pub(super) fn constant(node: &Node) -> Option<Tensor> {
    if node.operator != "Constant" {
        return None;
    }
    let scalar = |dims: Vec<i64>, values: Vec<f32>| Tensor {
        dims,
        data_type: Some(FLOAT),
        float_data: values,
        ..Tensor::default()
    };
    let attribute = node.attributes.first()?;
    match attribute.name.as_str() {
        "value" => attribute.t.clone(),
        "value_float" => Some(scalar(Vec::new(), vec![attribute.f.unwrap_or_default()])),
        "value_floats" => {
            let count = i64::try_from(attribute.floats.len()).ok()?;
            Some(scalar(vec![count], attribute.floats.clone()))
        }
        "value_int" => Some(Tensor {
            data_type: Some(INT64),
            int64_data: vec![attribute.i.unwrap_or_default()],
            ..Tensor::default()
        }),
        "value_ints" => Some(Tensor {
            dims: vec![i64::try_from(attribute.ints.len()).ok()?],
            data_type: Some(INT64),
            int64_data: attribute.ints.clone(),
            ..Tensor::default()
        }),
        _ => None,
    }
}

/// Makes a node give float16 where it itself states that it gives float32.
pub(super) fn to_float16(node: &mut Node) {
    let operator = node.operator.clone();
    for attribute in &mut node.attributes {
        match (operator.as_str(), attribute.name.as_str()) {
            ("Cast", "to") | ("EyeLike", "dtype") if attribute.i == Some(FLOAT.into()) => {
                attribute.i = Some(FLOAT16.into());
            }
            ("ConstantOfShape", "value") => {
                if let Some(value) = attribute.t.as_mut().filter(|value| value.data_type == Some(FLOAT)) {
                    *value = value.float16("");
                }
            }
            _ => (),
        }
    }
    if operator == "ConstantOfShape" && node.attribute("value").is_none() {
        let zero = Tensor { dims: vec![1], float_data: vec![0.0], ..Tensor::default() };
        let value = Attribute {
            name: "value".into(),
            kind: Some(4),
            t: Some(zero.float16("")),
            ..Attribute::default()
        };
        node.attributes.push(value);
    }
}
