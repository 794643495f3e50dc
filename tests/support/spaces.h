// Search spaces for tests, and random selections from them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "plan/job_file.h"
#include "planner/space/search_space.h"

namespace dovetail::test {

/// A search space with the job and the scenario that it refers to.
struct Place {
  explicit Place(plan::Job of)
      : job(std::move(of)), scenario(predict::scenario_of(job, predict::software_of(job).value())) {
    space = planner::make_search_space(scenario, planner::search_meshes(job), {}, 1);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  plan::Job job;
  predict::Scenario scenario;
  planner::SearchSpace space;
};

/// Returns a job with 64 prompts, two samples each, and responses of up to 1024 tokens. `models` and `cluster` are the
/// entries of these sections.
inline plan::Job small_job(const std::string& algorithm, const std::string& models, const std::string& cluster) {
  return plan::parse_job("format: dovetail/job@1\nname: small\nalgorithm: " + algorithm + "\nmodels: {" + models +
                             "}\nworkload: {prompts: 64, samples_per_prompt: 2, mini_batches: 2, prompt_length: 128, "
                             "response_length: "
                             "{p50: 200, p90: 600, cap: 1024}}\n"
                             "cluster: {" +
                             cluster + "}\n",
                         "small.yaml")
      .value();
}

inline planner::Selection random_selection(const planner::SearchSpace& space, base::Random& random) {
  planner::Selection selection(space.choices.size());
  for (std::size_t task = 0; task < selection.size(); ++task) {
    if (space.is_rule(task)) continue;
    selection[task].mesh = space.open[task][random.below(static_cast<std::uint32_t>(space.open[task].size()))];
    const auto& choices = space.choices[task][space.shapes[static_cast<std::size_t>(selection[task].mesh)]];
    selection[task].choice = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(choices.size())));
  }
  return selection;
}

/// Returns a random selection with all tasks on the largest mesh.
inline planner::Selection random_co_located_selection(const planner::SearchSpace& space, base::Random& random) {
  planner::Selection selection(space.choices.size());
  std::size_t largest = 0;
  for (std::size_t mesh = 0; mesh < space.meshes.size(); ++mesh)
    if (space.meshes[mesh].count > space.meshes[largest].count) largest = mesh;
  for (std::size_t task = 0; task < selection.size(); ++task) {
    if (space.is_rule(task)) continue;
    const std::size_t choices = space.choices[task][space.shapes[largest]].size();
    selection[task] = {static_cast<std::int32_t>(largest),
                       static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(choices)))};
  }
  return selection;
}

}  // namespace dovetail::test
