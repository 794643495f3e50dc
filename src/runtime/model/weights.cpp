#include "runtime/model/weights.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/random.h"

namespace dovetail::runtime {
namespace {

constexpr double initial_deviation = 0.02;

bool is_norm(const llm::Tensor& tensor) { return tensor.columns == 1 && tensor.name.ends_with("norm.weight"); }

bool leads_back(const llm::Tensor& tensor) {
  return tensor.name.ends_with("o_proj.weight") || tensor.name.ends_with("down_proj.weight");
}

/// Box and Muller's pairs of normal numbers, one after the other.
class NormalNumbers {
 public:
  NormalNumbers(std::uint64_t seed, std::uint64_t stream) : random_(seed, stream) {}

  double next() {
    if (has_second_) {
      has_second_ = false;
      return second_;
    }
    const double radius = std::sqrt(2 * random_.negative_log_unit());
    const double angle = 2 * std::numbers::pi * random_.unit();
    second_ = radius * std::sin(angle);
    has_second_ = true;
    return radius * std::cos(angle);
  }

 private:
  base::Random random_;
  double second_ = 0;
  bool has_second_ = false;
};

template <class T>
void fill_normal(const Tensor& value, double deviation, std::uint64_t seed, std::uint64_t stream) {
  NormalNumbers numbers(seed, stream);
  T* const data = value.data_ptr<T>();
  for (std::int64_t i = 0; i < value.numel(); ++i) data[i] = static_cast<T>(deviation * numbers.next());
}

}  // namespace

const Parameter* Weights::find_or_null(std::string_view name) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [name](const Parameter& parameter) { return parameter.is.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

Parameter* Weights::find_or_null(std::string_view name) {
  return const_cast<Parameter*>(std::as_const(*this).find_or_null(name));
}

Parameter& Weights::find(std::string_view name) {
  Parameter* const found = find_or_null(name);
  DOVETAIL_ASSERT(found != nullptr);
  return *found;
}

Weights empty_weights(const llm::Transformer& shape, const llm::Computation& computation, at::ScalarType type) {
  Weights weights{shape, computation, {}};
  for (llm::Tensor& tensor : llm::tensors_of(shape)) {
    Parameter parameter{std::move(tensor), {}, {}};
    const llm::Tensor& is = parameter.is;
    if (is.tied)
      parameter.value = weights.parameters.front().value;
    else
      parameter.value = is.columns == 1 && is.part != llm::Part::head ? at::empty({is.rows}, type)
                                                                      : at::empty({is.rows, is.columns}, type);
    weights.parameters.push_back(std::move(parameter));
  }
  return weights;
}

void make_gradients(Weights& weights) {
  for (Parameter& parameter : weights.parameters) parameter.gradient = at::zeros_like(parameter.value);
}

void clear_gradients(Weights& weights) {
  for (Parameter& parameter : weights.parameters) parameter.gradient.zero_();
}

void fill_randomly(Weights& weights, std::uint64_t seed) {
  const double of_layers = std::sqrt(2.0 * static_cast<double>(weights.shape.layers));
  for (std::size_t index = 0; index < weights.parameters.size(); ++index) {
    const Parameter& parameter = weights.parameters[index];
    if (parameter.is.tied) continue;
    const bool is_scalar_head = parameter.is.part == llm::Part::head && weights.shape.head == llm::Head::scalar;
    if (is_norm(parameter.is) || parameter.is.columns == 1 || is_scalar_head) {
      parameter.value.fill_(is_norm(parameter.is) ? 1 : 0);
      continue;
    }
    const double deviation = initial_deviation / (leads_back(parameter.is) ? of_layers : 1);
    if (parameter.value.scalar_type() == at::kDouble)
      fill_normal<double>(parameter.value, deviation, seed, index);
    else
      fill_normal<float>(parameter.value, deviation, seed, index);
  }
}

}  // namespace dovetail::runtime
