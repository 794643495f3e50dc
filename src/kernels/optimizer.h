// A step of AdamW, and the squares that clipping by norm sums.
#pragma once

#include <cstdint>

namespace dovetail::kernels {

/// AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101) as torch.optim.AdamW computes it.
struct AdamwStep {
  double learning_rate = 0;
  double betas[2] = {0.9, 0.999};
  double epsilon = 1e-8;
  double weight_decay = 0;
  std::int64_t step = 1;       ///< the first is 1: what the moments' bias is corrected by
  double gradient_factor = 1;  ///< of clipping: gradients are taken times this
};

/// Numbers of one weight, or of a part of it.
template <class Number>
struct AdamwNumbers {
  Number* weights = nullptr;
  const Number* gradients = nullptr;
  Number* first_moments = nullptr;
  Number* second_moments = nullptr;
};

/// With rate a and the moments m and v, one number after another: w -= a * decay * w; m = b1 m + (1 - b1) g;
/// v = b2 v + (1 - b2) g^2; w -= a / (1 - b1^step) * m / (sqrt(v / (1 - b2^step)) + epsilon). Of the numbers
/// [begin, end): the same however they are shared out. For float and double.
template <class Number>
void step_adamw(const AdamwStep& step, const AdamwNumbers<Number>& numbers, std::int64_t begin, std::int64_t end);

/// The sum of squares in double precision: in sixteen sums, added up in their order.
template <class Number>
double sum_of_squares(const Number* numbers, std::int64_t count);

}  // namespace dovetail::kernels
