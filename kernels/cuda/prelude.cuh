// What every kernel needs and NVRTC has no headers for: fixed-width types, and float16 as its 16 bits.
#pragma once

typedef unsigned char uint8_t;
typedef signed char int8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;

// A float16's bits, a type of its own so that it is never taken for a number.
struct half_t {
    uint16_t bits;
};

__device__ __forceinline__ float to_float(half_t h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h.bits));
    return f;
}

// Round to nearest even, as the CPU's conversion does.
__device__ __forceinline__ half_t to_half(float f) {
    half_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(f));
    return h;
}

// The order of TensorType in kernels/src/tensor.rs.
enum TensorType : uint32_t { FLOAT32, FLOAT16, UINT8, INT8, INT32, INT64 };

// A kernel that was launched to overlap with the previous one (CudaStream::launch_overlapping) may be set up as soon as all
// blocks of that one have called let_next_start; after wait_for_previous all earlier launches are done. GPUs before compute
// capability 9.0 have neither.
__device__ __forceinline__ void let_next_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

__device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
