// What a rank says of itself in its job's store, for whoever has to tell how it was lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::runtime {

struct RankNote {
  std::string phase = "the start";             ///< what it does, as behind "in"
  std::optional<std::int64_t> predicted = {};  ///< bytes that its plan needs on the fullest device

  friend bool operator==(const RankNote&, const RankNote&) = default;
};

std::string note_to_bytes(const RankNote& note);
/// What note_to_bytes made them of; else a note of a rank that has said nothing.
RankNote note_from_bytes(std::string_view bytes);

/// Under which key of the store a rank's note stands.
std::string note_key(int rank);
/// Under which key the count of a rank's signs of life stands.
std::string alive_key(int rank);

/// A Failure::lost Error, with the phase in front; another one as it is.
base::Error in_phase(std::string_view phase, base::Error error);
/// The same with the rank that the Error ends.
base::Error ending_rank(int rank, base::Error error);
/// What a rank ends with whose store is lost, given the store's Error; another one as it is.
base::Error without_store(int rank, std::string_view phase, base::Error error);

}  // namespace dovetail::runtime
