"""What users would call on the GPU instead of our operations, in PyTorch: a module for each operation, named as its file in benches/gpu."""
