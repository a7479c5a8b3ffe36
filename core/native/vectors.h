// Vectors of floats, of the width that the instruction set has.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#if defined(__AVX512F__)
constexpr int LANES = 16;
#else
constexpr int LANES = 8;  // AVX2
#endif
typedef float Vector __attribute__((vector_size(LANES * 4)));
typedef int32_t Integers __attribute__((vector_size(LANES * 4)));
typedef uint32_t Unsigned __attribute__((vector_size(LANES * 4)));
typedef uint16_t Halves __attribute__((vector_size(LANES * 2)));

namespace {

// Not by memcpy, which GCC does in halves through memory for AVX2.
inline Vector load(const float* from) {
#if defined(__AVX512F__)
    return (Vector)_mm512_loadu_ps(from);
#else
    return (Vector)_mm256_loadu_ps(from);
#endif
}

inline Integers load_bytes(const uint8_t* from) {
#if defined(__AVX512F__)
    return (Integers)_mm512_loadu_si512(from);
#else
    return (Integers)_mm256_loadu_si256((const __m256i*)from);
#endif
}

inline Integers load_integers(const int32_t* from) { return load_bytes(reinterpret_cast<const uint8_t*>(from)); }

inline Vector load(const uint16_t* from) {  // half precision
#if defined(__AVX512F__)
    return (Vector)_mm512_maskz_cvtph_ps(-1, _mm256_loadu_si256((const __m256i*)from));
#else
    return (Vector)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)from));
#endif
}

struct BFloat16 {
    uint16_t bits;  // the upper half of a float
};

inline Vector load(const BFloat16* from) {
#if defined(__AVX512F__)
    return (Vector)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)from)), 16);
#else
    return (Vector)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)from)), 16);
#endif
}

inline void store(float* to, Vector v) {
#if defined(__AVX512F__)
    _mm512_storeu_ps(to, (__m512)v);
#else
    _mm256_storeu_ps(to, (__m256)v);
#endif
}

inline Vector all(float value) { return value - Vector{}; }

inline bool any_greater(Vector a, Vector b) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ);
#else
    return _mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_GT_OQ));
#endif
}

inline __m256 halves_added(Vector v) {
#if defined(__AVX512F__)
    return _mm256_add_ps(_mm512_castps512_ps256((__m512)v), _mm256_castpd_ps(_mm512_extractf64x4_pd((__m512d)v, 1)));
#else
    return (__m256)v;
#endif
}

inline float sum(Vector v) {
    const __m256 eight = halves_added(v);
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}

// to[i] = the sum of vectors[i]
inline void store_sums(float* to, const Vector (&vectors)[4]) {
    const __m256 eight = _mm256_hadd_ps(_mm256_hadd_ps(halves_added(vectors[0]), halves_added(vectors[1])),
                                        _mm256_hadd_ps(halves_added(vectors[2]), halves_added(vectors[3])));
    _mm_storeu_ps(to, _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1)));
}

// e^v for v <= 0: 2^n times a polynomial of the rest (Cody and Waite 1980; coefficients of Cephes, Moshier 1992).
inline Vector exponential(Vector v) {
    v = v < all(-87.0f) ? all(-87.0f) : v;
    const Vector shift = all(12582912.0f);  // 1.5 * 2^23: adding it rounds to whole numbers
    Vector n = v * 1.44269504f + shift;
    Integers exponent = (Integers)n << 23;
    n -= shift;
    Vector rest = v - n * 0.693359375f + n * 2.12194440e-4f;
    Vector p = all(1.9875691500e-4f);
    p = p * rest + 1.3981999507e-3f;
    p = p * rest + 8.3334519073e-3f;
    p = p * rest + 4.1665795894e-2f;
    p = p * rest + 1.6666665459e-1f;
    p = p * rest + 5.0000001201e-1f;
    p = p * rest * rest + rest + 1.0f;
    return (Vector)((Integers)p + exponent);
}

inline Vector magnitude(Vector v) { return v < Vector{} ? -v : v; }

// v / (1 + e^-v)
inline Vector swish(Vector v) {
    const Vector power = exponential(-magnitude(v));  // of v < 0: e^v / (1 + e^v), which does not overflow
    return v * (v < Vector{} ? power : all(1.0f)) / (1.0f + power);
}

// v * Phi(v), with Phi within 1e-7 (Abramowitz and Stegun 1964, 7.1.26).
inline Vector gelu(Vector v) {
    const Vector size = magnitude(v) * 0.707106781f, t = 1.0f / (1.0f + 0.3275911f * size);
    Vector p = all(1.061405429f);
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    const Vector beyond = 0.5f * p * t * exponential(-size * size);  // 1 - Phi(|v|)
    return v * (v < Vector{} ? beyond : 1.0f - beyond);
}

}  // namespace
