// Noise to run kernels on, and whether two of them have written the same.
//
// Both write memory that was filled with the same noise, so that what only one of them writes differs.

// The types of elements: the constants of `kind` in check.rs.
enum Kind { FLOAT32, FLOAT16, INT8, UINT8 };

struct Fill { void* at; unsigned long long count; unsigned seed; int kind; float size; };
struct Compare {
    const void* expected; const void* found; unsigned long long count; int kind; float share; double* squares; unsigned* wrong;
    float* far; };

__device__ float get(const void* at, unsigned long long index, int kind) {
    if (kind == FLOAT32) return ((const float*)at)[index];
    if (kind == INT8) return ((const signed char*)at)[index];
    if (kind == UINT8) return ((const unsigned char*)at)[index];
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(((const unsigned short*)at)[index]));
    return value;
}

// One thread an element: numbers of a uniform distribution over [-size, size], by a hash of their index; all integers of 8 bits.
extern "C" __global__ void fill(const Fill p) {
    unsigned long long index = blockIdx.x * 256ull + threadIdx.x;
    if (index >= p.count) return;
    unsigned x = (unsigned)index * 0x9E3779B9u + p.seed;
    x ^= x >> 16; x *= 0x85EBCA6Bu; x ^= x >> 13; x *= 0xC2B2AE35u; x ^= x >> 16;
    float value = ((x >> 8) * (2.0f / 16777216.0f) - 1.0f) * p.size;
    if (p.kind == INT8 || p.kind == UINT8) {
        ((unsigned char*)p.at)[index] = x >> 24;
    } else if (p.kind == FLOAT16) {
        unsigned short half;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
        ((unsigned short*)p.at)[index] = half;
    } else {
        ((float*)p.at)[index] = value;
    }
}

// squares[0]: the sum of the squares of what is expected; squares[1]: how many numbers there are.
extern "C" __global__ void measure(const Compare p) {
    double sum = 0, count = 0;
    for (unsigned long long index = blockIdx.x * 256ull + threadIdx.x; index < p.count; index += gridDim.x * 256ull) {
        float value = get(p.expected, index, p.kind);
        if (value == value) { sum += (double)value * value; count += 1; }
    }
    for (int lane = 16; lane; lane /= 2) {
        sum += __shfl_xor_sync(~0u, sum, lane);
        count += __shfl_xor_sync(~0u, count, lane);
    }
    if (threadIdx.x % 32 == 0) { atomicAdd(p.squares, sum); atomicAdd(p.squares + 1, count); }
}

// Counts the elements that differ by more than `share` of the larger of the expected number and the root of the mean square.
extern "C" __global__ void compare(const Compare p) {
    float usual = p.squares[1] > 0 ? (float)sqrt(p.squares[0] / p.squares[1]) : 0;
    unsigned wrong = 0;
    float far = 0;
    for (unsigned long long index = blockIdx.x * 256ull + threadIdx.x; index < p.count; index += gridDim.x * 256ull) {
        float a = get(p.expected, index, p.kind), b = get(p.found, index, p.kind);
        if (a != a && b != b) continue;
        float off = fabsf(a - b) / fmaxf(fmaxf(fabsf(a), usual), 1e-20f);
        if (!(off <= p.share)) wrong++;
        far = fmaxf(far, off == off ? off : 1e30f);
    }
    if (wrong) atomicAdd(p.wrong, wrong);
    atomicMax((int*)p.far, __float_as_int(far));
}
