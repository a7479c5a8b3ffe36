// Inference on a CPU: the encoder; a step of decoding, with all layers and the projection to the vocabulary; the best
// tokens.
//
// With one row for each hypothesis a step of decoding is some 200 small operations, most of which PyTorch takes longer
// to start than to compute. Here they are loops over vectors. Sentences do not depend on each other, so each thread
// computes some of them from the first layer to the last, and then a part of the vocabulary for all. The file is
// compiled once for each instruction set in `library.py`, without headers of Python or PyTorch, and called through a C
// interface.
//
// A product sums over the inputs in an order that depends on nothing else, and rounds each row to 8 bits by itself, so a
// row's result does not depend on the other rows.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#include "attention.h"
#include "best_tokens.h"
#include "products.h"
#include "vectors.h"

extern "C" {

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

// Layers of the encoder or the decoder, and what they have in common.
struct Stack {
    const void* layers;
    int64_t num_layers, d_model, heads, d_k, d_v;
    int64_t pre_norm;  // 0: LayerNorm(x + f(x)), 1: x + f(LayerNorm(x))
    int64_t activation;
    Norm input_norm, output_norm;  // of the whole stack; null: none
    float epsilon;                 // of all norms
};

struct Encoding {
    int64_t batch, length;
    const uint8_t* mask;  // [batch, length]: 1 may be attended to; zeros at the end of a row are padding
    int64_t threads;
    float* x;             // [batch, length, d_model]: the embedded tokens; afterwards the memory, 0 for padding
};

struct Step {
    int64_t batch, width;
    int64_t num_keys;       // before this step, which adds `width`
    int64_t room;           // for keys
    int64_t source_length;
    const uint8_t* ancestry;     // [batch, width, num_keys + width]: 1 may be attended to
    const uint8_t* memory_mask;  // [batch, source_length]
    float* x;                    // [batch, width, d_model]: the embedded tokens; afterwards the decoder's states
    float* logits;               // [batch, width, vocabulary]
    int64_t threads, projection_threads;
};
}

namespace {

void add(float* x, const float* added, int64_t count) {
    for (int64_t i = 0; i < count; ++i) x[i] += added[i];
}

// LayerNorm(x) of each row, to `to`, which may be x.
void normalise(const float* x, int64_t rows, int64_t d_model, const Norm& norm, float epsilon, float* to) {
    const int64_t whole = d_model - d_model % LANES;
    for (int64_t row = 0; row < rows; ++row, x += d_model, to += d_model) {
        Vector sums{}, squares{};
        for (int64_t i = 0; i < whole; i += LANES) sums += load(x + i);
        float mean = sum(sums), variance = 0;
        for (int64_t i = whole; i < d_model; ++i) mean += x[i];
        mean /= d_model;
        for (int64_t i = 0; i < whole; i += LANES) squares += (load(x + i) - mean) * (load(x + i) - mean);
        for (int64_t i = whole; i < d_model; ++i) variance += (x[i] - mean) * (x[i] - mean);
        const float scale = 1 / std::sqrt((sum(squares) + variance) / d_model + epsilon);
        for (int64_t i = 0; i < whole; i += LANES)
            store(to + i, (load(x + i) - mean) * scale * load(norm.weight + i) + load(norm.bias + i));
        for (int64_t i = whole; i < d_model; ++i) to[i] = (x[i] - mean) * scale * norm.weight[i] + norm.bias[i];
    }
}

// Rows on their way through the layers of a stack.
class Stream {
  public:
    Stream(const Stack& stack, float* x, int64_t rows)
        : stack_(stack), x_(x), rows_(rows), normed_(stack.pre_norm ? rows * stack.d_model : 0),
          added_(rows * stack.d_model) {
        apply_norm(stack.input_norm);
    }

    // A sub-layer f(input, output) with its residual connection and norm.
    template <class Sublayer>
    void through(const Norm& norm, Sublayer f) {
        const float* input = stack_.pre_norm ? normed_.data() : x_;
        if (stack_.pre_norm) normalise(x_, rows_, stack_.d_model, norm, stack_.epsilon, normed_.data());
        f(input, added_.data());
        add(x_, added_.data(), rows_ * stack_.d_model);
        if (!stack_.pre_norm) apply_norm(norm);
    }

    void feed_forward(const Linear& inner, const Linear& outer, const Norm& norm) {
        hidden_.resize(rows_ * inner.outputs);
        through(norm, [&](const float* input, float* output) {
            apply(inner, input, rows_, hidden_.data(), Activation(stack_.activation));
            apply(outer, hidden_.data(), rows_, output);
        });
    }

    void finish() { apply_norm(stack_.output_norm); }

  private:
    void apply_norm(const Norm& norm) {
        if (norm.weight) normalise(x_, rows_, stack_.d_model, norm, stack_.epsilon, x_);
    }

    const Stack& stack_;
    float* x_;  // [rows, d_model]
    int64_t rows_;
    std::vector<float> normed_, added_, hidden_;
};

constexpr int64_t ROWS_IN_CACHE = 128;  // of the encoder's layers

// Calls run(first, count) for parts of a whole, each in a thread.
template <class Run>
void in_threads(int64_t whole, int64_t threads, Run run) {
    std::vector<std::thread> others;
    threads = std::max<int64_t>(1, std::min(threads, whole));
    for (int64_t part = 1; part < threads; ++part) {
        const int64_t first = whole * part / threads, count = whole * (part + 1) / threads - first;
        try {
            others.emplace_back(run, first, count);
        } catch (const std::system_error&) {  // no more threads
            run(first, count);
        }
    }
    run(0, whole / threads);
    for (std::thread& other : others) other.join();
}

// Sentences from `first` up to `end`, without their padding. Sentence b has the rows from starts[b] to starts[b + 1].
void encode_part(const Stack& stack, const Encoding* encoding, const std::vector<int64_t>& starts, int64_t first,
                 int64_t end) {
    const int64_t length = encoding->length, d_model = stack.d_model, heads = stack.heads;
    const int64_t d_k = stack.d_k, d_v = stack.d_v, d_qkv = heads * (2 * d_k + d_v), rows = starts[end] - starts[first];
    std::vector<float> x(rows * d_model), qkv(rows * d_qkv), joined(rows * heads * d_v);
    std::vector<float> keys(length * heads * d_k), values(length * heads * d_v);
    auto each = [&](auto run) {  // run(sentence, its first row here, its length)
        for (int64_t b = first; b < end; ++b) run(b, starts[b] - starts[first], starts[b + 1] - starts[b]);
    };
    each([&](int64_t b, int64_t row, int64_t count) {
        std::copy_n(encoding->x + b * length * d_model, count * d_model, &x[row * d_model]);
    });
    Stream stream(stack, x.data(), rows);
    for (int64_t index = 0; index < stack.num_layers; ++index) {
        const EncoderLayer& layer = static_cast<const EncoderLayer*>(stack.layers)[index];
        stream.through(layer.attention_norm, [&](const float* input, float* output) {
            apply(layer.qkv, input, rows, qkv.data());
            each([&](int64_t b, int64_t row, int64_t count) {
                const float* queries = &qkv[row * d_qkv];
                split_heads(queries + heads * d_k, d_qkv, 1, count, heads, d_k, count, 0, keys.data());
                split_heads(queries + 2 * heads * d_k, d_qkv, 1, count, heads, d_v, count, 0, values.data());
                attend({1, count, heads, d_k, d_v, count, count, queries, d_qkv, keys.data(), values.data(),
                        encoding->mask + b * length, 0, &joined[row * heads * d_v]});
            });
            apply(layer.out, joined.data(), rows, output);
        });
        stream.feed_forward(layer.inner, layer.outer, layer.feed_forward_norm);
    }
    stream.finish();
    each([&](int64_t b, int64_t row, int64_t count) {
        float* memory = encoding->x + b * length * d_model;
        std::copy_n(&x[row * d_model], count * d_model, memory);
        std::fill_n(memory + count * d_model, (length - count) * d_model, 0.0f);
    });
}

void step_part(const Stack& stack, const LayerCache* caches, const Step* step, int64_t first, int64_t batch) {
    const int64_t width = step->width, heads = stack.heads, d_k = stack.d_k, d_v = stack.d_v;
    const int64_t rows = batch * width, d_qkv = heads * (2 * d_k + d_v);
    const int64_t num_keys = step->num_keys + width;
    const int64_t length = step->source_length;
    const uint8_t* ancestry = step->ancestry + first * width * num_keys;
    const uint8_t* memory_mask = step->memory_mask + first * length;
    float* x = step->x + first * width * stack.d_model;
    std::vector<float> qkv(rows * d_qkv), joined(rows * heads * d_v);
    Stream stream(stack, x, rows);
    for (int64_t index = 0; index < stack.num_layers; ++index) {
        const DecoderLayer& layer = static_cast<const DecoderLayer*>(stack.layers)[index];
        const LayerCache& whole = caches[index];
        const LayerCache cache = {whole.keys + first * heads * step->room * d_k,
                                  whole.values + first * heads * step->room * d_v,
                                  whole.memory_keys + first * heads * length * d_k,
                                  whole.memory_values + first * heads * length * d_v};

        stream.through(layer.self_norm, [&](const float* input, float* output) {
            apply(layer.qkv, input, rows, qkv.data());
            split_heads(&qkv[heads * d_k], d_qkv, batch, width, heads, d_k, step->room, step->num_keys, cache.keys);
            split_heads(&qkv[2 * heads * d_k], d_qkv, batch, width, heads, d_v, step->room, step->num_keys,
                        cache.values);
            attend({batch, width, heads, d_k, d_v, num_keys, step->room, qkv.data(), d_qkv, cache.keys, cache.values,
                    ancestry, num_keys, joined.data()});
            apply(layer.self_out, joined.data(), rows, output);
        });

        stream.through(layer.cross_norm, [&](const float* input, float* output) {
            apply(layer.query, input, rows, qkv.data());
            attend({batch, width, heads, d_k, d_v, length, length, qkv.data(), heads * d_k, cache.memory_keys,
                    cache.memory_values, memory_mask, 0, joined.data()});
            apply(layer.cross_out, joined.data(), rows, output);
        });

        stream.feed_forward(layer.inner, layer.outer, layer.feed_forward_norm);
    }
    stream.finish();
}

}  // namespace

extern "C" {

// Raise it, in library.py too, with every change of a struct or function below.
int64_t interface_version() { return 10; }

int64_t panel_width() { return PANEL; }

int64_t multiplies_bfloat16() { return has_bfloat16(); }

int64_t multiplies_tiles() { return has_tiles(); }

void best_tokens(const float* logits, int64_t rows, int64_t vocabulary, int64_t count, const int64_t* excluded,
                 int64_t num_excluded, int64_t threads, int64_t* token_ids, float* log_probs) {
    in_threads(rows, threads, [=](int64_t first, int64_t part) {
        for (int64_t row = first; row < first + part; ++row)
            best_of(logits + row * vocabulary, vocabulary, count, excluded, num_excluded, token_ids + row * count,
                    log_probs + row * count);
    });
}

// Of the `width` hypotheses of each sentence; `count` is width * candidates at most. `places` [2, batch, count] receives
// parents and token ids, `scores` [2, batch, count] log-probabilities of the tokens and of the whole continuations.
void best_continuations(const float* logits, const float* log_probs, int64_t batch, int64_t width, int64_t vocabulary,
                        int64_t candidates, int64_t count, const int64_t* excluded, int64_t num_excluded,
                        int64_t threads, int64_t* places, float* scores) {
    in_threads(batch, threads, [=](int64_t first, int64_t part) {
        for (int64_t b = first; b < first + part; ++b)
            best_continuations_of(logits + b * width * vocabulary, log_probs + b * width, width, vocabulary, candidates,
                                  count, excluded, num_excluded,
                                  {places + b * count, places + (batch + b) * count, scores + b * count,
                                   scores + (batch + b) * count});
    });
}

// Ancestors of hypotheses [batch, width, num_keys + width]: those [batch, before, num_keys] of their parents, and each
// itself.
void extend_ancestry(const uint8_t* ancestry, const int64_t* parents, int64_t batch, int64_t before, int64_t width,
                     int64_t num_keys, uint8_t* extended) {
    for (int64_t row = 0; row < batch * width; ++row) {
        uint8_t* to = extended + row * (num_keys + width);
        const uint8_t* of_parent = ancestry + (row / width * before + parents[row]) * num_keys;
        std::copy(of_parent, of_parent + num_keys, to);  // of no keys, too, whose tensor may have no address
        std::memset(to + num_keys, 0, width);
        to[num_keys + row % width] = 1;
    }
}

void attention(const Attention* heads) { attend(*heads); }

// y [rows, outputs] from x [rows, inputs].
void product(const Linear* linear, const float* x, int64_t rows, int64_t threads, float* y) {
    in_threads(num_panels(*linear), threads,
               [=](int64_t first, int64_t panels) { apply_part(*linear, x, rows, y, first, panels); });
}

// Keys and values of the memory [batch, length, d_model] for one decoder layer: [batch, heads, length, d] each.
void keys_values(const Linear* product, const float* memory, int64_t batch, int64_t length, int64_t heads, int64_t d_k,
                 int64_t d_v, int64_t threads, float* keys, float* values) {
    in_threads(batch, threads, [=](int64_t first, int64_t part) {
        std::vector<float> projected(part * length * product->outputs);
        apply(*product, memory + first * length * product->inputs, part * length, projected.data());
        split_heads(projected.data(), product->outputs, part, length, heads, d_k, length, 0,
                    keys + first * heads * length * d_k);
        split_heads(&projected[heads * d_k], product->outputs, part, length, heads, d_v, length, 0,
                    values + first * heads * length * d_v);
    });
}

void encode(const Stack* stack, const Encoding* encoding) {
    const int64_t batch = encoding->batch, length = encoding->length;
    std::vector<int64_t> starts(batch + 1);
    for (int64_t b = 0; b < batch; ++b) {
        int64_t count = length;
        while (count > 1 && !encoding->mask[b * length + count - 1]) --count;
        starts[b + 1] = starts[b] + count;
    }
    in_threads(starts[batch], encoding->threads, [&](int64_t first_row, int64_t rows) {  // sentences that begin there
        auto from = [&](int64_t row) { return std::lower_bound(starts.begin(), starts.end(), row) - starts.begin(); };
        const int64_t end = from(first_row + rows);
        for (int64_t first = from(first_row), next; first < end; first = next) {
            next = first + 1;
            while (next < end && starts[next + 1] - starts[first] <= ROWS_IN_CACHE) ++next;
            encode_part(*stack, encoding, starts, first, next);
        }
    });
}

void decoder_step(const Stack* stack, const LayerCache* caches, const Linear* projection, const Step* step) {
    in_threads(step->batch, step->threads, [=](int64_t first, int64_t batch) {
        step_part(*stack, caches, step, first, batch);
    });
    // Each thread reads a part of the matrix, of which there is more than of anything else.
    product(projection, step->x, step->batch * step->width, step->projection_threads, step->logits);
}
}
