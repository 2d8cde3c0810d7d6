//! The channels-last form of a model: its image comes as `[N, H, W, C]`, and a transposition opens the graph. Where convolutions
//! work on channels-last tensors, ONNX Runtime begins with the opposite one, and leaves both out.

use prost::Message;

use super::proto::{Attribute, FLOAT, FLOAT16, Graph, Model, Node, Type, Value};

/// The suffix of the image's name in this form.
const SUFFIX: &str = "/channels-last";
/// Channels of an image. With one, both orders are the same.
const CHANNELS: std::ops::RangeInclusive<i64> = 2..=4;
/// Where the dimensions `[N, C, H, W]` are in `[N, H, W, C]`.
const FROM_LAST: [i64; 4] = [0, 3, 1, 2];
/// `AttributeProto.AttributeType.INTS`.
const INTS: i32 = 7;

/// Why there is no channels-last form: the end of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoChannelsLastForm {
    /// The bytes are no model: the reason.
    #[error("it is not an ONNX model that can be read ({0})")]
    Unreadable(String),
    /// The weights are elsewhere.
    #[error("its weights are in files of their own")]
    External,
    /// This number of inputs could be the image.
    #[error("{0} of its inputs have four dimensions, and only one can be the image")]
    Images(usize),
    /// The input of this name is no image.
    #[error("its input '{0}' is not an image of 2 to 4 channels in float32 or float16")]
    NoImage(String),
}

/// The name that the image of this name has in the form.
pub fn channels_last_name(image: &str) -> String {
    format!("{image}{SUFFIX}")
}

/// The name in the model of the image that has this name in the form; nothing for other inputs.
pub fn name_before(input: &str) -> Option<&str> {
    input.strip_suffix(SUFFIX)
}

/// Makes the channels-last form of the ONNX file with these bytes.
///
/// # Errors
/// [`NoChannelsLastForm`].
pub fn channels_last_form(bytes: &[u8]) -> Result<Vec<u8>, NoChannelsLastForm> {
    let mut model = Model::decode(bytes).map_err(|e| NoChannelsLastForm::Unreadable(e.to_string()))?;
    let graph =
        model.graph.as_mut().ok_or_else(|| NoChannelsLastForm::Unreadable("it has no graph".into()))?;
    // Files of weights are found only beside the model's file, and ONNX Runtime is given bytes.
    if graph.initializers.iter().any(|tensor| tensor.is_external()) {
        return Err(NoChannelsLastForm::External);
    }
    let (image, permuted) = image(graph)?;
    let name = std::mem::take(&mut image.name);
    image.name = channels_last_name(&name);
    image.kind = Some(permuted.encode_to_vec());
    // All nodes that read the image, in graphs inside of nodes as well, still find it by its name.
    let transposition = transposition(&image.name, &name);
    graph.nodes.insert(0, transposition);
    Ok(model.encode_to_vec())
}

/// The only input of four dimensions, and its type with the channels last.
fn image(graph: &mut Graph) -> Result<(&mut Value, Type), NoChannelsLastForm> {
    let Graph { inputs, initializers, .. } = graph;
    // Old files list their weights among the inputs.
    let is_weight = |input: &Value| initializers.iter().any(|tensor| tensor.name() == input.name);
    let shape = |kind: &Type| kind.tensor.as_ref()?.shape.as_ref().map(|shape| shape.dims.len());
    let mut images: Vec<_> = inputs
        .iter_mut()
        .filter(|input| !is_weight(input))
        .filter_map(|input| {
            input.value_type().filter(|kind| shape(kind) == Some(4)).map(|kind| (input, kind))
        })
        .collect();
    let count = images.len();
    let (1, Some((image, mut kind))) = (count, images.pop()) else {
        return Err(NoChannelsLastForm::Images(count));
    };
    let no_image = NoChannelsLastForm::NoImage(image.name.clone());
    let tensor = kind.tensor.as_mut().filter(|tensor| matches!(tensor.element, Some(FLOAT | FLOAT16)));
    let dims = tensor.and_then(|tensor| tensor.shape.as_mut()).map(|shape| &mut shape.dims);
    match dims {
        Some(dims) if dims[1].size.is_some_and(|channels| CHANNELS.contains(&channels)) => {
            dims[1..].rotate_left(1);
        }
        _ => return Err(no_image),
    }
    Ok((image, kind))
}

/// The node that gives `image` with its channels first.
fn transposition(channels_last: &str, image: &str) -> Node {
    let perm =
        Attribute { name: "perm".into(), kind: Some(INTS), ints: FROM_LAST.to_vec(), ..Attribute::default() };
    Node {
        inputs: vec![channels_last.to_owned()],
        outputs: vec![image.to_owned()],
        name: Some(format!("{channels_last}/transpose")),
        operator: "Transpose".into(),
        attributes: vec![perm],
        ..Node::default()
    }
}

#[cfg(test)]
mod tests;
