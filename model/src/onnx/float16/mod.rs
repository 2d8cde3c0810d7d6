//! The float16 form of a float32 model: weights, and what is calculated from them, in float16; inputs and outputs stay as they
//! are, by casts after the inputs and before the outputs.
//!
//! Float32 stay: what an operator defines so (the scales of Resize), operators that have no float16 ([`WIDE`]), those with a
//! weight that float16 does not hold (beyond 65504, as masks of attention have), and what is calculated from sizes alone, which
//! float16 rounds to others (6 * float16(11/6) is less than 11, 640 * 640 is infinite). Casts stand around them.

mod error;
mod tensor;
mod types;

use std::collections::{HashMap, HashSet};

use prost::Message;

pub use self::error::NoFloat16Form;
use super::proto::{FLOAT, FLOAT16, Graph, Model, Node, Tensor, Value};

/// Operators of ONNX that have no float16, or not in every version and provider.
const WIDE: [&str; 14] = [
    "NonMaxSuppression",
    "Range",
    "GridSample",
    "RoiAlign",
    "CumSum",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "MaxRoiPool",
    "MaxUnpool",
    "Det",
    "ImageScaler",
];

/// A model in float16.
#[derive(Debug, PartialEq)]
pub struct Float16Form {
    /// The ONNX file's bytes.
    pub bytes: Vec<u8>,
    /// Weights that are float16 now.
    pub weights: usize,
    /// Operators that stay float32, because they have no float16.
    pub without_float16: usize,
    /// Operators that stay float32, because one of their weights is too large for float16.
    pub out_of_range: usize,
}

/// Makes the float16 form of the ONNX file with these bytes; `None` where it has no float32 weights.
///
/// # Errors
/// [`NoFloat16Form`].
pub fn float16_form(bytes: &[u8]) -> Result<Option<Float16Form>, NoFloat16Form> {
    let mut model = Model::decode(bytes).map_err(|e| NoFloat16Form::Unreadable(e.to_string()))?;
    if !model.functions.is_empty() {
        return Err(NoFloat16Form::Unknown("of a function of its own".into()));
    }
    let graph = model.graph.take().ok_or_else(|| NoFloat16Form::Unreadable("it has no graph".into()))?;
    let mut conversion = Conversion::default();
    let graph = conversion.graph(graph)?;
    let Conversion { converted, without_float16, out_of_range, .. } = conversion;
    if converted == 0 {
        return Ok(None);
    }
    model.graph = Some(graph);
    let bytes = model.encode_to_vec();
    Ok(Some(Float16Form { bytes, weights: converted, without_float16, out_of_range }))
}

/// What is known of a graph's values while its nodes are converted, in their order.
#[derive(Default)]
struct Conversion {
    /// The types of values, as the model has them.
    types: HashMap<String, i32>,
    /// Float32 weights by their names, until a node needs them.
    weights: HashMap<String, Tensor>,
    /// Names of weights that float16 does not hold.
    out_of_reach: HashSet<String>,
    /// Names of all weights, of whatever type.
    constants: HashSet<String>,
    /// Names of values that are calculated from other values' dimensions and constants only.
    sizes: HashSet<String>,
    /// The float16 value that nodes read in place of a value.
    halves: HashMap<String, String>,
    /// The float32 copies of values that are float16 now.
    wides: HashMap<String, String>,
    nodes: Vec<Node>,
    initializers: Vec<Tensor>,
    /// Weights that were already written in a type.
    written: HashSet<String>,
    converted: usize,
    without_float16: usize,
    out_of_range: usize,
}

impl Conversion {
    fn graph(&mut self, graph: Graph) -> Result<Graph, NoFloat16Form> {
        for value in graph.inputs.iter().chain(&graph.values).chain(&graph.outputs) {
            self.types.extend(value.element().map(|element| (value.name.clone(), element)));
        }
        for tensor in graph.initializers {
            self.weight(tensor)?;
        }
        for input in &graph.inputs {
            // Old files list their weights among the inputs.
            if input.element() == Some(FLOAT) && !self.weights.contains_key(&input.name) {
                let half = format!("{}/float16", input.name);
                self.nodes.push(Node::cast(&input.name, &half, FLOAT16));
                self.wides.insert(input.name.clone(), input.name.clone());
                self.halves.insert(input.name.clone(), half);
            }
        }
        let outputs: HashSet<String> = graph.outputs.iter().map(|output| output.name.clone()).collect();
        for node in graph.nodes {
            self.node(node, &outputs)?;
        }
        let inputs: HashSet<&str> = graph.inputs.iter().map(|input| input.name.as_str()).collect();
        for Value { name, .. } in &graph.outputs {
            if self.weights.contains_key(name) {
                self.float32(name);
            } else if let Some(inner) = self.wides.get(name).or(self.halves.get(name))
                && !inputs.contains(name.as_str())
            {
                self.nodes.push(Node::cast(inner, name, FLOAT));
            }
        }
        Ok(Graph {
            nodes: std::mem::take(&mut self.nodes),
            initializers: std::mem::take(&mut self.initializers),
            // The weight need not be listed there, and its type has changed.
            inputs: graph
                .inputs
                .into_iter()
                .filter(|input| !self.weights.contains_key(&input.name))
                .collect(),
            values: Vec::new(),
            outputs: graph.outputs,
            name: graph.name,
            sparse_initializers: graph.sparse_initializers,
            doc_string: graph.doc_string,
            quantization: graph.quantization,
            metadata: graph.metadata,
        })
    }

    /// Notes a weight; one that is not float32 stays as it is.
    fn weight(&mut self, tensor: Tensor) -> Result<(), NoFloat16Form> {
        if tensor.is_external() {
            return Err(NoFloat16Form::External);
        }
        let (name, element) = (tensor.name().to_owned(), tensor.data_type.unwrap_or_default());
        self.types.insert(name.clone(), element);
        self.constants.insert(name.clone());
        if element != FLOAT {
            self.initializers.push(tensor);
            return Ok(());
        }
        if !tensor.fits_float16() {
            self.out_of_reach.insert(name.clone());
        }
        self.weights.insert(name, tensor);
        Ok(())
    }

    fn node(&mut self, mut node: Node, outputs: &HashSet<String>) -> Result<(), NoFloat16Form> {
        if let Some(tensor) = types::constant(&node) {
            let tensor = Tensor { name: node.outputs.first().cloned(), ..tensor };
            return self.weight(tensor);
        }
        let types = types::of_outputs(&node, |name| self.types.get(name).copied())?;
        for (output, element) in node.outputs.iter().zip(&types) {
            self.types.insert(output.clone(), *element);
        }
        let far = node.inputs.iter().enumerate().any(|(slot, input)| {
            self.out_of_reach.contains(input) && !types::is_always_float32(&node.operator, slot)
        });
        let wide = WIDE.contains(&node.operator.as_str());
        self.without_float16 += usize::from(wide);
        self.out_of_range += usize::from(far && !wide);
        let of_sizes = self.is_of_sizes(&node);
        if of_sizes || matches!(node.operator.as_str(), "Shape" | "Size") {
            self.sizes.extend(node.outputs.iter().cloned());
        }
        let wide = wide || far || of_sizes;
        for slot in 0..node.inputs.len() {
            let float32 = wide || types::is_always_float32(&node.operator, slot);
            let input = &mut node.inputs[slot];
            if self.types.get(input.as_str()) == Some(&FLOAT) {
                *input = if float32 { self.float32(input) } else { self.float16(input) };
            }
        }
        if !wide {
            types::to_float16(&mut node);
        }
        let mut casts = Vec::new();
        for (output, element) in node.outputs.iter_mut().zip(types) {
            if element != FLOAT || output.is_empty() {
                continue;
            }
            let name = output.clone();
            if wide {
                // Nodes that read it as float32 read it as it is.
                *output = format!("{name}/float32");
                self.wides.insert(name.clone(), output.clone());
                let half = format!("{name}/float16");
                casts.push(Node::cast(output, &half, FLOAT16));
                self.halves.insert(name, half);
            } else if outputs.contains(&name) {
                *output = format!("{name}/float16");
                self.halves.insert(name, output.clone());
            }
        }
        self.nodes.push(node);
        self.nodes.append(&mut casts);
        Ok(())
    }

    /// Whether a node calculates with sizes and constants, and with nothing else.
    fn is_of_sizes(&self, node: &Node) -> bool {
        let given = |input: &&String| !input.is_empty() && !self.constants.contains(*input);
        let mut values = node.inputs.iter().filter(given).peekable();
        values.peek().is_some() && values.all(|value| self.sizes.contains(value))
    }

    /// The name of a float32 value's float16.
    fn float16(&mut self, name: &str) -> String {
        let Some(tensor) = self.weights.get(name) else {
            return self.halves.get(name).cloned().unwrap_or_else(|| name.to_owned());
        };
        let half = format!("{name}/float16");
        if self.written.insert(half.clone()) {
            self.initializers.push(tensor.float16(&half));
            self.converted += 1;
        }
        half
    }

    /// The name of a float32 value as it was.
    fn float32(&mut self, name: &str) -> String {
        if let Some(tensor) = self.weights.get(name) {
            if self.written.insert(name.to_owned()) {
                self.initializers.push(tensor.clone());
            }
            return name.to_owned();
        }
        if let Some(wide) = self.wides.get(name) {
            return wide.clone();
        }
        let half = self.halves.get(name).cloned().unwrap_or_else(|| name.to_owned());
        let wide = format!("{name}/float32");
        self.nodes.push(Node::cast(&half, &wide, FLOAT));
        self.wides.insert(name.to_owned(), wide.clone());
        wide
    }
}

#[cfg(test)]
mod tests;
