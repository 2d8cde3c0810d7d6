//! A look into an ONNX file: of what type its weights are.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

// Field numbers of onnx.proto, and the one value of `TensorProto.DataType` that matters.
const MODEL_GRAPH: u64 = 7;
const GRAPH_INITIALIZER: u64 = 5;
const TENSOR_DATA_TYPE: u64 = 2;
const FLOAT16: u64 = 10;

/// Whether any of the model's weights are float16; no, where the file cannot be read as ONNX.
pub(super) fn has_float16_weights(path: &Path) -> bool {
    let look = || -> io::Result<bool> {
        let file = File::open(path)?;
        let end = file.metadata()?.len();
        graph(&mut Message { file: &mut BufReader::new(file), end })
    };
    look().unwrap_or(false)
}

fn graph(model: &mut Message<'_>) -> io::Result<bool> {
    while let Some((field, value)) = model.next()? {
        let Value::Message(end) = value else { continue };
        if field == MODEL_GRAPH {
            let mut graph = Message { file: model.file, end };
            while let Some((field, value)) = graph.next()? {
                let Value::Message(end) = value else { continue };
                if field == GRAPH_INITIALIZER && is_float16(&mut Message { file: graph.file, end })? {
                    return Ok(true);
                }
                graph.skip_to(end)?;
            }
        }
        model.skip_to(end)?;
    }
    Ok(false)
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

/// A protocol buffer message in a file, read up to a position.
struct Message<'a> {
    file: &'a mut BufReader<File>,
    end: u64,
}

enum Value {
    Number(u64),
    /// Bytes, text or a message, up to this position; it is read or skipped by the caller.
    Message(u64),
}

impl Message<'_> {
    /// The next field's number and value.
    fn next(&mut self) -> io::Result<Option<(u64, Value)>> {
        if self.file.stream_position()? >= self.end {
            return Ok(None);
        }
        let key = self.number()?;
        let value = match key & 7 {
            0 => Value::Number(self.number()?),
            1 => Value::Message(self.file.stream_position()? + 8),
            2 => {
                let bytes = self.number()?;
                Value::Message(self.file.stream_position()?.saturating_add(bytes))
            }
            5 => Value::Message(self.file.stream_position()? + 4),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        };
        match value {
            Value::Message(end) if end > self.end => Err(io::ErrorKind::InvalidData.into()),
            value => Ok(Some((key >> 3, value))),
        }
    }

    fn skip_to(&mut self, position: u64) -> io::Result<()> {
        let now = self.file.stream_position()?;
        let far = i64::try_from(position).unwrap_or(i64::MAX) - i64::try_from(now).unwrap_or(i64::MAX);
        // What is buffered stays buffered.
        self.file.seek_relative(far)
    }

    /// A number of up to ten bytes with seven bits each, the lowest first.
    fn number(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            self.file.read_exact(&mut byte)?;
            number |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
    }

    fn written(name: &str, bytes: &[u8]) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("cudainfer-onnx-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn weights_of_float16_are_found_behind_others_and_nothing_else_is_taken_for_them() {
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
}
