// Inference for few rows on a CPU: the encoder; a step of decoding, with all layers and the projection to the vocabulary;
// the best tokens.
//
// With one row for each hypothesis a step of decoding is some 200 small operations, most of which PyTorch takes longer
// to start than to compute. Here they are loops over vectors, in one thread. The file is compiled once for each
// instruction set in `library.py`, without headers of Python or PyTorch, and called through a C interface.
//
// A product sums over the inputs in their order, so a row's result does not depend on the other rows.

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#if defined(__AVX512F__)
constexpr int LANES = 16;
#else
constexpr int LANES = 8;  // AVX2
#endif
constexpr int PANEL = 32;               // outputs whose weights lie side by side: [outputs / PANEL, inputs, PANEL]
constexpr int VECTORS = PANEL / LANES;  // of a panel's row
constexpr int ROWS = LANES == 16 ? 8 : 2;  // whose sums fit the registers

typedef float Vector __attribute__((vector_size(LANES * 4)));
typedef int32_t Integers __attribute__((vector_size(LANES * 4)));

enum Kind : int64_t { FLOAT32 = 0, FLOAT16 = 1, INT8 = 2 };

extern "C" {

// y = relu?(x W^T * scales + bias); `bias` and `scales` (of INT8 only) have a whole number of panels.
struct Linear {
    const void* weights;
    const float* bias;
    const float* scales;
    int64_t kind, inputs, outputs;
};

struct Norm {
    const float *weight, *bias;
};

struct EncoderLayer {
    Linear qkv, out, inner, outer;
    Norm attention_norm, feed_forward_norm;
};

struct DecoderLayer {
    Linear qkv, self_out, query, cross_out, inner, outer;
    Norm self_norm, cross_norm, feed_forward_norm;
};

// Keys and values of one layer: [batch, heads, room or source_length, d_k or d_v].
struct LayerCache {
    float *keys, *values;
    const float *memory_keys, *memory_values;
};

struct Encoding {
    int64_t batch, length, d_model, heads, d_k, d_v, num_layers;
    float epsilon;        // of the layer norms
    const uint8_t* mask;  // [batch, length]: 1 may be attended to
    float* x;             // [batch, length, d_model]: the embedded tokens; afterwards the memory
    float* weights;       // of attention, or null: [num_layers, batch, length, heads, length]
};

struct Step {
    int64_t batch, width, d_model, heads, d_k, d_v;
    int64_t num_keys;       // before this step, which adds `width`
    int64_t room;           // for keys
    int64_t source_length;
    int64_t num_layers;
    float epsilon;
    const uint8_t* ancestry;     // [batch, width, num_keys + width]: 1 may be attended to
    const uint8_t* memory_mask;  // [batch, source_length]
    float* x;                    // [batch, width, d_model]: the embedded tokens; afterwards the decoder's states
    float* logits;               // [batch, width, vocabulary]
    // Attention weights, or null. [num_layers, batch, width, heads, position + 1], a hypothesis's keys in their order,
    // and [num_layers, batch, width, heads, source_length].
    int64_t position;
    float *self_weights, *cross_weights;
};
}

namespace {

inline Vector load(const float* from) {
    Vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

inline Vector load(const uint16_t* from) {  // half precision
#if defined(__AVX512F__)
    return (Vector)_mm512_maskz_cvtph_ps(-1, _mm256_loadu_si256((const __m256i*)from));
#else
    return (Vector)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)from));
#endif
}

inline Vector load(const int8_t* from) {
#if defined(__AVX512F__)
    return (Vector)_mm512_maskz_cvtepi32_ps(-1, _mm512_maskz_cvtepi8_epi32(-1, _mm_loadu_si128((const __m128i*)from)));
#else
    return (Vector)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)from)));
#endif
}

inline void store(float* to, Vector v) { std::memcpy(to, &v, sizeof v); }

inline Vector all(float value) { return value - Vector{}; }

inline bool any_greater(Vector a, Vector b) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ);
#else
    return _mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_GT_OQ));
#endif
}

inline float sum(Vector v) {
#if defined(__AVX512F__)
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256((__m512)v),
                                       _mm256_castpd_ps(_mm512_extractf64x4_pd((__m512d)v, 1)));
#else
    const __m256 eight = (__m256)v;
#endif
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}

inline float dot(const float* a, const float* b, int64_t n) {
    Vector sums{};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) sums += load(a + i) * load(b + i);
    float total = sum(sums);
    for (; i < n; ++i) total += a[i] * b[i];
    return total;
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

template <int N, class Weight>
inline void panel(const float* x, int64_t inputs, const Weight* weights, Vector (&sums)[N][VECTORS]) {
    for (int row = 0; row < N; ++row)
        for (int v = 0; v < VECTORS; ++v) sums[row][v] = Vector{};
    for (int64_t i = 0; i < inputs; ++i) {
        Vector w[VECTORS];
        for (int v = 0; v < VECTORS; ++v) w[v] = load(weights + i * PANEL + v * LANES);
        for (int row = 0; row < N; ++row)
            for (int v = 0; v < VECTORS; ++v) sums[row][v] += x[row * inputs + i] * w[v];
    }
}

template <int N, class Weight>
void some_rows(const Linear& linear, const float* x, const Weight* weights, int64_t first, bool relu, float* y) {
    Vector sums[N][VECTORS];
    panel<N>(x, linear.inputs, weights, sums);
    const int64_t count = std::min<int64_t>(PANEL, linear.outputs - first);
    for (int v = 0; v < VECTORS; ++v) {
        const Vector scale = linear.scales ? load(linear.scales + first + v * LANES) : all(1);
        const Vector bias = linear.bias ? load(linear.bias + first + v * LANES) : Vector{};
        for (int row = 0; row < N; ++row) {
            Vector result = sums[row][v] * scale + bias;
            if (relu) result = result < Vector{} ? Vector{} : result;  // NaN stays NaN
            float* to = y + row * linear.outputs + first + v * LANES;
            const int64_t left = count - v * LANES;
            if (left >= LANES) store(to, result);
            else if (left > 0) std::memcpy(to, &result, left * sizeof(float));
        }
    }
}

template <class Weight>
void multiply(const Linear& linear, const float* x, int64_t rows, bool relu, float* y) {
    auto weights = static_cast<const Weight*>(linear.weights);
    for (int64_t first = 0; first < linear.outputs; first += PANEL) {
        const Weight* part = weights + first * linear.inputs;
        int64_t row = 0;
        auto run = [&](auto n) {
            some_rows<n()>(linear, x + row * linear.inputs, part, first, relu, y + row * linear.outputs);
            row += n();
        };
        for (; row + ROWS <= rows;) run(std::integral_constant<int, ROWS>{});
        if constexpr (ROWS > 4)
            if (row + 4 <= rows) run(std::integral_constant<int, 4>{});
        if constexpr (ROWS > 2)
            if (row + 2 <= rows) run(std::integral_constant<int, 2>{});
        if (row < rows) run(std::integral_constant<int, 1>{});
    }
}

void apply(const Linear& linear, const float* x, int64_t rows, float* y, bool relu = false) {
    switch (linear.kind) {
        case FLOAT16: return multiply<uint16_t>(linear, x, rows, relu, y);
        case INT8: return multiply<int8_t>(linear, x, rows, relu, y);
        default: return multiply<float>(linear, x, rows, relu, y);
    }
}

// x = LayerNorm(x + added)
void add_and_norm(float* x, const float* added, int64_t rows, int64_t d_model, const Norm& norm, float epsilon) {
    for (int64_t row = 0; row < rows; ++row, x += d_model, added += d_model) {
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < d_model; ++i) mean += x[i] += added[i];
        mean /= d_model;
        for (int64_t i = 0; i < d_model; ++i) variance += (x[i] - mean) * (x[i] - mean);
        const float scale = 1 / std::sqrt(float(variance / d_model) + epsilon), centre = float(mean);
        for (int64_t i = 0; i < d_model; ++i) x[i] = (x[i] - centre) * scale * norm.weight[i] + norm.bias[i];
    }
}

// x = LayerNorm(x + relu(x W1 + b1) W2 + b2)
void feed_forward(float* x, int64_t rows, const Linear& inner, const Linear& outer, const Norm& norm, float epsilon) {
    std::vector<float> hidden(rows * inner.outputs), added(rows * outer.outputs);
    apply(inner, x, rows, hidden.data(), true);
    apply(outer, hidden.data(), rows, added.data());
    add_and_norm(x, added.data(), rows, outer.outputs, norm, epsilon);
}

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
    float* weights;  // [batch, width, heads, weights_stride] of the keys that a row may attend to; or null
    int64_t weights_stride;
};

void attend(const Attention& a) {
    const float scale = 1 / std::sqrt(float(a.d_k));
    std::vector<float> scores(a.num_keys + LANES);
    std::vector<int64_t> allowed(a.num_keys + 1);
    for (int64_t row = 0; row < a.batch * a.width; ++row) {
        const int64_t b = row / a.width;
        const uint8_t* mask = a.mask + (a.mask_stride ? row * a.mask_stride : b * a.num_keys);
        int64_t count = 0;  // of the keys that the row may attend to, the same ones in each head
        for (int64_t key = 0; key < a.num_keys; ++key) {
            allowed[count] = key;
            count += mask[key];
        }
        for (int64_t h = 0; h < a.heads; ++h) {
            const float* query = a.queries + row * a.query_stride + h * a.d_k;
            const float* keys = a.keys + (b * a.heads + h) * a.room * a.d_k;
            const float* values = a.values + (b * a.heads + h) * a.room * a.d_v;
            float greatest = -INFINITY;
            for (int64_t i = 0; i < count; ++i) {
                scores[i] = dot(query, keys + allowed[i] * a.d_k, a.d_k) * scale;
                greatest = std::max(greatest, scores[i]);
            }
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
            float* weights = a.weights ? a.weights + (row * a.heads + h) * a.weights_stride : nullptr;
            for (int64_t i = 0; weights && i < count; ++i) weights[i] = scores[i] * share;
            int64_t column = 0;
            for (; column + LANES <= a.d_v; column += LANES) {
                Vector mean{};
                for (int64_t i = 0; i < count; ++i) mean += scores[i] * load(values + allowed[i] * a.d_v + column);
                store(joined + column, mean * share);
            }
            for (; column < a.d_v; ++column) {
                float mean = 0;
                for (int64_t i = 0; i < count; ++i) mean += scores[i] * values[allowed[i] * a.d_v + column];
                joined[column] = mean * share;
            }
        }
    }
}

// The `count` greatest of `logits` that are not excluded, greatest first, as log-probabilities.
void best_of(const float* logits, int64_t vocabulary, int64_t count, const int64_t* excluded, int64_t num_excluded,
             int64_t* token_ids, float* log_probs) {
    const int64_t whole = vocabulary - vocabulary % LANES;
    std::fill(token_ids, token_ids + count, 0);
    std::fill(log_probs, log_probs + count, -INFINITY);
    Vector greatest_of_lanes = all(-INFINITY);
    for (int64_t i = 0; i < whole; i += LANES) {
        const Vector v = load(logits + i);
        greatest_of_lanes = v > greatest_of_lanes ? v : greatest_of_lanes;
    }
    float greatest = -INFINITY;
    for (int lane = 0; lane < LANES; ++lane) greatest = std::max(greatest, greatest_of_lanes[lane]);
    for (int64_t i = whole; i < vocabulary; ++i) greatest = std::max(greatest, logits[i]);

    double total = 0;
    for (int64_t i = 0; i < whole;) {  // in double precision every 64 vectors
        Vector part{};
        for (const int64_t end = std::min(whole, i + 64 * LANES); i < end; i += LANES)
            part += exponential(load(logits + i) - greatest);
        total += sum(part);
    }
    for (int64_t i = whole; i < vocabulary; ++i) total += std::exp(logits[i] - greatest);
    if (!std::isfinite(greatest) || !std::isfinite(total)) return;

    int64_t found = 0;
    auto consider = [&](int64_t token_id) {
        const float logit = logits[token_id];
        if (found == count && !(logit > log_probs[count - 1])) return;
        const int64_t* end = excluded + num_excluded;
        if (logit == -INFINITY || std::find(excluded, end, token_id) != end) return;
        int64_t place = found < count ? found++ : count - 1;
        for (; place > 0 && log_probs[place - 1] < logit; --place) {
            log_probs[place] = log_probs[place - 1];
            token_ids[place] = token_ids[place - 1];
        }
        log_probs[place] = logit;
        token_ids[place] = token_id;
    };
    for (int64_t i = 0; i < whole; i += LANES)
        if (found < count || any_greater(load(logits + i), all(log_probs[count - 1])))
            for (int64_t token_id = i; token_id < i + LANES; ++token_id) consider(token_id);
    for (int64_t token_id = whole; token_id < vocabulary; ++token_id) consider(token_id);
    const float normalizer = greatest + float(std::log(total));
    for (int64_t place = 0; place < found; ++place) log_probs[place] -= normalizer;
}

}  // namespace

extern "C" {

// Raise it, in library.py too, with every change of a struct or function below.
int64_t interface_version() { return 2; }

int64_t panel_width() { return PANEL; }

void best_tokens(const float* logits, int64_t rows, int64_t vocabulary, int64_t count, const int64_t* excluded,
                 int64_t num_excluded, int64_t* token_ids, float* log_probs) {
    for (int64_t row = 0; row < rows; ++row)
        best_of(logits + row * vocabulary, vocabulary, count, excluded, num_excluded, token_ids + row * count,
                log_probs + row * count);
}

void attention(const Attention* heads) { attend(*heads); }

void encode(const EncoderLayer* layers, const Encoding* encoding) {
    const int64_t batch = encoding->batch, length = encoding->length, heads = encoding->heads;
    const int64_t d_k = encoding->d_k, d_v = encoding->d_v, rows = batch * length, d_qkv = heads * (2 * d_k + d_v);
    float* weights = encoding->weights;
    std::vector<float> qkv(rows * d_qkv), keys(rows * heads * d_k), values(rows * heads * d_v);
    std::vector<float> joined(rows * heads * d_v), added(rows * encoding->d_model);
    for (int64_t index = 0; index < encoding->num_layers; ++index) {
        const EncoderLayer& layer = layers[index];
        apply(layer.qkv, encoding->x, rows, qkv.data());
        split_heads(&qkv[heads * d_k], d_qkv, batch, length, heads, d_k, length, 0, keys.data());
        split_heads(&qkv[2 * heads * d_k], d_qkv, batch, length, heads, d_v, length, 0, values.data());
        attend({batch, length, heads, d_k, d_v, length, length, qkv.data(), d_qkv, keys.data(), values.data(),
                encoding->mask, 0, joined.data(), weights, length});
        if (weights) weights += rows * heads * length;
        apply(layer.out, joined.data(), rows, added.data());
        add_and_norm(encoding->x, added.data(), rows, encoding->d_model, layer.attention_norm, encoding->epsilon);
        feed_forward(encoding->x, rows, layer.inner, layer.outer, layer.feed_forward_norm, encoding->epsilon);
    }
}

// Keys and values of the memory [batch, length, d_model] for one decoder layer: [batch, heads, length, d] each.
void keys_values(const Linear* product, const float* memory, int64_t batch, int64_t length, int64_t heads, int64_t d_k,
                 int64_t d_v, float* keys, float* values) {
    std::vector<float> projected(batch * length * product->outputs);
    apply(*product, memory, batch * length, projected.data());
    split_heads(projected.data(), product->outputs, batch, length, heads, d_k, length, 0, keys);
    split_heads(&projected[heads * d_k], product->outputs, batch, length, heads, d_v, length, 0, values);
}

void decoder_step(const DecoderLayer* layers, const LayerCache* caches, const Linear* projection, const Step* step) {
    const int64_t batch = step->batch, width = step->width, heads = step->heads, d_k = step->d_k, d_v = step->d_v;
    const int64_t rows = batch * width, d_model = step->d_model, d_qkv = heads * (2 * d_k + d_v);
    const int64_t num_keys = step->num_keys + width;
    float *self_weights = step->self_weights, *cross_weights = step->cross_weights;
    std::vector<float> qkv(rows * d_qkv), joined(rows * heads * d_v), added(rows * d_model);
    for (int64_t index = 0; index < step->num_layers; ++index) {
        const DecoderLayer& layer = layers[index];
        const LayerCache& cache = caches[index];

        apply(layer.qkv, step->x, rows, qkv.data());
        split_heads(&qkv[heads * d_k], d_qkv, batch, width, heads, d_k, step->room, step->num_keys, cache.keys);
        split_heads(&qkv[2 * heads * d_k], d_qkv, batch, width, heads, d_v, step->room, step->num_keys, cache.values);
        attend({batch, width, heads, d_k, d_v, num_keys, step->room, qkv.data(), d_qkv, cache.keys, cache.values,
                step->ancestry, num_keys, joined.data(), self_weights, step->position + 1});
        if (self_weights) self_weights += rows * heads * (step->position + 1);
        apply(layer.self_out, joined.data(), rows, added.data());
        add_and_norm(step->x, added.data(), rows, d_model, layer.self_norm, step->epsilon);

        apply(layer.query, step->x, rows, qkv.data());
        attend({batch, width, heads, d_k, d_v, step->source_length, step->source_length, qkv.data(), heads * d_k,
                cache.memory_keys, cache.memory_values, step->memory_mask, 0, joined.data(), cross_weights,
                step->source_length});
        if (cross_weights) cross_weights += rows * heads * step->source_length;
        apply(layer.cross_out, joined.data(), rows, added.data());
        add_and_norm(step->x, added.data(), rows, d_model, layer.cross_norm, step->epsilon);

        feed_forward(step->x, rows, layer.inner, layer.outer, layer.feed_forward_norm, step->epsilon);
    }
    apply(*projection, step->x, rows, step->logits);
}
}
