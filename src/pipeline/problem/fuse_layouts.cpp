#include "pipeline/problem/fuse_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "base/assert.h"

namespace dovetail::pipeline {
namespace {

using base::Result;
using base::Status;

constexpr std::int64_t max_gpu_count = 1 << 24;
constexpr std::size_t suggestion_count = 3;

/// Data, pipeline and tensor parallel degree.
struct Degrees {
  std::int64_t data = 1;
  std::int64_t pipeline = 1;
  std::int64_t tensor = 1;

  std::int64_t gpus() const { return data * pipeline * tensor; }
};

Degrees degrees_of(const ModelLayout& layout) {
  return {layout.data_parallel, layout.pipeline_parallel, layout.tensor_parallel};
}

/// Conditions of the transformation, in the order in which they are checked.
enum class Condition { equal_gpus, whole_ratio, divided_stages };

std::optional<Condition> find_failed_condition(const Degrees& first, const Degrees& second) {
  if (first.gpus() != second.gpus()) return Condition::equal_gpus;
  const Degrees& wider = first.tensor >= second.tensor ? first : second;
  const Degrees& narrower = first.tensor >= second.tensor ? second : first;
  if (wider.tensor % narrower.tensor != 0) return Condition::whole_ratio;
  if (narrower.pipeline % (wider.tensor / narrower.tensor) != 0) return Condition::divided_stages;
  return std::nullopt;
}

std::vector<std::int64_t> divisors_of(std::int64_t number) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t candidate = 1; candidate * candidate <= number; ++candidate) {
    if (number % candidate != 0) continue;
    divisors.push_back(candidate);
    if (candidate != number / candidate) divisors.push_back(number / candidate);
  }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

/// Another layout of one of the two models that meets all conditions.
struct Suggestion {
  int model = 0;
  Degrees degrees;
  std::int64_t distance = 0;
};

/// Returns the product of the larger degrees, which orders layouts by distance like the sum of |log2 ratio| of their
/// degrees. The product of the ratios is this product divided by the product of the smaller degrees. The two products
/// multiply to a constant: the GPUs of one model times the GPUs of the other.
std::int64_t distance_between(const Degrees& a, const Degrees& b) {
  return std::max(a.data, b.data) * std::max(a.pipeline, b.pipeline) * std::max(a.tensor, b.tensor);
}

/// Whether to suggest a tensor parallelism. Nodes usually have a power of two of GPUs, so a power of two is only
/// replaced by another one.
bool is_usual(std::int64_t tensor, std::int64_t current_tensor) {
  const auto is_power_of_two = [](std::int64_t number) {
    return std::has_single_bit(static_cast<std::uint64_t>(number));
  };
  return is_power_of_two(tensor) || !is_power_of_two(current_tensor);
}

/// Returns the closest layouts that change one model and keep the other.
std::vector<Suggestion> find_suggestions(const std::array<Degrees, 2>& current) {
  std::vector<Suggestion> suggestions;
  for (std::size_t changed = 0; changed < current.size(); ++changed) {
    const Degrees& kept = current[1 - changed];
    for (const std::int64_t data : divisors_of(kept.gpus()))
      for (const std::int64_t pipeline : divisors_of(kept.gpus() / data)) {
        const Degrees candidate{data, pipeline, kept.gpus() / data / pipeline};
        if (find_failed_condition(candidate, kept) || !is_usual(candidate.tensor, current[changed].tensor)) continue;
        suggestions.push_back({static_cast<int>(changed), candidate, distance_between(candidate, current[changed])});
      }
  }
  const auto key = [](const Suggestion& suggestion) {
    return std::tuple(suggestion.distance, suggestion.model, suggestion.degrees.data, suggestion.degrees.pipeline);
  };
  const std::size_t shown = std::min(suggestion_count, suggestions.size());
  std::partial_sort(suggestions.begin(), suggestions.begin() + static_cast<std::ptrdiff_t>(shown), suggestions.end(),
                    [&](const Suggestion& a, const Suggestion& b) { return key(a) < key(b); });
  suggestions.resize(shown);
  return suggestions;
}

std::string product_text(const Degrees& degrees) {
  return fmt::format("{} x {} x {} = {}", degrees.data, degrees.pipeline, degrees.tensor, degrees.gpus());
}

std::string describe_failure(Condition condition, const ModelLayout& first, const ModelLayout& second) {
  const ModelLayout& wider = first.tensor_parallel >= second.tensor_parallel ? first : second;
  const ModelLayout& narrower = first.tensor_parallel >= second.tensor_parallel ? second : first;
  switch (condition) {
    case Condition::equal_gpus:
      return fmt::format("dp x pp x tp must be the same for both models: {} has {}, {} has {}", first.name,
                         product_text(degrees_of(first)), second.name, product_text(degrees_of(second)));
    case Condition::whole_ratio:
      return fmt::format("the larger tp must be a multiple of the smaller: {} has {}, {} has {}", wider.name,
                         wider.tensor_parallel, narrower.name, narrower.tensor_parallel);
    case Condition::divided_stages:
      break;
  }
  return fmt::format(
      "s = larger tp / smaller tp = {} / {} = {} must divide the pp of the model with the smaller tp: {} has pp {}",
      wider.tensor_parallel, narrower.tensor_parallel, wider.tensor_parallel / narrower.tensor_parallel, narrower.name,
      narrower.pipeline_parallel);
}

Status check_conditions(const ModelLayout& first, const ModelLayout& second) {
  const auto failed = find_failed_condition(degrees_of(first), degrees_of(second));
  if (!failed) return {};
  std::vector<std::string> texts;
  for (const Suggestion& suggestion : find_suggestions({degrees_of(first), degrees_of(second)}))
    texts.push_back(fmt::format("{} with dp {}, pp {}, tp {}", suggestion.model == 0 ? first.name : second.name,
                                suggestion.degrees.data, suggestion.degrees.pipeline, suggestion.degrees.tensor));
  return base::bad_input(fmt::format("{}; nearest layouts that work: {}", describe_failure(*failed, first, second),
                                     fmt::join(texts, "; or ")));
}

Status check_layout(const ModelLayout& layout) {
  if (layout.name.empty()) return base::bad_input("a model has no name; every model needs one");
  for (const auto& [degree, what] :
       {std::pair(layout.data_parallel, "dp"), std::pair(layout.pipeline_parallel, "pp"),
        std::pair(layout.tensor_parallel, "tp"), std::pair(layout.microbatches, "the number of micro-batches")})
    if (degree < 1 || degree > max_device_count)
      return base::bad_input(
          fmt::format("{} of {} is {}; it must be from 1 to {}", what, layout.name, degree, max_device_count));
  if (degrees_of(layout).gpus() > max_gpu_count)
    return base::bad_input(fmt::format("{} has dp x pp x tp = {}; the maximum is {}", layout.name,
                                       product_text(degrees_of(layout)), max_gpu_count));
  const auto stages = static_cast<std::size_t>(layout.pipeline_parallel);
  if (layout.forward.size() != stages || layout.backward.size() != stages || layout.activation.size() != stages)
    return base::bad_input(
        fmt::format("{} needs forward, backward and activation for each of its {} stages; got {}, {} and {}",
                    layout.name, stages, layout.forward.size(), layout.backward.size(), layout.activation.size()));
  for (std::size_t stage = 0; stage < stages; ++stage)
    for (const Ticks time : {layout.forward[stage], layout.backward[stage]})
      if (time < Ticks(1) || time > Ticks(base::max_time))
        return base::bad_input(
            fmt::format("forward and backward of stage {} of {} must be above 0 and at most {} ticks or ns", stage,
                        layout.name, base::max_time));
  return {};
}

/// Merges every `merged` consecutive stages into one. They run one after the other on separate devices. Sums beyond the
/// limit stay just above it, so that find_fault reports them.
Model merge_stages(const ModelLayout& layout, int merged) {
  Model model;
  model.name = layout.name;
  model.microbatches = layout.microbatches;
  const auto width = static_cast<std::size_t>(merged);
  constexpr Ticks too_long(base::max_time + 1);
  for (std::size_t begin = 0; begin < layout.forward.size(); begin += width) {
    Ticks forward;
    Ticks backward;
    Memory activation;
    for (std::size_t stage = begin; stage < begin + width; ++stage) {
      forward = std::min(forward + layout.forward[stage], too_long);
      backward = std::min(backward + layout.backward[stage], too_long);
      activation = std::max(activation, layout.activation[stage]);
    }
    model.forward.push_back(forward);
    model.backward.push_back(backward);
    model.activation.push_back(activation);
  }
  model.transfer_forward.resize(model.forward.size() - 1);
  model.transfer_backward.resize(model.forward.size() - 1);
  model.step.resize(model.forward.size());
  return model;
}

/// Places `copies` pipelines next to each other, down the devices or up.
void place_copies(Model& model, int copies, bool upwards) {
  for (int copy = 0; copy < copies; ++copy) {
    std::vector<DeviceId>& devices = model.replicas.emplace_back();
    for (int stage = 0; stage < model.stages(); ++stage)
      devices.emplace_back(upwards ? (copy + 1) * model.stages() - 1 - stage : copy * model.stages() + stage);
  }
}

std::string plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void add_remarks(const ModelLayout& first, const ModelLayout& second, FusedLayouts& fused) {
  if (fused.merged_stages > 1)
    fused.notes.push_back(
        fmt::format("each stage of {} in this problem merges {} consecutive stages of the model: within a merged op, "
                    "only one of these is busy at a time",
                    fused.merged_model == 0 ? first.name : second.name, fused.merged_stages));
  fused.notes.push_back(fmt::format("{} of {} and {} of {} are fused on {} of {} each",
                                    plural(fused.copies[0], "pipeline"), first.name,
                                    plural(fused.copies[1], "pipeline"), second.name,
                                    plural(fused.problem.devices, "device"), plural(fused.tensor_parallel, "GPU")));
  fused.notes.push_back(
      fused.groups == 1
          ? "these pipelines form the only fused group"
          : fmt::format("{} fused groups like this run in parallel, each with the same schedule", fused.groups));
  const std::int64_t first_total = std::int64_t{fused.copies[0]} * first.microbatches;
  const std::int64_t second_total = std::int64_t{fused.copies[1]} * second.microbatches;
  if (first_total != second_total)
    fused.warnings.push_back(
        fmt::format("{} has {} x {} = {} micro-batches per group and {} has {} x {} = {}: if both use the same batch, "
                    "their micro-batches differ in size",
                    first.name, fused.copies[0], first.microbatches, first_total, second.name, fused.copies[1],
                    second.microbatches, second_total));
}

}  // namespace

Result<FusedLayouts> fuse_layouts(const ModelLayout& first, const ModelLayout& second, TimeUnit unit) {
  DOVETAIL_CHECK(check_layout(first));
  DOVETAIL_CHECK(check_layout(second));
  DOVETAIL_CHECK(check_conditions(first, second));
  FusedLayouts fused;
  const bool merges_first = first.tensor_parallel < second.tensor_parallel;
  fused.merged_model = merges_first ? 0 : 1;
  fused.merged_stages =
      merges_first ? second.tensor_parallel / first.tensor_parallel : first.tensor_parallel / second.tensor_parallel;
  fused.tensor_parallel = std::max(first.tensor_parallel, second.tensor_parallel);
  Model down = merge_stages(first, merges_first ? fused.merged_stages : 1);
  Model up = merge_stages(second, merges_first ? 1 : fused.merged_stages);
  const int common = std::gcd(down.stages(), up.stages());
  fused.copies[0] = up.stages() / common;
  fused.copies[1] = down.stages() / common;
  DOVETAIL_ASSERT(first.data_parallel % fused.copies[0] == 0 && second.data_parallel % fused.copies[1] == 0);
  fused.groups = first.data_parallel / fused.copies[0];
  DOVETAIL_ASSERT(fused.groups == second.data_parallel / fused.copies[1]);
  const std::int64_t devices = std::int64_t{fused.copies[0]} * down.stages();
  if (devices > max_device_count)
    return base::bad_input(fmt::format("a fused group has {} devices; the maximum is {}", devices, max_device_count));
  place_copies(down, fused.copies[0], false);
  place_copies(up, fused.copies[1], true);
  fused.problem.time_unit = unit;
  fused.problem.devices = static_cast<int>(devices);
  fused.problem.resident.resize(static_cast<std::size_t>(devices));
  fused.problem.models = {std::move(down), std::move(up)};
  if (const auto fault = find_fault(fused.problem))
    return base::bad_input("the layouts do not form a valid problem: " + *fault);
  add_remarks(first, second, fused);
  return fused;
}

}  // namespace dovetail::pipeline
