//! An engine for convolutional networks and transformers on NVIDIA GPUs.
//!
//! An ONNX file becomes a [`graph::Graph`] (`import`: all dimensions known, constants folded, few operators), which becomes a
//! [`plan::Plan`] (`lower`: which fused kernels run, and where in memory their tensors lie). `gpu` runs plans: convolutions by cuDNN,
//! everything else by kernels that `emit` writes for the plan's own shapes. `reference` runs plans on the CPU, slowly and plainly:
//! what the kernels are tested against.

pub mod emit;
mod error;
pub mod gpu;
pub mod graph;
pub mod import;
pub mod lower;
pub mod plan;
pub mod reference;

pub use error::FusedError;
