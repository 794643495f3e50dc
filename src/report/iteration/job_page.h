// A plan of a job, played, as a page of the HTML report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/rank/rank.h"
#include "predict/played/simulation.h"
#include "report/page/page.h"
#include "study/fusion_variants.h"
#include "study/sweep.h"

namespace dovetail::report {

/// What is shown. All of it is of one job.
struct JobPicture {
  const predict::Scenario& scenario;
  const plan::Plan& plan;
  const predict::Simulation& simulation;  ///< of the plan
  std::optional<double> bound;            ///< seconds that no plan's iteration can beat that fuses no more; nothing: none is known
  const std::vector<study::FusionVariant>& variants;  ///< as play_fusion_variants has them
  const std::vector<std::string>& notes;              ///< why something is not fused, or how it is
  const planner::Ranking* ranking = nullptr;          ///< the plans that a search found; null: none did
  const study::Sweep* thresholds = nullptr;           ///< the plan at thresholds of inter-stage fusion; null: not swept
};

/// The tasks of the job, as tracks whose models are their roles.
std::vector<timeline::Track> tasks_of(const plan::Job& job);

/// The iteration that was played.
timeline::Timeline timeline_of(const JobPicture& picture);

/// The timeline with memory beside what devices can use; the activities; where the time goes and what idle time is lost to; what stage
/// fusion gains; whether it fits; the other plans and why each loses; thresholds; the plan itself.
Page job_page(const JobPicture& picture);

}  // namespace dovetail::report
