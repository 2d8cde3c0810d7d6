//! What the importer makes of ONNX files, against ONNX Runtime on the CPU.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

mod case;
mod constants;
mod elementwise;
mod files;
mod gather;
mod matrix;
mod movement;
mod normalize;
mod pass;
mod quantize;
mod reduce;
mod resize;
mod runtime;
mod sample;
mod shapes;
mod top;
mod window;
