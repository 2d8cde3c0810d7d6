//! What the importer makes of ONNX files, against ONNX Runtime on the CPU.

mod case;
mod elementwise;
mod runtime;
