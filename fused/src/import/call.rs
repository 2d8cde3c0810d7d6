//! One node of the file, while it is read.

use std::path::Path;

use cudainfer_model::onnx::proto::{Attribute, Node, Tensor};

use super::tensor::{self, Constant};
use crate::graph::{Builder, Elements, Refusal, ValueId, shape};

/// What a node makes: its outputs in order, or why it cannot be read.
pub type Made = Result<Vec<ValueId>, Refusal>;

/// A node of the file, and where what it says is added.
pub struct Call<'a> {
    /// The node.
    pub node: &'a Node,
    /// Its inputs; none where it leaves one out.
    pub inputs: Vec<Option<ValueId>>,
    /// Which of its outputs are read by somebody.
    pub read: Vec<bool>,
    /// The version of ONNX's operators.
    pub opset: i64,
    /// The model's folder.
    pub folder: &'a Path,
    /// The graph so far.
    pub builder: &'a mut Builder,
}

impl Call<'_> {
    /// An input that must be there.
    ///
    /// # Errors
    /// It is not.
    pub fn input(&self, slot: usize) -> Result<ValueId, Refusal> {
        self.optional(slot).ok_or_else(|| Refusal::invalid(format!("input {slot} is missing")))
    }

    /// An input, if it is there.
    pub fn optional(&self, slot: usize) -> Option<ValueId> {
        self.inputs.get(slot).copied().flatten()
    }

    /// All inputs, all of which must be there.
    ///
    /// # Errors
    /// One is not.
    pub fn all(&self) -> Result<Vec<ValueId>, Refusal> {
        (0..self.inputs.len()).map(|slot| self.input(slot)).collect()
    }

    /// Whether somebody reads an output.
    pub fn is_read(&self, output: usize) -> bool {
        self.read.get(output).copied().unwrap_or(false)
    }

    /// The dimensions of an input.
    ///
    /// # Errors
    /// It is missing.
    pub fn dims(&self, slot: usize) -> Result<Vec<usize>, Refusal> {
        Ok(self.builder.dims(self.input(slot)?).to_vec())
    }

    /// The elements of an input that must be a constant; none if it is missing.
    ///
    /// # Errors
    /// It depends on the inputs of the run.
    pub fn constant(&self, slot: usize) -> Result<Option<&Elements>, Refusal> {
        let Some(id) = self.optional(slot) else { return Ok(None) };
        let elements = self.builder.elements(id);
        elements.map(Some).ok_or_else(|| Refusal::unsupported(format!("input {slot} is no constant")))
    }

    /// The integers of an input that must be a constant; none if it is missing.
    ///
    /// # Errors
    /// It depends on the inputs of the run, or is of floats.
    pub fn integers(&self, slot: usize) -> Result<Option<Vec<i64>>, Refusal> {
        match self.constant(slot)? {
            Some(Elements::Integers(values)) => Ok(Some(values.clone())),
            Some(Elements::Floats(_)) => Err(Refusal::invalid(format!("input {slot} is of floats"))),
            None => Ok(None),
        }
    }

    /// The numbers of an input that must be a constant; none if it is missing.
    ///
    /// # Errors
    /// It depends on the inputs of the run.
    pub fn numbers(&self, slot: usize) -> Result<Option<Vec<f64>>, Refusal> {
        Ok(self.constant(slot)?.map(Elements::numbers))
    }

    /// The number of an input that must be a constant of one element; none if it is missing.
    ///
    /// # Errors
    /// It depends on the inputs of the run, or has more elements.
    pub fn number(&self, slot: usize) -> Result<Option<f64>, Refusal> {
        match self.constant(slot)? {
            None => Ok(None),
            Some(elements) if elements.len() == 1 => Ok(Some(elements.number(0))),
            Some(_) => Err(Refusal::invalid(format!("input {slot} is not one number"))),
        }
    }

    fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.node.attribute(name)
    }

    /// An attribute, or what it is where it is missing.
    pub fn int(&self, name: &str, missing: i64) -> i64 {
        self.attribute(name).map_or(missing, |attribute| attribute.i.unwrap_or_default())
    }

    /// An attribute that switches something on.
    pub fn flag(&self, name: &str, missing: bool) -> bool {
        self.int(name, i64::from(missing)) != 0
    }

    /// An attribute, or what it is where it is missing.
    pub fn float(&self, name: &str, missing: f32) -> f32 {
        self.float_if_there(name).unwrap_or(missing)
    }

    /// An attribute, if it is there.
    pub fn float_if_there(&self, name: &str) -> Option<f32> {
        self.attribute(name).map(|attribute| attribute.f.unwrap_or_default())
    }

    /// An attribute, if it is there.
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        self.attribute(name).map(|attribute| attribute.ints.as_slice())
    }

    /// An attribute, if it is there.
    pub fn floats(&self, name: &str) -> Option<&[f32]> {
        self.attribute(name).map(|attribute| attribute.floats.as_slice())
    }

    /// An attribute, or what it is where it is missing.
    pub fn text<'b>(&'b self, name: &str, missing: &'b str) -> &'b str {
        let text =
            self.attribute(name).and_then(|attribute| std::str::from_utf8(attribute.s.as_deref()?).ok());
        text.unwrap_or(missing)
    }

    /// An attribute that is a tensor, if it is there.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.attribute(name)?.t.as_ref()
    }

    /// Adds a tensor of the file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn add(&mut self, tensor: &Tensor) -> Result<ValueId, Refusal> {
        let Constant { ty, dims, elements } = tensor::read(tensor, self.folder)?;
        Ok(self.builder.constant(ty, &dims, elements))
    }

    /// The axis of the attribute, or what it is where it is missing, of a tensor of that rank.
    ///
    /// # Errors
    /// It has no such axis.
    pub fn axis(&self, missing: i64, rank: usize) -> Result<usize, Refusal> {
        shape::axis(self.int("axis", missing), rank)
    }

    /// The axes of an attribute (up to `last`, the last version of operators that has it) or of an input; none if neither is there.
    ///
    /// # Errors
    /// The input is no constant.
    pub fn axes(&self, slot: usize, last: i64) -> Result<Option<Vec<i64>>, Refusal> {
        if self.opset > last { self.integers(slot) } else { Ok(self.ints("axes").map(<[i64]>::to_vec)) }
    }
}
