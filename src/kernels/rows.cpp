#include "kernels/rows.h"

#include <algorithm>
#include <cmath>

#include "kernels/exponential.h"
#include "kernels/registers.h"

namespace dovetail::kernels {
namespace {

/// Sums in so many parts are instructions on vectors. The parts are added up in their order.
constexpr std::int64_t sum_parts = 16;

/// The sum of the first `count` terms, in double precision.
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

/// Turns the pairs of a head: by the angles times `way`, 1 or -1.
template <class Number>
[[gnu::always_inline]] inline void turn_head(Number* head, std::int64_t half, const Number* cosines,
                                             const Number* sines, Number way) {
  DOVETAIL_INDEPENDENT
  for (std::int64_t i = 0; i < half; ++i) {
    const Number a = head[i];
    const Number b = head[half + i];
    const Number sine = sines[i] * way;
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
  rotate(RotaryRows<Number>{x, 0, heads, size, nullptr, cosines, sines}, 0, 1, Turn::on);
}

template <class Number>
void rotate(const RotaryRows<Number>& rows, std::int64_t begin, std::int64_t end, Turn turn) {
  const Number way = turn == Turn::on ? Number{1} : Number{-1};
  run_on_best_registers([=](auto) __attribute__((always_inline)) {
    const std::int64_t half = rows.size / 2;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t position = rows.positions == nullptr ? row : rows.positions[row];
      for (std::int64_t head = 0; head < rows.heads; ++head)
        turn_head(rows.x + row * rows.stride + head * rows.size, half, rows.cosines + position * half,
                  rows.sines + position * half, way);
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
  template void rotate(const RotaryRows<Number>&, std::int64_t, std::int64_t, Turn);                         \
  template void gate(Number*, const Number*, std::int64_t);                                                  \
  template void gate(const Number*, const Number*, std::int64_t, Number*);                                   \
  template void gate_backward(const Number*, const Number*, const Number*, std::int64_t, Number*, Number*);

DOVETAIL_ROWS_FOR(float)
DOVETAIL_ROWS_FOR(double)

}  // namespace dovetail::kernels
