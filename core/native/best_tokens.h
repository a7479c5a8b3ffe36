// The most probable tokens of a row of logits, and continuations of a sentence's hypotheses.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

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

// The `count` best continuations of a sentence's hypotheses, best first. Of equal ones the earlier hypothesis's come
// first, and of its the smaller id.
struct Continuations {
    int64_t* parents;
    int64_t* token_ids;
    float *token_log_probs, *log_probs;  // of the token given its parent, and of the whole continuation
};

// `candidates` of each of the `width` hypotheses are considered. Those that are missing are impossible.
void best_continuations_of(const float* logits, const float* log_probs, int64_t width, int64_t vocabulary,
                           int64_t candidates, int64_t count, const int64_t* excluded, int64_t num_excluded,
                           const Continuations& best) {
    std::vector<int64_t> token_ids(candidates);
    std::vector<float> token_log_probs(candidates);
    std::fill_n(best.log_probs, count, -INFINITY);
    int64_t found = 0;
    for (int64_t parent = 0; parent < width; ++parent) {
        best_of(logits + parent * vocabulary, vocabulary, candidates, excluded, num_excluded, token_ids.data(),
                token_log_probs.data());
        for (int64_t rank = 0; rank < candidates; ++rank) {
            const float log_prob = log_probs[parent] + token_log_probs[rank];
            if (found == count && !(log_prob > best.log_probs[count - 1])) break;  // nor are the following ones
            int64_t place = found < count ? found++ : count - 1;
            for (; place > 0 && best.log_probs[place - 1] < log_prob; --place) {
                best.parents[place] = best.parents[place - 1];
                best.token_ids[place] = best.token_ids[place - 1];
                best.token_log_probs[place] = best.token_log_probs[place - 1];
                best.log_probs[place] = best.log_probs[place - 1];
            }
            best.parents[place] = parent;
            best.token_ids[place] = token_ids[rank];
            best.token_log_probs[place] = token_log_probs[rank];
            best.log_probs[place] = log_prob;
        }
    }
}

}  // namespace
