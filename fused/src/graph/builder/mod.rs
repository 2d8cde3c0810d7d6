//! Adds nodes to a graph. Works out dimensions and types, leaves out what changes nothing, and evaluates what is made of constants.

mod elementwise;
mod gather;
mod movement;
mod sums;

use cudainfer_kernels::tensor::TensorType;

use super::evaluate::{Operand, evaluate};
use super::number::is_float;
use super::{Elements, Graph, Node, Operator, Refusal, Value, ValueId, shape};

/// The most elements of a constant that is made of constants: 256 MiB of float32.
const MOST_FOLDED: usize = 1 << 26;

/// The most products that are added up for a constant that is made of constants.
const MOST_PRODUCTS: usize = 1 << 31;

/// A graph to which nodes are added.
#[derive(Debug, Default)]
pub struct Builder {
    /// What was added so far.
    pub graph: Graph,
    /// The name of the model's node that is being added: for messages, and for values without a name.
    pub name: String,
}

impl Builder {
    /// A value's dimensions.
    pub fn dims(&self, id: ValueId) -> &[usize] {
        &self.graph.value(id).dims
    }

    /// A value's number of dimensions.
    pub fn rank(&self, id: ValueId) -> usize {
        self.dims(id).len()
    }

    /// The type of a value's elements.
    pub fn ty(&self, id: ValueId) -> TensorType {
        self.graph.value(id).ty
    }

    /// A value's elements, where they are known.
    pub fn elements(&self, id: ValueId) -> Option<&Elements> {
        self.graph.value(id).constant.as_ref()
    }

    /// Adds a value that nothing makes yet.
    pub fn value(&mut self, ty: TensorType, dims: &[usize]) -> ValueId {
        let name = format!("{}/{}", self.name, self.graph.values.len());
        self.graph.values.push(Value { name, ty, dims: dims.to_vec(), constant: None, steps: None });
        ValueId(self.graph.values.len() - 1)
    }

    /// Adds a constant. There must be as many elements as the dimensions promise.
    pub fn constant(&mut self, ty: TensorType, dims: &[usize], elements: Elements) -> ValueId {
        let id = self.value(ty, dims);
        self.graph.values[id.0].constant = Some(elements);
        id
    }

    /// A constant of one number, of another value's type.
    pub fn scalar(&mut self, number: f64, like: ValueId) -> ValueId {
        let ty = self.ty(like);
        self.constant(ty, &[], Elements::of_numbers(&[number], ty))
    }

    /// A constant of int64.
    pub fn integers(&mut self, values: Vec<i64>) -> ValueId {
        self.constant(TensorType::Int64, &[values.len()], Elements::Integers(values))
    }

    /// Adds a node; where all its inputs are constants, its output is one. `dims` must be those that the operator gives.
    ///
    /// # Errors
    /// The output is too large, or has no elements.
    pub fn node(
        &mut self,
        operator: Operator,
        inputs: &[ValueId],
        ty: TensorType,
        dims: &[usize],
    ) -> Result<ValueId, Refusal> {
        let count = shape::elements(dims)?;
        if self.can_fold(&operator, inputs, dims) {
            let operands = inputs.iter().filter_map(|id| {
                let value = self.graph.value(*id);
                Some(Operand { dims: &value.dims, elements: value.constant.as_ref()? })
            });
            let made = evaluate(&operator, &operands.collect::<Vec<_>>(), ty, dims)?;
            return Ok(self.constant(ty, dims, made));
        }
        if count == 0 {
            return Err(Refusal::unsupported("its output has no elements"));
        }
        let output = self.value(ty, dims);
        let name = self.name.clone();
        self.graph.nodes.push(Node { name, operator, inputs: inputs.to_vec(), output });
        Ok(output)
    }

    /// Whether a node's output becomes a constant: all inputs are, and the work has an end soon.
    pub fn can_fold(&self, operator: &Operator, inputs: &[ValueId], dims: &[usize]) -> bool {
        let count = dims.iter().product::<usize>();
        let of = |slot: usize| inputs.get(slot).map_or(&[][..], |id| self.dims(*id));
        let products = match operator {
            Operator::Convolution { .. } | Operator::QuantizedConvolution { .. } => {
                of(1).iter().skip(1).product()
            }
            Operator::TransposedConvolution { .. } => of(1).iter().product(),
            Operator::MatMul => of(0).last().copied().unwrap_or(1),
            Operator::Pool { window, .. } => window.kernel.iter().product(),
            _ => 1,
        };
        count <= MOST_FOLDED
            && count.saturating_mul(products) <= MOST_PRODUCTS
            && inputs.iter().all(|id| self.elements(*id).is_some())
    }

    /// Checks that values have the same type.
    ///
    /// # Errors
    /// They do not.
    fn alike(&self, values: &[ValueId]) -> Result<(), Refusal> {
        let types: Vec<TensorType> = values.iter().map(|id| self.ty(*id)).collect();
        if types.windows(2).all(|two| two[0] == two[1]) {
            return Ok(());
        }
        let names: Vec<&str> = types.iter().map(|ty| ty.name()).collect();
        Err(Refusal::invalid(format!("its inputs have the types {}", names.join(", "))))
    }

    /// Checks that a value is of floats.
    ///
    /// # Errors
    /// It is not.
    pub fn floats(&self, id: ValueId) -> Result<(), Refusal> {
        let ty = self.ty(id);
        if is_float(ty) { Ok(()) } else { Err(Refusal::unsupported(format!("its input is of {ty}"))) }
    }
}
