// A block's tile of a product of matrices: the sums are in its threads' registers, the factors in shared memory.
//
// A stage of shared memory holds ROWS rows of the left factor, then COLUMNS of the right one. A row is CHUNKS chunks of 16 bytes, eight
// float16, four float32 or sixteen integers of 8 bits, permuted so that eight rows' loads meet no bank twice. Warps share the tile out as WARPS_DOWN x WARPS_ACROSS,
// and a stage's chunks among WARPS_DEEP. CoreSums multiplies on tensor cores, PlainSums number by number. In the end sums meet in shared
// memory, from where threads take eight channels of a pixel through the epilogue. GroupSums multiplies straight from shared memory, on compute capability 9.0.

// Into how many parts bytes are divided so that each fits into 48 KiB.
__host__ __device__ constexpr int parts_of(int bytes, int most) {
    int count = 1;
    while (bytes / count > 48 * 1024 && count < most) {
        count *= 2;
    }
    return count;
}

template <class S> struct Tile {
    static constexpr int THREADS = 32 * S::WARPS_DOWN * S::WARPS_ACROSS * S::WARPS_DEEP;
    static constexpr int ACROSS = (S::OUTPUTS + S::COLUMNS - 1) / S::COLUMNS;
    // Of an image.
    static constexpr int PIXELS = S::OUT_ROWS * S::OUT_COLUMNS;
    // Of a warp.
    static constexpr int DOWN_16 = S::ROWS / S::WARPS_DOWN / 16;
    static constexpr int ACROSS_16 = S::COLUMNS / S::WARPS_ACROSS / 16;
    // Sums between rows of them: the pairs that half a warp stores at once lie in 32 different banks.
    static constexpr int PITCH = S::COLUMNS + 8;
    // Sums are written in parts where all of them are more than the shared memory that every GPU gives: in each, 16 rows or more of a warp.
    static constexpr int PARTS = S::SHARED != 0 ? 1 : parts_of(S::ROWS * PITCH * 4, DOWN_16);
    static constexpr int PART_16 = DOWN_16 / PARTS;
    static constexpr int BYTES_SUMS = S::ROWS / PARTS * PITCH * 4;
};

// Which part of the tile a thread's warp makes.
template <class S> struct Warp {
    int lane, down, across, deep;
    __device__ Warp() {
        const int warp = threadIdx.x / 32;
        lane = threadIdx.x % 32;
        down = warp % S::WARPS_DOWN, across = warp / S::WARPS_DOWN % S::WARPS_ACROSS;
        deep = warp / (S::WARPS_DOWN * S::WARPS_ACROSS);
    }
};

// Where a chunk of a row lies in a stage, in bytes.
template <int CHUNKS> __device__ __forceinline__ int place(int row, int chunk) {
    const int permuted = CHUNKS == 4 ? chunk ^ (row >> 1 & 3) : chunk & ~7 | (chunk ^ row) & 7;
    return (row * CHUNKS + permuted) * 16;
}

// What a lane has of two chunks of 16 rows, as tensor cores take it.
template <class T> struct Factor;

template <> struct Factor<float16> {
    unsigned at[4];
    __device__ void load(const char* row) { load_matrices(at, row); }
    // `pair`: the first or the second eight columns of `right`.
    static __device__ void multiply(float (&sum)[4], const Factor& left, const Factor& right, int pair) {
        ::multiply(sum, left.at, right.at[2 * pair], right.at[2 * pair + 1]);
    }
};

// Tensor cores take TF32: eleven bits of a float32's twenty-four. A number is the sum of a large and a small one of these, but for a
// 2^-21th of it at most; of a product, that of the two small ones is left out, which is as little.
template <> struct Factor<float> {
    unsigned large[4], small[4];
    __device__ void load(const char* row) {
        unsigned raw[4];
        load_matrices(raw, row);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            large[i] = (raw[i] + 0x1000u) & 0xffffe000u;
            small[i] = __float_as_int(__int_as_float(raw[i]) - __int_as_float(large[i]));
        }
    }
    static __device__ void multiply(float (&sum)[4], const Factor& left, const Factor& right, int pair) {
        multiply_tf32(sum, left.small, right.large[2 * pair], right.large[2 * pair + 1]);
        multiply_tf32(sum, left.large, right.small[2 * pair], right.small[2 * pair + 1]);
        multiply_tf32(sum, left.large, right.large[2 * pair], right.large[2 * pair + 1]);
    }
};

// Integers of 8 bits: those of the left factor are int8 or uint8, those of the right one int8.
template <bool SIGNED> struct Integers {
    unsigned at[4];
    __device__ void load(const char* row) { load_matrices(at, row); }
    static __device__ void multiply(int (&sum)[4], const Integers& left, const Integers& right, int pair) {
        multiply_integers<SIGNED>(sum, left.at, right.at[2 * pair], right.at[2 * pair + 1]);
    }
};
template <> struct Factor<signed char> : Integers<true> {};
template <> struct Factor<unsigned char> : Integers<false> {};

template <class S> struct CoreSums {
    using T = Tile<S>;
    static constexpr int LAG = 0;
    using Sum = typename S::Sum;
    using Numbers = Factor<typename S::Element>;
    // Tensor cores cut sums off towards 0 at each step. float32's are taken over into others at each stage, where they are rounded to the
    // nearest.
    static constexpr bool STAGED = sizeof(typename S::Element) == 4;
    Sum sum[T::DOWN_16][T::ACROSS_16 * 2][4] = {};

    __device__ void add(const Warp<S>& warp, const char* left, const char* right) {
        if constexpr (STAGED) {
            Sum part[T::DOWN_16][T::ACROSS_16 * 2][4] = {};
            multiply(part, warp, left, right);
#pragma unroll
            for (int i = 0; i < T::DOWN_16; ++i) {
#pragma unroll
                for (int j = 0; j < T::ACROSS_16 * 2; ++j) {
#pragma unroll
                    for (int l = 0; l < 4; ++l) {
                        sum[i][j][l] += part[i][j][l];
                    }
                }
            }
        } else {
            multiply(sum, warp, left, right);
        }
    }

    static __device__ void multiply(
        Sum (&sum)[T::DOWN_16][T::ACROSS_16 * 2][4], const Warp<S>& warp, const char* left, const char* right) {
        constexpr int PAIRS = S::CHUNKS / S::WARPS_DEEP / 2;
        const int lane = warp.lane;
#pragma unroll
        for (int k = 0; k < PAIRS; ++k) {
            const int first = (warp.deep * PAIRS + k) * 2;
            Numbers a[T::DOWN_16], b[T::ACROSS_16];
            // Sixteen rows further, chunks are permuted in the same way.
            const char* from_left = left + place<S::CHUNKS>(warp.down * T::DOWN_16 * 16 + lane % 16, first + lane / 16);
            const char* from_right =
                right + place<S::CHUNKS>(warp.across * T::ACROSS_16 * 16 + lane / 16 * 8 + lane % 8, first + lane / 8 % 2);
#pragma unroll
            for (int i = 0; i < T::DOWN_16; ++i) {
                a[i].load(from_left + i * 16 * S::CHUNKS * 16);
            }
#pragma unroll
            for (int j = 0; j < T::ACROSS_16; ++j) {
                b[j].load(from_right + j * 16 * S::CHUNKS * 16);
            }
#pragma unroll
            for (int i = 0; i < T::DOWN_16; ++i) {
#pragma unroll
                for (int j = 0; j < T::ACROSS_16 * 2; ++j) {
                    Numbers::multiply(sum[i][j], a[i], b[j / 2], j % 2);
                }
            }
        }
    }

    __device__ void end() {}

    // Writes part `part`, or adds it to what is there.
    __device__ void write(const Warp<S>& warp, Sum* sums, int part, bool is_first) const {
        Sum* own = sums + (warp.down * T::PART_16 * 16 + warp.lane / 4) * T::PITCH + warp.across * T::ACROSS_16 * 16 + warp.lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < T::DOWN_16; ++i) {
            if (i / T::PART_16 == part) {
#pragma unroll
                for (int j = 0; j < T::ACROSS_16 * 2; ++j) {
#pragma unroll
                    for (int half = 0; half < 2; ++half) {
                        Two<Sum>* to = reinterpret_cast<Two<Sum>*>(own + (i % T::PART_16 * 16 + half * 8) * T::PITCH + j * 8);
                        const Two<Sum> old = is_first ? Two<Sum>{} : *to;
                        *to = {{old.at[0] + sum[i][j][half * 2], old.at[1] + sum[i][j][half * 2 + 1]}};
                    }
                }
            }
        }
    }
};

// Sums of warp groups, each of which has as many rows of the tile, 64 or 128, and all of its columns. What add() was given may be read until
// it is called again, so that products run beside the next stage's loads.
template <class S> struct GroupSums {
    using T = Tile<S>;
    using Sum = typename S::Sum;
    static constexpr int LAG = 1, SETS_OF_64 = T::DOWN_16;
    static_assert(S::CHUNKS == 8 && S::WARPS_DOWN % 4 == 0 && S::WARPS_ACROSS == 1 && S::WARPS_DEEP == 1);
    Sum sum[SETS_OF_64][S::COLUMNS / 2] = {};

    // Where the first of the 64 rows of a set begins: those of a group follow each other.
    static __device__ int first_row(const Warp<S>& warp, int set) { return (warp.down / 4 * SETS_OF_64 + set) * 64; }

    __device__ void add(const Warp<S>& warp, const char* left, const char* right) {
        hold();
        group_begins();
#pragma unroll
        for (int k = 0; k < S::CHUNKS / 2; ++k) {
            const unsigned long long b = group_factor(right + k * 32);
#pragma unroll
            for (int i = 0; i < SETS_OF_64; ++i) {
                const unsigned long long a = group_factor(left + first_row(warp, i) * S::CHUNKS * 16 + k * 32);
                Group<typename S::Element, S::COLUMNS>::multiply(sum[i], a, b);
            }
        }
        group_commits();
        hold();
        group_waits<LAG>();
    }

    __device__ void end() {
        group_waits<0>();
        hold();
    }

    __device__ void hold() {
#pragma unroll
        for (int i = 0; i < SETS_OF_64; ++i) {
            group_holds(sum[i]);
        }
    }

    // As CoreSums does, of the one part.
    __device__ void write(const Warp<S>& warp, Sum* sums, int, bool) const {
        static_assert(T::PARTS == 1);
#pragma unroll
        for (int i = 0; i < SETS_OF_64; ++i) {
            const int row = first_row(warp, i) + warp.down % 4 * 16 + warp.lane / 4;
            Sum* own = sums + row * T::PITCH + warp.lane % 4 * 2;
#pragma unroll
            for (int j = 0; j < S::COLUMNS / 8; ++j) {
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const Two<Sum> two = {{sum[i][j * 4 + half * 2], sum[i][j * 4 + half * 2 + 1]}};
                    *reinterpret_cast<Two<Sum>*>(own + half * 8 * T::PITCH + j * 8) = two;
                }
            }
        }
    }
};

// Sums of float32 without tensor cores. Of a warp's tile, a lane has every fourth row and every eighth column, and loads four numbers of each
// at once.
template <class S> struct PlainSums {
    using T = Tile<S>;
    static constexpr int LAG = 0;
    static constexpr int DOWN = T::DOWN_16 * 4, ACROSS = T::ACROSS_16 * 2;
    float sum[DOWN][ACROSS] = {};

    __device__ void add(const Warp<S>& warp, const char* left, const char* right) {
        constexpr int LENGTH = S::CHUNKS / S::WARPS_DEEP;
        // Written out, the loads of all chunks would come first, into twice as many registers.
#pragma unroll 1
        for (int k = 0; k < LENGTH; ++k) {
            const int chunk = warp.deep * LENGTH + k;
            float4 b[ACROSS];
#pragma unroll
            for (int j = 0; j < ACROSS; ++j) {
                const int row = (warp.across * ACROSS + j) * 8 + warp.lane % 8;
                b[j] = *reinterpret_cast<const float4*>(right + place<S::CHUNKS>(row, chunk));
            }
#pragma unroll
            for (int i = 0; i < DOWN; ++i) {
                const int row = (warp.down * DOWN + i) * 4 + warp.lane / 8;
                const float4 a = *reinterpret_cast<const float4*>(left + place<S::CHUNKS>(row, chunk));
#pragma unroll
                for (int j = 0; j < ACROSS; ++j) {
                    sum[i][j] = fmaf(a.x, b[j].x, sum[i][j]);
                    sum[i][j] = fmaf(a.y, b[j].y, sum[i][j]);
                    sum[i][j] = fmaf(a.z, b[j].z, sum[i][j]);
                    sum[i][j] = fmaf(a.w, b[j].w, sum[i][j]);
                }
            }
        }
    }

    __device__ void end() {}

    // As CoreSums does.
    __device__ void write(const Warp<S>& warp, float* sums, int part, bool is_first) const {
        constexpr int OF_PART = T::PART_16 * 4;
#pragma unroll
        for (int i = 0; i < DOWN; ++i) {
            if (i / OF_PART == part) {
#pragma unroll
                for (int j = 0; j < ACROSS; ++j) {
                    const int r = (warp.down * OF_PART + i % OF_PART) * 4 + warp.lane / 8;
                    float* to = sums + r * T::PITCH + (warp.across * ACROSS + j) * 8 + warp.lane % 8;
                    *to = (is_first ? 0.f : *to) + sum[i][j];
                }
            }
        }
    }
};

// On what a tile is multiplied.
constexpr int PLAIN = 0, CORES = 1, WARP_GROUPS = 2;
template <int ON, class S> struct Kind;
template <class S> struct Kind<PLAIN, S> { using Sums = PlainSums<S>; };
template <class S> struct Kind<CORES, S> { using Sums = CoreSums<S>; };
template <class S> struct Kind<WARP_GROUPS, S> { using Sums = GroupSums<S>; };
// Tensor cores multiply TF32 from compute capability 8.0 on; older GPUs run the same kernels without them.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
template <class S> using SumsOf = typename Kind<sizeof(typename S::Element) == 4 ? PLAIN : S::ON, S>::Sums;
#else
template <class S> using SumsOf = typename Kind<S::ON, S>::Sums;
#endif

// Brings the sums of all warps together in shared memory, and takes them through the epilogue.
//   locate(row)   which pixel of the output a row of the tile is; the first one instead of what is none
template <class S, class Sums, class Locate>
__device__ __forceinline__ void finish_tile(
    const Buffers& b, const Warp<S>& warp, const Sums& all, typename S::Sum* sums, int first_output, Locate locate) {
    using T = Tile<S>;
    constexpr int EIGHTS = S::COLUMNS / 8, ROWS = S::ROWS / T::PARTS;
    // Rows that all threads together take at once, and pixels of the same channels that a thread does.
    constexpr int LINES = T::THREADS / EIGHTS;
    constexpr int PLACES = S::PIXELS_FIRST ? 1 : least(S::PLACES, (ROWS + LINES - 1) / LINES);
    constexpr int TURNS = S::PIXELS_FIRST ? (ROWS * EIGHTS + T::THREADS - 1) / T::THREADS : (ROWS + LINES * PLACES - 1) / (LINES * PLACES);
    // A part has some rows of each warp.
    constexpr int OF_WARP = T::PART_16 * 16;
#pragma unroll
    for (int part = 0; part < T::PARTS; ++part) {
#pragma unroll
        for (int turn = 0; turn < S::WARPS_DEEP; ++turn) {
            __syncthreads();
            if (warp.deep == turn) {
                all.write(warp, sums, part, turn == 0);
            }
        }
        __syncthreads();
#pragma unroll 1
        for (int turn = 0; turn < TURNS; ++turn) {
            // Threads that follow each other have neighbours in the output's memory.
            const int unit = threadIdx.x + turn * T::THREADS;
            const int c = S::PIXELS_FIRST ? unit / ROWS * 8 : threadIdx.x % EIGHTS * 8;
            const int first = S::PIXELS_FIRST ? unit % ROWS : turn * PLACES * LINES + int(threadIdx.x) / EIGHTS;
            if (c >= S::COLUMNS || first >= ROWS || (!S::PIXELS_FIRST && threadIdx.x >= LINES * EIGHTS)) {
                continue;
            }
            const unsigned k = first_output + c;
            using Sum = typename S::Sum;
            constexpr int COUNT = S::FINISHED;
            Sum out[8 / COUNT][PLACES * COUNT];
            Pixel at[PLACES];
#pragma unroll
            for (int u = 0; u < PLACES; ++u) {
                const int r = least(first + u * LINES, ROWS - 1);
                at[u] = locate(r / OF_WARP * (T::DOWN_16 * 16) + part * OF_WARP + r % OF_WARP);
                at[u].there &= first + u * LINES < ROWS;
#pragma unroll
                for (int i = 0; i < 8; i += 4) {
                    const Four<Sum> four = *reinterpret_cast<const Four<Sum>*>(sums + r * T::PITCH + c + i);
#pragma unroll
                    for (int l = 0; l < 4; ++l) {
                        out[(i + l) / COUNT][u * COUNT + (i + l) % COUNT] = four.at[l];
                    }
                }
            }
#pragma unroll
            for (int i = 0; i < 8; i += COUNT) {
                if (k + i < unsigned(S::OUTPUTS)) {
                    S::template finish<PLACES>(b, out[i / COUNT], k + i, at);
                }
            }
        }
    }
}
