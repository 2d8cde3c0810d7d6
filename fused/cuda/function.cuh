// The functions of single elements, in float32.

#define FUNCTION __device__ __forceinline__ float

// 1 / (1 + e^-x). Where e^-x is infinite or nearly so, the fast division gives 0, which is the result.
FUNCTION sigmoid(float x) { return __fdividef(1.f, 1.f + expf(-x)); }
FUNCTION silu(float x) { return __fdividef(x, 1.f + expf(-x)); }
FUNCTION relu(float x) { return fmaxf(x, 0.f); }
FUNCTION leaky_relu(float x, float slope) { return x > 0.f ? x : slope * x; }
FUNCTION elu(float x, float alpha) { return x > 0.f ? x : alpha * expm1f(x); }
FUNCTION softplus(float x) { return fmaxf(x, 0.f) + log1pf(expf(-fabsf(x))); }
// With n = e^x (e^x + 2), tanh(ln(1 + e^x)) is n / (n + 2); from 15 on it is 1 in float32.
FUNCTION mish(float x) {
    const float e = expf(fminf(x, 15.f));
    const float n = e * (e + 2.f);
    return x * (n / (n + 2.f));
}
FUNCTION gelu(float x) { return 0.5f * x * erfcf(-0.70710678f * x); }
// The same to 3e-7, a third of the work: for float16. The error function is formula 7.1.26 of Abramowitz and Stegun, Handbook of mathematical
// functions, 1964, as what is missing to 1, so that nothing cancels.
FUNCTION gelu_half(float x) {
    const float size = fminf(fabsf(x), 64.f), z = 0.70710678f * size, t = __fdividef(1.f, fmaf(0.3275911f, z, 1.f));
    float p = fmaf(1.061405429f, t, -1.453152027f);
    p = fmaf(p, t, 1.421413741f);
    p = fmaf(p, t, -0.284496736f);
    p = fmaf(p, t, 0.254829592f);
    const float tail = 0.5f * size * (p * t) * exp2f(-1.44269504f * z * z);
    return x > 0.f ? x - tail : x < 0.f ? -tail : x;
}
FUNCTION gelu_tanh(float x) { return 0.5f * x * (1.f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))); }
FUNCTION hard_sigmoid(float x, float slope, float offset) { return fmaxf(0.f, fminf(1.f, slope * x + offset)); }
FUNCTION hard_swish(float x) { return x * fmaxf(0.f, fminf(1.f, x * 0.16666667f + 0.5f)); }
FUNCTION clip(float x, float low, float high) { return fmaxf(low, fminf(high, x)); }
FUNCTION sign(float x) { return x > 0.f ? 1.f : x < 0.f ? -1.f : x; }
FUNCTION truth(bool holds) { return holds ? 1.f : 0.f; }
FUNCTION prelu(float a, float b) { return a > 0.f ? a : a * b; }

// Integers of 8 bits that stand for numbers, rounded as ONNX Runtime does: no contraction. What is no number becomes the least integer.
// Raised is such an integer added to RAISED, so that its bits are the lowest ones.
FUNCTION quantize(float x, float scale, float zero, float low, float high) {
    return fminf(fmaxf(rintf(__fdiv_rn(x, scale)) + zero, low), high);
}
FUNCTION quantize_raised(float x, float scale, float zero, float low, float high) {
    return quantize(x, scale, zero, low, high) + RAISED;
}
// The same between the numbers that the least and the largest integer stand for, without a division: the product with the scale's inverse is
// the correctly rounded quotient once what is left of x has been added twice (Markstein, Computation of elementary functions on the IBM RISC
// System/6000 processor, 1990).
FUNCTION quantize_raised(float x, float scale, float inverse, float zero, float least, float most) {
    x = fminf(fmaxf(x, least), most);
    float quotient = __fmul_rn(x, inverse);
    quotient = fmaf(fmaf(-quotient, scale, x), inverse, quotient);
    quotient = fmaf(fmaf(-quotient, scale, x), inverse, quotient);
    const float raised = __fadd_rn(quotient, RAISED);
    return zero == 0.f ? raised : raised + zero;
}
FUNCTION quantize(float x, float scale, float inverse, float zero, float least, float most) {
    return quantize_raised(x, scale, inverse, zero, least, most) - RAISED;
}
FUNCTION dequantize(float x, float scale, float zero) { return __fmul_rn(x - zero, scale); }
FUNCTION dequantize_raised(float x, float scale, float zero) { return __fmul_rn(x - (RAISED + zero), scale); }

// Where a resized tensor's new sample lies among the old ones, rounded as ONNX Runtime does: no contraction.
FUNCTION half_pixel(unsigned x, float scale) { return __fsub_rn(__fdiv_rn(__fadd_rn(float(x), 0.5f), scale), 0.5f); }
FUNCTION asymmetric(unsigned x, float scale) { return __fdiv_rn(float(x), scale); }
FUNCTION align_corners(unsigned x, float last_old, float last_new) {
    return __fdiv_rn(__fmul_rn(float(x), last_old), last_new);
}

// An index that is at least 0 and at most last.
__device__ __forceinline__ int inside(float at, int last) { return min(max(int(at), 0), last); }

// Keys' kernel, up to a distance of 1, and from there to 2.
FUNCTION cubic_near(float t, float a) { return ((a + 2.f) * t - (a + 3.f)) * t * t + 1.f; }
FUNCTION cubic_far(float t, float a) { return ((a * t - 5.f * a) * t + 8.f * a) * t - 4.f * a; }

// An index into a tensor of last + 1 cells and its mirror images.
__device__ __forceinline__ int reflect(int at, int last) {
    const int period = 2 * last;
    at = at % period;
    at = at < 0 ? at + period : at;
    return at > last ? period - at : at;
}

// Which of length elements an index means: negative ones count from the end, those outside mean the nearest.
__device__ __forceinline__ int chosen(float index, int length) {
    const int at = __float2int_rz(index);
    return min(max(at < 0 ? at + length : at, 0), length - 1);
}

// Where among length pixels a place of a grid is, rounded as ONNX Runtime does; NaN and what is too far away for int32 is taken as -1.
template <bool CORNERS> FUNCTION grid_place(float at, float length) {
    at = __fadd_rn(at, 1.f);
    at = CORNERS ? __fmul_rn(__fdiv_rn(at, 2.f), length - 1.f) : __fdiv_rn(__fsub_rn(__fmul_rn(at, length), 1.f), 2.f);
    return fabsf(at) < 2147483648.f ? at : CORNERS ? 0.f : -0.5f;
}

// A place, mirrored at low and high until it lies between them.
FUNCTION mirrored(float at, float low, float high) {
    const float range = high - low;
    const float beyond = at < low ? low - at : at - high;
    if (beyond <= 0.f || range <= 0.f) {
        return at < low ? low : at > high ? high : at;
    }
    const float times = floorf(__fdiv_rn(beyond, range));
    const float rest = __fsub_rn(beyond, __fmul_rn(times, range));
    const bool is_even = times - 2.f * floorf(times / 2.f) == 0.f;
    return (at < low) == is_even ? __fadd_rn(low, rest) : __fsub_rn(high, rest);
}
