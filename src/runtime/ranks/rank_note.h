// Notes and errors that ranks exchange through their job's store.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::runtime {

struct RankNote {
  std::string phase = "startup";               ///< current phase; Failure::lost Errors begin with "in PHASE: "
  std::optional<std::int64_t> predicted = {};  ///< predicted peak in bytes: max of TaskMemory::needed over the tasks

  friend bool operator==(const RankNote&, const RankNote&) = default;
};

std::string note_to_bytes(const RankNote& note);
/// Parses the result of note_to_bytes. Returns a default note for malformed bytes.
RankNote note_from_bytes(std::string_view bytes);

/// Returns the key of a rank's note in the store.
std::string note_key(int rank);
/// Returns the key of a rank's heartbeat counter.
std::string alive_key(int rank);

/// Prefixes a Failure::lost Error with the phase. Returns other errors unchanged.
base::Error in_phase(std::string_view phase, base::Error error);
/// Prefixes a Failure::lost Error with the rank that it ends. Returns other errors unchanged.
base::Error ending_rank(int rank, base::Error error);
/// Returns the error that ends a rank whose store is lost, given the store's error. Adds the prefixes of ending_rank
/// and in_phase.
base::Error without_store(int rank, std::string_view phase, base::Error error);

/// Error and the rank that reported it.
struct RankError {
  int rank = 0;
  base::Error error;
};

/// Serializes an error for a process of the same program.
std::string error_to_bytes(const RankError& error);

/// Parses the result of error_to_bytes. For malformed bytes, returns an Error that states this.
RankError error_from_bytes(std::string_view bytes);

/// Returns the first line of a libtorch exception's message. The other lines are a backtrace.
std::string reason_of(const std::exception& error);

}  // namespace dovetail::runtime
