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
