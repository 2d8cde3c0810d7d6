"""scripts/bench --report: docs/benchmarks.md and the table of docs/profiling.md, made of the raw files in benches/results."""
