#include "control/run/usage.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <ctime>

#include "cluster/cluster.h"
#include "workflow/workflow.h"

namespace dovetail::control {
namespace {

constexpr double gibibyte = 1 << 30;

double sampled_tokens(std::span<const Sample> samples) {
  double tokens = 0;
  for (const Sample& sample : samples) tokens += static_cast<double>(sample.sequence.tokens.size());
  return tokens;
}

double trained_tokens(const std::map<std::string, TrainingRecord>& training, const std::string& task) {
  const auto found = training.find(task);
  return found == training.end() ? 0 : static_cast<double>(found->second.tokens);
}

}  // namespace

double flops_of(const IterationWork& work, const workflow::Workflow& workflow, const Models& models) {
  constexpr double forward = 2;
  constexpr double forward_and_backward = 6;
  double flops = 0;
  for (const workflow::Task& task : workflow.tasks) {
    if (task.role.empty()) continue;
    const double parameter_tokens = task.kind == workflow::TaskKind::train
                                        ? forward_and_backward * trained_tokens(work.training, task.name)
                                        : forward * sampled_tokens(work.samples);
    flops += parameter_tokens * static_cast<double>(models.parameters(task.role));
  }
  return flops;
}

std::int64_t peak_resident_memory() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  constexpr std::int64_t kibibyte = 1024;
  return static_cast<std::int64_t>(usage.ru_maxrss) * kibibyte;
}

void add_usage(const IterationWork& work, const plan::Job& job, const Models& models, double seconds,
               Figures& figures) {
  double tokens = sampled_tokens(work.samples);
  if (work.samples.empty())
    for (const auto& [task, record] : work.training) tokens += static_cast<double>(record.tokens);
  double flops_a_second = 0;
  for (const cluster::NodeGroup& group : job.cluster.groups)
    flops_a_second += group.gpu.bf16 * static_cast<double>(group.nodes) * static_cast<double>(group.devices_per_node);
  figures.push_back({"seconds", seconds, true});
  if (seconds > 0) {
    figures.push_back({"tokens_per_second", tokens / seconds, true});
    if (flops_a_second > 0)
      figures.push_back({"mfu", flops_of(work, job.workflow, models) / seconds / flops_a_second, true});
  }
  figures.push_back({"memory_gib", static_cast<double>(peak_resident_memory()) / gibibyte, true});
}

void add_shares(std::span<const RankUsage> usage, Figures& figures) {
  if (usage.size() < 2) return;
  for (std::size_t rank = 0; rank < usage.size(); ++rank)
    figures.push_back({fmt::format("processor_seconds/{}", rank), usage[rank].processor_seconds, true});
  for (std::size_t rank = 0; rank < usage.size(); ++rank)
    figures.push_back({fmt::format("live_gib/{}", rank), static_cast<double>(usage[rank].live) / gibibyte, true});
}

double processor_seconds() {
  timespec time{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace dovetail::control
