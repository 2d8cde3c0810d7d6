//! An array of numbers.

use std::fmt;
use std::sync::Arc;

use cudainfer_kernels::tensor::TensorType;

/// An array of numbers; shared.
#[derive(Clone, PartialEq)]
pub struct Array {
    /// The type of its elements.
    pub ty: TensorType,
    /// Its dimensions, outermost first.
    pub dims: Vec<usize>,
    /// Its elements, dense, row-major, in this machine's order of bytes.
    pub data: Arc<[u8]>,
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// `1x5x512 float32`
impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.dims.iter().map(ToString::to_string).collect();
        let dims = if dims.is_empty() { "a single".to_owned() } else { dims.join("x") };
        write!(f, "{dims} {}", self.ty)
    }
}
