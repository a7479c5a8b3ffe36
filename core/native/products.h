// Products of a matrix with rows: in float32, on weights in float32 or half precision, in bfloat16, or in 8-bit integers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "tiles.h"
#include "vectors.h"

constexpr int PANEL = 32;               // outputs computed together
constexpr int VECTORS = PANEL / LANES;  // of a panel's row
constexpr int ROWS = LANES == 16 ? 8 : 2;  // whose sums fit the registers
constexpr int DOTS = 4;                    // outputs of ROW_MAJOR at once
constexpr int DOT_ROWS = LANES == 16 ? 6 : 2;

// FLOAT32, FLOAT16: [outputs / PANEL, inputs, PANEL].
// INT8: [outputs / PANEL, inputs / FOUR, PANEL, FOUR] and 128 more than the weight; `inputs` rounded up.
// BFLOAT16: [outputs / PANEL, inputs / TWO, PANEL, TWO]; `inputs` rounded up.
// ROW_MAJOR, of 32 or 16 bits: [outputs, inputs] as PyTorch has it, so without a copy; a third slower for many rows.
enum Kind : int64_t {
    FLOAT32 = 0,
    FLOAT16 = 1,
    INT8 = 2,
    ROW_MAJOR_FLOAT32 = 3,
    ROW_MAJOR_FLOAT16 = 4,
    ROW_MAJOR_BFLOAT16 = 5,
    BFLOAT16 = 6
};
constexpr int FOUR = 4;  // products of bytes that one instruction adds
constexpr int TWO = 2;   // products in bfloat16 that one instruction adds

enum Activation : int64_t { NONE = 0, RELU = 1, GELU = 2, SWISH = 3 };

extern "C" {

// y = x W^T * scales + bias; `bias`, which may be null, and `scales` (of INT8 only) have a whole number of panels.
struct Linear {
    const void* weights;
    const float* bias;
    const float* scales;
    int64_t kind, inputs, outputs;
};
}

namespace {

// The `count` floats at the start of a vector, and zeros.
template <class Weight>
inline Vector load_first(const Weight* from, int64_t count) {
    Weight padded[LANES]{};
    std::memcpy(padded, from, count * sizeof(Weight));
    return load(padded);
}

// Sums of the outputs from `first` on: products of vectors along the inputs, added up at the end.
template <int N, class Weight>
inline void row_major_panel(const float* x, const Linear& linear, int64_t first, Vector (&sums)[N][VECTORS]) {
    const int64_t inputs = linear.inputs, whole = inputs - inputs % LANES;
    float columns[N][PANEL];
    for (int group = 0; group < PANEL; group += DOTS) {
        const Weight* weights[DOTS];
        for (int n = 0; n < DOTS; ++n)
            weights[n] = static_cast<const Weight*>(linear.weights) +
                         std::min<int64_t>(first + group + n, linear.outputs - 1) * inputs;
        Vector totals[N][DOTS]{};
        auto add = [&](auto read, int64_t i) {
            Vector w[DOTS];
            for (int n = 0; n < DOTS; ++n) {
                w[n] = read(weights[n] + i);
                __builtin_prefetch(weights[n] + DOTS * inputs + i);  // of the next group
            }
            for (int row = 0; row < N; ++row) {
                const Vector v = read(x + row * inputs + i);
                for (int n = 0; n < DOTS; ++n) totals[row][n] += v * w[n];
            }
        };
        for (int64_t i = 0; i < whole; i += LANES) add([](const auto* from) { return load(from); }, i);
        if (whole < inputs) add([&](const auto* from) { return load_first(from, inputs - whole); }, whole);
        for (int row = 0; row < N; ++row) store_sums(&columns[row][group], totals[row]);
    }
    std::memcpy(sums, columns, sizeof columns);
}

// Fetches what comes some kilobytes after `count` weights: few rows take no longer than memory does, which processors
// read ahead only to the end of a page.
template <class Weight>
inline void fetch_ahead(const Weight* weights, int64_t count) {
    constexpr int64_t AHEAD = 2048, CACHE_LINE = 64;  // bytes
    for (int64_t byte = 0; byte < count * int64_t(sizeof(Weight)); byte += CACHE_LINE)
        __builtin_prefetch(reinterpret_cast<const char*>(weights) + AHEAD + byte);
}

template <int N, class Weight>
inline void panel(const float* x, int64_t inputs, const Weight* weights, Vector (&sums)[N][VECTORS]) {
    Vector totals[N][VECTORS]{};  // not `sums`, which the compiler would store at every step
    for (int64_t i = 0; i < inputs; ++i) {
        Vector w[VECTORS];
        for (int v = 0; v < VECTORS; ++v) w[v] = load(weights + i * PANEL + v * LANES);
        fetch_ahead(weights + i * PANEL, PANEL);
        for (int row = 0; row < N; ++row)
            for (int v = 0; v < VECTORS; ++v) totals[row][v] += x[row * inputs + i] * w[v];
    }
    std::memcpy(sums, totals, sizeof totals);
}

// sums + the products of bytes, four neighbours added: weights without a sign times inputs with one.
inline Integers add_products(Integers sums, Integers weights, Integers inputs, bool vnni) {
#if defined(__AVX512F__)
    if (vnni) {
        asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(weights), "v"(inputs));
        return sums;
    }
    const __m512i pairs = _mm512_maddubs_epi16((__m512i)weights, (__m512i)inputs);
    return sums + (Integers)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
#else
    const __m256i pairs = _mm256_maddubs_epi16((__m256i)weights, (__m256i)inputs);
    return sums + (Integers)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
#endif
}

// Whether the processor adds the products in 32 bits. Where it does in 16, inputs have 7 bits.
bool has_vnni() {
#if defined(__AVX512F__)
    static const bool found = __builtin_cpu_supports("avx512vnni");
    return found;
#else
    return false;
#endif
}

inline void store_bytes(int8_t* to, Vector v) {
#if defined(__AVX512F__)
    _mm_storeu_si128((__m128i*)to, _mm512_maskz_cvtsepi32_epi8(-1, _mm512_maskz_cvtps_epi32(-1, (__m512)v)));
#else
    const __m256i whole = _mm256_cvtps_epi32((__m256)v);
    const __m128i pairs = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    _mm_storel_epi64((__m128i*)to, _mm_packs_epi16(pairs, pairs));
#endif
}

// Rows of narrow numbers, each in cache lines of its own; with more than one tile of them whole tiles, with zeros.
template <class Number>
class NarrowRows {
  public:
    NarrowRows(int64_t rows, int64_t inputs)
        : stride(((inputs + LANES + IN_LINE - 1) / IN_LINE | 1) * IN_LINE),  // odd: rows do not compete for sets
          numbers_(in_tiles(rows) * stride + IN_LINE) {}

    const int64_t stride;  // numbers from one row to the next

    Number* operator[](int64_t row) { return first() + row * stride; }
    const Number* operator[](int64_t row) const { return const_cast<NarrowRows*>(this)->first() + row * stride; }

  private:
    static constexpr int64_t CACHE_LINE = 64, IN_LINE = CACHE_LINE / sizeof(Number);
    static int64_t in_tiles(int64_t rows) {
        return rows <= TILE_ROWS ? rows : (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    }
    Number* first() {
        const auto address = reinterpret_cast<uintptr_t>(numbers_.data());
        return numbers_.data() + (CACHE_LINE - address % CACHE_LINE) % CACHE_LINE / sizeof(Number);
    }
    std::vector<Number> numbers_;
};

// Rows rounded to bytes, each with a scale of its own.
struct Rounded {
    NarrowRows<int8_t> bytes;    // [rows, inputs], filled up with zeros
    std::vector<float> scales;   // [rows]; NaN for a row that is not finite
    std::vector<int32_t> sums;   // [rows] of the bytes

    Rounded(const float* x, int64_t rows, int64_t inputs)
        : bytes(rows, inputs), scales(rows), sums(rows) {
        const float most = has_vnni() ? 127 : 63;
        const int64_t whole = inputs - inputs % LANES;
        for (int64_t row = 0; row < rows; ++row, x += inputs) {
            Vector last{};  // beyond the last whole vector
            std::memcpy(&last, x + whole, (inputs - whole) * sizeof(float));
            Vector greatest = last < Vector{} ? -last : last, zeros = last * 0.0f;  // NaN where it is not finite
            for (int64_t i = 0; i < whole; i += LANES) {
                const Vector v = load(x + i), size = v < Vector{} ? -v : v;
                greatest = size > greatest ? size : greatest;
                zeros += v * 0.0f;
            }
            float largest = 0;
            for (int lane = 0; lane < LANES; ++lane) largest = std::max(largest, greatest[lane]);
            scales[row] = largest / most + sum(zeros);
            const Vector factor = all(largest > 0 ? most / largest : 0);
            int8_t* to = bytes[row];
            for (int64_t i = 0; i < whole; i += LANES) store_bytes(to + i, load(x + i) * factor);
            store_bytes(to + whole, last * factor);
            int32_t total = 0;  // not `sums[row]`, which `to` might point to for all the compiler knows
            for (int64_t i = 0; i < inputs; ++i) total += to[i];
            sums[row] = total;
        }
    }
};

template <int N>
inline void panel(const Rounded& x, int64_t first_row, int64_t inputs, const uint8_t* weights, bool vnni,
                  Vector (&sums)[N][VECTORS]) {
    Integers totals[N][VECTORS];
    for (int row = 0; row < N; ++row)
        for (int v = 0; v < VECTORS; ++v) totals[row][v] = Integers{} - 128 * x.sums[first_row + row];
    for (int64_t i = 0; i < inputs; i += FOUR) {
        Integers w[VECTORS];
        for (int v = 0; v < VECTORS; ++v) w[v] = load_bytes(weights + i * PANEL + v * LANES * FOUR);
        fetch_ahead(weights + i * PANEL, PANEL * FOUR);
        for (int row = 0; row < N; ++row) {
            int32_t bytes;
            std::memcpy(&bytes, x.bytes[first_row + row] + i, FOUR);
            for (int v = 0; v < VECTORS; ++v)
                totals[row][v] = add_products(totals[row][v], w[v], bytes - Integers{}, vnni);
        }
    }
    for (int row = 0; row < N; ++row)
        for (int v = 0; v < VECTORS; ++v)
            sums[row][v] = __builtin_convertvector(totals[row][v], Vector) * x.scales[first_row + row];
}

// Whether the processor multiplies in bfloat16. Elsewhere it takes longer than in float32.
bool has_bfloat16() {
#if defined(__AVX512F__)
    static const bool found = __builtin_cpu_supports("avx512bf16");
    return found;
#else
    return false;
#endif
}

inline Vector lower(Integers pairs) { return (Vector)(pairs << 16); }
inline Vector upper(Integers pairs) { return (Vector)(pairs & (Integers{} - 65536)); }

// sums + the products of pairs in bfloat16, two neighbours added.
template <bool SUPPORTED>
inline Vector add_products(Vector sums, Integers weights, Integers inputs) {
#if defined(__AVX512F__)
    if constexpr (SUPPORTED) {
        asm("vdpbf16ps %2, %1, %0" : "+v"(sums) : "v"(weights), "v"(inputs));
        return sums;
    }
#endif
    return sums + lower(weights) * lower(inputs) + upper(weights) * upper(inputs);
}

// The nearest numbers in bfloat16, of two equally near ones the even one.
inline void store_halves(uint16_t* to, Vector v) {
    const Unsigned bits = (Unsigned)v, nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const Halves halves = __builtin_convertvector(v == v ? nearest : nearest * 0 + 0x7fc0, Halves);  // NaN stays NaN
    std::memcpy(to, &halves, sizeof halves);
}

// Rows rounded to bfloat16.
struct Halved {
    int64_t inputs;             // rounded up
    NarrowRows<uint16_t> rows;  // filled up with zeros

    Halved(const float* x, int64_t count, int64_t width)
        : inputs((width + TWO - 1) / TWO * TWO), rows(count, width) {
        const int64_t whole = width - width % LANES;
        for (int64_t row = 0; row < count; ++row, x += width) {
            uint16_t* to = rows[row];
            for (int64_t i = 0; i < whole; i += LANES) store_halves(to + i, load(x + i));
            if (whole < width) store_halves(to + whole, load_first(x + whole, width - whole));
        }
    }
};

template <bool SUPPORTED, int N>
inline void panel(const Halved& x, int64_t first_row, const uint16_t* weights, Vector (&sums)[N][VECTORS]) {
    Vector totals[N][VECTORS]{};
    for (int64_t i = 0; i < x.inputs; i += TWO) {
        Integers w[VECTORS];
        for (int v = 0; v < VECTORS; ++v)
            w[v] = load_bytes(reinterpret_cast<const uint8_t*>(weights + i * PANEL + v * LANES * TWO));
        fetch_ahead(weights + i * PANEL, PANEL * TWO);
        for (int row = 0; row < N; ++row) {
            int32_t pair;
            std::memcpy(&pair, x.rows[first_row + row] + i, sizeof pair);
            for (int v = 0; v < VECTORS; ++v)
                totals[row][v] = add_products<SUPPORTED>(totals[row][v], w[v], pair - Integers{});
        }
    }
    std::memcpy(sums, totals, sizeof totals);
}

template <class Run>
inline void with_activation(Activation activation, Run run) {
    switch (activation) {
        case RELU: return run([](Vector v) { return v < Vector{} ? Vector{} : v; });  // NaN stays NaN
        case GELU: return run(gelu);
        case SWISH: return run(swish);
        default: return run([](Vector v) { return v; });
    }
}

template <int N>
inline void finish(const Linear& linear, Vector (&sums)[N][VECTORS], int64_t first, Activation activation, float* y) {
    const int64_t count = std::min<int64_t>(PANEL, linear.outputs - first);
    with_activation(activation, [&](auto activated) {
        for (int v = 0; v < VECTORS; ++v) {
            const Vector scale = linear.scales ? load(linear.scales + first + v * LANES) : all(1);
            const Vector bias = linear.bias ? load(linear.bias + first + v * LANES) : Vector{};
            float* to = y + first + v * LANES;
            const int64_t left = count - v * LANES;
            for (int row = 0; row < N; ++row, to += linear.outputs) {
                const Vector result = activated(sums[row][v] * scale + bias);
                if (left >= LANES) store(to, result);
                else if (left > 0) std::memcpy(to, &result, left * sizeof(float));
            }
        }
    });
}

// Calls run(row, n) for blocks of n rows, a constant of at most MOST.
template <int MOST, class Run>
void in_blocks(int64_t rows, Run run) {
    int64_t row = 0;
    auto block = [&](auto n) {
        run(row, n);
        row += n();
    };
    for (; row + MOST <= rows;) block(std::integral_constant<int, MOST>{});
    if constexpr (MOST > 4)
        if (row + 4 <= rows) block(std::integral_constant<int, 4>{});
    if constexpr (MOST > 2)
        if (row + 2 <= rows) block(std::integral_constant<int, 2>{});
    if (row < rows) block(std::integral_constant<int, 1>{});
}

// A part of a product's outputs, in whole panels.
struct Outputs {
    int64_t first, end;
};

template <class Weight>
void multiply_row_major(const Linear& linear, const float* x, int64_t rows, Activation activation, Outputs part,
                        float* y) {
    for (int64_t first = part.first; first < part.end; first += PANEL)
        in_blocks<DOT_ROWS>(rows, [&](int64_t row, auto n) {
            Vector sums[n()][VECTORS];
            row_major_panel<n(), Weight>(x + row * linear.inputs, linear, first, sums);
            finish<n()>(linear, sums, first, activation, y + row * linear.outputs);
        });
}

template <class Weight>
void multiply(const Linear& linear, const float* x, int64_t rows, Activation activation, Outputs part, float* y) {
    auto weights = static_cast<const Weight*>(linear.weights) + part.first * linear.inputs;
    for (int64_t first = part.first; first < part.end; first += PANEL, weights += PANEL * linear.inputs)
        in_blocks<ROWS>(rows, [&](int64_t row, auto n) {
            Vector sums[n()][VECTORS];
            panel<n()>(x + row * linear.inputs, linear.inputs, weights, sums);
            finish<n()>(linear, sums, first, activation, y + row * linear.outputs);
        });
}

static_assert(PANEL == TILE_PANEL);

// Products in tiles, with the same sums of bytes as `panel`. `finished(sums, row, n, first)` takes the sums of n() rows.
template <bool BYTES, class Finish>
void multiply_tiles(const void* rows, int64_t stride, int64_t count, int64_t row_bytes, const void* weights,
                    Outputs part, Finish finished) {
    alignas(TILE_BYTES) int32_t sums[TILE_BLOCK * TILE_PANEL];
    const Tiles tiles(std::min<int64_t>(count, TILE_ROWS));
    auto x = static_cast<const char*>(rows);
    auto w = static_cast<const char*>(weights) + part.first * row_bytes;
    for (int64_t first = part.first; first < part.end; first += TILE_PANEL, w += TILE_PANEL * row_bytes)
        for (int64_t row = 0; row < count; row += TILE_BLOCK) {
            const int64_t n = std::min<int64_t>(count - row, TILE_BLOCK), blocks = row_bytes / TILE_BYTES;
            if (n > TILE_ROWS) tiles_panel<BYTES, true>(x + row * stride, stride, blocks, w, sums);
            else tiles_panel<BYTES, false>(x + row * stride, stride, blocks, w, sums);
            in_blocks<ROWS>(n, [&](int64_t i, auto m) { finished(sums + i * PANEL, row + i, m, first); });
        }
}

template <bool VNNI>
void multiply_rounded(const Linear& linear, const float* x, int64_t rows, Activation activation, Outputs part,
                      float* y) {
    const Rounded rounded(x, rows, linear.inputs);
    const int64_t inputs = (linear.inputs + FOUR - 1) / FOUR * FOUR;
    if (rows > ROWS && inputs % TILE_BYTES == 0 && has_tiles())
        return multiply_tiles<true>(rounded.bytes[0], rounded.bytes.stride, rows, inputs, linear.weights, part,
                                    [&](const int32_t* totals, int64_t row, auto n, int64_t first) {
            Vector sums[n()][VECTORS];
            for (int i = 0; i < n(); ++i)
                for (int v = 0; v < VECTORS; ++v) {
                    const Integers whole = load_integers(totals + i * PANEL + v * LANES) - 128 * rounded.sums[row + i];
                    sums[i][v] = __builtin_convertvector(whole, Vector) * rounded.scales[row + i];
                }
            finish<n()>(linear, sums, first, activation, y + row * linear.outputs);
        });
    auto weights = static_cast<const uint8_t*>(linear.weights) + part.first * inputs;
    for (int64_t first = part.first; first < part.end; first += PANEL, weights += PANEL * inputs)
        in_blocks<ROWS>(rows, [&](int64_t row, auto n) {
            Vector sums[n()][VECTORS];
            panel<n()>(rounded, row, inputs, weights, VNNI, sums);
            finish<n()>(linear, sums, first, activation, y + row * linear.outputs);
        });
}

template <bool SUPPORTED>
void multiply_halved(const Linear& linear, const float* x, int64_t rows, Activation activation, Outputs part,
                     float* y) {
    const Halved halved(x, rows, linear.inputs);
    const int64_t bytes = halved.inputs * sizeof(uint16_t);
    if (bytes % TILE_BYTES == 0 && has_tiles())  // for any number of rows, as the sums are rounded in another order
        return multiply_tiles<false>(halved.rows[0], halved.rows.stride * sizeof(uint16_t), rows, bytes, linear.weights,
                                     part, [&](const int32_t* totals, int64_t row, auto n, int64_t first) {
            Vector sums[n()][VECTORS];
            std::memcpy(sums, totals, sizeof sums);
            finish<n()>(linear, sums, first, activation, y + row * linear.outputs);
        });
    auto weights = static_cast<const uint16_t*>(linear.weights) + part.first * halved.inputs;
    for (int64_t first = part.first; first < part.end; first += PANEL, weights += PANEL * halved.inputs)
        in_blocks<ROWS>(rows, [&](int64_t row, auto n) {
            Vector sums[n()][VECTORS];
            panel<SUPPORTED>(halved, row, weights, sums);
            finish<n()>(linear, sums, first, activation, y + row * linear.outputs);
        });
}

void apply(const Linear& linear, const float* x, int64_t rows, float* y, Activation activation, Outputs part) {
    switch (linear.kind) {
        case BFLOAT16: return has_bfloat16() ? multiply_halved<true>(linear, x, rows, activation, part, y)
                                             : multiply_halved<false>(linear, x, rows, activation, part, y);
        case INT8: return has_vnni() ? multiply_rounded<true>(linear, x, rows, activation, part, y)
                                     : multiply_rounded<false>(linear, x, rows, activation, part, y);
        case FLOAT16: return multiply<uint16_t>(linear, x, rows, activation, part, y);
        case ROW_MAJOR_FLOAT32: return multiply_row_major<float>(linear, x, rows, activation, part, y);
        case ROW_MAJOR_FLOAT16: return multiply_row_major<uint16_t>(linear, x, rows, activation, part, y);
        case ROW_MAJOR_BFLOAT16: return multiply_row_major<BFloat16>(linear, x, rows, activation, part, y);
        default: return multiply<float>(linear, x, rows, activation, part, y);
    }
}

int64_t num_panels(const Linear& linear) { return (linear.outputs + PANEL - 1) / PANEL; }

// The outputs of some of the panels.
void apply_part(const Linear& linear, const float* x, int64_t rows, float* y, int64_t first, int64_t panels) {
    apply(linear, x, rows, y, NONE, {first * PANEL, std::min((first + panels) * PANEL, linear.outputs)});
}

void apply(const Linear& linear, const float* x, int64_t rows, float* y, Activation activation = NONE) {
    apply(linear, x, rows, y, activation, {0, linear.outputs});
}

}  // namespace
