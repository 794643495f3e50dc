#include "runtime/ranks/rank_note.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace dovetail::runtime {

std::string note_to_bytes(const RankNote& note) {
  return fmt::format("{} {}", note.predicted.value_or(-1), note.phase);
}

RankNote note_from_bytes(std::string_view bytes) {
  std::int64_t predicted = 0;
  const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), predicted);
  const auto length = static_cast<std::size_t>(end - bytes.data());
  if (error != std::errc() || length == bytes.size() || *end != ' ') return {};
  return {std::string(bytes.substr(length + 1)), predicted < 0 ? std::nullopt : std::optional(predicted)};
}

std::string note_key(int rank) { return fmt::format("note/{}", rank); }
std::string alive_key(int rank) { return fmt::format("alive/{}", rank); }

base::Error in_phase(std::string_view phase, base::Error error) {
  if (error.failure == base::Failure::lost) error.message = fmt::format("in {}: {}", phase, error.message);
  return error;
}

base::Error ending_rank(int rank, base::Error error) {
  if (error.failure == base::Failure::lost) error.message = fmt::format("rank {} ends: {}", rank, error.message);
  return error;
}

base::Error without_store(int rank, std::string_view phase, base::Error error) {
  return in_phase(phase, ending_rank(rank, std::move(error)));
}

}  // namespace dovetail::runtime
