//! ONNX files as graphs.
