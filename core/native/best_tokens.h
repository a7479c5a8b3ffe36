// The most probable tokens of a row of logits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "vectors.h"

namespace {

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
