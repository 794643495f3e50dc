#include "place/predict/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/iteration_graph.h"
#include "realloc/plan.h"

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
  StoredBytes bytes;
  std::int64_t host_gradients = 0;  ///< that follow an optimizer on the host
  plan::Offload offload;            ///< while none of its tasks runs
};

bool uses(const Copy& copy, std::size_t task) { return std::find(copy.tasks.begin(), copy.tasks.end(), task) != copy.tasks.end(); }

class MemoryAccount {
 public:
  MemoryAccount(const Ground& ground, const plan::Plan& plan, std::optional<std::int64_t> fused_activations)
      : ground_(ground), plan_(plan), fused_activations_(fused_activations) {
    for (std::size_t task = 0; task < plan.tasks.size(); ++task)
      if (kind_of(task) != TaskKind::rule) add(task);
    for (Copy& copy : copies_) fill(copy);
  }

  TaskMemory memory_of(std::size_t task) const {
    TaskMemory worst;
    if (kind_of(task) == TaskKind::rule) return worst;
    const cluster::Mesh mesh = plan_.tasks[task].mesh;
    const std::vector<MemoryPart> own = partner_of(task) ? fused_working_memory(ground_, plan_, *plan_.fusion.training, fused_activations_)
                                                         : working_memory(ground_, task, plan_.tasks[task]);
    for (int device = mesh.first; device < mesh.first + mesh.count; ++device) {
      TaskMemory here;
      here.parts = own;
      for (const Copy& copy : copies_) add_resident(copy, task, device, here.parts);
      if (kind_of(task) == TaskKind::train) add_reserved(task, device, here.parts);
      std::vector<MemoryPart> arrival = while_weights_arrive(task, device);
      if (bytes_of(arrival) > bytes_of(here.parts)) here.parts = std::move(arrival);
      here.device = device;
      here.usable = cluster::gpu_of(ground_.job.cluster, base::DeviceId(device)).usable_memory;
      if (device == mesh.first || here.margin() < worst.margin()) worst = std::move(here);
    }
    std::stable_sort(worst.parts.begin(), worst.parts.end(), [](const MemoryPart& a, const MemoryPart& b) { return a.bytes > b.bytes; });
    add_host(task, worst);
    return worst;
  }

  /// What is on `device` besides what `task` itself needs; between tasks (nothing) all that is there.
  std::int64_t resident(std::optional<std::size_t> task, int device) const {
    std::vector<MemoryPart> parts;
    for (const Copy& copy : copies_) add_resident(copy, task, device, parts);
    if (task && kind_of(*task) == TaskKind::train) add_reserved(*task, device, parts);
    return bytes_of(parts);
  }

 private:
  /// The task that is trained in one schedule with it.
  std::optional<std::size_t> partner_of(std::size_t task) const {
    const auto& pair = plan_.fusion.training;
    if (!pair || std::find(pair->begin(), pair->end(), task) == pair->end()) return std::nullopt;
    return (*pair)[0] == task ? (*pair)[1] : (*pair)[0];
  }

  /// Whether a copy is in use while `task` runs.
  bool is_used(const Copy& copy, std::size_t task) const {
    const auto partner = partner_of(task);
    return uses(copy, task) || (partner && uses(copy, *partner));
  }

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
    if (!copy.trained)
      copy.offload.weights =
          std::all_of(copy.tasks.begin(), copy.tasks.end(), [this](std::size_t task) { return plan_.tasks[task].offload.weights; });
    const Stored stored = copy.trained ? Stored::trained : copy.engine ? Stored::engine : Stored::frozen;
    copy.bytes = stored_bytes(ground_, copy.role, planned.layout, stored);
    const cost::Conventions& conventions = ground_.software.conventions;
    if (copy.trained && copy.offload.optimizer_on_host && conventions.gradients_follow) {
      // In fp32, beside moments and master weights.
      copy.host_gradients = copy.bytes.optimizer / (conventions.moment_bytes + conventions.master_bytes) * 4;
      copy.bytes.gradients = gradient_buffer_bytes(ground_.job.models[copy.role], planned.layout, conventions);
    }
  }

  /// What is on `device` while `task` gets newly trained weights: it has its own already, but nothing else yet (engines wake up weights
  /// first), those that were trained are back where they had left, and a tensor or two messages are on their way.
  std::vector<MemoryPart> while_weights_arrive(std::size_t task, int device) const {
    const std::size_t role = ground_.job.workflow.role_of[task]->index();
    const auto to = std::find_if(copies_.begin(), copies_.end(), [task](const Copy& copy) { return uses(copy, task); });
    if (to->trained || !ground_.job.workflow.trained_by[role]) return {};
    std::vector<MemoryPart> parts{{role_name(role) + "'s new weights", to->bytes.weights},
                                  {"weights on their way", bytes_on_their_way(ground_, role, to->engine)}};
    for (const Copy& copy : copies_) {
      if (&copy == &*to) continue;
      Copy there = copy;
      if (copy.trained && copy.role == role) there.offload.weights = false;
      add_resident(there, task, device, parts);
    }
    return parts;
  }

  /// What fragments of the memory of other models come to in a process that trains; an engine has a pool of its own.
  void add_reserved(std::size_t task, int device, std::vector<MemoryPart>& parts) const {
    std::vector<MemoryPart> others;
    for (const Copy& copy : copies_)
      if (!copy.engine) add_resident(copy, task, device, others);
    const std::int64_t beyond = reserved_beyond(ground_, bytes_of(others));
    if (beyond > 0) parts.push_back({"reserved beyond what other models have", beyond});
  }

  /// What `copy` has on `device` while `task` runs, or between tasks (nothing), without what working_memory counts.
  void add_resident(const Copy& copy, std::optional<std::size_t> task, int device, std::vector<MemoryPart>& parts) const {
    if (device < copy.mesh.first || device >= copy.mesh.first + copy.mesh.count) return;
    const bool used = task && is_used(copy, *task);
    if (used && kind_of(*task) == TaskKind::train) return;
    const auto add = [&](std::string_view what, std::int64_t bytes, bool away) {
      if (bytes > 0 && !away) parts.push_back({fmt::format("{}'s {}", role_name(copy.role), what), bytes});
    };
    const bool counted = used && kind_of(*task) == TaskKind::generate;
    add(copy.engine ? "weights in the idle engine" : "weights", copy.bytes.weights, counted || (!used && copy.offload.weights));
    add("gradients", copy.bytes.gradients, copy.offload.gradients);
    add("optimizer", copy.bytes.optimizer, copy.offload.optimizer || copy.offload.optimizer_on_host);
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
      const bool idle = !is_used(copy, task);
      const bool trains = !idle && kind_of(task) == TaskKind::train;
      std::int64_t away = copy.offload.weights && idle && !copy.engine ? copy.bytes.weights : 0;
      if (copy.offload.gradients && !trains) away += copy.bytes.gradients;
      if (copy.offload.optimizer_on_host || (copy.offload.optimizer && !trains)) away += copy.bytes.optimizer;
      away += copy.host_gradients;
      memory.host += devices * away;
    }
  }

  const Ground& ground_;
  const plan::Plan& plan_;
  std::optional<std::int64_t> fused_activations_;
  std::vector<Copy> copies_;
};

}  // namespace

std::int64_t TaskMemory::needed() const { return bytes_of(parts); }

std::int64_t bytes_on_their_way(const Ground& ground, std::size_t role, bool to_engine) {
  return to_engine ? 2 * ground.job.models[role].vocabulary * ground.job.models[role].hidden : 2 * realloc::PlanOptions{}.bucket;
}

std::vector<TaskMemory> task_memory(const Ground& ground, const plan::Plan& plan, std::optional<std::int64_t> fused_activations) {
  const MemoryAccount account(ground, plan, fused_activations);
  std::vector<TaskMemory> memory;
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) memory.push_back(account.memory_of(task));
  return memory;
}

std::vector<std::int64_t> resident_memory(const Ground& ground, const plan::Plan& plan, std::optional<std::size_t> task) {
  const MemoryAccount account(ground, plan, std::nullopt);
  std::vector<std::int64_t> bytes;
  for (int device = 0; device < cluster::device_count(ground.job.cluster); ++device) bytes.push_back(account.resident(task, device));
  return bytes;
}

}  // namespace dovetail::place
