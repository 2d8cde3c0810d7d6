"""scripts/bench: what is measured on the CPU, `gpu` on the GPU, and `report`, which makes docs/benchmarks.md of the results."""
