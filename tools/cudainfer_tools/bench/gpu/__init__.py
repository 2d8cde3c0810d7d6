"""scripts/bench --gpu: it starts the programs of benches/gpu, `peers`, and `lines` and `streams`, which measure whole pipelines."""
