// CUDA on the host, as far as the kernels need it: the threads of a block take turns on one CPU, from one barrier to the next.
// Buffers end at a page that nobody may touch, so that a kernel which reads beyond one crashes.

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <vector>

#define __device__
#define __host__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

using std::max;
using std::min;

struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(16) float4 { float x, y, z, w; };
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
struct Index { unsigned x, y, z; };
static Index threadIdx, blockIdx;

template <class T> T __ldg(const T* at) { return *at; }
template <class To, class From> To bits_of(From x) { To y; memcpy(&y, &x, sizeof y); return y; }
inline float __int_as_float(unsigned x) { return bits_of<float>(x); }
inline int __float_as_int(float x) { return bits_of<int>(x); }
inline float half_to_float(unsigned short x) { return float(bits_of<_Float16>(x)); }
inline unsigned short float_to_half(float x) { return bits_of<unsigned short>(_Float16(x)); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline int __float2int_rz(float x) {
    return x != x ? 0 : x >= 2147483648.f ? 2147483647 : x <= -2147483648.f ? -2147483647 - 1 : int(x);
}
inline long long __float2ll_rz(float x) { return (long long)x; }

// Threads take turns: nobody comes between.
inline int atomicAdd(int* at, int x) {
    const int before = *at;
    *at += x;
    return before;
}

// A thread of a block.
struct Fiber {
    ucontext_t context;
    std::vector<char> stack = std::vector<char>(64 * 1024);
    bool done = false;
    unsigned thread;
};

static std::vector<Fiber> fibers;
static ucontext_t scheduler;
static unsigned running;
static void (*body)();

// Threads that wait for each other: `present` of them, of which `arrived` are there.
struct Barrier {
    unsigned present = 0, arrived = 0, round = 0;
    void settle() {
        if (arrived == present) {
            arrived = 0;
            ++round;
        }
    }
};
static Barrier block_barrier;
static Barrier warp_barriers[32];

static void give_way() {
    swapcontext(&fibers[running].context, &scheduler);
    threadIdx.x = running;
}

static void wait(Barrier& barrier) {
    const unsigned round = barrier.round;
    ++barrier.arrived;
    barrier.settle();
    while (barrier.round == round) {
        give_way();
    }
}

inline void __syncthreads() { wait(block_barrier); }
inline void __syncwarp() { wait(warp_barriers[threadIdx.x / 32]); }

// What the lanes of a warp show each other.
static unsigned long long shown[32][32][4];

template <class T> const T* show(const T& x, int slot = 0) {
    static_assert(sizeof(T) <= 8);
    memcpy(&shown[threadIdx.x / 32][threadIdx.x % 32][slot], &x, sizeof x);
    return nullptr;
}
template <class T> T seen(unsigned lane, int slot = 0) {
    T x;
    memcpy(&x, &shown[threadIdx.x / 32][lane][slot], sizeof x);
    return x;
}
template <class T> T __shfl_xor_sync(unsigned, T x, int mask) {
    show(x);
    __syncwarp();
    T y = seen<T>(threadIdx.x % 32 ^ mask);
    __syncwarp();
    return y;
}

inline void previous_wait() {}
inline void next_begins() {}

// Whether something is done at once that the GPU may do at any time until it is waited for: one half of all is, the other at the last moment.
static bool at_once() {
    static unsigned state = 1;
    state = state * 1664525 + 1013904223;
    return state >> 31;
}

// A copy to shared memory, which is waited for.
struct Copy {
    void* to;
    const void* from;
    bool there;
    unsigned group;
};
static std::vector<Copy> copies[1024];
static unsigned groups[1024];

inline void make(const Copy& copy) {
    if (copy.there) {
        memcpy(copy.to, copy.from, 16);
    } else {
        memset(copy.to, 0, 16);
    }
}
template <bool CACHED> void copy_async(void* to, const void* from, bool there) {
    const Copy copy = {to, from, there, groups[threadIdx.x]};
    if (at_once()) {
        make(copy);
    } else {
        copies[threadIdx.x].push_back(copy);
    }
}
inline void copies_commit() { ++groups[threadIdx.x]; }
template <int GROUPS> void copies_wait() {
    std::vector<Copy> later;
    for (const Copy& copy : copies[threadIdx.x]) {
        if (copy.group + GROUPS >= groups[threadIdx.x]) {
            later.push_back(copy);
        } else {
            make(copy);
        }
    }
    copies[threadIdx.x] = later;
}

inline void load_matrices(unsigned (&to)[4], const void* row) {
    show(row);
    __syncwarp();
    const unsigned lane = threadIdx.x % 32;
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
        memcpy(&to[matrix], (const char*)seen<const void*>(matrix * 8 + lane / 4) + lane % 4 * 4, 4);
    }
    __syncwarp();
}

// A register holds NEIGHBOURS numbers, a product of matrices adds up 8 * NEIGHBOURS; `product(left, right, i)` is that of the numbers `i` of
// two registers.
template <unsigned NEIGHBOURS, class Sum, class Product>
void multiply_registers(Sum (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, Product product) {
    constexpr unsigned HALF = 4 * NEIGHBOURS;
    for (int i = 0; i < 2; ++i) {
        show((unsigned long long)a[2 * i] | (unsigned long long)a[2 * i + 1] << 32, i);
    }
    show((unsigned long long)b0 | (unsigned long long)b1 << 32, 2);
    __syncwarp();
    const unsigned lane = threadIdx.x % 32;
    for (int i = 0; i < 4; ++i) {
        const unsigned column = lane % 4 * 2 + i % 2;
        for (unsigned k = 0; k < 2 * HALF; ++k) {
            // Of row `lane / 4`, or the eighth after it, and of the column, the lanes have a register of each half.
            const unsigned long long left = seen<unsigned long long>(lane / 4 * 4 + k % HALF / NEIGHBOURS, k / HALF);
            const unsigned long long right = seen<unsigned long long>(column * 4 + k % HALF / NEIGHBOURS, 2);
            sum[i] += product(unsigned(left >> 32 * (i / 2)), unsigned(right >> 32 * (k / HALF)), k % NEIGHBOURS);
        }
    }
    __syncwarp();
}

inline void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    auto of = [](unsigned pair, int i) { return half_to_float((unsigned short)(pair >> 16 * i)); };
    multiply_registers<2>(sum, a, b0, b1, [&](unsigned x, unsigned y, int i) { return of(x, i) * of(y, i); });
}

inline void multiply_tf32(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    // TF32 is what float32 begins with: tensor cores do not see the rest.
    auto of = [](unsigned x) { return bits_of<float>(x & 0xffffe000u); };
    multiply_registers<1>(sum, a, b0, b1, [&](unsigned x, unsigned y, int) { return of(x) * of(y); });
}

template <bool SIGNED> void multiply_integers(int (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    multiply_registers<4>(sum, a, b0, b1, [](unsigned four, unsigned other, int i) {
        const unsigned char x = four >> 8 * i, y = other >> 8 * i;
        return (SIGNED ? int((signed char)x) : int(x)) * int((signed char)y);
    });
}

struct float16;

// A product of a warp group, of which this thread makes its part.
struct GroupProduct {
    void (*make)(void* sums, unsigned long long a, unsigned long long b);
    void* sums;
    unsigned long long a, b;
    unsigned set;
};
static std::vector<GroupProduct> group_products[1024];
static unsigned group_sets[1024];

inline void group_sees() {}
inline void group_begins() {}
inline void group_commits() { ++group_sets[threadIdx.x]; }
template <int SETS> void group_waits() {
    std::vector<GroupProduct> later;
    for (const GroupProduct& product : group_products[threadIdx.x]) {
        if (product.set + SETS >= group_sets[threadIdx.x]) {
            later.push_back(product);
        } else {
            product.make(product.sums, product.a, product.b);
        }
    }
    group_products[threadIdx.x] = later;
}
template <class Sums> void group_holds(Sums&) {}
inline unsigned long long group_factor(const void* at) { return (unsigned long long)at; }

// Where the GPU finds a byte of a row: it permutes chunks by the address itself.
inline const unsigned char* group_byte(unsigned long long factor, int row, int byte) {
    unsigned long long at = factor + row * 128 + byte;
    return (const unsigned char*)(at ^ (at >> 7 & 7) << 4);
}
inline float group_number(const float16*, unsigned long long factor, int row, int k) {
    return half_to_float(bits_of<unsigned short>(*(const unsigned short*)group_byte(factor, row, 2 * k)));
}
inline int group_number(const signed char*, unsigned long long factor, int row, int k) {
    return (signed char)*group_byte(factor, row, k);
}
inline int group_number(const unsigned char*, unsigned long long factor, int row, int k) { return *group_byte(factor, row, k); }
template <class Element> struct GroupType { using Sum = int; using Right = signed char; static constexpr int DEPTH = 32; };
template <> struct GroupType<float16> { using Sum = float; using Right = float16; static constexpr int DEPTH = 16; };

template <class Element, int COLUMNS> struct Group {
    using T = GroupType<Element>;
    static void multiply(typename T::Sum (&d)[COLUMNS / 2], unsigned long long a, unsigned long long b) {
        auto made = [](void* sums, unsigned long long a, unsigned long long b) {
            for (int i = 0; i < COLUMNS / 2; ++i) {
                const int row = threadIdx.x % 128 / 32 * 16 + i % 4 / 2 * 8 + threadIdx.x % 32 / 4;
                const int column = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
                for (int k = 0; k < T::DEPTH; ++k) {
                    ((typename T::Sum*)sums)[i] += group_number((const Element*)nullptr, a, row, k) *
                                                   group_number((const typename T::Right*)nullptr, b, column, k);
                }
            }
        };
        if (at_once()) {
            made(d, a, b);
        } else {
            group_products[threadIdx.x].push_back({made, d, a, b, group_sets[threadIdx.x]});
        }
    }
};

template <int BYTES> char* dynamic_shared() {
    alignas(1024) static char dynamic[BYTES];
    return dynamic;
}

static void begin() {
    body();
    fibers[running].done = true;
    --block_barrier.present;
    block_barrier.settle();
    --warp_barriers[running / 32].present;
    warp_barriers[running / 32].settle();
    setcontext(&scheduler);
}

static void run_block(unsigned threads) {
    fibers.resize(threads);
    block_barrier = Barrier();
    block_barrier.present = threads;
    for (Barrier& barrier : warp_barriers) {
        barrier = Barrier();
    }
    for (unsigned thread = 0; thread < threads; ++thread) {
        Fiber& fiber = fibers[thread];
        fiber.done = false;
        copies[thread].clear();
        group_products[thread].clear();
        ++warp_barriers[thread / 32].present;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, begin, 0);
    }
    for (bool left = true; left;) {
        left = false;
        for (running = 0; running < threads; ++running) {
            if (!fibers[running].done) {
                threadIdx.x = running;
                swapcontext(&scheduler, &fibers[running].context);
                left = true;
            }
        }
    }
}

// A copy of a buffer between two pages that nobody may touch, at its end but for what a vector's alignment needs.
struct Guarded {
    char *pages, *data;
    size_t size, bytes;
    Guarded(const char* from, size_t count) : bytes(count) {
        size = (count + 15) / 4096 * 4096 + 3 * 4096;
        pages = (char*)mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(pages, 4096, PROT_NONE);
        mprotect(pages + size - 4096, 4096, PROT_NONE);
        data = pages + size - 4096 - (count + 15) / 16 * 16;
        memcpy(data, from, count);
    }
    ~Guarded() { munmap(pages, size); }
};

template <class Buffers> static void launch(
    void (*kernel)(Buffers), unsigned threads, unsigned blocks, unsigned made, char** buffers, const size_t* bytes, size_t count) {
    std::vector<Guarded*> guarded;
    static Buffers b;
    b.count = made;
    for (size_t i = 0; i < count; ++i) {
        guarded.push_back(new Guarded(buffers[i], bytes[i]));
        b.at[i] = guarded[i]->data;
    }
    static void (*called)(Buffers);
    called = kernel;
    body = [] { called(b); };
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
        run_block(threads);
    }
    for (size_t i = 0; i < count; ++i) {
        memcpy(buffers[i], guarded[i]->data, bytes[i]);
        delete guarded[i];
    }
}
