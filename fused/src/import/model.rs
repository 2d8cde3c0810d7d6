//! The file as a whole.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use cudainfer_model::onnx::proto::{Graph as File, Model, Node, OperatorSet, Value as Declared};
use prost::Message;

use super::call::Call;
use super::operators::{self, Reader};
use super::{tensor, types};
use crate::FusedError;
use crate::graph::{Builder, Graph, Operator, Refusal, ValueId, shape};

/// The versions of ONNX's operators that are known.
const OPSETS: std::ops::RangeInclusive<i64> = 7..=26;

/// Reads a model as far as it can: its graph, and what is in the way. The graph is whole only if nothing is.
///
/// # Errors
/// [`FusedError::Model`].
pub fn read(
    bytes: &[u8],
    folder: &Path,
    given: &[(&str, &[usize])],
) -> Result<(Graph, Vec<FusedError>), FusedError> {
    let model = Model::decode(bytes).map_err(|e| FusedError::Model(e.to_string()))?;
    let file = model.graph.as_ref().ok_or_else(|| FusedError::Model("it has no graph".into()))?;
    if !file.sparse_initializers.is_empty() {
        return Err(FusedError::Model("it has sparse weights".into()));
    }
    let mut reading = Reading {
        opset: opset(&model)?,
        folder,
        read: names_read(file),
        builder: Builder::default(),
        known: HashMap::new(),
        named: HashSet::new(),
        problems: Vec::new(),
    };
    reading.constants(file)?;
    reading.inputs(file, given)?;
    for node in &file.nodes {
        reading.node(node)?;
    }
    if reading.problems.is_empty() {
        reading.outputs(file)?;
    }
    Ok((reading.builder.graph, reading.problems))
}

/// A model that is being read.
struct Reading<'a> {
    opset: i64,
    folder: &'a Path,
    /// The names of values that somebody reads.
    read: HashSet<&'a str>,
    builder: Builder,
    /// The values of the file by their names. None: what makes it is in the way.
    known: HashMap<&'a str, Option<ValueId>>,
    /// Values that have the file's name already.
    named: HashSet<ValueId>,
    problems: Vec<FusedError>,
}

/// The version of ONNX's own operators.
fn opset(model: &Model) -> Result<i64, FusedError> {
    let mut found = None;
    for bytes in &model.opset_import {
        let set = OperatorSet::decode(&bytes[..]).map_err(|e| FusedError::Model(e.to_string()))?;
        if is_own(&set.domain) {
            found = Some(set.version);
        }
    }
    let version = found.ok_or_else(|| FusedError::Model("it names no version of ONNX's operators".into()))?;
    if OPSETS.contains(&version) {
        return Ok(version);
    }
    let (first, last) = (OPSETS.start(), OPSETS.end());
    Err(FusedError::Model(format!(
        "it is written in version {version} of ONNX's operators. Versions {first} to {last} are known: convert it"
    )))
}

/// Whether operators of this domain are ONNX's own.
fn is_own(domain: &str) -> bool {
    matches!(domain, "" | "ai.onnx")
}

/// The names of all values that a node reads, or the model's user.
fn names_read(file: &File) -> HashSet<&str> {
    let inputs = file.nodes.iter().flat_map(|node| &node.inputs).map(String::as_str);
    inputs.chain(file.outputs.iter().map(|output| output.name.as_str())).collect()
}

/// The name by which messages call a node: its own, or that of its first output.
fn name(node: &Node) -> String {
    let first = || node.outputs.first().map_or("", String::as_str);
    node.name.as_deref().filter(|name| !name.is_empty()).unwrap_or_else(first).to_owned()
}

impl<'a> Reading<'a> {
    fn constants(&mut self, file: &'a File) -> Result<(), FusedError> {
        for initializer in &file.initializers {
            let name = initializer.name.as_deref().unwrap_or_default();
            if !self.read.contains(name) {
                continue;
            }
            let problem = |refusal| match refusal {
                Refusal::Unsupported(why) | Refusal::Invalid(why) => {
                    FusedError::Model(format!("'{name}': {why}"))
                }
            };
            let constant = tensor::read(initializer, self.folder).map_err(problem)?;
            let id = self.builder.constant(constant.ty, &constant.dims, constant.elements);
            self.rename(id, name);
            self.known.insert(name, Some(id));
        }
        Ok(())
    }

    fn inputs(&mut self, file: &'a File, given: &[(&str, &[usize])]) -> Result<(), FusedError> {
        if let Some((name, _)) =
            given.iter().find(|(name, _)| !file.inputs.iter().any(|input| input.name == *name))
        {
            return Err(FusedError::Model(format!("it has no input '{name}'")));
        }
        // Old files list their weights among the inputs.
        let weights: HashSet<&str> =
            file.initializers.iter().filter_map(|tensor| tensor.name.as_deref()).collect();
        for input in file.inputs.iter().filter(|input| !weights.contains(input.name.as_str())) {
            let own = given.iter().find(|(name, _)| *name == input.name).map(|(_, dims)| *dims);
            let element = input.element().unwrap_or_default();
            let ty = types::tensor_type(element).ok_or_else(|| {
                let text = format!("its input '{}' is of {}", input.name, types::name(element));
                FusedError::Model(text)
            })?;
            let id = self.builder.value(ty, &dims_of_input(input, own)?);
            self.rename(id, &input.name);
            self.builder.graph.inputs.push(id);
            self.known.insert(&input.name, Some(id));
        }
        Ok(())
    }

    /// Adds a node; what is in the way of it becomes a problem.
    fn node(&mut self, node: &'a Node) -> Result<(), FusedError> {
        let reader = operators::reader(node.domain.as_deref().unwrap_or_default(), &node.operator);
        let made = match (reader, self.inputs_of(node)?) {
            (None, _) => Err(Refusal::unsupported("")),
            (Some(reader), Some(inputs)) => self.call(node, reader, inputs),
            // What makes its inputs is in the way already.
            (Some(_), None) => Ok(Vec::new()),
        };
        let made = match made {
            Ok(made) => made,
            Err(Refusal::Unsupported(why)) => {
                let operator = node.operator.clone();
                self.problems.push(FusedError::Unsupported { operator, node: name(node), why });
                Vec::new()
            }
            Err(Refusal::Invalid(how)) => {
                return Err(FusedError::Model(format!("{} '{}': {how}", node.operator, name(node))));
            }
        };
        let outputs = node.outputs.iter().enumerate().filter(|(_, output)| !output.is_empty());
        for (slot, output) in outputs {
            let id = made.get(slot).copied();
            if let Some(id) = id {
                self.rename(id, output);
            } else if !made.is_empty() && self.read.contains(output.as_str()) {
                let (operator, why) = (node.operator.clone(), format!("its output {slot} is read"));
                self.problems.push(FusedError::Unsupported { operator, node: name(node), why });
            }
            self.known.insert(output, id);
        }
        Ok(())
    }

    fn call(&mut self, node: &Node, reader: Reader, inputs: Vec<Option<ValueId>>) -> super::call::Made {
        self.builder.name = name(node);
        let read = node.outputs.iter().map(|output| self.read.contains(output.as_str())).collect();
        reader(&mut Call {
            node,
            inputs,
            read,
            opset: self.opset,
            folder: self.folder,
            builder: &mut self.builder,
        })
    }

    /// A node's inputs; none where what makes one is in the way.
    fn inputs_of(&self, node: &Node) -> Result<Option<Vec<Option<ValueId>>>, FusedError> {
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for input in &node.inputs {
            if input.is_empty() {
                inputs.push(None);
                continue;
            }
            match self.known.get(input.as_str()) {
                Some(Some(id)) => inputs.push(Some(*id)),
                Some(None) => return Ok(None),
                None => {
                    let text =
                        format!("{} '{}' reads '{input}', which nothing makes", node.operator, name(node));
                    return Err(FusedError::Model(text));
                }
            }
        }
        Ok(Some(inputs))
    }

    /// Gives a value the file's name for it, if it has none yet.
    fn rename(&mut self, id: ValueId, name: &str) {
        if self.named.insert(id) {
            name.clone_into(&mut self.builder.graph.values[id.0].name);
        }
    }

    fn outputs(&mut self, file: &'a File) -> Result<(), FusedError> {
        for output in &file.outputs {
            let id = self.known.get(output.name.as_str()).copied().flatten();
            let mut id =
                id.ok_or_else(|| FusedError::Model(format!("nothing makes its output '{}'", output.name)))?;
            let value = self.builder.graph.value(id);
            let is_own = value.name == output.name && value.constant.is_none();
            if !is_own || self.builder.graph.outputs.contains(&id) {
                // What is known, or has another name, is copied: each output is made by a node of its own.
                let (ty, dims) = (value.ty, value.dims.clone());
                let copy = self.builder.value(ty, &dims);
                let (name, operator) = (output.name.clone(), Operator::Reshape);
                self.builder.graph.nodes.push(crate::graph::Node {
                    name,
                    operator,
                    inputs: vec![id],
                    output: copy,
                });
                output.name.clone_into(&mut self.builder.graph.values[copy.0].name);
                id = copy;
            }
            self.check_output(output, id)?;
            self.builder.graph.outputs.push(id);
        }
        Ok(())
    }

    /// Checks an output's type against what the file declares.
    fn check_output(&self, output: &Declared, id: ValueId) -> Result<(), FusedError> {
        let (has, declared) = (self.builder.ty(id), output.element().unwrap_or_default());
        if declared == 0 || types::tensor_type(declared) == Some(has) {
            return Ok(());
        }
        let (name, declared) = (&output.name, types::name(declared));
        Err(FusedError::Model(format!("its output '{name}' is of {has}, and {declared} is declared")))
    }
}

/// An input's dimensions: those that are given, else those of the file.
fn dims_of_input(input: &Declared, given: Option<&[usize]>) -> Result<Vec<usize>, FusedError> {
    let wrong = |text: String| FusedError::Model(format!("its input '{}' {text}", input.name));
    let shape = input.value_type().and_then(|ty| ty.tensor).and_then(|tensor| tensor.shape);
    let declared: Option<Vec<Option<usize>>> = shape.map(|shape| {
        let size = |size: i64| usize::try_from(size).ok().filter(|size| *size > 0);
        shape.dims.iter().map(|dim| dim.size.and_then(size)).collect()
    });
    let dims = match (given, declared) {
        (Some(given), None) => given.to_vec(),
        (Some(given), Some(declared)) => {
            let fits =
                |(given, declared): (&usize, &Option<usize>)| declared.is_none_or(|size| size == *given);
            if given.len() != declared.len() || !given.iter().zip(&declared).all(fits) {
                return Err(wrong(format!("cannot be {}", shape::text(given))));
            }
            given.to_vec()
        }
        (None, Some(declared)) => {
            let closed: Option<Vec<usize>> = declared.into_iter().collect();
            closed.ok_or_else(|| wrong("has open dimensions, which are not given".into()))?
        }
        (None, None) => return Err(wrong("has no dimensions, and none are given".into())),
    };
    match shape::elements(&dims) {
        Ok(count) if count > 0 => Ok(dims),
        _ => Err(wrong(format!("cannot be {}", shape::text(&dims)))),
    }
}
