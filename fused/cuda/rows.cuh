// Reductions, softmax and normalisation: rows of numbers that become one number, numbers whose sum is 1, or whose mean is 0 and variance 1.
//
// A kernel's shape S is written for its step. A block has THREADS threads; of these, GROUPS work at the same unit (COUNT rows that lie
// together, or one row, of which they load COUNT numbers at once) and take its LENGTH loads in turns. COLUMNS: the threads that follow each
// other belong to units that follow each other (rows lie side by side in memory), else to the same unit (a row's numbers lie together).
//   offset(unit)        where a unit begins in the input;   step(j)   how far its load j is from there
//   read(b, to, at)     loads COUNT numbers
//   write(b, from, ...) stores a unit's results, or COUNT numbers of a row
//   factor(b, to, j), added(b, to, j)   of a normalisation: what the numbers of load j are multiplied by, and what is added

// What threads find out about a row, number by number, and bring together.
struct Sum {
    float x = 0.f;
    __device__ void add(float y, int) { x += y; }
    __device__ void merge(const Sum& other) { x += other.x; }
    __device__ Sum from(int lane) const { Sum s; s.x = __shfl_xor_sync(~0u, x, lane); return s; }
    __device__ float result(float) const { return x; }
};
struct Mean : Sum {
    __device__ Mean from(int lane) const { Mean s; s.x = __shfl_xor_sync(~0u, x, lane); return s; }
    __device__ float result(float count) const { return x / count; }
};
struct Norm : Sum {
    __device__ void add(float y, int) { x = fmaf(y, y, x); }
    __device__ Norm from(int lane) const { Norm s; s.x = __shfl_xor_sync(~0u, x, lane); return s; }
    __device__ float result(float) const { return sqrtf(x); }
};
struct Most {
    float x = __int_as_float(0xff800000);
    __device__ void add(float y, int) { x = fmaxf(x, y); }
    __device__ void merge(const Most& other) { x = fmaxf(x, other.x); }
    __device__ Most from(int lane) const { Most s; s.x = __shfl_xor_sync(~0u, x, lane); return s; }
    __device__ float result(float) const { return x; }
};
struct Least {
    float x = __int_as_float(0x7f800000);
    __device__ void add(float y, int) { x = fminf(x, y); }
    __device__ void merge(const Least& other) { x = fminf(x, other.x); }
    __device__ Least from(int lane) const { Least s; s.x = __shfl_xor_sync(~0u, x, lane); return s; }
    __device__ float result(float) const { return x; }
};
struct WhereMost {
    float x = __int_as_float(0xff800000);
    int at = 0x7fffffff;
    __device__ void add(float y, int i) {
        if (y > x || (y == x && i < at)) {
            x = y;
            at = i;
        }
    }
    __device__ void merge(const WhereMost& other) { add(other.x, other.at); }
    __device__ WhereMost from(int lane) const {
        WhereMost s;
        s.x = __shfl_xor_sync(~0u, x, lane);
        s.at = __shfl_xor_sync(~0u, at, lane);
        return s;
    }
    __device__ float result(float) const { return at == 0x7fffffff ? 0.f : float(at); }
};

// Which unit and which of its loads a thread works at.
template <class S> struct Share {
    static constexpr int LANES = S::THREADS / S::GROUPS;
    // Numbers of a load that belong to different rows.
    static constexpr int ROWS = S::COLUMNS ? S::COUNT : 1;
    int lane, group;
    unsigned unit;
    bool there;
    __device__ Share(unsigned count) {
        lane = S::COLUMNS ? threadIdx.x % LANES : threadIdx.x / S::GROUPS;
        group = S::COLUMNS ? threadIdx.x / LANES : threadIdx.x % S::GROUPS;
        unit = blockIdx.x * unsigned(LANES) + lane;
        there = unit < count;
        unit = there ? unit : count - 1;
    }

    // Brings together what the threads of a unit have found out: all of them have it then.
    template <class State> __device__ void merge(State (&state)[ROWS]) const {
        if constexpr (S::GROUPS > 1 && S::GROUPS <= 32 && !S::COLUMNS) {
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
#pragma unroll
                for (int lane = S::GROUPS / 2; lane > 0; lane /= 2) {
                    state[i].merge(state[i].from(lane));
                }
            }
        } else if constexpr (S::GROUPS > 1) {
            __shared__ __align__(8) char memory[S::THREADS * ROWS * sizeof(State)];
            State* all = reinterpret_cast<State*>(memory);
            __syncthreads();
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                all[(i * S::GROUPS + group) * LANES + lane] = state[i];
            }
#pragma unroll
            for (int half = S::GROUPS / 2; half > 0; half /= 2) {
                __syncthreads();
                if (group < half) {
#pragma unroll
                    for (int i = 0; i < ROWS; ++i) {
                        state[i].merge(all[(i * S::GROUPS + group + half) * LANES + lane]);
                        all[(i * S::GROUPS + group) * LANES + lane] = state[i];
                    }
                }
            }
            __syncthreads();
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                state[i] = all[i * S::GROUPS * LANES + lane];
            }
        }
    }
};

template <class S, class State> __device__ __forceinline__ void reduce(const Buffers& b) {
    next_begins();
    previous_wait();
    const Share<S> share(b.count);
    State state[Share<S>::ROWS];
    const int first = S::offset(share.unit);
#pragma unroll 4
    for (int j = share.group; j < S::LENGTH; j += S::GROUPS) {
        float x[S::COUNT];
        S::read(b, x, first + S::step(j));
#pragma unroll
        for (int i = 0; i < S::COUNT; ++i) {
            state[S::COLUMNS ? i : 0].add(x[i], S::COLUMNS ? j : j * S::COUNT + i);
        }
    }
    share.merge(state);
    if (share.there && share.group == 0) {
        float result[Share<S>::ROWS];
#pragma unroll
        for (int i = 0; i < Share<S>::ROWS; ++i) {
            result[i] = state[i].result(float(S::COLUMNS ? S::LENGTH : S::LENGTH * S::COUNT));
        }
        S::write(b, result, share.unit);
    }
}

// The numbers of a thread stay in registers if KEPT, else they are read three times.
template <class S> __device__ __forceinline__ void softmax(const Buffers& b) {
    next_begins();
    previous_wait();
    constexpr int LOADS = (S::LENGTH + S::GROUPS - 1) / S::GROUPS;
    const Share<S> share(b.count);
    Most most[Share<S>::ROWS];
    Sum sum[Share<S>::ROWS];
    const int first = S::offset(share.unit);
    float x[S::KEPT ? LOADS : 1][S::COUNT];
#pragma unroll S::KEPT ? LOADS : 4
    for (int t = 0; t < LOADS; ++t) {
        const int j = share.group + t * S::GROUPS;
        if (j < S::LENGTH) {
            float* to = x[S::KEPT ? t : 0];
            S::read(b, to, first + S::step(j));
#pragma unroll
            for (int i = 0; i < S::COUNT; ++i) {
                most[S::COLUMNS ? i : 0].add(to[i], 0);
            }
        }
    }
    share.merge(most);
#pragma unroll S::KEPT ? LOADS : 4
    for (int t = 0; t < LOADS; ++t) {
        const int j = share.group + t * S::GROUPS;
        if (j < S::LENGTH) {
            float* to = x[S::KEPT ? t : 0];
            if (!S::KEPT) {
                S::read(b, to, first + S::step(j));
            }
#pragma unroll
            for (int i = 0; i < S::COUNT; ++i) {
                const int row = S::COLUMNS ? i : 0;
                to[i] = expf(to[i] - most[row].x);
                sum[row].add(to[i], 0);
            }
        }
    }
    share.merge(sum);
    if (!share.there) {
        return;
    }
    float part[Share<S>::ROWS];
#pragma unroll
    for (int i = 0; i < Share<S>::ROWS; ++i) {
        part[i] = 1.f / sum[i].x;
    }
#pragma unroll S::KEPT ? LOADS : 4
    for (int t = 0; t < LOADS; ++t) {
        const int j = share.group + t * S::GROUPS;
        if (j < S::LENGTH) {
            float* to = x[S::KEPT ? t : 0];
            if (!S::KEPT) {
                S::read(b, to, first + S::step(j));
            }
#pragma unroll
            for (int i = 0; i < S::COUNT; ++i) {
                const int row = S::COLUMNS ? i : 0;
                to[i] = (S::KEPT ? to[i] : expf(to[i] - most[row].x)) * part[row];
            }
            S::write(b, to, share.unit, j);
        }
    }
}

// The numbers of a thread stay in registers if KEPT, else they are read three times.
template <class S> __device__ __forceinline__ void normalize(const Buffers& b) {
    next_begins();
    previous_wait();
    constexpr int LOADS = (S::LENGTH + S::GROUPS - 1) / S::GROUPS;
    constexpr float NUMBERS = float(S::COLUMNS ? S::LENGTH : S::LENGTH * S::COUNT);
    const Share<S> share(b.count);
    Mean mean[Share<S>::ROWS];
    Sum squares[Share<S>::ROWS];
    const int first = S::offset(share.unit);
    float x[S::KEPT ? LOADS : 1][S::COUNT], of_row[Share<S>::ROWS];
#pragma unroll S::KEPT ? LOADS : 4
    for (int t = 0; t < LOADS; ++t) {
        const int j = share.group + t * S::GROUPS;
        if (j < S::LENGTH) {
            float* to = x[S::KEPT ? t : 0];
            S::read(b, to, first + S::step(j));
#pragma unroll
            for (int i = 0; i < S::COUNT; ++i) {
                mean[S::COLUMNS ? i : 0].add(to[i], 0);
            }
        }
    }
    share.merge(mean);
#pragma unroll
    for (int i = 0; i < Share<S>::ROWS; ++i) {
        of_row[i] = mean[i].result(NUMBERS);
    }
#pragma unroll S::KEPT ? LOADS : 4
    for (int t = 0; t < LOADS; ++t) {
        const int j = share.group + t * S::GROUPS;
        if (j < S::LENGTH) {
            float* to = x[S::KEPT ? t : 0];
            if (!S::KEPT) {
                S::read(b, to, first + S::step(j));
            }
#pragma unroll
            for (int i = 0; i < S::COUNT; ++i) {
                const int row = S::COLUMNS ? i : 0;
                to[i] -= of_row[row];
                squares[row].add(to[i] * to[i], 0);
            }
        }
    }
    share.merge(squares);
    if (!share.there) {
        return;
    }
    float part[Share<S>::ROWS];
#pragma unroll
    for (int i = 0; i < Share<S>::ROWS; ++i) {
        part[i] = 1.f / sqrtf(squares[i].x / NUMBERS + S::EPSILON);
    }
#pragma unroll S::KEPT ? LOADS : 4
    for (int t = 0; t < LOADS; ++t) {
        const int j = share.group + t * S::GROUPS;
        if (j < S::LENGTH) {
            float* to = x[S::KEPT ? t : 0];
            if (!S::KEPT) {
                S::read(b, to, first + S::step(j));
            }
            float factor[S::COUNT], added[S::COUNT];
            S::factor(b, factor, j);
            S::added(b, added, j);
#pragma unroll
            for (int i = 0; i < S::COUNT; ++i) {
                const int row = S::COLUMNS ? i : 0;
                to[i] = fmaf((S::KEPT ? to[i] : to[i] - of_row[row]) * part[row], factor[i], added[i]);
            }
            S::write(b, to, share.unit, j);
        }
    }
}
