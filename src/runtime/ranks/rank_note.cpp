#include "runtime/ranks/rank_note.h"

#include <fmt/core.h>

#include <charconv>
#include <cstddef>
#include <utility>

#include "base/document.h"

namespace dovetail::runtime {
namespace {

/// Removes a number and the following space from `bytes`.
bool take_number(std::string_view& bytes, std::size_t& number) {
  const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), number);
  const auto length = static_cast<std::size_t>(end - bytes.data());
  if (error != std::errc() || length == bytes.size() || *end != ' ') return false;
  bytes.remove_prefix(length + 1);
  return true;
}

}  // namespace

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

std::string error_to_bytes(const RankError& reported) {
  const base::Error& error = reported.error;
  return fmt::format("{} {} {} {} {} {}{}", reported.rank, static_cast<int>(error.failure), error.line, error.column,
                     error.path.size(), error.path, error.message);
}

RankError error_from_bytes(std::string_view bytes) {
  std::string_view rest = bytes;
  std::size_t rank = 0;
  std::size_t failure = 0;
  std::size_t line = 0;
  std::size_t column = 0;
  std::size_t path = 0;
  bool is_one = true;
  for (std::size_t* const number : {&rank, &failure, &line, &column, &path})
    is_one = is_one && take_number(rest, *number);
  if (!is_one || path > rest.size() || failure > static_cast<std::size_t>(base::Failure::interrupted))
    return {
        0,
        {base::Failure::lost, "", 0, 0, fmt::format("received a malformed error from a rank: {}", base::quote(bytes))}};
  return {static_cast<int>(rank),
          {static_cast<base::Failure>(failure), std::string(rest.substr(0, path)), static_cast<int>(line),
           static_cast<int>(column), std::string(rest.substr(path))}};
}

std::string reason_of(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

}  // namespace dovetail::runtime
