//! Constants as bytes in buffers, each once.

use std::collections::HashMap;

use cudainfer_kernels::tensor::TensorType;
use half::f16;

use super::Lowering;
use crate::graph::{Elements, ValueId};
use crate::plan::{Content, View};

/// Where constants lie.
pub(super) type Constants = HashMap<ValueId, View>;

impl Lowering<'_> {
    /// Where a constant lies: dense, row-major.
    pub(super) fn constant(&mut self, value: ValueId) -> View {
        if let Some(view) = self.constants.get(&value) {
            return view.clone();
        }
        let of = self.graph.value(value);
        let bytes = match &of.constant {
            Some(Elements::Floats(floats)) => bytes_of_floats(floats, of.ty),
            Some(Elements::Integers(integers)) => bytes_of_integers(integers, of.ty),
            None => Vec::new(),
        };
        let size = bytes.len();
        let view = View::dense(self.plan.buffer(Content::Constant(bytes), size), of.ty, &of.dims);
        self.constants.insert(value, view.clone());
        view
    }

    /// A constant of these numbers, dense.
    pub(super) fn floats(&mut self, floats: &[f32], ty: TensorType, dims: &[usize]) -> View {
        let bytes = bytes_of_floats(floats, ty);
        let size = bytes.len();
        View::dense(self.plan.buffer(Content::Constant(bytes), size), ty, dims)
    }

    /// A constant list of these integers.
    pub(super) fn integers(&mut self, integers: &[i64], ty: TensorType) -> View {
        let bytes = bytes_of_integers(integers, ty);
        let size = bytes.len();
        View::dense(self.plan.buffer(Content::Constant(bytes), size), ty, &[integers.len()])
    }

    /// The numbers of a constant, if it is one of floats.
    pub(super) fn numbers(&self, value: ValueId) -> Option<Vec<f32>> {
        match self.graph.value(value).constant.as_ref()? {
            Elements::Floats(floats) => Some(floats.clone()),
            Elements::Integers(_) => None,
        }
    }

    /// The number of a constant of one element.
    pub(super) fn scalar(&self, value: ValueId) -> Option<f32> {
        match self.graph.value(value).constant.as_ref()? {
            Elements::Floats(floats) if floats.len() == 1 => floats.first().copied(),
            // Exact up to 2^24; larger ones stay what they are, elements of a tensor.
            Elements::Integers(integers) if integers.len() == 1 => {
                i16::try_from(*integers.first()?).ok().map(f32::from)
            }
            _ => None,
        }
    }
}

fn bytes_of_floats(floats: &[f32], ty: TensorType) -> Vec<u8> {
    match ty {
        TensorType::Float16 => floats.iter().flat_map(|float| f16::from_f32(*float).to_ne_bytes()).collect(),
        TensorType::Int8 => floats.iter().flat_map(|float| (*float as i8).to_ne_bytes()).collect(),
        _ => floats.iter().flat_map(|float| float.to_ne_bytes()).collect(),
    }
}

fn bytes_of_integers(integers: &[i64], ty: TensorType) -> Vec<u8> {
    let bytes = integers.iter().map(|integer| integer.to_le_bytes());
    // Two's complement: the low bytes are the smaller type's.
    bytes.flat_map(|bytes| bytes.into_iter().take(ty.size()).collect::<Vec<_>>()).collect()
}
