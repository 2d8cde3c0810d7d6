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

// What a warp group, four warps that follow each other, multiplies at once, straight from shared memory (compute capability 9.0 alone, compiled
// for it as sm_90a). Both factors have rows of 128 bytes, eight of which are an atom that begins at a multiple of 1024 and has its chunks
// permuted as `place` of sums.cuh does ("128-byte swizzle"). The result has 64 rows, of which a lane's warp has sixteen, and lies in
// registers as that of m16n8 does, eight columns after eight.

// Lets the tensor cores see what this thread has written to shared memory.
__device__ __forceinline__ void group_sees() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// Before the first product whose sums were touched by other instructions.
__device__ __forceinline__ void group_begins() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

// Ends a set of products.
__device__ __forceinline__ void group_commits() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

// Waits for all sets but the last SETS.
template <int SETS> __device__ __forceinline__ void group_waits() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(SETS) : "memory");
#endif
}

// Keeps sums in their registers while products that add to them run: no instruction that the compiler adds may move them meanwhile.
template <int COUNT> __device__ __forceinline__ void group_holds(float (&d)[COUNT]) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
        asm volatile("" : "+f"(d[i])::"memory");
    }
}
template <int COUNT> __device__ __forceinline__ void group_holds(int (&d)[COUNT]) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
        asm volatile("" : "+r"(d[i])::"memory");
    }
}

// How a factor is named: its address, 1024 bytes from one atom to the next, and how chunks are permuted.
__device__ __forceinline__ unsigned long long group_factor(const void* at) {
    const unsigned long long address = unsigned(__cvta_generic_to_shared(at));
    return (address & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

// d += a * b: 64 rows of 32 bytes by COLUMNS rows of 32 bytes.
struct float16;
template <class Element, int COLUMNS> struct Group;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define EIGHT(C, i) C(d[i]), C(d[i + 1]), C(d[i + 2]), C(d[i + 3]), C(d[i + 4]), C(d[i + 5]), C(d[i + 6]), C(d[i + 7])
#define PLACES_16 "%2, %3, %4, %5, %6, %7, %8, %9"
#define PLACES_32 PLACES_16 ", %10, %11, %12, %13, %14, %15, %16, %17"
#define PLACES_48 PLACES_32 ", %18, %19, %20, %21, %22, %23, %24, %25"
#define PLACES_64 PLACES_48 ", %26, %27, %28, %29, %30, %31, %32, %33"
#define PLACES_80 PLACES_64 ", %34, %35, %36, %37, %38, %39, %40, %41"
#define PLACES_96 PLACES_80 ", %42, %43, %44, %45, %46, %47, %48, %49"
#define PLACES_112 PLACES_96 ", %50, %51, %52, %53, %54, %55, %56, %57"
#define PLACES_128 PLACES_112 ", %58, %59, %60, %61, %62, %63, %64, %65"
#define PLACES_144 PLACES_128 ", %66, %67, %68, %69, %70, %71, %72, %73"
#define PLACES_160 PLACES_144 ", %74, %75, %76, %77, %78, %79, %80, %81"
#define PLACES_176 PLACES_160 ", %82, %83, %84, %85, %86, %87, %88, %89"
#define PLACES_192 PLACES_176 ", %90, %91, %92, %93, %94, %95, %96, %97"
#define PLACES_208 PLACES_192 ", %98, %99, %100, %101, %102, %103, %104, %105"
#define PLACES_224 PLACES_208 ", %106, %107, %108, %109, %110, %111, %112, %113"
#define PLACES_240 PLACES_224 ", %114, %115, %116, %117, %118, %119, %120, %121"
#define PLACES_256 PLACES_240 ", %122, %123, %124, %125, %126, %127, %128, %129"
#define SUMS_16(C) EIGHT(C, 0)
#define SUMS_32(C) SUMS_16(C), EIGHT(C, 8)
#define SUMS_48(C) SUMS_32(C), EIGHT(C, 16)
#define SUMS_64(C) SUMS_48(C), EIGHT(C, 24)
#define SUMS_80(C) SUMS_64(C), EIGHT(C, 32)
#define SUMS_96(C) SUMS_80(C), EIGHT(C, 40)
#define SUMS_112(C) SUMS_96(C), EIGHT(C, 48)
#define SUMS_128(C) SUMS_112(C), EIGHT(C, 56)
#define SUMS_144(C) SUMS_128(C), EIGHT(C, 64)
#define SUMS_160(C) SUMS_144(C), EIGHT(C, 72)
#define SUMS_176(C) SUMS_160(C), EIGHT(C, 80)
#define SUMS_192(C) SUMS_176(C), EIGHT(C, 88)
#define SUMS_208(C) SUMS_192(C), EIGHT(C, 96)
#define SUMS_224(C) SUMS_208(C), EIGHT(C, 104)
#define SUMS_240(C) SUMS_224(C), EIGHT(C, 112)
#define SUMS_256(C) SUMS_240(C), EIGHT(C, 120)
#define GROUP(ELEMENT, SUM, C, COLUMNS, DEPTH, TYPES, SIGNS) \
    template <> struct Group<ELEMENT, COLUMNS> { \
        static __device__ __forceinline__ void multiply(SUM (&d)[COLUMNS / 2], unsigned long long a, unsigned long long b) { \
            asm volatile("{.reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n" #COLUMNS "k" #DEPTH "." TYPES \
                         " {" PLACES_##COLUMNS "}, %0, %1, p" SIGNS ";}" \
                         : "+l"(a), "+l"(b), SUMS_##COLUMNS(C)::"memory"); \
        } \
    };
#define ALL_GROUPS(COLUMNS) \
    GROUP(float16, float, "+f", COLUMNS, 16, "f32.f16.f16", ", 1, 1, 0, 0") \
    GROUP(signed char, int, "+r", COLUMNS, 32, "s32.s8.s8", "") \
    GROUP(unsigned char, int, "+r", COLUMNS, 32, "s32.u8.s8", "")
ALL_GROUPS(16)
ALL_GROUPS(32)
ALL_GROUPS(48)
ALL_GROUPS(64)
ALL_GROUPS(80)
ALL_GROUPS(96)
ALL_GROUPS(112)
ALL_GROUPS(128)
ALL_GROUPS(144)
ALL_GROUPS(160)
ALL_GROUPS(176)
ALL_GROUPS(192)
ALL_GROUPS(208)
ALL_GROUPS(224)
ALL_GROUPS(240)
ALL_GROUPS(256)
#else
template <class Element, int COLUMNS> struct Group {
    template <class Sums> static __device__ void multiply(Sums&, unsigned long long, unsigned long long) {}
};
#endif

// The shared memory that a kernel is launched with.
template <int BYTES> __device__ __forceinline__ char* dynamic_shared() {
    extern __shared__ __align__(1024) char dynamic[];
    return dynamic;
}
