#include "runtime/run/rank_usage.h"

#include <c10/util/Exception.h>
#include <fmt/core.h>

#include <algorithm>
#include <new>
#include <string_view>

#include "answer/text/figures.h"
#include "control/run/metrics.h"
#include "runtime/model/tensor.h"

namespace dovetail::runtime {
namespace {

using workflow::TaskKind;

TaskKind kind_of(std::string_view phase, const workflow::Workflow& workflow) {
  for (const workflow::Task& task : workflow.tasks)
    if (task.name == phase) return task.kind;
  if (phase != "evaluate") return TaskKind::rule;
  // An evaluation with prompts starts by generating. An evaluation on texts resembles training.
  return std::any_of(workflow.tasks.begin(), workflow.tasks.end(),
                     [](const workflow::Task& task) { return task.kind == TaskKind::generate; })
             ? TaskKind::generate
             : TaskKind::rule;
}

std::string advice_of(const MemoryAccount& account, const workflow::Workflow& workflow) {
  if (account.iteration == 0) return "a smaller model, or more memory";
  switch (kind_of(account.phase, workflow)) {
    case TaskKind::train:
      return fmt::format("fewer tokens in the `micro_batch` of {0} in the plan, or `recompute: full` in its `layout`",
                         account.phase);
    case TaskKind::generate:
      return "a smaller `max_num_seqs` or `memory_utilization` in the `engine` of the generation task in the plan";
    case TaskKind::rule:
      break;
    case TaskKind::infer:
      return fmt::format("fewer tokens in the `micro_batch` of {} in the plan", account.phase);
  }
  return "more memory";
}

base::Error error_of(const MemoryAccount& account, const workflow::Workflow& workflow) {
  using answer::gibibytes;
  const std::string when = account.iteration == 0 ? "while reading the models" : "in " + phase_text(account);
  const std::string predicted =
      account.predicted
          ? fmt::format("; the plan predicts {} on the device with the highest peak", gibibytes(*account.predicted))
          : "";
  return {base::Failure::io, "", 0, 0,
          fmt::format("out of memory {}: weights hold {}, gradients {}, the optimizer {}, the KV cache up to {}; the "
                      "process's host memory peaked at {}{}; use {}",
                      when, gibibytes(account.weights), gibibytes(account.gradients), gibibytes(account.optimizer),
                      gibibytes(account.cache), gibibytes(control::peak_resident_memory()), predicted,
                      advice_of(account, workflow))};
}

}  // namespace

void begin_phase(MemoryAccount& account, std::int64_t iteration, std::string_view phase) {
  if (account.iteration == iteration && account.phase == phase) return;
  account.iteration = iteration;
  account.phase = phase;
  if (account.on_phase) account.on_phase(account);
}

std::string phase_text(const MemoryAccount& account) {
  return account.iteration == 0 ? "startup" : fmt::format("{} of iteration {}", account.phase, account.iteration);
}

base::Status within_memory(const MemoryAccount& account, const workflow::Workflow& workflow,
                           const std::function<base::Status()>& work) {
  return unless_out_of_memory(work, [&] { return error_of(account, workflow); });
}

UsageMeter::Task::Task(UsageMeter& meter) : meter_(meter), begin_(control::processor_seconds()) {}

UsageMeter::Task::~Task() { meter_.counted_.processor_seconds += control::processor_seconds() - begin_; }

UsageMeter::Training::Training(UsageMeter& meter) : meter_(meter), task_(meter) { (void)take_peak_of(meter_.device_); }

UsageMeter::Training::~Training() {
  meter_.counted_.live = std::max(meter_.counted_.live, take_peak_of(meter_.device_));
}

}  // namespace dovetail::runtime
