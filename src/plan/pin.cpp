#include "plan/pin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

namespace dovetail::plan {
namespace {

template <class T>
void put(const std::optional<T>& fixed, T& value) {
  if (fixed) value = *fixed;
}

/// Device counts of valid meshes, ascending.
std::vector<int> mesh_sizes(const cluster::Cluster& cluster) {
  std::vector<bool> found(static_cast<std::size_t>(cluster::device_count(cluster)) + 1);
  std::vector<int> nodes;  // devices of each node
  for (const cluster::NodeGroup& group : cluster.groups) {
    for (int devices = 1; devices <= group.devices_per_node; ++devices) found[static_cast<std::size_t>(devices)] = true;
    nodes.insert(nodes.end(), static_cast<std::size_t>(group.nodes), group.devices_per_node);
  }
  const bool equal = std::adjacent_find(nodes.begin(), nodes.end(), std::not_equal_to<>()) == nodes.end();
  for (std::size_t first = 0; first < (equal ? 1 : nodes.size()); ++first) {
    std::size_t devices = 0;
    for (std::size_t node = first; node < nodes.size(); ++node)
      found[devices += static_cast<std::size_t>(nodes[node])] = true;
  }
  std::vector<int> sizes;
  for (std::size_t size = 1; size < found.size(); ++size)
    if (found[size]) sizes.push_back(static_cast<int>(size));
  return sizes;
}

/// Values of `member` that `model` supports in `layout`: all from 1 to `most`, or only the fixed one.
std::vector<int> values_of(llm::Layout layout, int llm::Layout::* member, const base::Partial<llm::Layout>& pin,
                           std::int64_t most, const llm::Transformer& model) {
  std::vector<int> values;
  const std::optional<int> fixed = pin.find(member);
  const int first = fixed.value_or(1);
  const int last = fixed.value_or(static_cast<int>(std::min<std::int64_t>(most, cluster::max_device_count)));
  for (int value = first; value <= last; ++value) {
    layout.*member = value;
    if (!llm::find_fault(layout, model)) values.push_back(value);
  }
  return values;
}

/// The device counts of layouts of a model with the fixed degrees. Tensor degrees, stages and experts are checked
/// separately: the expert degree only needs to divide the number of ranks of a stage.
class DeviceCounts {
 public:
  DeviceCounts(const TaskPin& pin, const llm::Transformer& model) {
    tensor_ = values_of({}, &llm::Layout::tensor, pin.layout, model.heads, model);
    const llm::Layout& fixed = pin.layout.or_defaults();
    llm::Layout stages;
    stages.virtual_stages = fixed.virtual_stages;
    stages.stage_layers = fixed.stage_layers;
    pipeline_ = values_of(stages, &llm::Layout::pipeline, pin.layout, model.layers, model);
    copies_ = std::int64_t{fixed.data} * fixed.context;
    all_copies_ = pin.layout.has(&llm::Layout::data) && pin.layout.has(&llm::Layout::context);
    expert_ranks_ = std::int64_t{fixed.expert} * fixed.expert_tensor;
    llm::Layout experts;
    experts.expert = fixed.expert;
    experts.expert_tensor = fixed.expert_tensor;
    experts.data = static_cast<int>(std::min<std::int64_t>(expert_ranks_, cluster::max_device_count));
    if (llm::find_fault(experts, model)) tensor_.clear();
  }

  bool contain(int devices) const {
    for (const int tensor : tensor_)
      for (const int pipeline : pipeline_) {
        const std::int64_t without_copies = std::int64_t{tensor} * pipeline;
        if (devices % without_copies != 0) continue;
        const std::int64_t copies = devices / without_copies;
        if ((all_copies_ ? copies == copies_ : copies % copies_ == 0) && copies * tensor % expert_ranks_ == 0)
          return true;
      }
    return false;
  }

 private:
  std::vector<int> tensor_;    // degrees that the model supports
  std::vector<int> pipeline_;  // degrees that the model supports
  std::int64_t copies_ = 1;    // product of the fixed degrees among data and context
  bool all_copies_ = false;    // whether both are fixed
  std::int64_t expert_ranks_ = 1;
};

/// The layout with the fixed settings and the smallest free degrees that these allow.
llm::Layout min_layout(const TaskPin& pin) {
  llm::Layout layout = pin.layout.or_defaults();
  const bool free_stages = !pin.layout.has(&llm::Layout::pipeline);
  if (free_stages && !layout.stage_layers.empty()) layout.pipeline = static_cast<int>(layout.stage_layers.size());
  if (free_stages && layout.virtual_stages > 1) layout.pipeline = std::max(layout.pipeline, 2);
  const std::int64_t ranks = std::int64_t{layout.context} * layout.tensor;
  const std::int64_t expert_ranks = std::int64_t{layout.expert} * layout.expert_tensor;
  if (!pin.layout.has(&llm::Layout::data))
    layout.data = static_cast<int>(std::min<std::int64_t>(expert_ranks / std::gcd(ranks, expert_ranks), 1 << 16));
  return layout;
}

std::string degrees_text(const TaskPin& pin) {
  std::vector<std::string> degrees;
  llm::for_each_degree([&](const auto& each) {
    if (const auto degree = pin.layout.find(each.member)) degrees.push_back(fmt::format("{} {}", each.key, *degree));
  });
  if (const auto layers = pin.layout.find(&llm::Layout::stage_layers))
    degrees.push_back(fmt::format("{} stages", layers->size()));
  return fmt::format("{}", fmt::join(degrees, ", "));
}

std::optional<std::string> find_layout_fault(const TaskPin& pin, const llm::Transformer& model,
                                             const cluster::Cluster& cluster) {
  const std::vector<int> sizes = pin.mesh ? std::vector<int>{pin.mesh->count} : mesh_sizes(cluster);
  const DeviceCounts counts(pin, model);
  if (std::any_of(sizes.begin(), sizes.end(), [&counts](int size) { return counts.contain(size); }))
    return std::nullopt;
  if (const auto fault = llm::find_fault(min_layout(pin), model)) return fault;
  const std::string degrees = degrees_text(pin);
  if (!pin.mesh)
    return fmt::format(
        "no mesh of the cluster's {} devices has a layout of {} with {}; accepted: degrees whose product is at most "
        "the number of devices in a node, or equals the number in several whole nodes",
        cluster::device_count(cluster), model.name, degrees);
  return degrees.empty() ? fmt::format(
                               "no layout of {} uses the {} devices of its mesh; accepted: a device count that a "
                               "layout of the model can use",
                               model.name, pin.mesh->count)
                         : fmt::format(
                               "no layout of {} with {} uses the {} devices of its mesh; accepted: dp x tp x pp x cp "
                               "that equals this device count, and ep x etp that divides dp x cp x tp",
                               model.name, degrees, pin.mesh->count);
}

}  // namespace

bool admits(const TaskPin& pin, const cluster::Mesh& mesh) { return !pin.mesh || *pin.mesh == mesh; }

bool admits(const TaskPin& pin, const llm::Layout& layout) {
  bool admitted = true;
  llm::for_each_degree([&](const auto& degree) {
    admitted = admitted && pin.layout.find(degree.member).value_or(layout.*degree.member) == layout.*degree.member;
  });
  return admitted;
}

bool agrees(const TaskPin& pin, const TaskPlan& plan) {
  TaskPlan with_pin = plan;
  apply(pin, with_pin);
  return with_pin == plan;
}

void apply(const TaskPin& pin, TaskPlan& plan) {
  put(pin.mesh, plan.mesh);
  pin.layout.apply_to(plan.layout);
  put(pin.micro_batching, plan.micro_batching);
  pin.engine.apply_to(plan.engine);
  put(pin.offload, plan.offload);
}

std::optional<std::string> find_fault(const TaskPin& pin, const llm::Transformer& model,
                                      const cluster::Cluster& cluster) {
  if (pin.mesh) {
    if (auto fault = find_fault(*pin.mesh, cluster)) return fault;
  }
  if (auto fault = find_layout_fault(pin, model, cluster)) return fault;
  if (pin.micro_batching) {
    if (auto fault = find_fault(*pin.micro_batching)) return fault;
  }
  return find_fault(with_matching_limits(pin.engine, pin.engine.or_defaults()));
}

Engine with_matching_limits(const base::Partial<Engine>& pin, Engine engine) {
  if (!engine.own_weights || engine.max_num_batched_tokens >= engine.max_num_seqs) return engine;
  if (!pin.has(&Engine::max_num_batched_tokens))
    engine.max_num_batched_tokens = engine.max_num_seqs;
  else if (!pin.has(&Engine::max_num_seqs))
    engine.max_num_seqs = engine.max_num_batched_tokens;
  return engine;
}

}  // namespace dovetail::plan
