"""Conversion of a TensorFlow.js GraphModel to ONNX: `graph` reads it, `convert` goes through its operations, `build` holds the ONNX
graph while it grows; the operations are in `windows`, `elementwise` and `axes`, and those on constants in `folding`."""
