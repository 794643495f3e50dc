#include "kernels/vocabulary.h"

#include <algorithm>
#include <cmath>

#include "kernels/exponential.h"
#include "kernels/registers.h"

namespace dovetail::kernels {
namespace {

/// Numbers that are handled together, each with a sum of its own.
constexpr std::int64_t piece = 64;

template <class Number>
[[gnu::always_inline]] inline Number max_logit(const Number* logits, std::int64_t count) {
  constexpr std::int64_t parts = 16;
  Number largest[parts];
  std::fill_n(largest, parts, logits[0]);
  std::int64_t at = 0;
  for (; at + parts <= count; at += parts)
    for (std::int64_t i = 0; i < parts; ++i) largest[i] = logits[at + i] > largest[i] ? logits[at + i] : largest[i];
  for (; at < count; ++at) largest[0] = std::max(largest[0], logits[at]);
  return *std::max_element(largest, largest + parts);
}

/// Sums over the vocabulary, of weights w = exp((logit - max) / temperature) and of w ln w.
struct Sums {
  double weights[piece] = {};
  double weighted_logs[piece] = {};

  template <class Number>
  [[gnu::always_inline]] void add(const Number* logits, std::int64_t count, Number max, Number scale) {
    Number of_piece[piece];
    Number logs[piece];
    for (std::int64_t i = 0; i < count; ++i) {
      logs[i] = (logits[i] - max) * scale;
      of_piece[i] = exponential(logs[i]);
      // No sum of a zero times infinity.
      logs[i] = of_piece[i] == 0 ? 0 : logs[i];
    }
    for (std::int64_t i = 0; i < count; ++i) {
      weights[i] += static_cast<double>(of_piece[i]);
      weighted_logs[i] += static_cast<double>(of_piece[i]) * static_cast<double>(logs[i]);
    }
  }
};

double total(const double (&sums)[piece]) {
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace

template <class Number>
TokenDistribution distribution_of(const Number* logits, std::int64_t count, double temperature) {
  Sums sums;
  Sums* const all = &sums;
  Number max = 0;
  Number* const of_all = &max;
  const auto scale = static_cast<Number>(1 / temperature);
  run_on_best_registers([=](auto) __attribute__((always_inline)) {
    *of_all = max_logit(logits, count);
    std::int64_t at = 0;
    for (; at + piece <= count; at += piece) all->add(logits + at, piece, *of_all, scale);
    all->add(logits + at, count - at, *of_all, scale);
  });
  const double weights = total(sums.weights);
  const double log_weights = std::log(weights);
  // H = ln(sum of w) - sum of w ln w / sum of w.
  return {static_cast<double>(max) / temperature + log_weights, log_weights - total(sums.weighted_logs) / weights};
}

template <class Number>
void distribution_backward(Number* logits, std::int64_t count, double temperature,
                           const TokenDistribution& distribution, const TokenSlopes& slopes) {
  const auto scale = static_cast<Number>(1 / temperature);
  const auto offset = static_cast<Number>(distribution.log_sum_exp);
  const auto entropy = static_cast<Number>(distribution.entropy);
  const auto by_log = static_cast<Number>(slopes.by_log_probability / temperature);
  const auto by_entropy = static_cast<Number>(slopes.by_entropy / temperature);
  run_on_best_registers([=](auto) __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < count; ++i) {
      const Number log_share = logits[i] * scale - offset;
      const Number share = exponential(log_share);
      const Number slope = -share * (by_log + by_entropy * (log_share + entropy));
      logits[i] = share == 0 ? 0 : slope;
    }
  });
  logits[slopes.token] += by_log;
}

#define DOVETAIL_VOCABULARY_FOR(Number)                                            \
  template TokenDistribution distribution_of(const Number*, std::int64_t, double); \
  template void distribution_backward(Number*, std::int64_t, double, const TokenDistribution&, const TokenSlopes&);

DOVETAIL_VOCABULARY_FOR(float)
DOVETAIL_VOCABULARY_FOR(double)

}  // namespace dovetail::kernels
