// Where backwards leave what they add to the gradients of weights.
#pragma once

#include <functional>
#include <vector>

#include "runtime/model/ops.h"

namespace dovetail::runtime {

/// Adds to gradients at once, or holds back what is to be added: a split backward leaves it to W, and a micro-batch
/// that comes before its turn to that. What is added, and how it is rounded, is the same.
class GradientSink {
 public:
  explicit GradientSink(bool holds = false) : holds_(holds) {}

  /// dy^T x to a projection's weight, and the sum of dy to its bias.
  void add_product(const Linear& linear, const Tensor& x, const Tensor& dy);
  /// To a vector.
  void add(Parameter& parameter, const Tensor& slopes);
  /// Row i of `slopes` to row rows[i] of a matrix.
  void add_rows(Parameter& parameter, const Tensor& rows, const Tensor& slopes);

  /// Adds what is held, in the order in which it came.
  void add_held();

 private:
  void take(std::function<void()> addition);

  bool holds_;
  std::vector<std::function<void()>> held_;
};

}  // namespace dovetail::runtime
