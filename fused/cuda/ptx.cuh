// Instructions of the GPU that C++ has no words for. No header of CUDA is included: where the kernels are compiled there may be NVRTC alone.
// Tests run kernels on the host, with another file in the place of this one.

__device__ __forceinline__ float half_to_float(unsigned short x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
}

__device__ __forceinline__ unsigned short float_to_half(float x) {
    unsigned short y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}

// Kernels may begin before the one before them has ended, if they are launched so (programmatic dependent launch; compute capability 9.0 and
// newer). Until this returns, a kernel reads weights alone and writes nothing; then all that earlier kernels wrote is there. Each thread of
// each kernel waits, so that what is true of the kernel before is true of all earlier ones.
__device__ __forceinline__ void previous_wait() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// From here on, the next kernel may begin.
__device__ __forceinline__ void next_begins() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Copies 16 bytes to shared memory, or fills them with 0, and does not wait for it where the GPU need not (8.0 and newer). CACHED: by way of
// the multiprocessor's cache, for what is soon copied again.
template <bool CACHED> __device__ __forceinline__ void copy_async(void* to, const void* from, bool there) {
#if __CUDA_ARCH__ >= 800
    const unsigned at = unsigned(__cvta_generic_to_shared(to));
    if constexpr (CACHED) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(there ? 16 : 0) : "memory");
    } else {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(there ? 16 : 0) : "memory");
    }
#else
    *reinterpret_cast<uint4*>(to) = there ? __ldg(reinterpret_cast<const uint4*>(from)) : make_uint4(0, 0, 0, 0);
#endif
}

// Ends a group of copies.
__device__ __forceinline__ void copies_commit() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for this thread's copies, but for those of the last GROUPS groups.
template <int GROUPS> __device__ __forceinline__ void copies_wait() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
#endif
}

// Loads four matrices of 8x8 float16. Lane i has the address of row i % 8 of matrix i / 8; it gets two elements of row i / 4 of each matrix.
__device__ __forceinline__ void load_matrices(unsigned (&to)[4], const void* row) {
    const unsigned at = unsigned(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
}

// sum += a * b: 16x16 by 16x8 float16, accumulated in float32.
__device__ __forceinline__ void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b0));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[2]), "r"(a[3]), "r"(b1));
#endif
}

// sum += a * b: 16x8 by 8x8 TF32 (the upper nineteen bits of float32), accumulated in float32. Compute capability 8.0 and newer.
__device__ __forceinline__ void multiply_tf32(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

// sum += a * b: 16x32 by 32x8 integers of 8 bits, accumulated in int32. Those of a are int8 if SIGNED, else uint8; those of b are int8.
template <bool SIGNED> __device__ __forceinline__ void multiply_integers(int (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
#if __CUDA_ARCH__ >= 800
    if constexpr (SIGNED) {
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    } else {
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
#else
    // Eight rows and sixteen integers at a time: a has rows 0 to 7 and 8 to 15 of the first sixteen, then those of the others.
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const unsigned b = i < 2 ? b0 : b1;
        if constexpr (SIGNED) {
            asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                         : "+r"(sum[i % 2 * 2]), "+r"(sum[i % 2 * 2 + 1])
                         : "r"(a[i]), "r"(b));
        } else {
            asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                         : "+r"(sum[i % 2 * 2]), "+r"(sum[i % 2 * 2 + 1])
                         : "r"(a[i]), "r"(b));
        }
    }
#endif
}
