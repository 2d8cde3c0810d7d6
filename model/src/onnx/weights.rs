//! The type of a model's weights, and the files that they are in.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::message::{Message, Value, read_file};
use super::{LONGEST_ENTRY, MODEL_GRAPH};

// Field numbers of onnx.proto, and the one value of `TensorProto.DataType` that matters.
const GRAPH_INITIALIZER: u64 = 5;
const TENSOR_DATA_TYPE: u64 = 2;
const TENSOR_EXTERNAL_DATA: u64 = 13;
const FLOAT16: u64 = 10;

/// Maximum depth of nested messages, which is also that of protocol buffers' own readers.
const DEEPEST: usize = 100;

/// Whether any of the model's weights are float16; false if the file cannot be read as ONNX.
pub fn has_float16_weights(path: &Path) -> bool {
    read_file(path, |model| model.graph_has(GRAPH_INITIALIZER, is_float16)).unwrap_or(false)
}

/// The files beside a model that contain tensors of it.
///
/// # Errors
/// It cannot be read as ONNX.
pub fn external_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut locations = Vec::new();
    read_file(path, |model| WeightsPart::Model.walk(model, DEEPEST, &mut locations))?;
    locations.sort();
    locations.dedup();
    Ok(locations.into_iter().map(|location| path.with_file_name(location)).collect())
}

/// The messages of onnx.proto on the way to tensors.
#[derive(Clone, Copy)]
enum WeightsPart {
    Model,
    Graph,
    Function,
    Node,
    Attribute,
    Sparse,
    Tensor,
}

impl WeightsPart {
    /// The message in a field; `None` if it contains no tensors.
    fn inner(self, field: u64) -> Option<Self> {
        Some(match (self, field) {
            (Self::Model, MODEL_GRAPH) | (Self::Attribute, 6 | 11) => Self::Graph,
            (Self::Model, 25) => Self::Function,
            (Self::Graph, 1) | (Self::Function, 7) => Self::Node,
            (Self::Node, 5) => Self::Attribute,
            (Self::Graph, 15) | (Self::Attribute, 22 | 23) => Self::Sparse,
            (Self::Graph, GRAPH_INITIALIZER) | (Self::Attribute, 5 | 10) | (Self::Sparse, 1 | 2) => {
                Self::Tensor
            }
            _ => return None,
        })
    }

    /// Adds the locations of tensors that are in other files.
    fn walk(self, message: &mut Message<'_>, deepest: usize, found: &mut Vec<String>) -> io::Result<()> {
        let deepest = deepest.checked_sub(1).ok_or(io::ErrorKind::InvalidData)?;
        while let Some((field, value)) = message.next()? {
            let Value::Message(end) = value else { continue };
            let mut inner = Message { file: message.file, end };
            if let Some(part) = self.inner(field) {
                part.walk(&mut inner, deepest, found)?;
            } else if let (Self::Tensor, TENSOR_EXTERNAL_DATA) = (self, field) {
                found.extend(location(&mut inner)?);
            }
            message.skip_to(end)?;
        }
        Ok(())
    }
}

/// The value of an entry whose key is `location`.
fn location(entry: &mut Message<'_>) -> io::Result<Option<String>> {
    let (mut key, mut text) = (String::new(), String::new());
    while let Some((field, value)) = entry.next()? {
        let Value::Message(end) = value else { continue };
        let mut bytes = Vec::new();
        let length = end.saturating_sub(entry.file.position());
        if length > LONGEST_ENTRY {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Read::take(&mut *entry.file, length).read_to_end(&mut bytes)?;
        let read = String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData)?;
        if field == 1 { key = read } else { text = read }
    }
    Ok((key == "location").then_some(text))
}

fn is_float16(tensor: &mut Message<'_>) -> io::Result<bool> {
    while let Some((field, value)) = tensor.next()? {
        match value {
            Value::Number(number) if field == TENSOR_DATA_TYPE => return Ok(number == FLOAT16),
            Value::Number(_) => (),
            Value::Message(end) => tensor.skip_to(end)?,
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{field, written};
    use super::*;

    #[test]
    fn weights_of_float16_are_found_after_others_and_nothing_else_is_taken_for_them() {
        // dims = [3] packed, data_type, raw_data.
        let tensor = |ty: u8| [field(1, &[3]), vec![2 << 3, ty], field(9, &[0; 12])].concat();
        let model = |types: &[u8]| {
            let weights = types.iter().flat_map(|ty| field(5, &tensor(*ty)));
            let graph: Vec<u8> = field(2, b"name").into_iter().chain(weights).collect();
            // ir_version, producer_name, graph.
            [vec![1 << 3, 8], field(2, b"test"), field(7, &graph)].concat()
        };
        for (name, bytes, wanted) in [
            ("half", model(&[1, 7, 10]), true),
            ("float", model(&[1, 7, 1]), false),
            ("none", model(&[]), false),
            ("cut", model(&[1, 10])[..30].to_vec(), false),
            ("noise", b"no model at all, but some text that is long enough".to_vec(), false),
        ] {
            let path = written(name, &bytes);
            assert_eq!(has_float16_weights(&path), wanted, "{name}");
            std::fs::remove_file(path).unwrap();
        }
        assert!(!has_float16_weights(Path::new("/nonexistent")));
    }

    #[test]
    fn files_beside_the_model_are_found_wherever_the_tensor_is_and_nesting_has_an_end() {
        let entry = |key: &str, value: &str| {
            field(13, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat())
        };
        let tensor = |file: &str| [entry("offset", "16"), entry("location", file), vec![14 << 3, 1]].concat();
        // A weight of the graph, and one in an attribute of a node in the graph of an attribute.
        let attribute = field(1, &field(5, &field(5, &tensor("b.bin"))));
        let nested = field(1, &field(5, &field(6, &attribute)));
        let graph = [field(5, &tensor("a.bin")), field(5, &tensor("a.bin")), nested].concat();
        let path = written("external", &field(7, &graph));
        let beside = |name: &str| path.with_file_name(name);
        assert_eq!(external_files(&path).unwrap(), [beside("a.bin"), beside("b.bin")]);
        std::fs::remove_file(&path).unwrap();

        assert_eq!(
            external_files(&written("inside", &field(7, &field(5, &[2 << 3, 1])))).unwrap(),
            [""; 0].map(PathBuf::from)
        );
        let mut deep = Vec::new();
        for _ in 0..60 {
            let length = |n: usize| [u8::try_from(n & 0x7f | 0x80).unwrap(), u8::try_from(n >> 7).unwrap()];
            for number in [6, 5, 1] {
                deep = [&[number << 3 | 2], &length(deep.len())[..], &deep].concat();
            }
        }
        let path = written(
            "deep",
            &[&[7 << 3 | 2, 0x80 | (deep.len() & 0x7f) as u8, (deep.len() >> 7) as u8], &deep[..]].concat(),
        );
        assert!(external_files(&path).is_err());
        std::fs::remove_file(path).unwrap();
    }
}
