//! How many images a model's file takes in one run.

use std::cell::Cell;
use std::io::{self, Read};
use std::path::Path;

use prost::Message as _;

use super::message::{Message, read_file};
use super::proto;

const GRAPH_INPUT: u64 = 11;

/// Maximum length in bytes of the description of an input.
const LONGEST_INPUT: u64 = 1 << 16;

/// The fixed batch of a model's image, `[N, C, H, W]` or `[N, H, W, C]`: its first input with four dimensions. `None` if the batch is
/// open, if no input is such an image, or if the file cannot be read as ONNX.
pub fn fixed_batch(path: &Path) -> Option<u64> {
    let found = Cell::new(None);
    let look = |input: &mut Message<'_>| -> io::Result<bool> {
        let length = input.end.saturating_sub(input.file.position());
        if length > LONGEST_INPUT {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut bytes = Vec::new();
        Read::take(&mut *input.file, length).read_to_end(&mut bytes)?;
        let shape = || {
            let input = proto::Value::decode(bytes.as_slice()).ok()?;
            input.value_type()?.tensor?.shape
        };
        let Some(shape) = shape().filter(|shape| shape.dims.len() == 4) else { return Ok(false) };
        found.set(shape.dims.first().and_then(|batch| u64::try_from(batch.size?).ok()));
        Ok(true)
    };
    read_file(path, |model| model.graph_has(GRAPH_INPUT, look)).ok()?;
    found.get().filter(|batch| *batch > 0)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{tensor_value, written};
    use super::*;

    #[test]
    fn the_batch_is_that_of_the_image_and_an_open_one_is_none() {
        let few = || tensor_value("size", 1, &["1", "2"]);
        let image = |batch: &str| tensor_value("image", 1, &[batch, "3", "64", "64"]);
        for (name, inputs, expected) in [
            ("fixed", vec![image("1")], Some(1)),
            ("four", vec![few(), image("4")], Some(4)),
            ("open", vec![image("batch")], None),
            ("no-image", vec![few()], None),
        ] {
            let graph = proto::Graph { inputs, ..proto::Graph::default() };
            let model = proto::Model { graph: Some(graph), ..proto::Model::default() };
            let path = written(name, &model.encode_to_vec());
            assert_eq!(fixed_batch(&path), expected, "{name}");
            std::fs::remove_file(path).unwrap();
        }
        assert_eq!(fixed_batch(Path::new("/nonexistent")), None);
    }
}
