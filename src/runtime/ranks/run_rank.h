// Startup and shutdown shared by the commands that run as a rank.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/ranks/job_monitor.h"
#include "runtime/ranks/job_store.h"
#include "runtime/ranks/rank_place.h"
#include "transport/transport.h"

namespace dovetail::runtime {

/// Rank of this process, connected to its job.
struct RankSession {
  RankPlace place;
  JobStore& store;
  JobMonitor& monitor;
};

/// Finds this process's rank in the environment, connects to the job's store, runs `work` and returns the exit code.
/// `timeout` limits the wait for the store when connecting.
///
/// An Error of `work` becomes the job's error unless another rank reported one first. It is printed once: by
/// dovetail-train's launcher if there is one, otherwise by the rank that reported it. After an Error of `work`, the
/// process exits inside this function.
int run_rank(std::string_view command, transport::Clock::duration timeout,
             const std::function<base::Status(RankSession&)>& work);

/// Environment variable with the process ID of the launcher. Ranks that the launcher starts end when it ends.
inline constexpr const char* launcher_variable = "DOVETAIL_LAUNCHER";

/// Makes the process exit with code 4 and an error message if libtorch ends it because the job's store is gone.
/// libtorch 1.13 throws from a destructor if it cannot write to the store. The message names the rank and phase().
void report_lost_store(int rank, std::function<std::string()> phase);

}  // namespace dovetail::runtime
