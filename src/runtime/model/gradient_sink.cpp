#include "runtime/model/gradient_sink.h"

#include <utility>

namespace dovetail::runtime {

void GradientSink::add_product(const Linear& linear, const Tensor& x, const Tensor& dy) {
  if (linear.weight->gradient.defined() || (linear.bias != nullptr && linear.bias->gradient.defined()))
    take([linear, x, dy] { add_weight_gradient(linear, x, dy); });
}

void GradientSink::add(Parameter& parameter, const Tensor& slopes) {
  if (parameter.gradient.defined()) take([&parameter, slopes] { parameter.gradient.add_(slopes); });
}

void GradientSink::add_rows(Parameter& parameter, const Tensor& rows, const Tensor& slopes) {
  if (parameter.gradient.defined())
    take([&parameter, rows, slopes] { parameter.gradient.index_add_(0, rows, slopes); });
}

void GradientSink::add_held() {
  for (const std::function<void()>& addition : std::exchange(held_, {})) addition();
}

void GradientSink::take(std::function<void()> addition) {
  if (holds_)
    held_.push_back(std::move(addition));
  else
    addition();
}

}  // namespace dovetail::runtime
