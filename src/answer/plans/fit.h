// Checks whether a job fits its cluster, or whether a plan fits the memory of its devices. Reports margins and the task
// that sets the limit.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <vector>

#include "answer/plans/search_options.h"
#include "answer/question/section.h"
#include "planner/advice/fit.h"

namespace dovetail::answer {

struct FitRequest {
  JobInput job;
  std::optional<Input> plan = std::nullopt;
  PlanSearchOptions search = {};
};
template <std::same_as<FitRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("JOB", &T::job, JobFile{}, job_file_help),
      option("plan", &T::plan, File{}, "plan to check (default: the configuration's, else search for plans)"),
      group(&T::search));
}

/// Plan with its prediction at the job's lengths and at longer responses.
struct FittedPlan {
  plan::Plan plan;
  predict::Estimate estimate;
  /// Fit at the job's lengths, then at longer responses. Empty if the plan comes from a search that found no fitting
  /// plan.
  std::vector<planner::GrownLengths> lengths;
};

struct FitAnswer {
  predict::Scenario scenario;
  /// The given plan or the plan of the trainer's configuration. For a job file without a plan, the fastest plan found
  /// that fits or, if none fits, the one closest to fitting. nullopt if no plan was found.
  std::optional<FittedPlan> plan;
  std::optional<planner::JobFit> job;  ///< result of the search; nullopt if no search was needed
  Outcome outcome = Outcome::done;

  predict::Fit fit() const { return job ? job->fit() : plan->estimate.fit(); }
};

/// Returns the indices of the tasks that run on devices, by increasing memory margin.
std::vector<std::size_t> tasks_by_margin(const std::vector<predict::TaskMemory>& memory);

/// Describes a cluster by kind of node: "2 nodes of 8 H100-80 and 1 node of 4 A100-40".
std::string cluster_text(const cluster::Cluster& cluster);

/// Errors: input that cannot be read, and errors of planner::fit_job.
base::Result<FitAnswer> answer_to(const FitRequest& request, const Callbacks& callbacks);

/// Memory of each task, the task that sets the limit, and the fit at longer responses. After a search, also the plans
/// found and the smallest cluster on which a plan keeps the margin.
Sections sections(const FitAnswer& answer);
/// A dovetail/fit@2 object.
std::string to_json(const FitAnswer& answer);

}  // namespace dovetail::answer
