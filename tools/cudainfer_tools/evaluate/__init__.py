"""scripts/evaluate and scripts/compare: how good tracks, poses and tiles are, beside other implementations of them."""
