// Interface between connect_by_mpi and the shared module that calls MPI (src/mpi). It uses only C types, so that the
// program and the module may come from different builds.
#pragma once

#include <cstdint>

namespace dovetail::parallel {

/// The functions of the module. connect and all_gather return whether they succeeded. After a failure only error() may
/// be called, which returns the reason. At most one call may be in progress at a time.
struct DovetailMpiModule {
  std::int32_t version;  ///< dovetail_mpi_module_version of the module's build

  /// Initializes MPI and stores this process's rank in `*rank` and the number of ranks in `*ranks`. When the process
  /// exits, MPI is finalized, or aborted if a call has failed, so that no rank waits forever. No function of the module
  /// waits longer than `timeout_seconds`.
  bool (*connect)(double timeout_seconds, std::int32_t* rank, std::int32_t* ranks);

  /// Gathers the messages of all ranks. Sets `*gathered` to the messages, concatenated in rank order, and `*sizes` to
  /// an array of their lengths in bytes. The module owns both arrays, which stay valid until the next call.
  bool (*all_gather)(const char* message, std::int64_t size, const char** gathered, const std::int64_t** sizes);

  const char* (*error)();
};

inline constexpr std::int32_t dovetail_mpi_module_version = 1;

/// Exit code of the launcher after MPI is aborted, whatever the exit codes of the ranks. Equals the exit code for
/// Failure::lost.
inline constexpr int dovetail_mpi_abort_code = 4;

/// File name of the module, which find_mpi_module() looks for.
inline constexpr const char* dovetail_mpi_module_file = "dovetail_mpi.so";
/// The only exported symbol: an extern "C" function without parameters that returns const DovetailMpiModule*.
inline constexpr const char* dovetail_mpi_module_symbol = "dovetail_mpi_module";

}  // namespace dovetail::parallel
