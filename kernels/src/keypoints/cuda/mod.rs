//! The readers for outputs that lie on the GPU, for all rows of a batch at once.

mod coordinates;
mod simcc;

pub use coordinates::{CudaInstanceReader, CudaPointReader};
pub use simcc::CudaSimcc;
