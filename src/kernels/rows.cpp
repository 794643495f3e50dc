#include "kernels/rows.h"

#include <algorithm>
#include <cmath>

#include "kernels/lanes.h"
#include "kernels/registers.h"

namespace dovetail::kernels {
namespace {

/// Number of partial sums, so that sums are vectorized. They are added in order.
constexpr std::int64_t sum_parts = 16;

/// Sums the first `count` terms in double precision.
template <class Term>
[[gnu::always_inline]] inline double sum_of(std::int64_t count, Term term) {
  double sums[sum_parts] = {};
  std::int64_t at = 0;
  for (; at + sum_parts <= count; at += sum_parts)
    for (std::int64_t i = 0; i < sum_parts; ++i) sums[i] += term(at + i);
  for (std::int64_t i = 0; at + i < count; ++i) sums[i] += term(at + i);
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

template <class Number>
[[gnu::always_inline]] inline Number root_of(const Number* x, std::int64_t size, double epsilon) {
  const double squares = sum_of(size, [x](std::int64_t i) __attribute__((always_inline)) {
    return static_cast<double>(x[i]) * static_cast<double>(x[i]);
  });
  return static_cast<Number>(1 / std::sqrt(squares / static_cast<double>(size) + epsilon));
}

template <class Number>
[[gnu::always_inline]] inline void normalize_row_backward(const Number* x, const Number* scale, Number root,
                                                          const Number* dy, std::int64_t size, Number* dx) {
  const double along = sum_of(size, [=](std::int64_t i) __attribute__((always_inline)) {
    return static_cast<double>(dy[i] * scale[i]) * static_cast<double>(x[i]);
  });
  const auto part = static_cast<Number>(along / static_cast<double>(size)) * root * root;
  DOVETAIL_INDEPENDENT
  for (std::int64_t i = 0; i < size; ++i) dx[i] = root * (dy[i] * scale[i] - x[i] * part);
}

/// Rotates the pairs of a head by the angles times `sign`, 1 or -1.
template <class Number>
[[gnu::always_inline]] inline void rotate_head(Number* head, std::int64_t half, const Number* cosines,
                                               const Number* sines, Number sign) {
  DOVETAIL_INDEPENDENT
  for (std::int64_t i = 0; i < half; ++i) {
    const Number a = head[i];
    const Number b = head[half + i];
    const Number sine = sines[i] * sign;
    head[i] = a * cosines[i] - b * sine;
    head[half + i] = b * cosines[i] + a * sine;
  }
}

}  // namespace

template <class Number>
void normalize(const Number* x, const Number* scale, std::int64_t rows, std::int64_t size, double epsilon,
               Number* out) {
  run_on_best_registers([=](auto) __attribute__((always_inline)) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const Number root = root_of(x + row * size, size, epsilon);
      DOVETAIL_INDEPENDENT
      for (std::int64_t i = row * size; i < (row + 1) * size; ++i) out[i] = x[i] * root * scale[i - row * size];
    }
  });
}

template <class Number>
void reciprocal_roots(const Number* x, std::int64_t rows, std::int64_t size, double epsilon, Number* roots) {
  run_on_best_registers([=](auto) __attribute__((always_inline)) {
    for (std::int64_t row = 0; row < rows; ++row) roots[row] = root_of(x + row * size, size, epsilon);
  });
}

template <class Number>
void normalize_backward(const Number* x, const Number* scale, const Number* roots, const Number* dy, std::int64_t rows,
                        std::int64_t size, Number* dx) {
  run_on_best_registers([=](auto) __attribute__((always_inline)) {
    for (std::int64_t row = 0; row < rows; ++row)
      normalize_row_backward(x + row * size, scale, roots[row], dy + row * size, size, dx + row * size);
  });
}

template <class Number>
void add_scale_gradient(const Number* x, const Number* roots, const Number* dy, std::int64_t rows, std::int64_t size,
                        std::int64_t begin, std::int64_t end, Number* gradient) {
  constexpr std::int64_t at_once = 256;
  run_on_best_registers([=](auto) __attribute__((always_inline)) {
    for (std::int64_t first = begin; first < end; first += at_once) {
      const std::int64_t count = std::min(at_once, end - first);
      double sums[at_once] = {};
      for (std::int64_t row = 0; row < rows; ++row) {
        const Number* const of_x = x + row * size + first;
        const Number* const of_dy = dy + row * size + first;
        const Number root = roots[row];
        for (std::int64_t i = 0; i < count; ++i)
          sums[i] += static_cast<double>(of_dy[i]) * static_cast<double>(of_x[i] * root);
      }
      for (std::int64_t i = 0; i < count; ++i)
        gradient[first + i] = static_cast<Number>(static_cast<double>(gradient[first + i]) + sums[i]);
    }
  });
}

template <class Number>
void rotate(Number* x, std::int64_t heads, std::int64_t size, const Number* cosines, const Number* sines) {
  rotate(RotaryRows<Number>{x, 0, heads, size, nullptr, cosines, sines}, 0, 1, RotationDirection::forward);
}

template <class Number>
void rotate(const RotaryRows<Number>& rows, std::int64_t begin, std::int64_t end, RotationDirection direction) {
  const Number sign = direction == RotationDirection::forward ? Number{1} : Number{-1};
  run_on_best_registers([=](auto) __attribute__((always_inline)) {
    const std::int64_t half = rows.size / 2;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t position = rows.positions == nullptr ? row : rows.positions[row];
      for (std::int64_t head = 0; head < rows.heads; ++head)
        rotate_head(rows.x + row * rows.stride + head * rows.size, half, rows.cosines + position * half,
                    rows.sines + position * half, sign);
    }
  });
}

template <class Number>
void gate(Number* gates, const Number* up, std::int64_t count) {
  gate(gates, up, count, gates);
}

template <class Number>
void gate(const Number* gates, const Number* up, std::int64_t count, Number* out) {
  run_on_best_registers([=](auto) __attribute__((always_inline)) {
    DOVETAIL_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) out[i] = gates[i] / (1 + exponential(-gates[i])) * up[i];
  });
}

template <class Number>
void gate_backward(const Number* gates, const Number* up, const Number* dy, std::int64_t count, Number* d_gates,
                   Number* d_up) {
  run_on_best_registers([=](auto) __attribute__((always_inline)) {
    DOVETAIL_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) {
      const Number g = gates[i];
      const Number by_product = dy[i];
      const Number sigmoid = 1 / (1 + exponential(-g));
      d_gates[i] = by_product * up[i] * sigmoid * (1 + g * (1 - sigmoid));
      d_up[i] = by_product * g * sigmoid;
    }
  });
}

#define DOVETAIL_ROWS_FOR(Number)                                                                            \
  template void normalize(const Number*, const Number*, std::int64_t, std::int64_t, double, Number*);        \
  template void reciprocal_roots(const Number*, std::int64_t, std::int64_t, double, Number*);                \
  template void normalize_backward(const Number*, const Number*, const Number*, const Number*, std::int64_t, \
                                   std::int64_t, Number*);                                                   \
  template void add_scale_gradient(const Number*, const Number*, const Number*, std::int64_t, std::int64_t,  \
                                   std::int64_t, std::int64_t, Number*);                                     \
  template void rotate(Number*, std::int64_t, std::int64_t, const Number*, const Number*);                   \
  template void rotate(const RotaryRows<Number>&, std::int64_t, std::int64_t, RotationDirection);            \
  template void gate(Number*, const Number*, std::int64_t);                                                  \
  template void gate(const Number*, const Number*, std::int64_t, Number*);                                   \
  template void gate_backward(const Number*, const Number*, const Number*, std::int64_t, Number*, Number*);

DOVETAIL_ROWS_FOR(float)
DOVETAIL_ROWS_FOR(double)

namespace {

/// Numbers that are processed together, each with a separate sum.
constexpr std::int64_t chunk = 64;

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

/// Sums of w and of w ln w over the vocabulary, for the weights w = exp((logit - max) / temperature).
struct Sums {
  double weights[chunk] = {};
  double weighted_logs[chunk] = {};

  template <class Number>
  [[gnu::always_inline]] void add(const Number* logits, std::int64_t count, Number max, Number scale) {
    Number weights_of_chunk[chunk];
    Number logs[chunk];
    for (std::int64_t i = 0; i < count; ++i) {
      logs[i] = (logits[i] - max) * scale;
      weights_of_chunk[i] = exponential(logs[i]);
      // Avoid 0 * infinity.
      logs[i] = weights_of_chunk[i] == 0 ? 0 : logs[i];
    }
    for (std::int64_t i = 0; i < count; ++i) {
      weights[i] += static_cast<double>(weights_of_chunk[i]);
      weighted_logs[i] += static_cast<double>(weights_of_chunk[i]) * static_cast<double>(logs[i]);
    }
  }
};

double total(const double (&sums)[chunk]) {
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
    for (; at + chunk <= count; at += chunk) all->add(logits + at, chunk, *of_all, scale);
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
