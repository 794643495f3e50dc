#include "cli/processes.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "answer/text/text.h"
#include "cli/arguments.h"
#include "cli/output.h"

namespace dovetail::cli {
namespace {

/// Longer than one round of a search, even if there are more processes than processors.
constexpr double default_timeout_seconds = 60;

}  // namespace

void add_mpi_options(CLI::App& command, MpiArguments& arguments) {
  add_flag(command, "--mpi", arguments.enabled,
           "share chains among mpirun's processes; same answer unless stopped early");
  add_seconds_option(
      command, "--mpi-timeout",
      fmt::format("time before --mpi considers a process lost (default: {:g}s)", default_timeout_seconds),
      arguments.timeout_seconds);
}

bool is_nonzero_rank(int argument_count, const char* const* arguments) {
  const auto is_flag = [](const char* argument) { return std::string_view(argument) == "--mpi"; };
  if (std::none_of(arguments, arguments + argument_count, is_flag)) return false;
  // Variables of Open MPI, of any PMIx launcher, and of MPICH.
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char* rank = std::getenv(variable); rank != nullptr) return std::string_view(rank) != "0";
  return false;
}

base::Result<std::optional<parallel::Exchange>> connect_processes(const MpiArguments& arguments) {
  if (!arguments.enabled && arguments.timeout_seconds) return base::bad_input("--mpi-timeout needs --mpi");
  if (!arguments.enabled) return std::optional<parallel::Exchange>();
  DOVETAIL_TRY(parallel::Exchange exchange,
               parallel::connect_by_mpi(arguments.timeout_seconds.value_or(default_timeout_seconds)));
  if (exchange.rank > 0) print_nothing();
  return std::optional(std::move(exchange));
}

void wait_for_the_first(const parallel::Exchange& exchange) {
  constexpr std::chrono::seconds max_wait(10);
  if (exchange.rank > 0) std::this_thread::sleep_for(max_wait);
}

}  // namespace dovetail::cli
