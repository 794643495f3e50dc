// AdamW steps, and the sum of squares for gradient clipping.
#pragma once

#include <cstdint>

namespace dovetail::kernels {

/// Parameters of AdamW (Loshchilov and Hutter 2017, arXiv 1711.05101) as in torch.optim.AdamW.
struct AdamwStep {
  double learning_rate = 0;
  double betas[2] = {0.9, 0.999};
  double epsilon = 1e-8;
  double weight_decay = 0;
  std::int64_t step = 1;       ///< number of the step, from 1, for bias correction
  double gradient_factor = 1;  ///< factor of the gradients, from clipping
};

/// The numbers of one weight tensor, or of a part of it.
template <class Number>
struct AdamwNumbers {
  Number* weights = nullptr;
  const Number* gradients = nullptr;
  Number* first_moments = nullptr;
  Number* second_moments = nullptr;
};

/// Updates the numbers [begin, end). With weight w, moments m and v, learning rate a, betas b1 and b2, and g the
/// gradient times gradient_factor, per element:
///
/// - w -= a * weight_decay * w
/// - m = b1 m + (1 - b1) g
/// - v = b2 v + (1 - b2) g^2
/// - w -= a / (1 - b1^step) * m / (sqrt(v / (1 - b2^step)) + epsilon)
///
/// The result does not depend on how calls divide the elements. Instantiated for float and double.
template <class Number>
void step_adamw(const AdamwStep& step, const AdamwNumbers<Number>& numbers, std::int64_t begin, std::int64_t end);

/// Returns the sum of squares in double precision: sixteen partial sums, added in order.
template <class Number>
double sum_of_squares(const Number* numbers, std::int64_t count);

}  // namespace dovetail::kernels
