#include "predict/closed_form/variations.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cost/conventions.h"
#include "plan/framework.h"
#include "plan/pin.h"

namespace dovetail::predict {
namespace {

using plan::TaskPlan;
using workflow::TaskKind;

/// Collects copies of a plan with one member changed.
class Variations {
 public:
  explicit Variations(const TaskPlan& planned) : planned_(planned) {}

  template <class Change>
  void add(const Change& change) {
    TaskPlan varied = planned_;
    change(varied);
    if (varied != planned_ && std::find(all_.begin(), all_.end(), varied) == all_.end())
      all_.push_back(std::move(varied));
  }

  std::vector<TaskPlan> take() { return std::move(all_); }

 private:
  const TaskPlan& planned_;
  std::vector<TaskPlan> all_;
};

void vary_micro_batches(Variations& variations) {
  for (const double factor : {0.5, 0.25, 0.125, 0.0625, 2.0, 4.0})
    variations.add([&](TaskPlan& planned) {
      plan::MicroBatching& batching = planned.micro_batching;
      // More micro-batches mean smaller ones.
      if (batching.count > 0)
        batching.count = std::max(1, static_cast<int>(std::lround(batching.count / factor)));
      else if (batching.sequences > 0)
        batching.sequences = std::max(1.0, std::floor(batching.sequences * factor));
      else
        batching.tokens = std::max(1.0, std::floor(batching.tokens * factor));
    });
}

void vary_training(Variations& variations, const cost::TrainerLimits& limits, bool has_experts) {
  for (const auto recomputation : {llm::Recomputation::none, llm::Recomputation::selective, llm::Recomputation::full})
    variations.add([&](TaskPlan& planned) { planned.layout.recomputation = recomputation; });
  if (has_experts && limits.experts_again)
    variations.add([](TaskPlan& planned) { planned.layout.recomputation = llm::Recomputation::experts; });
  for (const int zero : limits.zero)
    variations.add([&](TaskPlan& planned) {
      if (planned.layout.data * planned.layout.context > 1) planned.layout.zero = zero;
    });
  variations.add([](TaskPlan& planned) { planned.layout.sequence_parallel = planned.layout.tensor > 1; });
  for (const bool away : {false, true}) {
    variations.add([&](TaskPlan& planned) { planned.offload.gradients = planned.offload.optimizer = away; });
    variations.add([&](TaskPlan& planned) { planned.offload.optimizer = away; });
  }
}

void vary_engine(Variations& variations) {
  // The nearest values come first: callers use the first of equally good variations.
  for (int step = 1; step <= 15; ++step)
    for (const int sign : {-1, 1})
      variations.add([&](TaskPlan& planned) {
        const double twentieths = std::round(planned.engine.memory_utilization * 20) + sign * step;
        if (twentieths >= 4 && twentieths <= 19) planned.engine.memory_utilization = twentieths / 20;
      });
  for (const std::int64_t most : {128, 256, 512, 1024})
    variations.add([&](TaskPlan& planned) { planned.engine.max_num_seqs = most; });
}

}  // namespace

std::vector<TaskPlan> variations_of(const Scenario& scenario, std::size_t task, const TaskPlan& planned) {
  const TaskKind kind = scenario.job.workflow.tasks[task].kind;
  Variations variations(planned);
  if (kind == TaskKind::generate)
    vary_engine(variations);
  else
    vary_micro_batches(variations);
  const llm::Transformer& model = plan::model_of(scenario.job, workflow::TaskId(task));
  if (kind == TaskKind::train)
    vary_training(variations, cost::trainer_limits(scenario.software.conventions.name), model.experts.has_value());
  for (const bool away : {false, true}) variations.add([&](TaskPlan& varied) { varied.offload.weights = away; });
  std::vector<TaskPlan> all = variations.take();
  std::erase_if(all, [&](const TaskPlan& varied) {
    if (llm::find_fault(varied.layout, model)) return true;
    if (kind == TaskKind::generate ? plan::find_fault(varied.engine).has_value()
                                   : plan::find_fault(varied.micro_batching).has_value())
      return true;
    return !plan::runs(scenario.job, task, varied, plan::RuleScope::search) ||
           (!scenario.job.fixed.empty() && !plan::agrees(scenario.job.fixed[task], varied));
  });
  return all;
}

}  // namespace dovetail::predict
