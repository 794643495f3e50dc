// What the shared module that knows MPI (src/mpi) says to connect_by_mpi, which loads it: C types only, so that the
// program and the module may come from different builds.
#pragma once

#include <cstdint>

namespace dovetail::parallel {

/// The functions of the module. Each returns whether it did what it says; where not, error() says why, and nothing but
/// error() may be called from then on. One thread calls at a time.
struct DovetailMpiModule {
  std::int32_t version;  ///< dovetail_mpi_module_version of the module's build

  /// Initialises MPI. It is finalized when the process exits, or aborted where a call failed before: no rank then waits
  /// for others for ever. Nothing here waits longer than `timeout_seconds`.
  bool (*connect)(double timeout_seconds, std::int32_t* rank, std::int32_t* ranks);

  /// Gives every rank the messages of all: they lie one after the other, in order of rank, at `*gathered`; `*sizes` are
  /// their lengths in bytes. Both are the module's and stay until the next call.
  bool (*all_gather)(const char* message, std::int64_t size, const char** gathered, const std::int64_t** sizes);

  const char* (*error)();
};

inline constexpr std::int32_t dovetail_mpi_module_version = 1;

/// What the launcher ends with where MPI is aborted, whatever the ranks end with: the exit code of a lost process.
inline constexpr int dovetail_mpi_abort_code = 4;

/// The module's file, and the one symbol that it exports: an extern "C" function without parameters that returns const
/// DovetailMpiModule*.
inline constexpr const char* dovetail_mpi_module_file = "dovetail_mpi.so";
inline constexpr const char* dovetail_mpi_module_symbol = "dovetail_mpi_module";

}  // namespace dovetail::parallel
