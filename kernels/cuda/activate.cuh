// From the values of confidence maps to scores: kernels/src/peaks/choose.rs.
#pragma once
#include "prelude.cuh"

// exp in double: the host's is within 0.502 units in the last place, so nearly always the same. Not inlined, or the
// kernels for logits would be too long to be fetched in time.
__device__ __noinline__ float logistic(float v) { return 1.0f / (1.0f + float(exp(-double(v)))); }

template <bool LOGITS>
__device__ __forceinline__ double activate(float v) {
    return LOGITS ? logistic(v) : v;
}
