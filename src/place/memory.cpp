#include "place/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cost/batches.h"
#include "cost/generation.h"
#include "cost/training_memory.h"
#include "plan/iteration_graph.h"

namespace dovetail::place {
namespace {

using workflow::TaskKind;

/// Weights of a role as they lie on a mesh, with what belongs to their training where they are trained there.
struct Copy {
  std::size_t role = 0;
  cluster::Mesh mesh;
  std::vector<std::size_t> tasks;  ///< that use it
  bool trained = false;
  bool engine = false;  ///< in a form of an engine's own
  std::int64_t weights = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  plan::Offload offload;  ///< while none of its tasks runs
};

bool uses(const Copy& copy, std::size_t task) { return std::find(copy.tasks.begin(), copy.tasks.end(), task) != copy.tasks.end(); }

class MemoryAccount {
 public:
  MemoryAccount(const Ground& ground, const plan::Plan& plan) : ground_(ground), plan_(plan) {
    for (std::size_t task = 0; task < plan.tasks.size(); ++task)
      if (kind_of(task) != TaskKind::rule) add(task);
    for (Copy& copy : copies_) fill(copy);
  }

  TaskMemory memory_of(std::size_t task) const {
    TaskMemory worst;
    if (kind_of(task) == TaskKind::rule) return worst;
    const cluster::Mesh mesh = plan_.tasks[task].mesh;
    const std::vector<MemoryPart> own = working_memory(task);
    for (int device = mesh.first; device < mesh.first + mesh.count; ++device) {
      TaskMemory here;
      here.parts = own;
      for (const Copy& copy : copies_) add_resident(copy, task, device, here.parts);
      here.device = device;
      here.usable = cluster::gpu_of(ground_.job.cluster, base::DeviceId(device)).usable_memory;
      if (device == mesh.first || here.margin() < worst.margin()) worst = std::move(here);
    }
    std::stable_sort(worst.parts.begin(), worst.parts.end(), [](const MemoryPart& a, const MemoryPart& b) { return a.bytes > b.bytes; });
    add_host(task, worst);
    return worst;
  }

 private:
  TaskKind kind_of(std::size_t task) const { return ground_.job.workflow.tasks[task].kind; }
  const std::string& role_name(std::size_t role) const { return ground_.job.workflow.roles[role].name; }

  void add(std::size_t task) {
    const plan::TaskPlan& planned = plan_.tasks[task];
    const std::size_t role = ground_.job.workflow.role_of[task]->index();
    const bool engine = plan::has_own_weights(ground_.job, plan_, task);
    for (Copy& copy : copies_) {
      if (copy.role != role || copy.engine != engine || !plan::share_weights(plan_.tasks[copy.tasks.front()], planned)) continue;
      copy.tasks.push_back(task);
      return;
    }
    Copy copy;
    copy.role = role;
    copy.mesh = planned.mesh;
    copy.tasks = {task};
    copy.engine = engine;
    copies_.push_back(std::move(copy));
  }

  /// What a copy holds, and what of it leaves the devices while idle: of several tasks the training decides, else what all of them offload.
  void fill(Copy& copy) const {
    const auto train =
        std::find_if(copy.tasks.begin(), copy.tasks.end(), [this](std::size_t task) { return kind_of(task) == TaskKind::train; });
    copy.trained = train != copy.tasks.end();
    const plan::TaskPlan& planned = plan_.tasks[copy.trained ? *train : copy.tasks.front()];
    copy.offload = planned.offload;
    if (!copy.trained) {
      copy.offload.weights =
          std::all_of(copy.tasks.begin(), copy.tasks.end(), [this](std::size_t task) { return plan_.tasks[task].offload.weights; });
      copy.weights = copy.engine ? engine_weight_bytes(ground_.models[copy.role], planned.layout)
                                 : cost::weight_bytes(ground_.models[copy.role], planned.layout);
      return;
    }
    const llm::Transformer& model = ground_.job.models[copy.role];
    const cost::MemoryParts parts = cost::largest_static_memory(model, planned.layout, ground_.software.conventions);
    copy.weights = parts.weights;
    copy.gradients = parts.gradients;
    copy.optimizer = parts.optimizer;
  }

  /// What `copy` has on `device` while `task` runs, without what working_memory counts.
  void add_resident(const Copy& copy, std::size_t task, int device, std::vector<MemoryPart>& parts) const {
    if (device < copy.mesh.first || device >= copy.mesh.first + copy.mesh.count) return;
    const bool used = uses(copy, task);
    const TaskKind kind = kind_of(task);
    if (used && kind == TaskKind::train) return;
    const auto add = [&](std::string_view what, std::int64_t bytes, bool away) {
      if (bytes > 0 && !away) parts.push_back({fmt::format("{}'s {}", role_name(copy.role), what), bytes});
    };
    const bool counted = used && kind == TaskKind::generate;
    add(copy.engine ? "weights in the idle engine" : "weights", copy.weights, counted || (!used && copy.offload.weights));
    add("gradients", copy.gradients, copy.offload.gradients);
    add("optimizer", copy.optimizer, copy.offload.optimizer || copy.offload.optimizer_on_host);
  }

  std::vector<MemoryPart> working_memory(std::size_t task) const {
    switch (kind_of(task)) {
      case TaskKind::train:
        return training(task);
      case TaskKind::generate:
        return engine(task);
      default:
        return scoring(task);
    }
  }

  cost::TrainingShape shape_of(const plan::TaskPlan& planned, bool trains, double sequences) const {
    const workflow::Workload& workload = ground_.job.workload;
    const double steps = trains ? static_cast<double>(workload.mini_batches) : 1;
    const double share = sequences / steps / planned.layout.data;
    const double micro_batches = cost::count_micro_batches(ground_.lengths, share, planned.micro_batching);
    cost::TrainingShape shape;
    // The longest decides: a sequence that is longer than the limit is a micro-batch of its own.
    shape.sequence_length = ground_.lengths.longest();
    shape.sequences = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(share / micro_batches)));
    shape.micro_batches = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(micro_batches)));
    if (planned.micro_batching.tokens > 0)
      shape.packed_tokens = std::max(static_cast<std::int64_t>(planned.micro_batching.tokens), ground_.lengths.longest());
    else if (workload.packing)
      shape.packed_tokens = std::max(ground_.lengths.longest(),
                                     static_cast<std::int64_t>(std::ceil(ground_.lengths.mean() * static_cast<double>(shape.sequences))));
    return shape;
  }

  double sequences_of(std::size_t task) const {
    return static_cast<double>(workflow::sequences_of(ground_.job.workflow.tasks[task], ground_.job.workload));
  }

  std::vector<MemoryPart> training(std::size_t task) const {
    const plan::TaskPlan& planned = plan_.tasks[task];
    const std::size_t role = ground_.job.workflow.role_of[task]->index();
    const cost::TrainingShape shape = shape_of(planned, true, sequences_of(task));
    const cost::TrainingMemory memory =
        cost::training_memory(ground_.job.models[role], planned.layout, shape, ground_.software.conventions);
    const cost::StageMemory& peak = memory.peak();
    const std::string& name = role_name(role);
    const bool on_host = planned.offload.optimizer_on_host;
    std::vector<MemoryPart> parts{{name + "'s weights", peak.parts.weights},
                                  {name + "'s gradients", peak.parts.gradients},
                                  {name + "'s optimizer", on_host ? 0 : peak.parts.optimizer},
                                  {"activations", peak.parts.activations},
                                  {"logits", peak.parts.logits},
                                  {"gathered weights", peak.parts.gathered},
                                  {"workspace", peak.parts.workspace}};
    if (peak.reserved > peak.allocated()) parts.push_back({"reserved beyond allocated", peak.reserved - peak.allocated()});
    std::erase_if(parts, [](const MemoryPart& part) { return part.bytes == 0; });
    return parts;
  }

  std::vector<MemoryPart> engine(std::size_t task) const {
    const plan::TaskPlan& planned = plan_.tasks[task];
    const std::size_t role = ground_.job.workflow.role_of[task]->index();
    const cluster::Gpu& gpu = cluster::gpu_of(ground_.job.cluster, base::DeviceId(planned.mesh.first));
    const std::int64_t weights = engine_weight_bytes(ground_.models[role], planned.layout);
    // At least the longest sequence has to have its keys and values; without a cache of the engine's own, all that decode together have.
    const auto of_longest =
        static_cast<std::int64_t>(cost::key_value_bytes(ground_.models[role], planned.layout)) * ground_.lengths.longest();
    if (!planned.engine.own_weights) {
      const auto share = static_cast<std::int64_t>(std::ceil(sequences_of(task) / planned.layout.data));
      return {{role_name(role) + "'s weights", weights}, {"keys and values", of_longest * std::min(share, planned.engine.max_num_seqs)}};
    }
    const auto share = static_cast<std::int64_t>(planned.engine.memory_utilization * static_cast<double>(gpu.memory));
    const auto room = static_cast<std::int64_t>(key_value_room(ground_.models[role], planned, gpu));
    return {{role_name(role) + "'s weights in the engine", weights},
            {"keys and values", std::max(room, of_longest)},
            {"the engine's activations, graphs and buffers", std::max<std::int64_t>(0, share - weights - room)}};
  }

  /// Weights are resident; a micro-batch passes layer by layer, and its logits are made at the end.
  std::vector<MemoryPart> scoring(std::size_t task) const {
    const plan::TaskPlan& planned = plan_.tasks[task];
    const std::size_t role = ground_.job.workflow.role_of[task]->index();
    const llm::Transformer& model = ground_.job.models[role];
    const cost::TrainingShape shape = shape_of(planned, false, sequences_of(task));
    const std::int64_t tokens = cost::tokens_of_rank(planned.layout, shape);
    constexpr std::int64_t logit_bytes = 4;
    const std::int64_t logits = model.head == llm::Head::scalar ? 0 : tokens * model.vocabulary / planned.layout.tensor * logit_bytes;
    const std::int64_t layer =
        cost::layer_memory(model, planned.layout, shape, ground_.software.conventions, llm::has_experts(model, model.layers - 1)).kept;
    return {{"logits", logits}, {"activations", layer}};
  }

  /// What is off the devices of the task's nodes: of each copy on a node, once for each of its devices.
  void add_host(std::size_t task, TaskMemory& memory) const {
    const cluster::Cluster& cluster = ground_.job.cluster;
    const cluster::NodeId node = cluster::node_of(cluster, base::DeviceId(memory.device));
    const int first = cluster::first_device(cluster, node).value;
    const int end = first + cluster::devices_of(cluster, node);
    memory.host_memory = cluster.groups[cluster::group_of(cluster, node)].host_memory;
    for (const Copy& copy : copies_) {
      const int devices = std::min(end, copy.mesh.first + copy.mesh.count) - std::max(first, copy.mesh.first);
      if (devices <= 0) continue;
      const bool idle = !uses(copy, task);
      const bool trains = !idle && kind_of(task) == TaskKind::train;
      std::int64_t away = copy.offload.weights && idle && !copy.engine ? copy.weights : 0;
      if (copy.offload.gradients && !trains) away += copy.gradients;
      if (copy.offload.optimizer_on_host || (copy.offload.optimizer && !trains)) away += copy.optimizer;
      memory.host += devices * away;
    }
  }

  const Ground& ground_;
  const plan::Plan& plan_;
  std::vector<Copy> copies_;
};

}  // namespace

std::int64_t TaskMemory::needed() const {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0},
                         [](std::int64_t sum, const MemoryPart& part) { return sum + part.bytes; });
}

std::vector<TaskMemory> task_memory(const Ground& ground, const plan::Plan& plan) {
  const MemoryAccount account(ground, plan);
  std::vector<TaskMemory> memory;
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) memory.push_back(account.memory_of(task));
  return memory;
}

}  // namespace dovetail::place
