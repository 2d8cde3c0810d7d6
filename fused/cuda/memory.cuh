// A generated kernel's parameter, the types of tensors, and loads and stores of several elements at once.

// A kernel's only parameter: the addresses of the buffers that it reads and writes, and how many there are of what it makes: pixels, images,
// rows, elements. No source has that number, so that batches of other sizes run the same machine code.
struct Buffers {
    char* at[16];
    unsigned count;
};

struct float16 {
    unsigned short bits;
};

struct boolean {
    unsigned char byte;
};

__device__ __forceinline__ float number(float x) { return x; }
// Added to an integer between -2^22 and 2^22, it gives a float32 whose lowest bits are those of the integer: cheaper than a conversion.
// A float32 whose lowest byte is an integer of 8 bits is called its carrier here: such a sum, or the byte and nothing else.
#define RAISED 12582912.f
__device__ __forceinline__ float number(unsigned char x) { return __int_as_float(0x4b400000 + x) - RAISED; }
__device__ __forceinline__ float number(signed char x) { return __int_as_float(0x4b400000 + x) - RAISED; }
__device__ __forceinline__ float number(int x) { return float(x); }
__device__ __forceinline__ float number(long long x) { return float(x); }
__device__ __forceinline__ float number(boolean x) { return x.byte ? 1.f : 0.f; }
__device__ __forceinline__ float number(float16 x) {
    return half_to_float(x.bits);
}

// A number as an element: float16 is rounded to the nearest, integers are cut off towards 0 and end at their type's bounds.
__device__ __forceinline__ void assign(float& to, float x) { to = x; }
__device__ __forceinline__ void assign(unsigned char& to, float x) { to = (unsigned char)(int)fminf(fmaxf(x, 0.f), 255.f); }
__device__ __forceinline__ void assign(signed char& to, float x) { to = (signed char)(int)fminf(fmaxf(x, -128.f), 127.f); }
__device__ __forceinline__ void assign(int& to, float x) { to = __float2int_rz(x); }
__device__ __forceinline__ void assign(long long& to, float x) { to = x == x ? __float2ll_rz(x) : 0; }
__device__ __forceinline__ void assign(boolean& to, float x) { to.byte = x != 0.f; }
__device__ __forceinline__ void assign(float16& to, float x) {
    to.bits = float_to_half(x);
}

template <int BYTES> struct Raw;
template <> struct Raw<1> { using Type = unsigned char; };
template <> struct Raw<2> { using Type = unsigned short; };
template <> struct Raw<4> { using Type = unsigned int; };
template <> struct Raw<8> { using Type = uint2; };
template <> struct Raw<16> { using Type = uint4; };

// As many elements as one instruction loads.
template <class T, int COUNT> union Pack {
    typename Raw<int(sizeof(T)) * COUNT>::Type raw;
    T at[COUNT];
};

// Sums that one instruction loads from shared memory.
template <class T> struct __align__(8) Two { T at[2]; };
template <class T> struct __align__(16) Four { T at[4]; };

__host__ __device__ constexpr int least(int a, int b) { return a < b ? a : b; }

// How many elements of T one instruction loads, of COUNT that lie together.
template <class T, int COUNT> __host__ __device__ constexpr int together() {
    return least(COUNT, 16 / int(sizeof(T)));
}

// Loads COUNT elements that lie together at an address that is a multiple of their size. CONSTANT: of weights, which no kernel ever writes.
template <bool CONSTANT, int COUNT, class T> __device__ __forceinline__ void load(float* to, const T* from) {
    constexpr int N = together<T, COUNT>();
    using Type = typename Raw<int(sizeof(T)) * N>::Type;
#pragma unroll
    for (int i = 0; i < COUNT; i += N) {
        Pack<T, N> pack;
        const Type* at = reinterpret_cast<const Type*>(from + i);
        if constexpr (CONSTANT) {
            pack.raw = __ldg(at);
        } else {
            pack.raw = *at;
        }
#pragma unroll
        for (int j = 0; j < N; ++j) {
            to[i + j] = number(pack.at[j]);
        }
    }
}

template <bool CONSTANT, class T> __device__ __forceinline__ float load(const T* from) {
    float x;
    load<CONSTANT, 1>(&x, from);
    return x;
}

// Stores COUNT elements together at an address that is a multiple of their size.
template <int COUNT, class T> __device__ __forceinline__ void store(T* to, const float* from) {
    constexpr int N = together<T, COUNT>();
#pragma unroll
    for (int i = 0; i < COUNT; i += N) {
        Pack<T, N> pack;
#pragma unroll
        for (int j = 0; j < N; ++j) {
            assign(pack.at[j], from[i + j]);
        }
        *reinterpret_cast<typename Raw<int(sizeof(T)) * N>::Type*>(to + i) = pack.raw;
    }
}

template <class T> __device__ __forceinline__ T carried(float carrier) {
    return T(__float_as_int(carrier));
}

// Stores COUNT integers by their carriers.
template <int COUNT, class T> __device__ __forceinline__ void store_carried(T* to, const float* from) {
    constexpr int N = together<T, COUNT>();
#pragma unroll
    for (int i = 0; i < COUNT; i += N) {
        Pack<T, N> pack;
#pragma unroll
        for (int j = 0; j < N; ++j) {
            pack.at[j] = carried<T>(from[i + j]);
        }
        *reinterpret_cast<typename Raw<int(sizeof(T)) * N>::Type*>(to + i) = pack.raw;
    }
}

template <int COUNT> __device__ __forceinline__ void fill(float* to, float x) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
        to[i] = x;
    }
}

// A pixel of a convolution's output: image, row and column; whether it is one.
struct Pixel {
    unsigned n, p, q;
    bool there;
};

// The carrier of the element of a list of 256 whose index is an integer of 8 bits: negative ones are counted from the end.
template <class T> __device__ __forceinline__ float looked_up(const T* results, float carrier) {
    return __int_as_float((unsigned char)__ldg(results + carried<unsigned char>(carrier)));
}
