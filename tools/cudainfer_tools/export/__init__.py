"""scripts/export: networks of other programs as ONNX files with sidecars. Its modules run in those programs' own Python."""
