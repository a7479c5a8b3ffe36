// Attention of the heads of one layer.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "vectors.h"

namespace {

// Columns of projected rows [batch, width, stride] as heads: [batch, heads, room, d], from position `first` on.
void split_heads(const float* columns, int64_t stride, int64_t batch, int64_t width, int64_t heads, int64_t d,
                 int64_t room, int64_t first, float* to) {
    for (int64_t row = 0; row < batch * width; ++row)
        for (int64_t h = 0; h < heads; ++h)
            std::memcpy(to + ((row / width * heads + h) * room + first + row % width) * d,
                        columns + row * stride + h * d, d * sizeof(float));
}

// Heads of attention over keys and values [batch, heads, room, d_k or d_v], of which the first `num_keys` count.
struct Attention {
    int64_t batch, width, heads, d_k, d_v, num_keys, room;
    const float* queries;  // [batch, width, stride], a head's d_k columns beside the next one's
    int64_t query_stride;
    const float *keys, *values;
    const uint8_t* mask;  // [batch, width, num_keys], or with a stride of 0 [batch, num_keys]: 1 may be attended to
    int64_t mask_stride;
    float* joined;  // [batch, width, heads * d_v]
};

constexpr int AT_ONCE = 4;  // keys, and vectors of a value's columns

// scores[i] = the query times the key of index places[i]; `count` is rounded up to a multiple of AT_ONCE.
void multiply_keys(const float* query, const float* keys, int64_t d_k, const int64_t* places, int64_t count,
                   float* scores) {
    const int64_t whole = d_k - d_k % LANES;
    for (int64_t i = 0; i < count; i += AT_ONCE) {
        Vector sums[AT_ONCE]{};
        for (int64_t column = 0; column < whole; column += LANES)
            for (int n = 0; n < AT_ONCE; ++n)
                sums[n] += load(query + column) * load(keys + places[i + n] * d_k + column);
        store_sums(scores + i, sums);
        for (int64_t column = whole; column < d_k; ++column)
            for (int n = 0; n < AT_ONCE; ++n) scores[i + n] += query[column] * keys[places[i + n] * d_k + column];
    }
}

// N vectors of columns of the mean of the values of indices `places`.
template <int N>
void average_values(const float* values, int64_t d_v, const int64_t* places, int64_t count, const float* weights,
                    float share, float* to) {
    Vector means[N]{};
    for (int64_t i = 0; i < count; ++i)
        for (int n = 0; n < N; ++n) means[n] += weights[i] * load(values + places[i] * d_v + n * LANES);
    for (int n = 0; n < N; ++n) store(to + n * LANES, means[n] * share);
}

void attend(const Attention& a) {
    const float scale = 1 / std::sqrt(float(a.d_k));
    std::vector<float> scores(a.num_keys + LANES);
    std::vector<int64_t> allowed(a.num_keys + AT_ONCE);
    for (int64_t row = 0; row < a.batch * a.width; ++row) {
        const int64_t b = row / a.width;
        const uint8_t* mask = a.mask + (a.mask_stride ? row * a.mask_stride : b * a.num_keys);
        int64_t count = 0;  // of the keys that the row may attend to, the same ones in each head
        for (int64_t key = 0; key < a.num_keys; ++key) {
            allowed[count] = key;
            count += mask[key];
        }
        std::fill_n(allowed.begin() + count, AT_ONCE, 0);  // to a whole group
        for (int64_t h = 0; h < a.heads; ++h) {
            const float* query = a.queries + row * a.query_stride + h * a.d_k;
            const float* keys = a.keys + (b * a.heads + h) * a.room * a.d_k;
            const float* values = a.values + (b * a.heads + h) * a.room * a.d_v;
            float greatest = -INFINITY;
            multiply_keys(query, keys, a.d_k, allowed.data(), count, scores.data());
            for (int64_t i = 0; i < count; ++i) greatest = std::max(greatest, scores[i] *= scale);
            std::fill_n(scores.begin() + count, LANES, -INFINITY);  // to a whole vector
            Vector total{};
            for (int64_t i = 0; i < count; i += LANES) {
                const Vector score = load(&scores[i]);
                const Vector weights = score == all(-INFINITY) ? Vector{} : exponential(score - greatest);
                store(&scores[i], weights);
                total += weights;
            }
            float* joined = a.joined + (row * a.heads + h) * a.d_v;
            const float share = 1 / sum(total);
            int64_t column = 0;
            auto average = [&](auto n) {
                average_values<n()>(values + column, a.d_v, allowed.data(), count, scores.data(), share,
                                    joined + column);
                column += n() * LANES;
            };
            while (column + AT_ONCE * LANES <= a.d_v) average(std::integral_constant<int, AT_ONCE>{});
            if (column + 2 * LANES <= a.d_v) average(std::integral_constant<int, 2>{});
            if (column + LANES <= a.d_v) average(std::integral_constant<int, 1>{});
            for (; column < a.d_v; ++column) {
                float mean = 0;
                for (int64_t i = 0; i < count; ++i) mean += scores[i] * values[allowed[i] * a.d_v + column];
                joined[column] = mean * share;
            }
        }
    }
}

}  // namespace
