//! A tensor somewhere in a buffer.

use cudainfer_kernels::tensor::TensorType;

use super::BufferId;

/// A tensor in a buffer: element `at` lies `offset + sum(at[i] * strides[i])` elements after the buffer's first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Where.
    pub buffer: BufferId,
    /// The type of its elements.
    pub ty: TensorType,
    /// In elements of that type.
    pub offset: usize,
    /// Its dimensions, outermost first.
    pub dims: Vec<usize>,
    /// In elements, by dimension.
    pub strides: Vec<isize>,
}

impl View {
    /// Dense and row-major, from the buffer's first element on.
    pub fn dense(buffer: BufferId, ty: TensorType, dims: &[usize]) -> Self {
        Self { buffer, ty, offset: 0, dims: dims.to_vec(), strides: dense_strides(dims) }
    }

    /// Its number of elements.
    pub fn elements(&self) -> usize {
        self.dims.iter().product()
    }
}

/// The strides of a dense, row-major tensor.
pub fn dense_strides(dims: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis].cast_signed();
    }
    strides
}
