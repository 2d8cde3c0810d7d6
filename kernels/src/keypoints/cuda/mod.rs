//! The readers for outputs that lie on the GPU, for all rows of a batch at once.

mod reader;
mod simcc;

pub use reader::CudaReader;
pub use simcc::CudaSimcc;
