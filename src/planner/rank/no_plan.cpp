#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "plan/framework.h"
#include "planner/rank/rank.h"
#include "predict/closed_form/memory.h"

namespace dovetail::planner {
namespace {

double gibi(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

const std::string& name_of(const SearchSpace& space, std::size_t task) {
  return space.scenario->job.workflow.tasks[task].name;
}

/// Returns an example mesh of each shape that the job allows for a task.
std::vector<cluster::Mesh> possible_shapes(const SearchSpace& space, std::size_t task) {
  const std::vector<plan::TaskPin>& fixed = space.scenario->job.fixed;
  std::vector<cluster::Mesh> shapes;
  for (std::size_t mesh = 0; mesh < space.meshes.size(); ++mesh) {
    const cluster::Mesh& example = space.examples[space.shapes[mesh]];
    const bool is_known = std::find(shapes.begin(), shapes.end(), example) != shapes.end();
    if (!is_known && (fixed.empty() || plan::admits(fixed[task], space.meshes[mesh]))) shapes.push_back(example);
  }
  return shapes;
}

/// Minimum memory of a task on any of several meshes, including choices with the optimizer on the host.
struct NeedAnywhere {
  bool has_layout = false;
  std::optional<MinNeed> least;  ///< nullopt if host memory is too small for all layouts
};

NeedAnywhere need_on(const SearchSpace& space, std::size_t task, const std::vector<cluster::Mesh>& meshes,
                     OptionSet option_set) {
  NeedAnywhere found;
  const auto note = [&found](const llm::Layout&) { return found.has_layout = true; };
  for (const bool on_host : {false, true})
    for (const cluster::Mesh& mesh : meshes)
      if (auto need = min_need(*space.scenario, task, mesh, {option_set, on_host}, note);
          need && (!found.least || need->bytes < found.least->bytes))
        found.least = std::move(need);
  return found;
}

/// Explains why a task that fits alone does not fit with the tasks that share its devices.
std::string why_not_together(const SearchSpace& space, std::size_t task) {
  std::vector<std::string> others;
  for (const Link& link : space.links[task])
    if (link.mesh) others.push_back(name_of(space, link.task));
  return fmt::format("{} must share devices with {}, but there is no mesh on which all of them fit",
                     name_of(space, task), fmt::join(others, ", "));
}

/// Why a task cannot run on the mesh that a placement gives it.
struct TaskFault {
  std::size_t task = 0;
  cluster::Mesh mesh;
  bool is_mesh = true;          ///< false: the placement's devices do not form a mesh
  bool has_layout = false;      ///< whether the task has a layout with the placement's degrees
  std::optional<MinNeed> need;  ///< minimum over these layouts; nullopt if host memory is too small for all of them
  /// Whether each task has a choice, but tasks that must share a setting have none in common.
  bool is_alone_possible = false;
};

/// Returns the fault of a task without a choice on the mesh. The optimizer is on the host if the task's other choices
/// have it there.
TaskFault task_fault(const SearchSpace& space, OptionSet option_set, std::size_t task, const cluster::Mesh& mesh,
                     const std::optional<Degrees>& degrees) {
  TaskFault fault{task, mesh, true, false, {}};
  const auto may = [&](const llm::Layout& layout) {
    const bool is_of = !degrees || degrees->are_of(layout);
    fault.has_layout = fault.has_layout || is_of;
    return is_of;
  };
  const auto on_host = [](const Choice& choice) { return choice.planned.offload.optimizer_on_host; };
  const auto& of_task = space.choices[task];
  const bool any_on_host = std::any_of(of_task.begin(), of_task.end(), [&](const auto& choices) {
    return std::any_of(choices.begin(), choices.end(), on_host);
  });
  fault.need = min_need(*space.scenario, task, mesh, {option_set, any_on_host}, may);
  return fault;
}

/// Returns the first fault of one variant of a placement. If each task is possible alone, the fault says so.
TaskFault find_task_fault(const SearchSpace& space, OptionSet option_set, const std::vector<cluster::Mesh>& meshes,
                          const std::optional<Degrees>& degrees) {
  for (std::size_t task = 0; task < meshes.size(); ++task) {
    if (space.is_rule(task)) continue;
    const auto mesh = std::find(space.meshes.begin(), space.meshes.end(), meshes[task]);
    if (mesh == space.meshes.end()) return {task, meshes[task], false, false, {}, false};
    const std::vector<Choice>& choices =
        space.choices[task][space.shapes[static_cast<std::size_t>(mesh - space.meshes.begin())]];
    const auto is_possible = [&](const Choice& choice) { return !degrees || degrees->are_of(choice.planned.layout); };
    if (std::none_of(choices.begin(), choices.end(), is_possible))
      return task_fault(space, option_set, task, meshes[task], degrees);
  }
  TaskFault none;
  none.is_alone_possible = true;
  return none;
}

std::string text_of(const SearchSpace& space, const TaskFault& fault, const std::optional<Degrees>& degrees) {
  const cluster::Cluster& cluster = space.scenario->job.cluster;
  if (fault.is_alone_possible)
    return "does not apply: some tasks must share a layout or a setting, but no value suits all of them";
  if (!fault.is_mesh && fault.mesh.count == 0) return "does not apply: the devices cannot be split in two";
  if (!fault.is_mesh)
    return fmt::format(
        "does not apply: {} would get {} of {} devices, which are neither whole nodes nor part of one node",
        name_of(space, fault.task), fault.mesh.count, cluster::device_count(cluster));
  const std::string with = degrees ? fmt::format(" with tp{} pp{}", degrees->tensor, degrees->pipeline) : "";
  const std::string where = cluster::name_of(cluster, fault.mesh);
  if (!fault.has_layout)
    return fmt::format("does not apply: {} has no layout{} on devices {}", name_of(space, fault.task), with, where);
  if (!fault.need)
    return fmt::format("does not fit: host memory is too small for the data that {} offloads on devices {}{}",
                       name_of(space, fault.task), where, with);
  return fmt::format(
      "does not fit: {} alone needs at least {:.2f} GiB, more than the {:.2f} GiB that the margin leaves, on each of "
      "devices {}{}",
      name_of(space, fault.task), gibi(fault.need->bytes),
      gibi(predict::plan_memory(*space.scenario, cluster::gpu_of(cluster, base::DeviceId(fault.mesh.first)))), where,
      with);
}

/// Explains why a placement has no selection, for the variant that comes closest to fitting.
std::string why_impossible(const SearchSpace& space, OptionSet option_set, Placement placement) {
  const std::optional<Degrees> degrees = degrees_of(space, placement);
  std::optional<TaskFault> nearest;
  for (const std::vector<cluster::Mesh>& meshes : meshes_of(space, placement)) {
    TaskFault fault = find_task_fault(space, option_set, meshes, degrees);
    const bool nearer = fault.need && nearest && (!nearest->need || fault.need->bytes < nearest->need->bytes);
    if (!nearest || nearer) nearest = std::move(fault);
  }
  return nearest ? text_of(space, *nearest, degrees) : "does not apply: the devices cannot be split in two";
}

/// Explains why a selection has no plan: missing memory, or a required fusion.
std::string why_too_large(const SearchSpace& space, const Selection& selection) {
  const std::vector<predict::TaskMemory> memory = predict::task_memory(*space.scenario, plan_of(space, selection, ""));
  const auto worst = std::min_element(
      memory.begin(), memory.end(),
      [](const predict::TaskMemory& a, const predict::TaskMemory& b) { return a.headroom() < b.headroom(); });
  if (worst->headroom() < 0)
    return fmt::format(
        "does not fit: in {2}, a device needs {0:.2f} GiB, more than the {1:.2f} GiB that the margin leaves",
        gibi(worst->needed()), gibi(worst->usable - worst->min_margin),
        name_of(space, static_cast<std::size_t>(worst - memory.begin())));
  for (const predict::TaskMemory& task : memory)
    if (task.host > task.host_memory)
      return fmt::format("does not fit: {:.2f} GiB are offloaded to a node with {:.2f} GiB of host memory",
                         gibi(task.host), gibi(task.host_memory));
  return "does not apply: the fusion that the job requires is impossible or does not fit";
}

std::string why_named(const SearchSpace& space, OptionSet option_set, const TriedPlacement& tried) {
  return tried.selection ? why_too_large(space, *tried.selection) : why_impossible(space, option_set, tried.placement);
}

std::string why_rlhfuse(const SearchSpace& space, OptionSet option_set, const TriedPlacement& co_located) {
  if (option_set == OptionSet::real) return "does not apply: --means real excludes fusion";
  const bool fits = co_located.selection && Trial(space).score(*co_located.selection).excess == 0;
  if (!fits) return why_named(space, option_set, co_located);
  const plan::FusionPin& pin = space.scenario->job.fixed_fusion;
  if (pin.inter_stage.value_or(false) || pin.intra_stage.value_or(false))
    return why_too_large(space, *co_located.selection);
  return "does not apply: no fusion that fits and that the job allows makes the co-located plan faster";
}

/// Returns the error for a task without a layout on any mesh: because of the job's fixed settings, otherwise because of
/// its framework.
base::Error no_layout(const plan::Job& job, const std::string& task) {
  const auto is_free = [](const plan::TaskPin& pin) { return pin == plan::TaskPin{}; };
  if (!std::all_of(job.fixed.begin(), job.fixed.end(), is_free))
    return base::bad_input(fmt::format(
        "no layout of {} on any mesh of the cluster matches the job's fixed settings; accepted: degrees that divide "
        "the model's heads and layers, and whose product is the size of a mesh",
        task));
  const plan::Framework* const framework = plan::find_framework(job.software);
  base::Error error;
  error.failure = base::Failure::infeasible;
  error.message = fmt::format(
      "no layout of {}{} exists on this cluster: degrees must divide the heads and layers, their product must be the "
      "number of devices, and a mini-batch needs a sample for each stage of each data-parallel rank",
      task, framework == nullptr ? "" : fmt::format(" that {} runs", framework->name));
  return error;
}

}  // namespace

base::Error no_choice_error(const SearchSpace& space, std::size_t task, OptionSet option_set) {
  base::Error error;
  error.failure = base::Failure::infeasible;
  if (space.has_choices(task)) {
    error.message = why_not_together(space, task);
    return error;
  }
  const NeedAnywhere need = need_on(space, task, possible_shapes(space, task), option_set);
  const std::string& name = name_of(space, task);
  if (!need.has_layout) return no_layout(space.scenario->job, name);
  if (!need.least) {
    error.message =
        fmt::format("{} alone does not fit on this cluster: host memory is too small for the data it offloads", name);
    return error;
  }
  const std::int64_t usable = min_memory(space);
  const plan::TaskPlan& planned = need.least->planned;
  error.message = fmt::format(
      "{} alone does not fit on this cluster: even with {} on {} device{}{}, it needs {:.2f} GiB per device, "
      "{:.2f} GiB more than the {:.2f} GiB that the margin leaves",
      name, llm::to_text(planned.layout), planned.mesh.count, planned.mesh.count == 1 ? "" : "s",
      planned.offload.optimizer_on_host ? " and the optimizer on the host" : "", gibi(need.least->bytes),
      gibi(need.least->bytes - usable), gibi(usable));
  return error;
}

std::vector<AbsentPlacement> absent_placements(const SearchSpace& space, OptionSet option_set,
                                               const std::vector<Placement>& requested,
                                               const std::vector<TriedPlacement>& tried,
                                               const std::vector<RankedPlan>& plans) {
  const auto tried_as = [&](Placement placement) -> const TriedPlacement& {
    return *std::find_if(tried.begin(), tried.end(),
                         [&](const TriedPlacement& one) { return one.placement == placement; });
  };
  std::vector<AbsentPlacement> absent;
  for (const Placement placement : all_placements) {
    const auto is_of = [&](const RankedPlan& ranked) { return ranked.placement == placement; };
    const bool is_requested = std::find(requested.begin(), requested.end(), placement) != requested.end();
    if (!is_requested || std::any_of(plans.begin(), plans.end(), is_of)) continue;
    if (placement == Placement::searched)
      absent.push_back({placement, plans.empty() ? "does not fit: the search found no plan that fits"
                                                 : "found no plan faster than the best of the other placements"});
    else if (placement == Placement::rlhfuse)
      absent.push_back({placement, why_rlhfuse(space, option_set, tried_as(Placement::co_located))});
    else
      absent.push_back({placement, why_named(space, option_set, tried_as(placement))});
  }
  return absent;
}

}  // namespace dovetail::planner
