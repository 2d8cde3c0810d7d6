//! Reads from an ONNX file the type of its weights, which of them are in other files, and what its exporter wrote about it.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use crate::files;

// Field numbers of onnx.proto, and the one value of `TensorProto.DataType` that matters.
const MODEL_PRODUCER: u64 = 2;
const MODEL_GRAPH: u64 = 7;
const MODEL_METADATA: u64 = 14;
const GRAPH_INITIALIZER: u64 = 5;
const TENSOR_DATA_TYPE: u64 = 2;
const TENSOR_EXTERNAL_DATA: u64 = 13;
const FLOAT16: u64 = 10;

/// Maximum length in bytes of the path of a tensor's file: the system's longest path.
const LONGEST_ENTRY: u64 = 4096;

/// Maximum number of entries of metadata that are looked at.
const MOST_ENTRIES: usize = 256;

/// Maximum length in bytes of an entry's value, and of all values together: the names of the 21841 classes of ImageNet-21k take
/// half of it.
const LONGEST_METADATA: u64 = 1 << 20;

/// Maximum depth of nested messages, which is also that of protocol buffers' own readers.
const DEEPEST: usize = 100;

/// Whether any of the model's weights are float16; false if the file cannot be read as ONNX.
pub(crate) fn has_float16_weights(path: &Path) -> bool {
    let look = || -> io::Result<bool> {
        let file = files::open(path)?;
        let end = file.metadata()?.len();
        graph(&mut Message { file: &mut BufReader::new(file), end })
    };
    look().unwrap_or(false)
}

/// The files beside a model that contain tensors of it.
///
/// # Errors
/// It cannot be read as ONNX.
pub(crate) fn external_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let file = files::open(path)?;
    let end = file.metadata()?.len();
    let mut locations = Vec::new();
    Part::Model.walk(&mut Message { file: &mut BufReader::new(file), end }, DEEPEST, &mut locations)?;
    locations.sort();
    locations.dedup();
    Ok(locations.into_iter().map(|location| path.with_file_name(location)).collect())
}

/// What the exporter wrote about the model: text of its own choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Metadata {
    /// The program that made the file.
    pub producer: String,
    /// Keys and values, each key once: the first counts.
    pub entries: BTreeMap<String, String>,
    /// Whether entries were left out: too many, too long, or not UTF-8.
    pub incomplete: bool,
}

impl Metadata {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.get(key).map(String::as_str)
    }
}

/// The metadata of a model; empty, and incomplete, where the file cannot be read as ONNX, which the library that runs it
/// reports better.
pub(crate) fn metadata(path: &Path) -> Metadata {
    let mut found = Metadata::default();
    let mut read = || -> io::Result<()> {
        let file = files::open(path)?;
        let end = file.metadata()?.len();
        let mut model = Message { file: &mut BufReader::new(file), end };
        let mut left = LONGEST_METADATA;
        while let Some((field, value)) = model.next()? {
            let Value::Message(end) = value else { continue };
            let mut inner = Message { file: model.file, end };
            match field {
                MODEL_PRODUCER => found.producer = inner.text(LONGEST_ENTRY)?.unwrap_or_default(),
                MODEL_METADATA if found.entries.len() >= MOST_ENTRIES => found.incomplete = true,
                MODEL_METADATA => match inner.entry(left)? {
                    Some((key, value)) => {
                        left = left.saturating_sub(u64::try_from(key.len() + value.len()).unwrap_or(left));
                        found.entries.entry(key).or_insert(value);
                    }
                    None => found.incomplete = true,
                },
                _ => (),
            }
            model.skip_to(end)?;
        }
        Ok(())
    };
    let read = read();
    found.incomplete |= read.is_err();
    found
}

/// The last operator that changes more about an output than its type or shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The values are probabilities of classes that exclude each other.
    Softmax,
    /// The values are probabilities, each for itself.
    Sigmoid,
    /// A layer of a network, or logarithms of probabilities: the values are logits.
    Logits,
}

impl Ending {
    fn of(operator: &str) -> Option<Self> {
        Some(match operator {
            "Softmax" => Self::Softmax,
            "Sigmoid" => Self::Sigmoid,
            "Gemm" | "MatMul" | "Conv" | "LogSoftmax" => Self::Logits,
            _ => return None,
        })
    }
}

/// Operators whose output has the values of their first input.
const PASSING: [&str; 9] = [
    "Identity",
    "Cast",
    "Reshape",
    "Flatten",
    "Squeeze",
    "Unsqueeze",
    "Dropout",
    "QuantizeLinear",
    "DequantizeLinear",
];

/// Maximum number of operators between an output and its ending, of which each has the same values.
const MOST_PASSING: usize = 32;

/// How the graph's outputs end, by their names; those that end in any other operator are left out, and all if the file
/// cannot be read as ONNX.
pub(crate) fn output_endings(path: &Path) -> BTreeMap<String, Ending> {
    let look = || -> io::Result<_> {
        let file = files::open(path)?;
        let end = file.metadata()?.len();
        let mut model = Message { file: &mut BufReader::new(file), end };
        let (mut makers, mut outputs) = (HashMap::new(), Vec::new());
        while let Some((field, value)) = model.next()? {
            let Value::Message(end) = value else { continue };
            if field == MODEL_GRAPH {
                makers_and_outputs(&mut Message { file: model.file, end }, &mut makers, &mut outputs)?;
            }
            model.skip_to(end)?;
        }
        let ending = |output: &String| {
            let mut value = output;
            for _ in 0..MOST_PASSING {
                let (operator, input): &(String, String) = makers.get(value)?;
                if !PASSING.contains(&operator.as_str()) {
                    return Ending::of(operator);
                }
                value = input;
            }
            None
        };
        Ok(outputs.iter().filter_map(|output| Some((output.clone(), ending(output)?))).collect())
    };
    look().unwrap_or_default()
}

/// Reads which operator makes each value of a graph, and from which first input, and the names of the graph's outputs.
fn makers_and_outputs(
    graph: &mut Message<'_>,
    makers: &mut HashMap<String, (String, String)>,
    outputs: &mut Vec<String>,
) -> io::Result<()> {
    while let Some((field, value)) = graph.next()? {
        let Value::Message(end) = value else { continue };
        let mut inner = Message { file: graph.file, end };
        // A node, and the description of an output.
        if field == 1 {
            let [inputs, values, operators] = inner.strings([1, 2, 4])?;
            let first = |texts: Vec<String>| texts.into_iter().next().unwrap_or_default();
            let maker = (first(operators), first(inputs));
            makers.extend(values.into_iter().next().zip(Some(maker)));
        } else if field == 12 {
            let [names] = inner.strings([1])?;
            outputs.extend(names);
        }
        graph.skip_to(end)?;
    }
    Ok(())
}

/// The messages of onnx.proto on the way to tensors.
#[derive(Clone, Copy)]
enum Part {
    Model,
    Graph,
    Function,
    Node,
    Attribute,
    Sparse,
    Tensor,
}

impl Part {
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
        let length = end.saturating_sub(entry.file.stream_position()?);
        if length > LONGEST_ENTRY {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Read::take(&mut *entry.file, length).read_to_end(&mut bytes)?;
        let read = String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData)?;
        if field == 1 { key = read } else { text = read }
    }
    Ok((key == "location").then_some(text))
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

    /// The texts in these fields; other fields are skipped.
    fn strings<const N: usize>(&mut self, fields: [u64; N]) -> io::Result<[Vec<String>; N]> {
        let mut found = [const { Vec::new() }; N];
        while let Some((field, value)) = self.next()? {
            let Value::Message(end) = value else { continue };
            let of = fields.iter().position(|known| *known == field).and_then(|at| found.get_mut(at));
            if let Some(texts) = of {
                let length = end.saturating_sub(self.file.stream_position()?);
                if length > LONGEST_ENTRY {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                let mut bytes = Vec::new();
                Read::take(&mut *self.file, length).read_to_end(&mut bytes)?;
                texts.push(String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData)?);
            }
            self.skip_to(end)?;
        }
        Ok(found)
    }

    fn skip_to(&mut self, position: u64) -> io::Result<()> {
        let now = self.file.stream_position()?;
        let far = i64::try_from(position).unwrap_or(i64::MAX) - i64::try_from(now).unwrap_or(i64::MAX);
        // What is buffered stays buffered.
        self.file.seek_relative(far)
    }

    /// All of the message as text; `None` if it is longer than `most` bytes, or not UTF-8.
    fn text(&mut self, most: u64) -> io::Result<Option<String>> {
        let length = self.end.saturating_sub(self.file.stream_position()?);
        if length > most {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        Read::take(&mut *self.file, length).read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()).ok() != Some(length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(String::from_utf8(bytes).ok())
    }

    /// The message as a key and its value; `None` if one of them is too long, or not UTF-8.
    fn entry(&mut self, most: u64) -> io::Result<Option<(String, String)>> {
        let (mut key, mut text) = (Some(String::new()), Some(String::new()));
        while let Some((field, value)) = self.next()? {
            let Value::Message(end) = value else { continue };
            let mut inner = Message { file: self.file, end };
            match field {
                1 => key = inner.text(LONGEST_ENTRY.min(most))?,
                2 => text = inner.text(most)?,
                _ => (),
            }
            self.skip_to(end)?;
        }
        Ok(key.zip(text).filter(|(key, text)| u64::try_from(key.len() + text.len()).is_ok_and(|n| n <= most)))
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

    /// A field with a length of several bytes.
    fn long_field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut field = vec![number << 3 | 2];
        let mut length = bytes.len();
        while length > 0x7f {
            field.push(u8::try_from(length & 0x7f | 0x80).unwrap());
            length >>= 7;
        }
        field.push(u8::try_from(length).unwrap());
        [&field[..], bytes].concat()
    }

    fn entry(key: &[u8], value: &[u8]) -> Vec<u8> {
        long_field(14, &[long_field(1, key), long_field(2, value)].concat())
    }

    fn metadata_of(name: &str, bytes: &[u8]) -> Metadata {
        let path = written(name, bytes);
        let read = metadata(&path);
        std::fs::remove_file(path).unwrap();
        read
    }

    #[test]
    fn metadata_is_read_before_and_behind_the_graph_and_the_first_of_a_key_counts() {
        let graph = long_field(7, &field(2, b"graph"));
        let model = [
            vec![1 << 3, 8],
            field(2, b"pytorch"),
            entry(b"task", b"detect"),
            graph,
            entry(b"names", "{0: 'grün'}".as_bytes()),
            entry(b"task", b"pose"),
            entry(b"empty", b""),
        ]
        .concat();
        let read = metadata_of("metadata", &model);
        assert_eq!((read.producer.as_str(), read.incomplete), ("pytorch", false));
        assert_eq!(
            [read.get("task"), read.get("names"), read.get("empty"), read.get("none")],
            [Some("detect"), Some("{0: 'grün'}"), Some(""), None]
        );
    }

    #[test]
    fn hostile_metadata_is_left_out_and_what_is_before_it_kept() {
        let long = vec![b'a'; usize::try_from(LONGEST_METADATA).unwrap() + 1];
        let half = vec![b'a'; usize::try_from(LONGEST_METADATA / 2).unwrap()];
        let many: Vec<u8> = (0..1000).flat_map(|i| entry(format!("k{i}").as_bytes(), b"v")).collect();
        let task = entry(b"task", b"detect");
        for (name, hostile) in [
            ("long", entry(b"names", &long)),
            ("long-key", entry(&long, b"names")),
            ("not-utf8", entry(b"names", &[0xff, 0xfe])),
            ("key-not-utf8", entry(&[0xff], b"names")),
            ("many", many),
            ("sum", [entry(b"a", &half), entry(b"b", &half), entry(b"c", &half)].concat()),
            // A length that goes beyond the message, and beyond the file.
            ("beyond", long_field(14, &[1 << 3 | 2, 100, b'a'])),
            ("endless", vec![14 << 3 | 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
            ("unknown-type", vec![14 << 3 | 7]),
            ("cut", entry(b"names", b"a long value")[..8].to_vec()),
        ] {
            let read = metadata_of(name, &[task.clone(), hostile].concat());
            assert!(read.incomplete, "{name}");
            assert_eq!(read.get("task"), Some("detect"), "{name}");
            assert!(read.entries.len() <= MOST_ENTRIES, "{name}");
            let bytes: usize = read.entries.iter().map(|(key, value)| key.len() + value.len()).sum();
            assert!(bytes <= usize::try_from(LONGEST_METADATA).unwrap(), "{name}");
        }
        assert_eq!(metadata(Path::new("/nonexistent")), Metadata { incomplete: true, ..Metadata::default() });
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

    #[test]
    fn an_outputs_ending_is_that_of_the_last_operator_that_changes_its_values() {
        let node = |operator: &str, input: &str, output: &str| {
            let inputs = [field(1, input.as_bytes()), field(1, b"shape")].concat();
            field(
                1,
                &[inputs, field(2, output.as_bytes()), field(3, b"n"), field(4, operator.as_bytes())]
                    .concat(),
            )
        };
        let output = |name: &str| {
            // name, and a type that is skipped; field 12 has a key of one byte.
            field(12, &[field(1, name.as_bytes()), field(2, &[1, 2, 3])].concat())
        };
        let outputs = ["probs", "labels", "logits", "logs", "other", "cycle", "input"];
        let graph = [
            node("Gemm", "features", "logits"),
            node("Softmax", "logits", "soft"),
            node("Cast", "soft", "half"),
            node("Reshape", "half", "probs"),
            node("Sigmoid", "logits", "labels"),
            node("LogSoftmax", "logits", "logs"),
            node("Mul", "soft", "other"),
            node("Identity", "cycle", "cycle"),
            field(5, &field(9, &[0; 100])),
            outputs.iter().flat_map(|name| output(name)).collect(),
        ];
        let graph = graph.concat();
        let length =
            [u8::try_from(graph.len() & 0x7f | 0x80).unwrap(), u8::try_from(graph.len() >> 7).unwrap()];
        let model = [vec![1 << 3, 8, 7 << 3 | 2], length.to_vec(), graph].concat();
        let path = written("endings", &model);
        let wanted = [
            ("labels", Ending::Sigmoid),
            ("logits", Ending::Logits),
            ("logs", Ending::Logits),
            ("probs", Ending::Softmax),
        ];
        let wanted: BTreeMap<_, _> = wanted.map(|(name, ending)| (name.to_owned(), ending)).into();
        assert_eq!(output_endings(&path), wanted);
        std::fs::write(&path, &model[..model.len() - 3]).unwrap();
        assert_eq!(output_endings(&path), BTreeMap::new(), "of a file that is cut off nothing is known");
        std::fs::remove_file(path).unwrap();
        assert_eq!(output_endings(Path::new("/nonexistent")), BTreeMap::new());
    }
}
