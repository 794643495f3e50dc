#include "runtime/model/weights.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

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

/// Normally distributed numbers by the Box-Muller method.
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

bool has(const Weights& weights, const llm::Tensor& tensor) {
  switch (tensor.position) {
    case llm::TensorPosition::embedding:
      return weights.has_embedding();
    case llm::TensorPosition::layer:
      return weights.layers.begin <= tensor.layer && tensor.layer < weights.layers.end;
    case llm::TensorPosition::final_norm:
    case llm::TensorPosition::head:
      break;
  }
  return weights.has_head();
}

/// Elements from one parameter to the next. Each parameter starts at a multiple of 64 bytes.
std::int64_t padded_size_of(const llm::Tensor& tensor) {
  constexpr std::int64_t multiple = 16;
  return (tensor.elements() + multiple - 1) / multiple * multiple;
}

/// Whether another stage holds the same weight.
bool is_apart(const Weights& weights, const llm::Tensor& tensor) {
  if (!weights.shape.tied_embeddings || (weights.has_embedding() && weights.has_head())) return false;
  return tensor.position == llm::TensorPosition::embedding || tensor.position == llm::TensorPosition::head;
}

/// Assigns offsets from `begin` to the parameters whose is_apart equals `apart`. Returns the end offset.
std::int64_t place_parameters(Weights& weights, bool apart, std::int64_t begin) {
  for (Parameter& parameter : weights.parameters) {
    if (parameter.shared || is_apart(weights, parameter.is) != apart) continue;
    parameter.offset = begin;
    begin += padded_size_of(parameter.is);
  }
  return begin;
}

Tensor part_of(const Tensor& all, const Parameter& parameter) {
  const llm::Tensor& is = parameter.is;
  const Tensor part = all.narrow(0, parameter.offset, is.elements());
  return is.columns == 1 && is.position != llm::TensorPosition::head ? part : part.view({is.rows, is.columns});
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

LayerRange all_layers(const llm::Transformer& shape) { return {0, shape.layers}; }

Weights empty_weights(const llm::Transformer& shape, const llm::Computation& computation, at::ScalarType type) {
  return empty_weights(shape, computation, type, all_layers(shape));
}

Weights empty_weights(const llm::Transformer& shape, const llm::Computation& computation, at::ScalarType type,
                      const LayerRange& layers) {
  DOVETAIL_ASSERT(layers.begin >= 0 && layers.begin < layers.end && layers.end <= shape.layers);
  Weights weights{.shape = shape,
                  .computation = computation,
                  .layers = layers,
                  .parameters = {},
                  .values = {},
                  .gradients = {},
                  .apart = 0};
  std::size_t place = 0;
  for (llm::Tensor& tensor : llm::tensors_of(shape)) {
    const bool shared = tensor.tied && weights.has_embedding();
    if (has(weights, tensor))
      weights.parameters.push_back(
          {.is = std::move(tensor), .place = place, .value = {}, .gradient = {}, .shared = shared, .offset = 0});
    ++place;
  }
  std::int64_t elements = place_parameters(weights, false, 0);
  weights.apart = elements;
  elements = place_parameters(weights, true, elements);
  set_values(weights, at::empty({elements}, type));
  return weights;
}

void set_values(Weights& weights, Tensor values) {
  weights.values = std::move(values);
  for (Parameter& parameter : weights.parameters) {
    if (!weights.values.defined())
      parameter.value = Tensor();
    else
      parameter.value = parameter.shared ? weights.parameters.front().value : part_of(weights.values, parameter);
  }
}

Weights stage_of(const Weights& full_weights, const LayerRange& layers) {
  Weights stage = empty_weights(full_weights.shape, full_weights.computation,
                                full_weights.parameters.front().value.scalar_type(), layers);
  for (const Parameter& parameter : stage.parameters)
    if (!parameter.shared) parameter.value.copy_(full_weights.parameters[parameter.place].value);
  return stage;
}

void make_gradients(Weights& weights) {
  std::int64_t elements = weights.values.numel();
  for (Parameter& parameter : weights.parameters)
    if (parameter.shared) {
      parameter.offset = elements;
      elements += padded_size_of(parameter.is);
    }
  weights.gradients = at::zeros({elements}, weights.values.options());
  for (Parameter& parameter : weights.parameters) parameter.gradient = part_of(weights.gradients, parameter);
}

void clear_gradients(Weights& weights) { weights.gradients.zero_(); }

void fill_randomly(Weights& weights, std::uint64_t seed) {
  const double of_layers = std::sqrt(2.0 * static_cast<double>(weights.shape.layers));
  for (const Parameter& parameter : weights.parameters) {
    if (parameter.shared) continue;
    const bool is_scalar_head =
        parameter.is.position == llm::TensorPosition::head && weights.shape.head == llm::Head::scalar;
    if (is_norm(parameter.is) || parameter.is.columns == 1 || is_scalar_head) {
      parameter.value.fill_(is_norm(parameter.is) ? 1 : 0);
      continue;
    }
    const double deviation = initial_deviation / (leads_back(parameter.is) ? of_layers : 1);
    if (parameter.value.scalar_type() == at::kDouble)
      fill_normal<double>(parameter.value, deviation, seed, parameter.place);
    else
      fill_normal<float>(parameter.value, deviation, seed, parameter.place);
  }
}

}  // namespace dovetail::runtime
