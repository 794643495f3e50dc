#include "runtime/ranks/run_rank.h"

#include <c10/util/Logging.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "cli/commands.h"
#include "cli/output.h"
#include "runtime/ranks/rank_note.h"

namespace dovetail::runtime {
namespace {

/// State that the termination handler needs.
struct EndingRank {
  int rank = 0;
  std::function<std::string()> phase;
};
/// Never destroyed: threads may end after main.
EndingRank& ending() {
  static EndingRank* const rank = new EndingRank;
  return *rank;
}

[[noreturn]] void end_program() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::system_error& error) {
    const base::Error lost{base::Failure::lost, "", 0, 0,
                           fmt::format("the job's store does not respond: {}", error.what())};
    cli::report_failure(without_store(ending().rank, ending().phase(), lost), "dovetail-train");
    std::_Exit(cli::exit_lost);
  } catch (...) {
  }
  std::abort();
}

using base::Result;
using base::Status;

constexpr std::string_view program_name = "dovetail-train";

/// Returns whether dovetail-train's launcher started this process. If so, the process ends when the launcher ends,
/// however that happens.
bool belongs_to_launcher() {
  const char* const launcher = std::getenv(launcher_variable);
  if (launcher == nullptr) return false;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The launcher may have ended before.
  if (std::to_string(::getppid()) != launcher) std::_Exit(cli::exit_lost);
  return true;
}

/// Silences libtorch's warnings about closed connections, because errors report lost peers. A level set by the user is
/// kept.
void keep_libtorch_quiet() {
  ::setenv("TORCH_CPP_LOG_LEVEL", "ERROR", 0);
  c10::initLogging();
}

Result<RankPlace> find_place(std::string_view command) {
  DOVETAIL_TRY(const std::optional<RankPlace> place, find_rank_place(environment_variables()));
  if (place) return *place;
  return base::bad_input(
      fmt::format("{} needs a rank, but no launcher has set RANK, OMPI_COMM_WORLD_RANK or SLURM_PROCID; start it with "
                  "dovetail-train launch --ranks N -- {} ..., torchrun, mpirun or srun",
                  command, command));
}

/// Connections of a rank. The store it holds comes first, so that it is destroyed last.
struct Connections {
  std::unique_ptr<JobStore> held;
  std::unique_ptr<JobStore> store;
  std::unique_ptr<JobMonitor> monitor;
};

Result<Connections> connect(const RankPlace& place, std::chrono::milliseconds timeout) {
  Connections all;
  if (place.holds_store) {
    DOVETAIL_TRY(all.held, JobStore::hold(place.store_port, place.attempt));
  }
  const std::string host = place.holds_store ? "127.0.0.1" : place.store_host;
  DOVETAIL_TRY(all.store, JobStore::connect(host, place.store_port, place.attempt, timeout));
  DOVETAIL_TRY(std::unique_ptr<JobStore> monitor_store,
               JobStore::connect(host, place.store_port, place.attempt, timeout));
  all.monitor = std::make_unique<JobMonitor>(std::move(monitor_store), place.rank, place.ranks);
  return all;
}

/// Ends the process without destructors, because libraries would wait for unfinished work of a GPU or connection.
[[noreturn]] void end_now(int code) {
  std::fflush(nullptr);
  std::_Exit(code);
}

}  // namespace

void report_lost_store(int rank, std::function<std::string()> phase) {
  ending() = {rank, std::move(phase)};
  std::set_terminate(end_program);
}

int run_rank(std::string_view command, transport::Clock::duration timeout,
             const std::function<Status(RankSession&)>& work) {
  const bool is_launched = belongs_to_launcher();
  keep_libtorch_quiet();
  const Result<RankPlace> place = find_place(command);
  if (!place.ok()) return cli::report_failure(place.error(), program_name);
  const Result<Connections> all = connect(*place, std::chrono::ceil<std::chrono::milliseconds>(timeout));
  if (!all.ok()) return cli::report_failure(without_store(place->rank, RankNote().phase, all.error()), program_name);
  report_lost_store(place->rank, all->monitor->phase());
  RankSession session{*place, *all->store, *all->monitor};
  const Status status = work(session);
  if (status.ok()) return cli::exit_done;
  const RankError first = all->monitor->report_error(status.error());
  if (place->holds_store)
    all->monitor->leave_despite_errors(std::chrono::seconds(3));
  else
    all->monitor->leave(std::chrono::milliseconds(0));
  if (!is_launched && first.rank == place->rank) end_now(cli::report_failure(first.error, program_name));
  end_now(cli::exit_code_of(first.error.failure));
}

}  // namespace dovetail::runtime
