// What every command of a rank does before and after its own work.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "runtime/ranks/job_store.h"
#include "runtime/ranks/job_watch.h"
#include "runtime/ranks/rank_place.h"
#include "transport/transport.h"

namespace dovetail::runtime {

/// A rank that has found its job.
struct RankSession {
  RankPlace place;
  JobStore& store;
  JobWatch& watch;
};

/// Finds this process's rank in the environment and its job's store, lets `work` do the rest, and gives the exit code.
/// An Error of `work` becomes the job's, unless another rank was first. It is printed once: by the launcher where that
/// is ours, else by the rank that was first. The process then ends here. `timeout`: of the way to the store.
int run_rank(std::string_view command, transport::Clock::duration timeout,
             const std::function<base::Status(RankSession&)>& work);

/// The variable by which our launcher says its process id to its ranks. They end with it.
inline constexpr const char* launcher_variable = "DOVETAIL_LAUNCHER";

}  // namespace dovetail::runtime
