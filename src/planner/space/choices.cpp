#include "planner/space/choices.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "cost/conventions.h"
#include "plan/framework.h"
#include "plan/iteration_graph.h"
#include "plan/pin.h"
#include "predict/closed_form/memory.h"
#include "predict/closed_form/trainer_rules.h"

namespace dovetail::planner {
namespace {

bool is_power_of_two(int number) { return (number & (number - 1)) == 0; }

}  // namespace

LayoutRules real_rules() { return {.max_tensor = 8, .powers_of_two = true, .stage_devices_unit = 8, .min_devices = 4}; }

LayoutRules real_search_rules(int nodes, double sequences, std::int64_t mini_batches) {
  LayoutRules rules = real_rules();
  rules.max_stages = std::max(nodes, 8);
  rules.max_parts = sequences;
  if (mini_batches == 0) return rules;
  rules.max_parts = sequences / (2 * static_cast<double>(mini_batches));
  rules.max_stage_devices = 8;
  return rules;
}

std::vector<llm::Layout> layouts_of(int devices, int devices_per_node, const LayoutRules& rules) {
  std::vector<llm::Layout> layouts;
  if (devices < rules.min_devices) return layouts;
  const int largest = std::min({rules.max_tensor, devices_per_node, devices});
  for (int tensor = 1; tensor <= largest; ++tensor) {
    if (devices % tensor != 0 || devices_per_node % tensor != 0 || (rules.powers_of_two && !is_power_of_two(tensor)))
      continue;
    for (int pipeline = 1; pipeline <= devices / tensor; ++pipeline) {
      if (devices / tensor % pipeline != 0 || (rules.max_stages > 0 && pipeline > rules.max_stages)) continue;
      const int stage = devices / pipeline;
      const int unit = rules.stage_devices_unit;
      if (unit > 0 && stage % unit != 0 && !(stage < unit && is_power_of_two(stage))) continue;
      if (rules.max_stage_devices > 0 && stage > rules.max_stage_devices) continue;
      const int parts = devices / tensor;
      if (rules.max_parts > 0 && parts > rules.max_parts) continue;
      llm::Layout layout;
      layout.tensor = tensor;
      layout.pipeline = pipeline;
      layout.data = stage / tensor;
      layouts.push_back(layout);
    }
  }
  return layouts;
}

namespace {

using plan::TaskPlan;
using workflow::TaskKind;

/// Minimum sequence length in tokens for which context parallelism is considered.
constexpr std::int64_t long_sequence = 16'384;

/// Number of tokens in a pass that keeps a device busy.
constexpr double full_pass = 2048;

const cost::TrainerLimits& limits_of(const predict::Scenario& scenario, OptionSet option_set) {
  static const cost::TrainerLimits real;
  return option_set == OptionSet::real ? real : cost::trainer_limits(scenario.software.conventions.name);
}

/// Builds the plans of one task on one mesh: first the layouts, then all combinations with each setting in turn.
class TaskChoices {
 public:
  TaskChoices(const predict::Scenario& scenario, std::size_t task, const cluster::Mesh& mesh, const ChoiceRules& rules)
      : scenario_(scenario),
        task_(task),
        mesh_(mesh),
        rules_(rules),
        limits_(limits_of(scenario, rules.option_set)),
        kind_(scenario.job.workflow.tasks[task].kind),
        model_(scenario.job.models[scenario.job.workflow.role_of[task]->index()]),
        pin_(scenario.job.fixed.empty() ? plan::TaskPin{} : scenario.job.fixed[task]) {
    // The search decides which mesh of this shape is used.
    pin_.mesh.reset();
    if (real()) return;
    const auto linked = predict::linked_tasks(scenario.job, scenario.software.conventions)[task];
    of_trainer_ = kind_ == TaskKind::train || !linked.empty();
    for (const std::size_t other : linked)
      if (!scenario.job.fixed.empty()) linked_pins_.push_back(scenario.job.fixed[other]);
  }

  std::vector<TaskPlan> make() {
    for (const llm::Layout& layout : layouts()) {
      TaskPlan planned;
      planned.mesh = mesh_;
      planned.layout = layout;
      plans_.push_back(planned);
    }
    if (kind_ == TaskKind::generate)
      add_engines();
    else
      add_passes();
    for (TaskPlan& planned : plans_) {
      plan::apply(pin_, planned);
      planned.engine = plan::with_matching_limits(pin_.engine, planned.engine);
      plan::conform(scenario_.job, task_, planned);
      // Pins take precedence over settings that a search for the framework would choose.
      plan::apply(pin_, planned);
    }
    std::erase_if(plans_, [this](const TaskPlan& planned) {
      return planned.mesh != mesh_ || planned.layout.devices() != mesh_.count ||
             llm::find_fault(planned.layout, model_).has_value();
    });
    return std::move(plans_);
  }

 private:
  bool real() const { return rules_.option_set == OptionSet::real; }
  /// Returns whether the task's trainer allows a degree above 1. Some trainers allow it only if a pin sets it.
  bool may_cut(cost::Ability ability, int llm::Layout::* degree) const {
    if (!of_trainer_ || ability == cost::Ability::searched) return true;
    const auto requests = [degree](const plan::TaskPin& pin) { return pin.layout.has(degree); };
    return ability == cost::Ability::pinned &&
           (requests(pin_) || std::any_of(linked_pins_.begin(), linked_pins_.end(), requests));
  }
  /// Returns whether the pins of this task and of the tasks that use the same model allow the layout.
  bool admitted(const llm::Layout& layout) const {
    return plan::admits(pin_, layout) &&
           std::all_of(linked_pins_.begin(), linked_pins_.end(),
                       [&](const plan::TaskPin& pin) { return plan::admits(pin, layout); });
  }
  double sequences() const {
    return static_cast<double>(workflow::sequences_of(scenario_.job.workflow.tasks[task_], scenario_.job.workload));
  }

  std::int64_t task_mini_batches() const {
    return workflow::mini_batches_of(scenario_.job.workflow.tasks[task_], scenario_.job.workload);
  }

  std::vector<llm::Layout> layouts() const {
    const int node = mesh_.count / cluster::nodes_of(scenario_.job.cluster, mesh_);
    LayoutRules rules{.max_tensor = node, .powers_of_two = (node & (node - 1)) == 0};
    if (real()) {
      const std::int64_t mini_batches = kind_ == TaskKind::train ? task_mini_batches() : 0;
      rules = real_search_rules(cluster::node_count(scenario_.job.cluster), sequences(), mini_batches);
      rules.min_devices = std::min(rules.min_devices, cluster::device_count(scenario_.job.cluster));
    }
    if (!may_cut(limits_.pipeline, &llm::Layout::pipeline)) rules.max_stages = 1;
    if (!may_cut(limits_.tensor, &llm::Layout::tensor)) rules.max_tensor = 1;
    std::vector<llm::Layout> layouts;
    for (const llm::Layout& plain : layouts_of(mesh_.count, node, rules))
      for (const llm::Layout& layout : cut_further(plain))
        if (admitted(layout) && !llm::find_fault(layout, model_) && has_work(layout)) layouts.push_back(layout);
    return layouts;
  }

  /// Returns `plain` and its variants with context parallelism for long sequences and with expert parallelism.
  std::vector<llm::Layout> cut_further(const llm::Layout& plain) const {
    std::vector<llm::Layout> layouts{plain};
    if (real()) return layouts;
    const bool cuts_sequences = kind_ != TaskKind::generate && (scenario_.lengths.longest() >= long_sequence ||
                                                                pin_.layout.has(&llm::Layout::context));
    for (int context = 2; cuts_sequences && context <= 8 && plain.data % context == 0; context *= 2) {
      llm::Layout layout = plain;
      layout.context = context;
      layout.data = plain.data / context;
      layouts.push_back(layout);
    }
    const std::size_t without_experts = layouts.size();
    for (std::size_t index = 0; model_.experts && index < without_experts; ++index) {
      const llm::Layout layout = layouts[index];
      const int ranks = layout.data * layout.context * layout.tensor;
      for (int expert = 2; expert <= ranks && expert <= model_.experts->count; expert *= 2) {
        layouts.push_back(layout);
        layouts.back().expert = expert;
      }
    }
    return layouts;
  }

  /// Returns whether each stage of each data-parallel rank has a sequence to work on.
  bool has_work(const llm::Layout& layout) const {
    const double steps = kind_ == TaskKind::train ? static_cast<double>(task_mini_batches()) : 1;
    return layout.data * layout.pipeline <= sequences() / steps || (layout.data == 1 && layout.pipeline == 1);
  }

  template <class Value, class Set>
  void vary(const std::vector<Value>& values, const Set& set) {
    std::vector<TaskPlan> varied;
    for (const TaskPlan& planned : plans_)
      for (const Value& value : values) {
        varied.push_back(planned);
        set(varied.back(), value);
      }
    plans_ = std::move(varied);
  }

  void add_engines() {
    if (real()) {
      vary<int>({0}, [](TaskPlan& planned, int) {
        planned.engine = {.max_num_seqs = 512, .cuda_graphs = false, .own_weights = false};
      });
      return;
    }
    vary<double>({0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3},
                 [](TaskPlan& planned, double share) { planned.engine.memory_utilization = share; });
    vary<std::int64_t>({256, 1024}, [](TaskPlan& planned, std::int64_t most) { planned.engine.max_num_seqs = most; });
    // The next weight sync overwrites the weights of an idle engine, so the engine can discard them.
    for (TaskPlan& planned : plans_) planned.offload.weights = true;
  }

  void add_passes() {
    const bool trains = kind_ == TaskKind::train;
    if (real()) {
      for (TaskPlan& planned : plans_) {
        const int stages = planned.layout.pipeline;
        planned.micro_batching.count = trains ? (stages > 1 ? 2 * stages : 1) : stages;
        if (trains) set_training(planned.layout, 1, llm::Recomputation::full);
      }
      vary<bool>(trains ? std::vector<bool>{false} : std::vector<bool>{false, true},
                 [](TaskPlan& planned, bool away) { planned.offload.weights = away; });
      return;
    }
    add_micro_batches();
    if (!trains) {
      if (of_trainer_) lay_out_as_trained();
      vary<bool>({false, true}, [](TaskPlan& planned, bool away) { planned.offload.weights = away; });
      return;
    }
    add_virtual_stages();
    for (TaskPlan& planned : plans_) set_training(planned.layout, limits_.searched_zero, llm::Recomputation::selective);
    std::vector<llm::Recomputation> again{llm::Recomputation::selective, llm::Recomputation::full};
    if (model_.experts && limits_.experts_again) again.push_back(llm::Recomputation::experts);
    vary<llm::Recomputation>(again, [](TaskPlan& planned, llm::Recomputation recomputation) {
      planned.layout.recomputation = recomputation;
    });
    vary<bool>({false, true},
               [](TaskPlan& planned, bool away) { planned.offload.gradients = planned.offload.optimizer = away; });
  }

  /// Sets the weight layout of inference to the layout of the training that shares its model.
  void lay_out_as_trained() {
    for (TaskPlan& planned : plans_) {
      set_training(planned.layout, limits_.searched_zero, planned.layout.recomputation);
      for (const plan::TaskPin& pin : linked_pins_)
        if (const auto zero = pin.layout.find(&llm::Layout::zero)) planned.layout.zero = *zero;
    }
  }

  void add_micro_batches() {
    std::vector<cost::MicroBatching> cuts;
    if (scenario_.job.workload.packing) {
      // Trainers pack at least as many tokens as the longest sequence has. Smaller micro-batches hold a fixed number of
      // sequences. Single sequences give a pipeline the most micro-batches to fill itself.
      const auto longest = static_cast<double>(std::max<std::int64_t>(scenario_.lengths.longest(), 1));
      for (double tokens = longest; tokens <= 8 * std::max(longest, full_pass); tokens *= 2)
        cuts.push_back({.tokens = tokens});
      for (double sequences = 1; 2 * sequences * scenario_.lengths.mean() <= longest; sequences *= 2)
        cuts.push_back({.sequences = sequences});
    } else {
      for (const double sequences : {1, 2, 4, 8, 16}) cuts.push_back({.sequences = sequences});
    }
    vary<cost::MicroBatching>(cuts,
                              [](TaskPlan& planned, const cost::MicroBatching& cut) { planned.micro_batching = cut; });
  }

  void add_virtual_stages() {
    std::vector<TaskPlan> interleaved;
    for (const TaskPlan& planned : plans_)
      for (int chunks = 2; chunks <= 4 && planned.layout.pipeline > 1; chunks *= 2)
        if (model_.layers % (std::int64_t{planned.layout.pipeline} * chunks) == 0) {
          interleaved.push_back(planned);
          interleaved.back().layout.virtual_stages = chunks;
        }
    plans_.insert(plans_.end(), interleaved.begin(), interleaved.end());
  }

  static void set_training(llm::Layout& layout, int zero, llm::Recomputation recomputation) {
    layout.zero = layout.data * layout.context > 1 ? zero : 0;
    layout.sequence_parallel = layout.tensor > 1;
    layout.recomputation = recomputation;
  }

  const predict::Scenario& scenario_;
  const std::size_t task_;
  const cluster::Mesh mesh_;
  const ChoiceRules rules_;
  const cost::TrainerLimits& limits_;
  const TaskKind kind_;
  const llm::Transformer& model_;
  plan::TaskPin pin_;
  std::vector<plan::TaskPin> linked_pins_;  // pins of tasks that share this task's layout
  bool of_trainer_ = false;                 // whether the task runs on the trainer's model
  std::vector<TaskPlan> plans_;
};

predict::Stored stored_by(TaskKind kind, const TaskPlan& planned) {
  if (kind == TaskKind::train) return predict::Stored::trained;
  return kind == TaskKind::generate && planned.engine.own_weights ? predict::Stored::engine : predict::Stored::frozen;
}

Choice compute_memory(const predict::Scenario& scenario, std::size_t task, const TaskPlan& planned) {
  const TaskKind kind = scenario.job.workflow.tasks[task].kind;
  const predict::Stored stored = stored_by(kind, planned);
  Choice choice;
  choice.planned = planned;
  choice.working = predict::bytes_of(predict::working_memory(scenario, task, planned));
  choice.held = predict::held_bytes(scenario, scenario.job.workflow.role_of[task]->index(), planned, stored);
  choice.kept = predict::on_device(choice.held, predict::CopyUse::idle).sum();
  choice.away = predict::on_host(choice.held, stored == predict::Stored::engine, predict::CopyUse::idle);
  return choice;
}

/// Returns the memory that a task needs on an otherwise empty device.
std::int64_t own_need(const predict::Scenario& scenario, std::size_t task, const Choice& choice) {
  const bool scores = scenario.job.workflow.tasks[task].kind == TaskKind::infer;
  return choice.working + (scores ? choice.held.stored.weights : 0);
}

/// Returns whether the host memory of the first node is large enough for everything that the choice keeps there.
bool fits_host(const predict::Scenario& scenario, std::size_t task, const Choice& choice) {
  const cluster::Mesh& mesh = choice.planned.mesh;
  const cluster::Cluster& cluster = scenario.job.cluster;
  const auto node = cluster::node_of(cluster, base::DeviceId(mesh.first));
  const predict::CopyUse use = predict::use_by(scenario.job.workflow.tasks[task].kind);
  return predict::on_host(choice.held, false, use) * std::min(mesh.count, cluster::devices_of(cluster, node)) <=
         cluster.groups[cluster::group_of(cluster, node)].host_memory;
}

bool fits_alone(const predict::Scenario& scenario, std::size_t task, const Choice& choice) {
  const cluster::Gpu& gpu = cluster::gpu_of(scenario.job.cluster, base::DeviceId(choice.planned.mesh.first));
  return own_need(scenario, task, choice) <= predict::plan_memory(scenario, gpu) && fits_host(scenario, task, choice);
}

/// Returns the framework's agreements between this task and others.
std::vector<const plan::Agreement*> agreements_of(const plan::Job& job, std::size_t task) {
  std::vector<const plan::Agreement*> found;
  for (const plan::Agreement& agreement : plan::agreements_of(job))
    for (std::size_t other = 0; other < job.workflow.tasks.size(); ++other)
      if (plan::applies(agreement, job, task, other)) {
        found.push_back(&agreement);
        break;
      }
  return found;
}

/// Returns whether `a` is at least as good as `b` in every respect.
bool dominates(const Choice& a, const Choice& b, const std::vector<const plan::Agreement*>& agreements) {
  const auto agree = [&](const plan::Agreement* agreement) { return agreement->agree(a.planned, b.planned); };
  return plan::share_weights(a.planned, b.planned) && std::all_of(agreements.begin(), agreements.end(), agree) &&
         a.duration <= b.duration && a.working <= b.working && a.kept <= b.kept && a.away <= b.away;
}

}  // namespace

Choice choice_of(const predict::Scenario& scenario, std::size_t task, const TaskPlan& planned) {
  Choice choice = compute_memory(scenario, task, planned);
  choice.seconds = predict::task_seconds(scenario, task, planned).seconds;
  choice.duration = base::ticks_of_seconds(choice.seconds);
  return choice;
}

namespace {

std::vector<TaskPlan> plans_of(const predict::Scenario& scenario, std::size_t task, const cluster::Mesh& mesh,
                               const ChoiceRules& rules) {
  if (!rules.optimizer_on_host) return TaskChoices(scenario, task, mesh, rules).make();
  const bool trains = scenario.job.workflow.tasks[task].kind == TaskKind::train;
  const bool fixed = !scenario.job.fixed.empty() && scenario.job.fixed[task].offload;
  if (!trains || fixed || rules.option_set == OptionSet::real) return {};
  std::vector<TaskPlan> plans = TaskChoices(scenario, task, mesh, rules).make();
  // Gradients stay on the devices wherever the framework allows it.
  const auto may_stay = [&](TaskPlan planned) {
    planned.offload.gradients = planned.offload.optimizer = false;
    return plan::runs(scenario.job, task, planned, plan::RuleScope::search);
  };
  std::erase_if(plans, [&](const TaskPlan& planned) { return planned.offload.optimizer && may_stay(planned); });
  for (TaskPlan& planned : plans) {
    if (scenario.job.software.optimizer_host_share == 1) planned.offload.optimizer = false;
    planned.offload.optimizer_on_host = true;
  }
  std::erase_if(plans, [&](const TaskPlan& planned) { return !plan::runs(scenario.job, task, planned); });
  return plans;
}

}  // namespace

std::vector<Choice> choices_of(const predict::Scenario& scenario, std::size_t task, const cluster::Mesh& mesh,
                               const ChoiceRules& rules) {
  std::vector<Choice> all;
  for (const TaskPlan& planned : plans_of(scenario, task, mesh, rules)) {
    if (scenario.is_stopped()) return {};
    Choice choice = compute_memory(scenario, task, planned);
    if (!fits_alone(scenario, task, choice)) continue;
    choice.seconds = predict::task_seconds(scenario, task, planned).seconds;
    choice.duration = base::ticks_of_seconds(choice.seconds);
    all.push_back(std::move(choice));
  }
  std::stable_sort(all.begin(), all.end(), [](const Choice& a, const Choice& b) { return a.duration < b.duration; });
  const auto agreements = agreements_of(scenario.job, task);
  std::vector<Choice> front;
  for (const Choice& choice : all) {
    if (scenario.is_stopped()) return {};
    if (std::none_of(front.begin(), front.end(),
                     [&](const Choice& better) { return dominates(better, choice, agreements); }))
      front.push_back(choice);
  }
  return front;
}

std::optional<MinNeed> min_need(const predict::Scenario& scenario, std::size_t task, const cluster::Mesh& mesh,
                                const ChoiceRules& rules, const std::function<bool(const llm::Layout&)>& may) {
  std::optional<MinNeed> least;
  for (const TaskPlan& planned : plans_of(scenario, task, mesh, rules)) {
    if (may && !may(planned.layout)) continue;
    if (scenario.is_stopped()) break;
    const Choice choice = compute_memory(scenario, task, planned);
    const std::int64_t need = own_need(scenario, task, choice);
    if (fits_host(scenario, task, choice) && (!least || need < least->bytes)) least = {need, planned};
  }
  return least;
}

}  // namespace dovetail::planner
