//! The messages of onnx.proto as far as they are read or changed; what is in their other fields is kept as it is, as bytes.

use prost::Message;

/// `TensorProto.DataType`.
pub const FLOAT: i32 = 1;
pub const INT64: i32 = 7;
pub const BOOL: i32 = 9;
pub const FLOAT16: i32 = 10;
/// `TensorProto.DataLocation`.
const EXTERNAL: i32 = 1;

#[derive(Clone, PartialEq, Message)]
pub struct Model {
    #[prost(int64, optional, tag = "1")]
    pub ir_version: Option<i64>,
    #[prost(bytes = "vec", repeated, tag = "8")]
    pub opset_import: Vec<Vec<u8>>,
    #[prost(string, optional, tag = "2")]
    pub producer_name: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub producer_version: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub domain: Option<String>,
    #[prost(int64, optional, tag = "5")]
    pub model_version: Option<i64>,
    #[prost(string, optional, tag = "6")]
    pub doc_string: Option<String>,
    #[prost(message, optional, tag = "7")]
    pub graph: Option<Graph>,
    #[prost(bytes = "vec", repeated, tag = "14")]
    pub metadata: Vec<Vec<u8>>,
    #[prost(bytes = "vec", repeated, tag = "20")]
    pub training: Vec<Vec<u8>>,
    #[prost(bytes = "vec", repeated, tag = "25")]
    pub functions: Vec<Vec<u8>>,
    #[prost(bytes = "vec", repeated, tag = "26")]
    pub configuration: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Graph {
    #[prost(message, repeated, tag = "1")]
    pub nodes: Vec<Node>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(message, repeated, tag = "5")]
    pub initializers: Vec<Tensor>,
    #[prost(bytes = "vec", repeated, tag = "15")]
    pub sparse_initializers: Vec<Vec<u8>>,
    #[prost(string, optional, tag = "10")]
    pub doc_string: Option<String>,
    #[prost(message, repeated, tag = "11")]
    pub inputs: Vec<Value>,
    #[prost(message, repeated, tag = "12")]
    pub outputs: Vec<Value>,
    /// The types of values inside of the graph, which a runtime finds out by itself.
    #[prost(message, repeated, tag = "13")]
    pub values: Vec<Value>,
    #[prost(bytes = "vec", repeated, tag = "14")]
    pub quantization: Vec<Vec<u8>>,
    #[prost(bytes = "vec", repeated, tag = "16")]
    pub metadata: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Node {
    #[prost(string, repeated, tag = "1")]
    pub inputs: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub outputs: Vec<String>,
    #[prost(string, optional, tag = "3")]
    pub name: Option<String>,
    #[prost(string, tag = "4")]
    pub operator: String,
    #[prost(string, optional, tag = "7")]
    pub domain: Option<String>,
    #[prost(string, optional, tag = "8")]
    pub overload: Option<String>,
    #[prost(message, repeated, tag = "5")]
    pub attributes: Vec<Attribute>,
    #[prost(string, optional, tag = "6")]
    pub doc_string: Option<String>,
    #[prost(bytes = "vec", repeated, tag = "9")]
    pub metadata: Vec<Vec<u8>>,
    #[prost(bytes = "vec", repeated, tag = "10")]
    pub devices: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Attribute {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, optional, tag = "21")]
    pub reference: Option<String>,
    #[prost(string, optional, tag = "13")]
    pub doc_string: Option<String>,
    #[prost(int32, optional, tag = "20")]
    pub kind: Option<i32>,
    #[prost(float, optional, tag = "2")]
    pub f: Option<f32>,
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "4")]
    pub s: Option<Vec<u8>>,
    #[prost(message, optional, tag = "5")]
    pub t: Option<Tensor>,
    #[prost(bytes = "vec", optional, tag = "6")]
    pub g: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "22")]
    pub sparse_tensor: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "14")]
    pub tp: Option<Vec<u8>>,
    #[prost(float, repeated, packed = "false", tag = "7")]
    pub floats: Vec<f32>,
    #[prost(int64, repeated, packed = "false", tag = "8")]
    pub ints: Vec<i64>,
    #[prost(bytes = "vec", repeated, tag = "9")]
    pub strings: Vec<Vec<u8>>,
    #[prost(bytes = "vec", repeated, tag = "10")]
    pub tensors: Vec<Vec<u8>>,
    #[prost(bytes = "vec", repeated, tag = "11")]
    pub graphs: Vec<Vec<u8>>,
    #[prost(bytes = "vec", repeated, tag = "23")]
    pub sparse_tensors: Vec<Vec<u8>>,
    #[prost(bytes = "vec", repeated, tag = "15")]
    pub type_protos: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Tensor {
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub dims: Vec<i64>,
    #[prost(int32, optional, tag = "2")]
    pub data_type: Option<i32>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub segment: Option<Vec<u8>>,
    #[prost(float, repeated, tag = "4")]
    pub float_data: Vec<f32>,
    #[prost(int32, repeated, tag = "5")]
    pub int32_data: Vec<i32>,
    #[prost(bytes = "vec", repeated, tag = "6")]
    pub string_data: Vec<Vec<u8>>,
    #[prost(int64, repeated, tag = "7")]
    pub int64_data: Vec<i64>,
    #[prost(string, optional, tag = "8")]
    pub name: Option<String>,
    #[prost(string, optional, tag = "12")]
    pub doc_string: Option<String>,
    #[prost(bytes = "vec", optional, tag = "9")]
    pub raw_data: Option<Vec<u8>>,
    #[prost(bytes = "vec", repeated, tag = "13")]
    pub external_data: Vec<Vec<u8>>,
    #[prost(int32, optional, tag = "14")]
    pub data_location: Option<i32>,
    #[prost(double, repeated, tag = "10")]
    pub double_data: Vec<f64>,
    #[prost(uint64, repeated, tag = "11")]
    pub uint64_data: Vec<u64>,
    #[prost(bytes = "vec", repeated, tag = "16")]
    pub metadata: Vec<Vec<u8>>,
}

/// `StringStringEntryProto`: a tensor's external data, metadata.
#[derive(Clone, PartialEq, Message)]
pub struct Entry {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

/// `OperatorSetIdProto`.
#[derive(Clone, PartialEq, Message)]
pub struct OperatorSet {
    #[prost(string, tag = "1")]
    pub domain: String,
    #[prost(int64, tag = "2")]
    pub version: i64,
}

/// A graph's input or output.
#[derive(Clone, PartialEq, Message)]
pub struct Value {
    #[prost(string, tag = "1")]
    pub name: String,
    /// A [`Type`].
    #[prost(bytes = "vec", optional, tag = "2")]
    pub kind: Option<Vec<u8>>,
    #[prost(string, optional, tag = "3")]
    pub doc_string: Option<String>,
    #[prost(bytes = "vec", repeated, tag = "4")]
    pub metadata: Vec<Vec<u8>>,
}

/// `TypeProto`, if it is a tensor's.
#[derive(Clone, PartialEq, Message)]
pub struct Type {
    #[prost(message, optional, tag = "1")]
    pub tensor: Option<TensorType>,
    #[prost(string, optional, tag = "6")]
    pub denotation: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TensorType {
    #[prost(int32, optional, tag = "1")]
    pub element: Option<i32>,
    #[prost(message, optional, tag = "2")]
    pub shape: Option<Shape>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Shape {
    #[prost(message, repeated, tag = "1")]
    pub dims: Vec<Dimension>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Dimension {
    #[prost(int64, optional, tag = "1")]
    pub size: Option<i64>,
    /// Of one that is open.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub denotation: Option<String>,
}

impl Value {
    /// Its type, if that is known.
    pub fn value_type(&self) -> Option<Type> {
        Type::decode(self.kind.as_deref()?).ok()
    }

    /// The type of its elements, if it is a tensor.
    pub fn element(&self) -> Option<i32> {
        self.value_type()?.tensor?.element
    }
}

impl Tensor {
    /// Whether its elements are in another file.
    pub fn is_external(&self) -> bool {
        self.data_location == Some(EXTERNAL) || !self.external_data.is_empty()
    }
}

impl Node {
    /// A node of ONNX's own operators that casts.
    pub fn cast(input: &str, output: &str, to: i32) -> Self {
        let to = Attribute { name: "to".into(), kind: Some(2), i: Some(to.into()), ..Attribute::default() };
        Self {
            inputs: vec![input.to_owned()],
            outputs: vec![output.to_owned()],
            name: Some(format!("{output}/cast")),
            operator: "Cast".into(),
            attributes: vec![to],
            ..Self::default()
        }
    }

    /// The attribute of this name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }
}
