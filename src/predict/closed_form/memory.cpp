#include "predict/closed_form/memory.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "plan/iteration_graph.h"
#include "predict/closed_form/weight_copies.h"

namespace dovetail::predict {

plan::MinMargin min_margin(const Scenario& scenario) {
  if (scenario.job.limits.margin) return *scenario.job.limits.margin;
  return {std::max(min_margin_share, scenario.software.conventions.memory_error), 0};
}

std::int64_t plan_memory(const Scenario& scenario, const cluster::Gpu& gpu) {
  return gpu.usable_memory - min_margin(scenario).of(gpu.usable_memory);
}

std::string_view name_of(Fit fit) {
  switch (fit) {
    case Fit::fits:
      return "fits";
    case Fit::tight:
      return "tight";
    case Fit::does_not_fit:
      return "does not fit";
  }
  DOVETAIL_ASSERT(false);
}

namespace {

using workflow::TaskKind;

/// A copy of a role's weights with its location and size.
struct Copy {
  WeightCopy of;
  std::size_t role = 0;
  cluster::Mesh mesh;
  HeldBytes held;
};

bool uses(const Copy& copy, std::size_t task) {
  return std::find(copy.of.tasks.begin(), copy.of.tasks.end(), task) != copy.of.tasks.end();
}

class MemoryAccount {
 public:
  MemoryAccount(const Scenario& scenario, const plan::Plan& plan, std::optional<std::int64_t> fused_activations)
      : scenario_(scenario), plan_(plan), fused_activations_(fused_activations) {
    const auto alike = [&](std::size_t one, std::size_t other) {
      return plan::share_weights(plan.tasks[one], plan.tasks[other]);
    };
    const auto engine = [&](std::size_t task) { return plan::has_own_weights(scenario.job, plan, task); };
    for (WeightCopy& copy : weight_copies(scenario.job.workflow, alike, engine))
      copies_.push_back(copy_of(std::move(copy)));
  }

  TaskMemory memory_of(std::size_t task) const {
    TaskMemory worst;
    if (kind_of(task) == TaskKind::rule) return worst;
    const cluster::Mesh mesh = plan_.tasks[task].mesh;
    const std::vector<MemoryPart> own =
        partner_of(task) ? fused_working_memory(scenario_, plan_, *plan_.fusion.training, fused_activations_)
                         : working_memory(scenario_, task, plan_.tasks[task]);
    for (int device = mesh.first; device < mesh.first + mesh.count; ++device) {
      TaskMemory here;
      here.parts = own;
      for (const Copy& copy : copies_) add_resident(copy, task, device, here.parts);
      if (kind_of(task) == TaskKind::train) add_reserved(task, device, here.parts);
      std::vector<MemoryPart> arrival = while_weights_arrive(task, device);
      if (bytes_of(arrival) > bytes_of(here.parts)) here.parts = std::move(arrival);
      here.device = device;
      here.usable = cluster::gpu_of(scenario_.job.cluster, base::DeviceId(device)).usable_memory;
      here.min_margin = min_margin(scenario_).of(here.usable);
      const auto rank = [](const TaskMemory& memory) { return std::pair(memory.margin() >= 0, memory.headroom()); };
      if (device == mesh.first || rank(here) < rank(worst)) worst = std::move(here);
    }
    std::stable_sort(worst.parts.begin(), worst.parts.end(),
                     [](const MemoryPart& a, const MemoryPart& b) { return a.bytes > b.bytes; });
    add_host(task, worst);
    return worst;
  }

  /// Returns the bytes on `device` in addition to the needs of `task` itself. nullopt: all bytes between tasks.
  std::int64_t resident(std::optional<std::size_t> task, int device) const {
    std::vector<MemoryPart> parts;
    for (const Copy& copy : copies_) add_resident(copy, task, device, parts);
    if (task && kind_of(*task) == TaskKind::train) add_reserved(*task, device, parts);
    return bytes_of(parts);
  }

 private:
  /// Returns the task that is trained in one schedule with `task`.
  std::optional<std::size_t> partner_of(std::size_t task) const {
    return plan_.fusion.training ? plan::partner_of(*plan_.fusion.training, task) : std::nullopt;
  }

  /// Returns whether a copy is in use while `task` runs.
  bool is_used(const Copy& copy, std::size_t task) const {
    const auto partner = partner_of(task);
    return uses(copy, task) || (partner && uses(copy, *partner));
  }

  TaskKind kind_of(std::size_t task) const { return scenario_.job.workflow.tasks[task].kind; }

  Copy copy_of(WeightCopy of) const {
    const plan::TaskPlan& owner = plan_.tasks[of.owner];
    const std::size_t role = scenario_.job.workflow.role_of[of.owner]->index();
    const Stored stored = of.trained ? Stored::trained : of.engine ? Stored::engine : Stored::frozen;
    HeldBytes held = held_bytes(scenario_, role, owner, stored);
    held.offload.weights = weights_leave(of, [this](std::size_t task) { return plan_.tasks[task].offload.weights; });
    return {std::move(of), role, owner.mesh, held};
  }

  /// Returns the parts on `device` while `task` receives newly trained weights. The task already holds its own copy of
  /// the weights, but nothing else, because engines wake up weights first. The trained weights are back on their
  /// devices. One tensor or two messages are in transit.
  std::vector<MemoryPart> while_weights_arrive(std::size_t task, int device) const {
    const auto to = std::find_if(copies_.begin(), copies_.end(), [task](const Copy& copy) { return uses(copy, task); });
    if (!receives(to->of, scenario_.job.workflow)) return {};
    std::vector<MemoryPart> parts{
        {MemoryKind::new_weights, to->role, to->held.stored.weights},
        {MemoryKind::weights_in_transit, {}, bytes_in_transit(scenario_, to->role, to->of.engine)}};
    for (const Copy& copy : copies_) {
      if (&copy == &*to) continue;
      Copy there = copy;
      if (copy.of.trained && copy.role == to->role) there.held.offload.weights = false;
      add_resident(there, task, device, parts);
    }
    return parts;
  }

  /// Adds the memory lost to fragmentation by other models in a training process. Engines have a separate pool.
  void add_reserved(std::size_t task, int device, std::vector<MemoryPart>& parts) const {
    std::vector<MemoryPart> others;
    for (const Copy& copy : copies_)
      if (!copy.of.engine) add_resident(copy, task, device, others);
    const std::int64_t beyond = reserved_beyond(scenario_, bytes_of(others));
    if (beyond > 0) parts.push_back({MemoryKind::reserved_for_others, {}, beyond});
  }

  CopyUse use_of(const Copy& copy, std::optional<std::size_t> task) const {
    return task && is_used(copy, *task) ? use_by(kind_of(*task)) : CopyUse::idle;
  }

  MemoryKind weights_kind(const Copy& copy) const {
    if (copy.of.engine) return MemoryKind::idle_engine;
    const bool trained_elsewhere =
        !copy.of.trained && std::any_of(copies_.begin(), copies_.end(),
                                        [&](const Copy& other) { return other.role == copy.role && other.of.trained; });
    return trained_elsewhere ? MemoryKind::inference_weights : MemoryKind::weights;
  }

  /// Adds the parts of `copy` on `device` while `task` runs, or between tasks (nullopt), without working_memory.
  void add_resident(const Copy& copy, std::optional<std::size_t> task, int device,
                    std::vector<MemoryPart>& parts) const {
    if (device < copy.mesh.first || device >= copy.mesh.first + copy.mesh.count) return;
    const StoredBytes bytes = on_device(copy.held, use_of(copy, task));
    const auto add = [&](MemoryKind kind, std::int64_t of_kind) {
      if (of_kind > 0) parts.push_back({kind, copy.role, of_kind});
    };
    add(weights_kind(copy), bytes.weights);
    add(MemoryKind::gradients, bytes.gradients);
    add(MemoryKind::optimizer, bytes.optimizer);
  }

  /// Returns the bytes in a node's host memory. Each copy counts once per device on the node.
  std::int64_t host_bytes(std::size_t task, int first, int end) const {
    std::int64_t bytes = 0;
    for (const Copy& copy : copies_) {
      const int devices = std::min(end, copy.mesh.first + copy.mesh.count) - std::max(first, copy.mesh.first);
      if (devices > 0)
        bytes += devices * on_host(copy.held, discards_weights(copy.of, scenario_.job), use_of(copy, task));
    }
    return bytes;
  }

  /// Sets the figures of host memory from the task's node with the least left.
  void add_host(std::size_t task, TaskMemory& memory) const {
    const cluster::Cluster& cluster = scenario_.job.cluster;
    const cluster::Mesh& mesh = plan_.tasks[task].mesh;
    for (int first = mesh.first; first < mesh.first + mesh.count;) {
      const cluster::NodeId node = cluster::node_of(cluster, base::DeviceId(first));
      const int begin = cluster::first_device(cluster, node).value;
      const int end = begin + cluster::devices_of(cluster, node);
      const std::int64_t has = cluster.groups[cluster::group_of(cluster, node)].host_memory;
      const std::int64_t bytes = host_bytes(task, begin, end);
      const bool worse = has - bytes < memory.host_memory - memory.host;
      if (first == mesh.first || worse) {
        memory.host = bytes;
        memory.host_memory = has;
      }
      first = end;
    }
  }

  const Scenario& scenario_;
  const plan::Plan& plan_;
  std::optional<std::int64_t> fused_activations_;
  std::vector<Copy> copies_;
};

}  // namespace

std::int64_t TaskMemory::needed() const { return bytes_of(parts); }

Fit TaskMemory::fit() const {
  if (margin() < 0 || host > host_memory) return Fit::does_not_fit;
  return margin() < min_margin ? Fit::tight : Fit::fits;
}

std::vector<TaskMemory> task_memory(const Scenario& scenario, const plan::Plan& plan,
                                    std::optional<std::int64_t> fused_activations) {
  const MemoryAccount account(scenario, plan, fused_activations);
  std::vector<TaskMemory> memory;
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) memory.push_back(account.memory_of(task));
  return memory;
}

std::vector<std::int64_t> resident_memory(const Scenario& scenario, const plan::Plan& plan,
                                          std::optional<std::size_t> task) {
  const MemoryAccount account(scenario, plan, std::nullopt);
  std::vector<std::int64_t> bytes;
  for (int device = 0; device < cluster::device_count(scenario.job.cluster); ++device)
    bytes.push_back(account.resident(task, device));
  return bytes;
}

}  // namespace dovetail::predict
