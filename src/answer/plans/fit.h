// Does it fit: a job on its cluster, or a plan into the memory of its devices; with what margin, and what sets the
// limit.
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
  return options<T>(option("JOB", &T::job, JobFile{}, job_file_help),
                    option("plan", &T::plan, File{}, "this plan, a dovetail/plan@1 file, in place of searching"),
                    group(&T::search));
}

/// A plan with what it holds, also as responses grow.
struct FittedPlan {
  plan::Plan plan;
  predict::Estimate estimate;
  std::vector<planner::GrownLengths> lengths;  ///< empty where it does not fit
};

struct FitAnswer {
  predict::Scenario scenario;
  /// That was asked about; else the fastest that fits, or the nearest to it; nothing where none was found.
  std::optional<FittedPlan> plan;
  std::optional<planner::JobFit> job;  ///< where no plan was asked about
  Outcome outcome = Outcome::done;

  predict::Fit fit() const { return job ? job->fit() : plan->estimate.fit(); }
};

/// Tasks with devices, the one with the least margin first.
std::vector<std::size_t> tasks_by_margin(const std::vector<predict::TaskMemory>& memory);

/// "2 nodes of 8 H100-80", with more where nodes are not alike.
std::string cluster_words(const cluster::Cluster& cluster);

/// Errors of what is read, and those of planner::fit_job.
base::Result<FitAnswer> ask(const FitRequest& request, const Watch& watch);

/// What each task needs, what sets the limit, and how far responses may grow; of a job also its plans and the smallest
/// cluster.
Sections sections(const FitAnswer& answer);
/// A dovetail/fit@2 object.
std::string to_json(const FitAnswer& answer);

}  // namespace dovetail::answer
